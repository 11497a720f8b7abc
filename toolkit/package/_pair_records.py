"""The pairs of one record: an object of a .jsonl file, or a row whose columns hold lists or sets."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from toolkit.package.pair_columns import (
    KNOWN,
    LISTS,
    Reading,
    _is_paraphrase,
    _PairColumns,
    _plain_name,
    number_of,
    pair_columns,
)

LIST = re.compile(r"\[.*\]", re.DOTALL)
JOINED = re.compile(r"""['"]\s+['"]""")  # texts of a list as numpy prints it, which Python would join
NAMES_OF_LISTS = {2: ("anchor", "positive"), 3: ("anchor", "positive", "negative")}  # as embedding-training-data has it


def json_record(
    line: str, number: int, path: str | Path, reading: Reading, known: dict[tuple[str, ...], _PairColumns]
) -> tuple[dict, _PairColumns]:
    """The record of a line of a .jsonl file of pairs, and what its keys are; a list is a pair or a triplet.

    Args:
        line: The line.
        number: Its number, from 1.
        path: The file, for messages.
        reading: What is wanted.
        known: What keys are that were met before; new ones are added.

    Raises:
        ValueError: It is no JSON, lacks a text, or has a human score.
    """
    try:
        record = json.loads(line)
        if isinstance(record, list):
            record = dict(zip(NAMES_OF_LISTS[len(record)], record, strict=True))
        keys = tuple(record.keys())
    except (ValueError, AttributeError, KeyError):
        raise json_error(line, number, path) from None
    if keys not in known:
        columns = pair_columns(keys, f"{path}, line {number}", reading)
        if columns is None:
            raise json_error(line, number, path)
        known[keys] = columns
    return record, known[keys]


def json_error(line: str, number: int, path: str | Path) -> ValueError:
    """The error of a line that is no pair."""
    return ValueError(
        f"{path}, line {number}: wanted {{'reference': text, 'paraphrases': [texts]}}, with a finite number as "
        "'semantic' and 0 or 1 as 'label' where they are given, or the keys of another form "
        f"({KNOWN}), or a list of two texts and at most one negative, got {line[:60]!r}: correct it"
    )


def record_rows(record: Mapping, columns: _PairColumns) -> list[dict]:
    """The rows of one record, one for each of its paraphrases.

    >>> record = {"id": 7, "sentence1": "We go.", "sentence2": "We leave.", "semantic": 0.9}
    >>> [row["sentence2"] for row in record_rows(record, pair_columns(list(record), ""))]
    ['We leave.']
    >>> sets = {"set": ["We go.", "We leave.", "Off we go."]}
    >>> [(row["sentence1"], row["sentence2"]) for row in record_rows(sets, pair_columns(["set"], ""))]
    [('We go.', 'We leave.'), ('We go.', 'Off we go.')]

    Returns:
        Records with the columns `ROWS`.

    Raises:
        ValueError: A score is no finite number, the label is neither 0 nor 1, or a set is none.
        TypeError: The reference, a paraphrase or a negative is not a string.
    """
    if columns.is_set:
        texts = record[columns.reference]
        if isinstance(texts, dict):
            return _nested_rows(texts)
        reference, *paraphrases = texts_of(texts, columns.reference) or [""]
    else:
        reference = record[columns.reference]
        paraphrases = texts_of(record[columns.paraphrase], columns.paraphrase)
    negatives = [text for name in columns.negatives for text in texts_of(record[name], name) if text]
    if not all(isinstance(text, str) for text in (reference, *paraphrases, *negatives)):
        raise TypeError("wanted texts")
    label = None
    if columns.label:
        label = float(_is_paraphrase(record[columns.label]))
    elif columns.similarity:
        label = score_of(record[columns.similarity])
    row = {
        "id": str(record[columns.id]) if columns.id else reference,
        "sentence1": reference,
        "semantic": score_of(record[columns.semantic]) if columns.semantic else None,
        "label": label,
        "negatives": negatives,
    }
    return [row | {"sentence2": text} for text in paraphrases]


def _nested_rows(record: dict) -> list[dict]:
    """The rows of a record within a set: {"set": {"query": ..., "pos": [...], "neg": [...]}}.

    Raises:
        ValueError: Its keys are not understood.
    """
    columns = _nested_columns(tuple(record))
    if columns is None or columns.is_set:
        raise ValueError("wanted the keys of a pair")
    return record_rows(record, columns)


@lru_cache(64)
def _nested_columns(names: tuple[str, ...]) -> _PairColumns | None:
    return pair_columns(names, "a set")


def texts_of(value: object, name: str) -> list:
    """The texts of a field: itself, or those of a list; in a column of lists also of one that is written out.

    >>> texts_of("Hi!", "positive"), texts_of("['Hi!', 'Hello!']", "paraphrases"), texts_of("[laughs]", "paraphrases")
    (['Hi!'], ['Hi!', 'Hello!'], ['[laughs]'])

    Raises:
        ValueError: A list is written out as numpy does it, without commas.
    """
    if value is None:
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, str) and _plain_name(name) in LISTS and LIST.fullmatch(value.strip()):
        for read in (json.loads, ast.literal_eval):
            try:
                texts = read(value.strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            if all(isinstance(text, str) for text in texts):
                if JOINED.search(value) and len(texts) < 2:
                    raise ValueError("wanted a list with commas")
                return texts
    return [value]


def score_of(value: object) -> float | None:
    """A score as a number; None where there is none.

    Raises:
        ValueError: It is no finite number.
    """
    if value is None or value == "":
        return None
    number = number_of(value) if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        raise ValueError("wanted a finite score")
    return number
