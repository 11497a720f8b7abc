import random
from functools import cache

import pytest

from toolkit.evaluate.trees import (
    LEVELS,
    Parses,
    Tree,
    _read_tree,
    _top,
    _tree_edit_distance,
    shape,
    tree_edit_distance_signature,
)

SENTENCE = "(ROOT (S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (PRP us))) (. .)))"


@cache
def forest_distance(first: tuple[Tree, ...], second: tuple[Tree, ...]) -> int:
    """Zhang and Shasha's recursion over the last trees of two forests, as it stands in the paper; no APTED in it."""
    if not first and not second:
        return 0
    ways = []
    if first:
        ways.append(forest_distance((*first[:-1], *first[-1].children), second) + 1)
    if second:
        ways.append(forest_distance(first, (*second[:-1], *second[-1].children)) + 1)
    if first and second:
        renamed = int(first[-1].name != second[-1].name)
        below = forest_distance(first[-1].children, second[-1].children)
        ways.append(below + forest_distance(first[:-1], second[:-1]) + renamed)
    return min(ways)


def random_tree(chance: random.Random, nodes: int) -> Tree:
    """A tree of so many nodes, each hung below a random earlier one, with few labels so that many are equal."""
    parents = [chance.randrange(i) for i in range(1, nodes)]
    names = [chance.choice(["S", "NP", "VP"]) for _ in range(nodes)]

    def build(i: int) -> Tree:
        return Tree(names[i], tuple(build(j + 1) for j, parent in enumerate(parents) if parent == i))

    return build(0)


def test_distance_is_that_of_the_recursion_on_random_trees():
    chance = random.Random(7)
    distances = set()
    for _ in range(150):
        first, second = (random_tree(chance, chance.randint(1, 8)) for _ in range(2))
        expected = forest_distance((first,), (second,))
        assert _tree_edit_distance(first, second, levels=9) == _tree_edit_distance(second, first, levels=9) == expected
        distances.add(expected)
    assert len(distances) > 4  # the trees did differ


def test_distance_of_the_upper_levels_only():
    chance = random.Random(8)
    for _ in range(50):
        first, second = (random_tree(chance, 8) for _ in range(2))
        assert _tree_edit_distance(first, second) == forest_distance((_top(first),), (_top(second),))


def test_read_tree_by_hand():
    noun, verb = Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",)))), Tree("VBZ", ("sees",))
    phrase = Tree("VP", (verb, Tree("NP", (Tree("PRP", ("us",)),))))
    assert _read_tree(SENTENCE) == Tree("S", (noun, phrase, Tree(".", (".",))))
    assert _read_tree("( (S we) )") == _read_tree(" (S\n\twe)") == Tree("S", ("we",))
    assert _read_tree("(S { we } go)") == Tree("S", ("{", "we", "}", "go"))


@pytest.mark.parametrize(
    "bracketed, character, expected",
    [
        ("", 1, "an opening bracket"),
        ("S we", 1, "an opening bracket"),
        (")", 1, "an opening bracket"),
        ("(S (NP we)", 11, "a closing bracket"),
        ("(S we))", 7, "the end"),
        ("(S we) (S go)", 8, "the end"),
        ("(S we) go", 8, "the end"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_place(bracketed, character, expected):
    with pytest.raises(ValueError, match=f"at character {character} instead of {expected}"):
        _read_tree(bracketed)


def test_a_very_deep_tree_is_read():
    assert _read_tree("(NP " * 5000 + "x" + ")" * 5000).name == "NP"


def test_top_leaves_out_terminals_and_lower_levels():
    tree = _read_tree(SENTENCE)
    assert [shape(_top(tree, levels)) for levels in (1, 2, 3)] == [
        "(S)",
        "(S (NP) (VP) (.))",
        "(S (NP (DT) (NN)) (VP (VBZ) (NP)) (.))",
    ]
    assert _top(tree, 3) == _top(_top(tree, 3)) == _top(tree) and LEVELS == 3
    with pytest.raises(ValueError, match="at least 1 level of a tree, got 0"):
        _top(tree, 0)


def test_words_do_not_count_and_the_fourth_level_does_not():
    tree = _read_tree(SENTENCE)
    assert _tree_edit_distance(tree, _read_tree(SENTENCE.replace("cat", "dog"))) == 0
    assert _tree_edit_distance(tree, _read_tree(SENTENCE.replace("PRP", "NN"))) == 0
    assert _tree_edit_distance(tree, _read_tree(SENTENCE.replace("VBZ", "VBD"))) == 1


def test_parses_refuse_a_text_they_have_not_seen():
    parses = Parses("by hand", {"Hm": None})
    assert parses.tree("Hm") is None
    with pytest.raises(ValueError, match="wanted a text that was parsed, got 'Oh'"):
        parses.tree("Oh")


def test_signature_names_the_parser():
    assert "|parser:by hand|" in tree_edit_distance_signature("by hand")
