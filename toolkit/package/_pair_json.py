"""The pairs of a line of a .jsonl file, whose keys are known by their names."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

from toolkit.package._pair_rows import LABELLED_0
from toolkit.package.pair_columns import _is_paraphrase, _PairColumns, pair_columns


def json_record(
    line: str, number: int, path: str | Path, known: dict[tuple[str, ...], _PairColumns]
) -> tuple[dict, _PairColumns]:
    """The record of a line of a .jsonl file of pairs, and what its keys are.

    Args:
        line: The line.
        number: Its number, from 1.
        path: The file, for messages.
        known: What keys are that were met before; new ones are added.

    Raises:
        ValueError: It is no JSON, lacks a text, or has a human score.
    """
    try:
        record = json.loads(line)
        keys = tuple(record.keys())
    except (ValueError, AttributeError):
        raise json_error(line, number, path) from None
    if keys not in known:
        columns = pair_columns(keys, f"{path}, line {number}")
        if columns is None:
            raise json_error(line, number, path)
        known[keys] = columns
    return record, known[keys]


def json_error(line: str, number: int, path: str | Path) -> ValueError:
    """The error of a line that is no pair."""
    return ValueError(
        f"{path}, line {number}: wanted {{'reference': text, 'paraphrases': [texts]}}, with a finite number as "
        f"'semantic' and 0 or 1 as 'label' where they are given, got {line[:60]!r}: correct it"
    )


def json_line(record: dict, columns: _PairColumns, refused: Counter[str]) -> list[dict]:
    """The pairs of one line of a .jsonl file.

    >>> record = {"id": 7, "sentence1": "We go.", "sentence2": "We leave.", "semantic": 0.9}
    >>> json_line(record, pair_columns(list(record), ""), Counter())
    [{'id': '7', 'sentence1': 'We go.', 'sentence2': 'We leave.', 'semantic': 0.9}]

    Raises:
        ValueError: The score is no finite number, or the label neither 0 nor 1.
        TypeError: The reference or a paraphrase is not a string.
    """
    reference, texts = record[columns.reference], record[columns.paraphrase]
    texts = texts if isinstance(texts, list) else [texts]
    if not all(isinstance(text, str) for text in (reference, *texts)):
        raise TypeError("wanted texts")
    if columns.label and not _is_paraphrase(record[columns.label]):
        refused[LABELLED_0] += 1
        return []
    semantic = record[columns.semantic] if columns.semantic else None
    if semantic is not None and not math.isfinite(semantic):
        raise ValueError("wanted a finite score")
    id_ = str(record[columns.id]) if columns.id else reference
    return [{"id": id_, "sentence1": reference, "sentence2": text, "semantic": semantic} for text in texts]
