"""Texts whose paraphrases are read, of our own, in five kinds: everyday talk, questions, reviews, news and captions.

`evaluation_texts.tsv` has a line for each: set, kind, text. What was chosen on a set is never reported on it:

- settings: for choosing defaults, 20 of each kind; settings_report: as many, for reporting what these do.
- judge: 20 of each kind, judge_second, 100 of each, and judge_third, half of them everyday talk and with notices and
  encyclopedic sentences among the news, for fitting what tells usable paraphrases from others.
- report: 40 of each kind, on which systems are compared; report_second, report_third and report_fourth: about as
  many; report_fifth: 112 of everyday talk and about 18 of each other kind. Each was written when the outputs for the
  one before had been read, and nothing is chosen on them. The last two lack those that were much like a text of
  own_paraphrases.tsv.gz, the fifth also those like a text of another set (ratio of rapidfuzz 80 or more; no output had
  been read).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("evaluation_texts.tsv")


class Text(NamedTuple):
    """A text to paraphrase."""

    set: str
    kind: str
    text: str


def evaluation_texts(*sets: str) -> list[Text]:
    """The texts of some sets, in the order of the file."""
    texts = [Text(*line.split("\t")) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [text for text in texts if text.set in sets]
