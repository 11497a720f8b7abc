"""The template of the output before the input of a pair, so that a paraphraser can be asked for a form.

Source: ParaNMT-50M (Wieting & Gimpel 2018), section 6; Iyyer et al. 2018.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolkit.evaluate.parsers import open_parser
from toolkit.paraphraser.syntax import templates, with_template
from toolkit.system.whole_files import write_whole
from toolkit.train.paraphraser_pairs import _TrainingPair

PLAIN = 8  # ours: one pair in so many has no template


def is_plain(pair: _TrainingPair) -> bool:
    """Whether a pair is one of those without a template, by its hash."""
    return hashlib.blake2b(f"{pair.text}\t{pair.output}".encode(), digest_size=4).digest()[0] % PLAIN == 0


def with_templates(pairs: Sequence[_TrainingPair], parser: str, file: Path) -> list[_TrainingPair]:
    """The pairs with the template of the output before the input; a part of them, and those without a tree, are left.

    Args:
        pairs: Pairs to train on.
        parser: "link-grammar", "stanza:LANGUAGE" or "file:PATH".
        file: Where the templates are written, or read from if it is there: a parser takes minutes.

    Raises:
        ValueError: There is no such parser, or its program is not installed.
    """
    if not file.exists():
        output_templates = templates([pair.output for pair in pairs], *open_parser(parser))
        write_whole(file, json.dumps(output_templates) + "\n")
    output_templates = json.loads(file.read_text(encoding="utf-8"))
    return [
        pair if is_plain(pair) else replace(pair, text=with_template(pair.text, template))
        for pair, template in zip(pairs, output_templates, strict=True)
    ]
