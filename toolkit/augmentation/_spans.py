"""Spans of a text (answers, entities): read from a column, kept as phrases, and found again in a paraphrase.

The forms in which a data set may hold the spans of a text, as character offsets from 0, the end not included:

- SQuAD's: `{"text": ["Paris"], "answer_start": [17]}`, or a list of `{"text": "Paris", "answer_start": 17}`;
- a list of `{"start": 17, "end": 22, ...}`, or `{"start": [17], "end": [22], ...}`;
- a list of `[17, 22]` or `[17, 22, "LOC"]`;
- one of these as JSON in a text, because a table has no type for numbers and texts in one list.

Token and tag lists are in `tags.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolkit.bitext.words import continues_word

FORMS = '{"text": [...], "answer_start": [...]}, [{"start": ..., "end": ...}] or [[start, end]]'
START, END, ANSWER_START, TEXT = "start", "end", "answer_start", "text"

Span = tuple[int, int]


def read_spans(value: Any, text: str) -> list[Span]:
    """The spans that a column's value holds.

    >>> read_spans({"text": ["Paris"], "answer_start": [3]}, "In Paris."), read_spans([[3, 8, "LOC"]], "In Paris.")
    ([(3, 8)], [(3, 8)])

    Args:
        value: In one of the forms above; None holds none.
        text: The text whose spans they are.

    Raises:
        IndexError: A span is empty or not within the text, or its text is not there.
        ValueError: The value has none of the forms.
    """
    spans = []
    for record in _records(value):
        if ANSWER_START in record:
            begin, span_text = record[ANSWER_START], record.get(TEXT)
            end = begin + len(span_text) if isinstance(begin, int) and isinstance(span_text, str) else None
        else:
            begin, end, span_text = record.get(START), record.get(END), record.get(TEXT)
        if not isinstance(begin, int) or not isinstance(end, int):
            raise ValueError(f"wanted spans as {FORMS}, got {value!r:.80}")
        if not 0 <= begin < end <= len(text) or (isinstance(span_text, str) and text[begin:end] != span_text):
            actual = f"{text[max(0, begin) : max(0, end)]!r:.60} there"
            raise IndexError(f"wanted the span {span_text or (begin, end)!r} at {begin} of the text, got {actual}")
        spans.append((begin, end))
    return spans


def _records(value: Any) -> list[dict[str, Any]]:
    """The spans of a value, each as a dictionary with its start.

    Raises:
        ValueError: The value has none of the forms, or other offsets, which would stay as they are.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            raise ValueError(f"wanted spans as {FORMS}, got {value!r:.80}") from None
    if isinstance(value, Mapping):  # a table has None where only other rows have a key
        value = {name: column for name, column in value.items() if column is not None}
    if value is None:
        return []
    if isinstance(value, Mapping) and all(isinstance(column, Sequence) for column in value.values()):
        _refuse_other_offsets(value)
        if len({len(column) for column in value.values()}) <= 1:
            return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(record, Mapping) for record in value):
            for record in value:
                _refuse_other_offsets(record)
            return [dict(record) for record in value]
        if all(
            isinstance(offsets, Sequence) and not isinstance(offsets, str) and len(offsets) >= 2 for offsets in value
        ):
            return [{START: offsets[0], END: offsets[1]} for offsets in value]
    raise ValueError(f"wanted spans as {FORMS}, got {value!r:.80}")


def _refuse_other_offsets(names: Iterable[str]) -> None:
    """Refuse names of offsets besides those that are written again: they would no longer fit.

    Raises:
        ValueError: There is one.
    """
    allowed_names = {ANSWER_START} if ANSWER_START in names else {START, END}
    for name in names:
        if name not in allowed_names and name.split("_")[-1] in (START, END):
            raise ValueError(
                f"wanted no offsets besides {' and '.join(sorted(allowed_names))}, got {name!r}: remove it"
            )


def write_spans(value: Any, spans: Sequence[Span]) -> Any:
    """A column's value with other offsets, in its own form.

    >>> write_spans([[3, 8, "LOC"]], [(0, 5)]), write_spans({"text": ["Paris"], "answer_start": [3]}, [(0, 5)])
    ([[0, 5, 'LOC']], {'text': ['Paris'], 'answer_start': [0]})
    """
    if not spans:
        return value
    if isinstance(value, str):
        return json.dumps(write_spans(json.loads(value), spans), ensure_ascii=False)
    if isinstance(value, Mapping):
        begins, ends = [begin for begin, _ in spans], [end for _, end in spans]
        return {**value, **({ANSWER_START: begins} if ANSWER_START in value else {START: begins, END: ends})}
    output: list[Any] = []
    for record, (begin, end) in zip(value, spans, strict=True):
        if isinstance(record, Mapping):
            output.append({**record, **({ANSWER_START: begin} if ANSWER_START in record else {START: begin, END: end})})
        else:
            output.append([begin, end, *record[2:]])
    return output


