"""The new rows of a shard: its texts are paraphrased together, and each row takes the first that pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolkit.augmentation._known_rows import KnownRows
from toolkit.augmentation.label_check import LabelCheck
from toolkit.augmentation.parts import NewRow, _Part, _parts_of, _SkippedError, _Tags
from toolkit.augmentation.settings import Augmentation
from toolkit.augmentation.sources import _Paraphrases, _Source
from toolkit.augmentation.summary import Summary

Rows = Sequence[tuple[int, Mapping[str, Any]]]  # the number of each row in the data set, and its values by column


def new_rows(
    rows: Rows,
    settings: Augmentation,
    source: _Source,
    tags: Mapping[str, _Tags],
    check: LabelCheck | None,
    summary: Summary,
    known: KnownRows | None = None,
) -> list[NewRow]:
    """The new rows of some rows, in their order.

    Args:
        rows: Rows.
        settings: How they are augmented.
        source: Where paraphrases come from.
        tags: By column of tokens, how its tags are read.
        check: Refuses new rows whose label may be another; None refuses none.
        summary: Counts the rows, and what is skipped.
        known: The rows that no new row may equal; None for none.

    Raises:
        ValueError: A column holds what cannot be augmented; the message names the row.
    """
    values = dict(rows)
    groups = [
        group for number, row in rows for group in _part_groups(number, row, settings, source.lang, tags, summary)
    ]
    texts = [part for _, parts in groups for part in parts]
    paraphrases = source.paraphrases(texts, settings.copies, settings.chooses or check is not None) if texts else []
    candidates, position = [], 0
    for number, parts in groups:
        part_paraphrases, position = paraphrases[position : position + len(parts)], position + len(parts)
        try:
            row_candidates = [NewRow(number, changes, score) for changes, score in changed(parts, part_paraphrases)]
            candidates.append(row_candidates if known is None else _unknown(row_candidates, values[number], known))
        except _SkippedError as error:
            summary.skip(number, error)
    if check is not None:
        candidates = check.kept(candidates, values, summary)
    summary.add(len(rows), sum(len(row_candidates[: settings.copies]) for row_candidates in candidates))
    return [candidate for row_candidates in candidates for candidate in row_candidates[: settings.copies]]


def _unknown(row_candidates: Sequence[NewRow], row: Mapping[str, Any], known: KnownRows) -> list[NewRow]:
    """The possible new rows of a row that equal no row of the data.

    Raises:
        _SkippedError: There is none.
    """
    unknown = [candidate for candidate in row_candidates if not known.have({**row, **candidate.changes})]
    if not unknown:
        values = [row_candidates[0].changes.get(column, row[column]) for column in known.columns]
        raise _SkippedError("already_there", f"wanted texts that no row has, got {values!r:.80}")
    return unknown


def _part_groups(
    number: int,
    row: Mapping[str, Any],
    settings: Augmentation,
    lang: str,
    tags: Mapping[str, _Tags],
    summary: Summary,
) -> Iterator[tuple[int, list[_Part]]]:
    """The parts of a row that are paraphrased in one new row, for each such group; what is skipped is counted.

    Raises:
        ValueError: See `new_rows`.
    """
    try:
        parts = _parts_of(row, settings, lang, tags)
    except _SkippedError as error:
        summary.skip(number, error)
        return
    except ValueError as error:
        raise ValueError(f"row {number}: {error}") from None
    for group in settings.groups:
        absent = [column for column in group if column not in parts]
        if absent:
            value = f"wanted a text in column {absent[0]!r}, got {row[absent[0]]!r}"
            summary.skip(number, _SkippedError("no_text", value))
        else:
            yield number, [parts[column] for column in group]


def changed(parts: Sequence[_Part], paraphrases: Sequence[_Paraphrases]) -> list[tuple[dict[str, Any], float | None]]:
    """The changes of each possible new row with their least score, best first: the n-th paraphrases of all parts.

    Args:
        parts: The texts that are replaced in one new row.
        paraphrases: The paraphrases of each.

    Raises:
        _SkippedError: There is no such row; of one column.
    """
    changes_by_part = []
    for part, part_paraphrases in zip(parts, paraphrases, strict=True):
        skipped_error = _SkippedError(part_paraphrases.none, f"wanted a paraphrase of {part.text!r:.80}, got none")
        part_changes = []
        for paraphrase in part_paraphrases.best_first:
            try:
                part_changes.append((part.changes(paraphrase.text), paraphrase.score))
            except _SkippedError as error:
                skipped_error = error
        if not part_changes:
            raise skipped_error
        changes_by_part.append(part_changes)
    combinations = []
    for combination in zip(*changes_by_part, strict=False):
        scores = [score for _, score in combination if score is not None]
        combinations.append(
            ({k: v for changes, _ in combination for k, v in changes.items()}, min(scores, default=None))
        )
    return combinations
