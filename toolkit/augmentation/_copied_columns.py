"""Columns that belong to a text and would no longer fit if it were paraphrased and they were copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.augmentation._spans import ANSWER_START, END, START, TEXT, within_word

FITTING = 0.9  # ours: of the offsets; some are wrong in most data
LEAST_ROWS = 5  # ours: lists that are as long as those of tokens in fewer rows may be so by chance
LEAST_SPANS = 5  # ours: fewer offsets without a text of their own may be at the ends of words by chance


def check_copied(text_values: Mapping[str, Sequence[Any]], copied_values: Mapping[str, Sequence[Any]]) -> None:
    """Refuse columns that are copied and hold a value for each token, or offsets, of a text that is paraphrased.

    Args:
        text_values: By column that is paraphrased, its first values: texts or lists of tokens.
        copied_values: By column that is copied, and is not named as one of spans, its first values.

    Raises:
        ValueError: There is such a column.
    """
    for column, texts in text_values.items():
        for copied_column, values in copied_values.items():
            if _are_as_long(texts, values):
                raise ValueError(
                    f"wanted no column beside spans with a value for each token of {column!r}, got {copied_column!r}, "
                    "which would no longer fit: remove the column"
                )
            if _have_offsets(texts, values):
                raise ValueError(
                    f"wanted spans={{{column!r}: {copied_column!r}}}, because {copied_column!r} holds offsets that fit "
                    f"{column!r}, got none: name the text to which they belong, or remove the column"
                )


def _are_as_long(tokens: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether values are lists that are as long as those of tokens, in each of several rows.

    >>> rows = [["a", "b"], None, ["a", "b", "c"], ["a", "b"], ["a", "b"], ["a", "b"]]
    >>> _are_as_long(rows, rows), _are_as_long(rows, [*rows[:-1], ["a"]]), _are_as_long(rows[:4], rows[:4])
    (True, False, False)
    """
    lengths = [
        (len(token_list), len(value))
        for token_list, value in zip(tokens, values, strict=True)
        if isinstance(token_list, list) and isinstance(value, list)
    ]
    long = [first for first, _ in lengths if first > 1]
    return all(first == second for first, second in lengths) and len(long) >= LEAST_ROWS and len(set(long)) > 1


def _have_offsets(texts: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether values hold offsets that fit texts or lists of tokens: of a text that they have, or of whole words.

    >>> _have_offsets(["In Paris."], [{"text": ["Paris"], "answer_start": [3]}])
    True
    >>> _have_offsets(["In Paris."], [{"text": ["Paris"], "answer_start": [2]}])
    False
    >>> _have_offsets(["In Paris.", "No."], [LEAST_SPANS * [{"start": 3, "end": 8, "label": "LOC"}], []])
    True
    """
    records = [
        (record, text)
        for text, value in zip(texts, values, strict=True)
        if isinstance(text, str | list)
        for record in _records_with_offsets(value)
    ]
    have_texts = any(isinstance(record.get(TEXT), str) for record, _ in records)
    least = 1 if have_texts else LEAST_SPANS
    return len(records) >= least and sum(_fits(*pair) for pair in records) >= FITTING * len(records)


def _records_with_offsets(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a value that have a start of an answer, or start and end."""
    records: list[Mapping[str, Any]] = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, Mapping):
            continue
        columns = list(item.values())
        if all(isinstance(column, list) for column in columns):
            records += [dict(zip(item, row, strict=False)) for row in zip(*columns, strict=False)]
        else:
            records.append(item)
    return [record for record in records if ANSWER_START in record or (START in record and END in record)]


def _fits(record: Mapping[str, Any], text: str | list[str]) -> bool:
    """Whether the offsets of a record are within a text, or a list of tokens, and its own text or whole words there."""
    span_text = record.get(TEXT)
    begin, end = record.get(ANSWER_START, record.get(START)), record.get(END)
    if ANSWER_START in record and isinstance(begin, int) and isinstance(span_text, str):
        end = begin + len(span_text)
    if not isinstance(begin, int) or not isinstance(end, int) or not 0 <= begin < end <= len(text):
        return False
    if isinstance(text, list):
        return True
    if isinstance(span_text, str):
        return text[begin:end] == span_text
    return not within_word(text, begin) and not within_word(text, end) and text[begin:end].strip() == text[begin:end]
