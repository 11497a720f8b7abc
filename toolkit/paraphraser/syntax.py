"""Templates: the form that a paraphrase should have, as the top two levels of its parse, said before the text.

A template is what SCPN takes: "(S (NP) (VP))". The model is trained on pairs whose input begins with the template of
the output, so that it can be asked for another form. A part of the pairs has no template, so that the model also works
without one.

Source: ParaNMT-50M (Wieting & Gimpel 2018), section 6; Iyyer et al. 2018.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolkit.evaluate.parsers import Parser, open_parser, parse
from toolkit.evaluate.trees import shape
from toolkit.paraphraser.pairs import TrainingPair
from toolkit.system.whole_files import write_whole

LEVELS = 2  # ParaNMT-50M, section 6: "the level immediately below the root along with the root"
PLAIN = 8  # ours: one pair in so many has no template


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


def is_plain(pair: TrainingPair) -> bool:
    """Whether a pair is one of those without a template, by its hash."""
    return hashlib.blake2b(f"{pair.text}\t{pair.output}".encode(), digest_size=4).digest()[0] % PLAIN == 0


def with_templates(pairs: Sequence[TrainingPair], parser: str, file: Path) -> list[TrainingPair]:
    """The pairs with the template of the output before the input; a part of them, and those without a tree, are left.

    Args:
        pairs: Pairs to train on.
        parser: "link-grammar", "stanza:LANGUAGE" or "file:PATH".
        file: Where the templates are written, or read from if it is there: a parser takes minutes.

    Raises:
        ValueError: There is no such parser, or its program is not installed.
    """
    if not file.exists():
        found = templates([pair.output for pair in pairs], *open_parser(parser))
        write_whole(file, json.dumps(found) + "\n")
    found = json.loads(file.read_text(encoding="utf-8"))
    return [
        pair if is_plain(pair) else replace(pair, text=with_template(pair.text, template))
        for pair, template in zip(pairs, found, strict=True)
    ]
