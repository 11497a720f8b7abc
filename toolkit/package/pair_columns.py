"""Which columns of a table of pairs hold the reference, its paraphrases, negatives, a score, a label and an id.

A column is known by its name; case, spaces and hyphens in a name make no difference. A label of 0 says that a pair is
no paraphrase. A human score of similarity says the same by degrees, and only its users know from which degree on
(`Reading.min_score`). All readers of pairs ask here, whatever the file or data set.
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
    *("question_2", "text2", "text_2", "rewrite", "pos", "positives"),
)
SETS = ("set", "paraphrase_set", "pair_of_sentences")  # each value a list of texts of one meaning, or a record of pairs
LISTS = frozenset(["paraphrases", "pos", "positives", "neg", "negatives", "hard_negatives", *SETS])
NEGATIVE = re.compile(r"(hard_)?neg(ative)?s?(_?\d+)?")
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
KEEP = "give --min_score (of STS 4), or keep the rows that are and leave the scores out"
NAMED = "name the columns in the first line, such as sentence1 and sentence2"
KNOWN = (
    "anchor, positive and negatives; query, pos and neg; a set of texts; sentence1 and sentence2, or question1 and "
    "question2, with a label or a score; text and paraphrase; reference and paraphrases"
)


@dataclass(frozen=True)
class Reading:
    """What is wanted of pairs.

    Attributes:
        min_score: The least human score of a paraphrase; None refuses files with such scores.
        labelled: Pairs with both labels, or their human scores, are wanted, for classifiers and measures.
        scored: Of labelled pairs, human scores are wanted.
        columns: The columns of the two sentences and of the label or score, by name or, without names in the first
            line, by number from 0; None finds them by their usual names.
    """

    min_score: float | None = None
    labelled: bool = False
    scored: bool = False
    columns: tuple[str, ...] | None = None


TRAINING = Reading()


@dataclass(frozen=True)
class _PairColumns:
    """The names of the columns of a table of pairs, as the table spells them.

    Attributes:
        reference: The column of the reference, or of a whole set.
        paraphrase: The column of the paraphrase, or of a list of them; that of the reference if it has whole sets.
        semantic: The column of the paraphrase score, None without one.
        label: The column that says with 0 that a pair is no paraphrase, None without one.
        id: The column of the reference's id, None without one. With labels, ids are those of pairs and are not read.
        unread: All other columns.
        similarity: The column of human scores, None where there is none or it is not read.
        negatives: The columns of sentences that are no paraphrases of the reference, or of lists of them.
    """

    reference: str
    paraphrase: str
    semantic: str | None
    label: str | None
    id: str | None
    unread: tuple[str, ...]
    similarity: str | None = None
    negatives: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        """The columns that are read."""
        names = (self.reference, self.paraphrase, self.semantic, self.label, self.id, self.similarity, *self.negatives)
        return list(dict.fromkeys(name for name in names if name))

    @property
    def is_set(self) -> bool:
        """Whether a column has whole sets."""
        return self.reference == self.paraphrase

    def __str__(self) -> str:
        """What was understood of columns whose paraphrases are wanted, for users."""
        return self.described(TRAINING)

    def described(self, reading: Reading) -> str:
        """What was understood, for users."""
        parts = [f"reference is {self.reference!r}", f"paraphrase is {self.paraphrase!r}"]
        if self.is_set:
            parts = [f"texts of one meaning are in {self.reference!r}"]
        parts += [f"negatives are in {', '.join(map(repr, self.negatives))}"] if self.negatives else []
        parts += [f"id is {self.id!r}"] if self.id else []
        parts += [f"score is {self.semantic!r}"] if self.semantic else []
        if self.similarity:
            limit = "" if reading.min_score is None else f", {reading.min_score:g} and more"
            parts += [f"human score is {self.similarity!r}{limit}"]
        if self.label:
            parts += [f"label is {self.label!r}" if reading.labelled else f"rows with 0 in {self.label!r} are left out"]
        unread = ", ".join(self.unread[:SHOWN]) + (", ..." if len(self.unread) > SHOWN else "")
        parts += [f"not read: {unread}"] if unread else []
        return "; ".join(parts)


def pair_columns(names: Sequence[str], path: object, reading: Reading = TRAINING) -> _PairColumns | None:
    """The columns of a table of pairs; None if no reference or no paraphrase is among the names.

    >>> print(pair_columns(["id", "qid1", "question1", "question2", "is_duplicate"], "quora.tsv"))
    reference is 'question1'; paraphrase is 'question2'; rows with 0 in 'is_duplicate' are left out; not read: id, qid1
    >>> print(pair_columns(["query", "pos", "neg", "prompt"], "train.jsonl"))
    reference is 'query'; paraphrase is 'pos'; negatives are in 'neg'; not read: prompt

    Args:
        names: The names of the columns, or the keys of a record.
        path: The file, for messages.
        reading: What is wanted.

    Raises:
        ValueError: Two columns have one name, a human score says how similar the texts are and none is wanted, or a
            named column is not there.
    """
    plain = [_plain_name(name) for name in names]

    def column(known: Sequence[str]) -> str | None:
        return next((names[plain.index(name)] for name in known if name in plain), None)

    if reading.columns is not None:
        return _chosen_columns(names, path, reading)
    reference, paraphrase = column(REFERENCES), column(PARAPHRASES)
    if (reference is None or paraphrase is None) and (whole_set := column(SETS)):
        reference = paraphrase = whole_set
    if reference is None or paraphrase is None:
        return None
    semantic, label, similarity = column(["semantic"]), column(LABELS), column(SIMILARITIES)
    negatives = tuple(name for name, known in zip(names, plain, strict=True) if NEGATIVE.fullmatch(known))
    repeated = [name for name in (reference, paraphrase, semantic, label, *negatives) if name and names.count(name) > 1]
    if repeated:
        raise ValueError(f"wanted columns of different names, got {path} with two of {repeated[0]!r}: rename one")
    if reading.scored:
        similarity, label = similarity or label, None
    elif label is not None or semantic is not None or negatives:
        similarity = None  # with negatives, it is the score of a triplet
    if similarity is not None and reading.min_score is None and not reading.scored:
        kind = "labels 0 and 1" if reading.labelled else "pairs that are all paraphrases"
        remedy = "name a column label, or give --scored" if reading.labelled else f"{KEEP}, or name it semantic"
        raise ValueError(
            f"wanted {kind}, got {path} with the column {similarity!r}, by which some may be none: {remedy}"
        )
    id_ = None if label or similarity else column(["id"])
    read = (reference, paraphrase, semantic, label, id_, similarity, *negatives)
    unread = tuple(name for name in names if name not in read)
    return _PairColumns(reference, paraphrase, semantic, label, id_, unread, similarity, negatives)


def _chosen_columns(names: Sequence[str], path: object, reading: Reading) -> _PairColumns:
    """The columns that `reading` names.

    Raises:
        ValueError: One of them is not there.
    """
    assert reading.columns is not None
    reference, paraphrase, label = reading.columns
    if missing := [name for name in reading.columns if name not in names]:
        raise ValueError(
            f"wanted columns {', '.join(reading.columns)}, got {', '.join(names) or 'none'} in {path}: name them "
            f"(not there: {', '.join(missing)})"
        )
    unread = tuple(name for name in names if name not in reading.columns)
    kinds = (None, label) if reading.scored else (label, None)
    return _PairColumns(reference, paraphrase, None, kinds[0], None, unread, kinds[1])


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
