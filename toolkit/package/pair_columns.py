"""Which columns of a table of pairs hold the reference, its paraphrases, their score, a label and an id.

A column is known by its name; case, spaces and hyphens in a name make no difference. A label of 0 says that a pair is
no paraphrase. A human score of similarity says the same by degrees, and only its users know from which degree on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

REFERENCES = (
    *("reference", "sentence1", "sentence_1", "sentence_a", "#1_string", "anchor", "question1", "question_1"),
    *("text1", "text_1", "text", "query", "original"),
)
PARAPHRASES = (
    *("paraphrases", "paraphrase", "sentence2", "sentence_2", "sentence_b", "#2_string", "positive", "question2"),
    *("question_2", "text2", "text_2", "rewrite"),
)
LABELS = ("label", "labels", "is_duplicate", "is_paraphrase", "duplicate", "quality", "gold_label")
SIMILARITIES = ("score", "similarity", "similarity_score", "relatedness_score", "relatedness", "rating")
USUAL_NAMES = frozenset(
    [
        *(*REFERENCES, *PARAPHRASES, *LABELS, *SIMILARITIES, "id", "semantic", "source", "target", "src", "tgt"),
        *("input", "output", "premise", "hypothesis", "negative", "sent1", "sent2", "sentence", "question", "answer"),
    ]
)
YES, NO = ("1", "1.0", "true"), ("0", "0.0", "false")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
LETTER = r"\p{L}"
IDENTIFIER = r"^(\w{0,20}[-_:#]\d+|[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"
NO_TEXTS = 0.75  # ours: the least share of numbers and ids in a column that holds no texts
SHOWN = 6  # ours: names of columns that are not read, in a line for users
KEEP = "keep the rows that are (of STS those of 4 and more), and leave the scores out"
NAMED = "name the columns in the first line, such as sentence1 and sentence2"


@dataclass(frozen=True)
class _PairColumns:
    """The names of the columns of a table of pairs, as the table spells them.

    Attributes:
        reference: The column of the reference.
        paraphrase: The column of the paraphrase, or of a list of them.
        semantic: The column of the paraphrase score, None without one.
        label: The column that says with 0 that a pair is no paraphrase, None without one.
        id: The column of the reference's id, None without one. With labels, ids are those of pairs and are not read.
        unread: All other columns.
    """

    reference: str
    paraphrase: str
    semantic: str | None
    label: str | None
    id: str | None
    unread: tuple[str, ...]

    def __str__(self) -> str:
        """What was understood, for users."""
        parts = [f"reference is {self.reference!r}", f"paraphrase is {self.paraphrase!r}"]
        parts += [f"id is {self.id!r}"] if self.id else []
        parts += [f"score is {self.semantic!r}"] if self.semantic else []
        parts += [f"rows with 0 in {self.label!r} are left out"] if self.label else []
        unread = ", ".join(self.unread[:SHOWN]) + (", ..." if len(self.unread) > SHOWN else "")
        parts += [f"not read: {unread}"] if unread else []
        return "; ".join(parts)


def pair_columns(names: Sequence[str], path: object) -> _PairColumns | None:
    """The columns of a table of pairs; None if no reference or no paraphrase is among the names.

    >>> print(pair_columns(["id", "qid1", "question1", "question2", "is_duplicate"], "quora.tsv"))
    reference is 'question1'; paraphrase is 'question2'; rows with 0 in 'is_duplicate' are left out; not read: id, qid1

    Args:
        names: The names of the columns, or the keys of a record.
        path: The file, for messages.

    Raises:
        ValueError: Two columns have one name, or a human score says how similar the texts are.
    """
    plain = [_plain_name(name) for name in names]

    def column(known: Sequence[str]) -> str | None:
        return next((names[plain.index(name)] for name in known if name in plain), None)

    reference, paraphrase = column(REFERENCES), column(PARAPHRASES)
    if reference is None or paraphrase is None:
        return None
    semantic, label, similarity = column(["semantic"]), column(LABELS), column(SIMILARITIES)
    repeated = [name for name in (reference, paraphrase, semantic, label) if name and names.count(name) > 1]
    if repeated:
        raise ValueError(f"wanted columns of different names, got {path} with two of {repeated[0]!r}: rename one")
    if similarity is not None and label is None and semantic is None:
        raise ValueError(
            f"wanted pairs that are all paraphrases, got {path} with the column {similarity!r}, by which some may be "
            f"none: {KEEP}, or name it semantic"
        )
    id_ = None if label else column(["id"])
    read = (reference, paraphrase, semantic, label, id_)
    return _PairColumns(reference, paraphrase, semantic, label, id_, tuple(name for name in names if name not in read))


def _plain_name(name: str) -> str:
    """The name of a column without the differences that do not count.

    >>> _plain_name("#1 String")
    '#1_string'
    """
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def _is_paraphrase(label: object) -> bool:
    """Whether a label says that a pair is a paraphrase.

    >>> [_is_paraphrase(label) for label in ("1", 0, True, "0.0")]
    [True, False, True, False]

    Raises:
        ValueError: The label is neither 0 nor 1.
    """
    text = str(label).strip().casefold()
    if text not in YES + NO:
        raise ValueError(f"wanted a label 0 or 1, got {label!r}")  # the caller says where
    return text in YES


def number_of(text: str) -> float:
    """A text as a number, with a point or a comma before the decimals; NaN if it is not a number.

    >>> number_of("0.85"), number_of("0,85"), number_of("two")
    (0.85, 0.85, nan)
    """
    try:
        return math.nan if "_" in text else float(text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text)
    except ValueError:
        return math.nan


def check_texts(texts: pa.Array, column: str, path: object) -> None:
    """Refuse a column that mostly holds numbers or ids as one of texts.

    Args:
        texts: Its first values, (N,) of strings; empty ones do not count.
        column: What the message calls the column.
        path: The file, for messages.

    Raises:
        ValueError: Most values (`NO_TEXTS`) have no letter, or are ids such as "demo-17".
    """
    texts = texts.filter(pc.not_equal(texts, ""))
    is_text = pc.and_(pc.match_substring_regex(texts, LETTER), pc.invert(pc.match_substring_regex(texts, IDENTIFIER)))
    non_texts = texts.filter(pc.invert(is_text))
    if len(non_texts) and len(non_texts) >= NO_TEXTS * len(texts):
        raise ValueError(
            f"wanted texts in {column}, got numbers or ids in {path}, such as {non_texts[0].as_py()[:60]!r}: {NAMED}"
        )