def as_in_source(value: Any, source_value: Any) -> Any:
    """A value that was in a table in the form that it has in its source.

    It has no keys that only other rows have, and is no JSON where that is a list. Lists of another length, such as
    tokens, stay as they are.

    >>> as_in_source([{"start": 0, "note": None}], [{"start": 3}]), as_in_source('[[0, 5, "LOC"]]', [[3, 8, "LOC"]])
    ([{'start': 0}], [[0, 5, 'LOC']])

    Args:
        value: The value.
        source_value: That of the same column in the row of which this row is made.
    """
    if isinstance(value, str) and isinstance(source_value, Mapping | Sequence) and not isinstance(source_value, str):
        return json.loads(value)
    if isinstance(value, Mapping) and isinstance(source_value, Mapping):
        return {key: as_in_source(value[key], source_value[key]) for key in source_value}
    if isinstance(value, list) and isinstance(source_value, list) and len(value) == len(source_value):
        return [as_in_source(item, source_item) for item, source_item in zip(value, source_value, strict=True)]
    return value


def wholes(text: str, spans: Sequence[Span]) -> list[Span]:
    """The parts of a text that a paraphrase must keep: spans grown to whole words, those that overlap as one, in order.

    >>> wholes("the 42nd day", [(4, 6), (9, 12)]), wholes("the Denver Broncos", [(4, 18), (11, 18)])
    ([(4, 8), (9, 12)], [(4, 18)])
    """
    whole_spans: list[Span] = []
    for begin, end in sorted(spans):
        while within_word(text, begin):
            begin -= 1
        while within_word(text, end):
            end += 1
        if whole_spans and begin < whole_spans[-1][1]:
            whole_spans[-1] = whole_spans[-1][0], max(end, whole_spans[-1][1])
        else:
            whole_spans.append((begin, end))
    return whole_spans


def within_word(text: str, position: int) -> bool:
    """Whether the place between two characters is within a word."""
    return 0 < position < len(text) and continues_word(text[position]) and continues_word(text[position - 1])


def places(text: str, phrases: Sequence[str]) -> dict[str, list[int]]:
    """Where a text says each of some phrases, letter for letter and in whole words; no two places overlap.

    Longer phrases are looked for first: the "York" of "New York" is none if both are wanted.

    >>> places("New York is not York.", ["York", "New York"])
    {'New York': [0], 'York': [16]}
    """
    taken_spans: list[Span] = []
    starts: dict[str, list[int]] = {}
    for phrase in sorted(set(phrases), key=lambda candidate: (-len(candidate), candidate)):
        starts[phrase], begin = [], text.find(phrase)
        while begin >= 0:
            end = begin + len(phrase)
            free = all(end <= taken_begin or begin >= taken_end for taken_begin, taken_end in taken_spans)
            if free and not within_word(text, begin) and not within_word(text, end):
                starts[phrase].append(begin)
                taken_spans.append((begin, end))
            begin = text.find(phrase, begin + 1)
    return starts


def find_again(text: str, spans: Sequence[Span], paraphrase: str) -> list[Span] | None:
    """The spans of a text in its paraphrase, each with the same characters; None where one is not there.

    A phrase must be there as often as in the text; its first place corresponds to its first place in the text.

    >>> find_again("He was born in Paris in 1830.", [(15, 20), (24, 28)], "In 1830 he was born in Paris.")
    [(23, 28), (3, 7)]
    >>> find_again("He was born in Paris.", [(15, 20)], "He was born in the capital.")

    Args:
        text: The text.
        spans: Its spans.
        paraphrase: Another text.
    """
    whole_spans = wholes(text, spans)
    phrases = [text[begin:end] for begin, end in whole_spans]
    before, after = places(text, phrases), places(paraphrase, phrases)
    if any(len(before[phrase]) != len(after[phrase]) for phrase in before):
        return None
    moved = []
    for begin, end in spans:
        first, last = next(span for span in whole_spans if span[0] <= begin and end <= span[1])
        phrase = text[first:last]
        if first not in before[phrase]:  # another phrase begins within it
            return None
        new_begin = after[phrase][before[phrase].index(first)]
        moved.append((new_begin + begin - first, new_begin + end - first))
    return moved
