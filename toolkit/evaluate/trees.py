"""Bracketed constituency trees: reading, pruning to the upper levels, and tree edit distance.

The trees come from a parser (`toolkit.evaluate.parsers`).

Source: ParaBank 2 (Hu et al. 2019b), section 3.6, "Syntactic diversity".
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from toolkit.system.extras import require

LEVELS = 3  # ParaBank 2, section 3.6: "the top 3 levels of the parse trees, excluding any terminals"
WRAPPERS = {
    "",
    "ROOT",
    "TOP",
}  # ours: labels that parsers put around the label of the sentence are not counted as levels
DISTANCES = 100_000  # ours: size of the cache of distances; the upper levels of trees repeat often

# ParaBank 2, table 1, "Our work" 1 to 5: mean distance from the reference and its spread over two runs
PAPER_BY_RANK = {1: (7.16, 0.05), 2: (7.15, 0.17), 3: (7.47, 0.11), 4: (7.51, 0.11), 5: (7.80, 0.19)}
# ParaBank 2, table 2
PAPER_BETWEEN_RANKS = {(1, 3): (5.51, 0.01), (3, 5): (6.40, 0.19), (1, 5): (6.25, 0.18)}

TOKEN = re.compile(r"\(\s*(?P<label>[^\s()]*)|(?P<word>[^\s()]+)|(?P<close>\))")


class Tree(NamedTuple):
    """A constituent.

    Attributes:
        name: The label of the constituent, such as NP.
        children: Its constituents, and its terminals as strings.
    """

    name: str
    children: tuple[Tree | str, ...] = ()


@dataclass(frozen=True)
class Parses:
    """The trees that a parser found for texts.

    Attributes:
        parser: The signature of the parser.
        trees: The tree of each text; None if the parser found none.
    """

    parser: str
    trees: Mapping[str, Tree | None]

    def tree(self, text: str) -> Tree | None:
        """The tree of a text; None if the parser found none.

        Raises:
            ValueError: The text was not parsed.
        """
        if text not in self.trees:
            raise ValueError(f"wanted a text that was parsed, got {text[:60]!r}: parse all texts first")
        return self.trees[text]


def _read_tree(bracketed: str) -> Tree:
    """Parse a bracketed tree; a wrapper without label, or with the label ROOT or TOP, is removed.

    >>> _read_tree("(ROOT (S (NP We) (VP go)))")
    Tree(name='S', children=(Tree(name='NP', children=('We',)), Tree(name='VP', children=('go',))))

    Args:
        bracketed: One tree; a label follows its opening bracket, and white space is ignored.

    Raises:
        ValueError: The text is not one tree; the message has the position of the error, counted from 1.
    """
    stack: list[tuple[str, list[Tree | str]]] = [("", [])]
    for token in TOKEN.finditer(bracketed):
        if len(stack) == 1 and (token.lastgroup != "label" or stack[0][1]):
            raise ValueError(
                _bracket_error(bracketed, token.start(), "the end" if stack[0][1] else "an opening bracket")
            )
        if token.lastgroup == "label":
            stack.append((token["label"], []))
        elif token.lastgroup == "word":
            stack[-1][1].append(token["word"])
        else:
            name, children = stack.pop()
            stack[-1][1].append(Tree(name, tuple(children)))
    if len(stack) > 1 or not stack[0][1]:
        expected = f"a closing bracket ({len(stack) - 1} open)" if len(stack) > 1 else "an opening bracket"
        raise ValueError(_bracket_error(bracketed, len(bracketed), expected))
    tree = stack[0][1][0]
    assert isinstance(tree, Tree)
    return _unwrap(tree)


def _bracket_error(bracketed: str, position: int, expected: str) -> str:
    """The error message for malformed brackets."""
    actual = repr(bracketed[position : position + 20]) if position < len(bracketed) else "the end"
    return f"wanted one tree in brackets, got {actual} at character {position + 1} instead of {expected}: correct it"


def _unwrap(tree: Tree) -> Tree:
    """A tree without its `WRAPPERS`."""
    while tree.name in WRAPPERS and len(tree.children) == 1 and isinstance(tree.children[0], Tree):
        tree = tree.children[0]
    return tree


def _top(tree: Tree, levels: int = LEVELS) -> Tree:
    """The upper levels of a tree without its terminals.

    >>> shape(_top(_read_tree("(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (PRP us))))"), 2))
    '(S (NP) (VP))'

    Args:
        tree: A tree.
        levels: The number of levels, >= 1; the root is the first. Parts of speech count as a level if the parser gives
            them.

    Raises:
        ValueError: `levels` is less than 1.
    """
    if levels < 1:
        raise ValueError(f"wanted at least 1 level of a tree, got {levels}: the root alone is 1")
    below = [child for child in tree.children if isinstance(child, Tree)] if levels > 1 else []
    return Tree(tree.name, tuple(_top(child, levels - 1) for child in below))


def shape(tree: Tree) -> str:
    """The bracketed labels of a tree, without terminals; trees of equal structure have the same shape.

    >>> shape(_read_tree("(S (NP we) (VP go (ADVP home)) .)"))
    '(S (NP) (VP (ADVP)))'
    """
    below = [shape(child) for child in tree.children if isinstance(child, Tree)]
    return f"({' '.join([tree.name, *below])})"


def _tree_edit_distance(a: Tree, b: Tree, levels: int = LEVELS) -> int:
    """The number of labels to insert, delete or rename to turn the upper levels of one tree into those of another.

    >>> a, b = "(S (NP we) (VP go (NP home)))", "(S (PP at (NP eight)) (NP we) (VP go (ADVP home)))"
    >>> _tree_edit_distance(_read_tree(a), _read_tree(b))
    3

    Args:
        a: A tree.
        b: Another tree.
        levels: The number of levels that are compared, from the root; terminals are ignored.

    Returns:
        The number of edits, >= 0; symmetric.

    Source: ParaBank 2, section 3.6; APTED (Pawlik and Augsten 2015) by the `apted` package, every edit costing 1.
    """
    return _pruned_distance(_top(a, levels), _top(b, levels))


@lru_cache(DISTANCES)
def _pruned_distance(a: Tree, b: Tree) -> int:
    """The edit distance of two trees without terminals."""
    return 0 if a == b else int(require("apted").APTED(a, b).compute_edit_distance())


def tree_edit_distance_signature(parser: str) -> str:
    """The signature of the mean of `_tree_edit_distance` over the pairs of a corpus that have two trees."""
    version = importlib.metadata.version("apted")
    return f"TreeED|levels:{LEVELS}|wrapper:no|terminals:no|cost:1|parser:{parser}|avg:pair|apted:{version}|v:1.0.0"
