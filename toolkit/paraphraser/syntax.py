"""Templates: the form that a paraphrase should have, as the top two levels of its parse, said before the text.

A template is what SCPN takes: "(S (NP) (VP))". The model is trained on pairs whose input begins with the template of
the output, so that it can be asked for another form. A part of the pairs has no template, so that the model also works
without one.

Source: ParaNMT-50M (Wieting & Gimpel 2018), section 6; Iyyer et al. 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.evaluate.parsers import Parser, parse
from toolkit.evaluate.trees import shape

LEVELS = 2  # ParaNMT-50M, section 6: "the level immediately below the root along with the root"


def templates(texts: Sequence[str], parser: Parser, signature: str) -> list[str | None]:
    """The template of each text; None where the parser finds no tree.

    Args:
        texts: Sentences.
        parser: Of `toolkit.evaluate.parsers`.
        signature: Its name and settings.
    """
    trees = parse(texts, parser, signature, LEVELS).trees
    return [shape(tree) if (tree := trees[text]) else None for text in texts]


def with_template(text: str, template: str | None) -> str:
    """What the model reads of a text and the template of its output.

    >>> with_template("We went home.", "(S (NP) (VP))")
    '(S (NP) (VP)) We went home.'
    """
    return f"{template} {text}" if template else text
