"""Augmentation of a `Dataset`, of a pandas `DataFrame` and of an `IterableDataset`: the same new rows in each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from datasets import ClassLabel, Dataset, Features, IterableDataset, LargeList, List, Value, concatenate_datasets
from torch.utils.data import get_worker_info

from toolkit.augmentation._new_rows import Rows
from toolkit.augmentation._spans import as_in_source
from toolkit.augmentation._work import SHARD_ROWS, Work, made_shards
from toolkit.augmentation.allot import (
    _lacks,
    _scarcest,
    class_targets,
    next_rows,
    same_share,
    shuffled,
    smaller_classes,
    wanted_rows,
)
from toolkit.augmentation.parts import NewRow, _Tags
from toolkit.augmentation.settings import PROVENANCE, Augmentation
from toolkit.augmentation.summary import Summary
from toolkit.bitext.languages import SAMPLE
from toolkit.data.progress import rows_bar

if TYPE_CHECKING:
    import pandas as pd

TEXTS = ("string", "large_string")
# what pyarrow raises for values that no column of a table holds
NO_TABLE = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeError)
KINDS = (Value("int64"), Value("string"), Value("float32"))  # of the columns of `PROVENANCE`
HIDDEN = tuple(f"__{name}" for name in PROVENANCE)  # their names until the end, where the result has none of them


def check_columns(features: Features, settings: Augmentation) -> None:
    """Refuse columns that are not there or hold something else than texts, and names that are taken.

    Raises:
        ValueError: A column is refused.
    """
    _check_names(list(features), settings)
    for column in settings.columns:
        kind, item = features[column], getattr(features[column], "feature", None)
        if getattr(item or kind, "dtype", None) not in TEXTS:
            raise ValueError(f"wanted texts in column {column!r}, got {_describe(kind)}")
        if getattr(kind, "length", -1) != -1:
            raise ValueError(f"wanted lists of any length in column {column!r}, got {_describe(kind)}: cast the column")
        if item is not None and column not in settings.spans:
            raise ValueError(f"wanted spans={{{column!r}: the column of tags}}, because column {column!r} holds tokens")


def _check_names(names: Sequence[str], settings: Augmentation) -> None:
    """Refuse data without a column that is read, or with a column of the name of one that is added.

    Raises:
        ValueError: The data is refused.
    """
    for column in _columns_read(settings):
        if column not in names:
            raise ValueError(f"wanted column {column!r}, got the columns {', '.join(map(str, names))}")
    _check_new_names(names, settings)


def _check_new_names(names: Sequence[str], settings: Augmentation) -> None:
    """Refuse data with a column of the name of one that is added.

    Raises:
        ValueError: It has one.
    """
    for name in settings.provenance:
        if name in names:
            raise ValueError(
                f"wanted new names for provenance, got {name!r}, which the data has: give three others, or () for none"
            )


def _check_classes(rows: Dataset | IterableDataset, features: Features, settings: Augmentation, may_lack: bool) -> None:
    """Refuse a label that is no class.

    Raises:
        ValueError: The column holds lists or the like, or a row of a `Dataset` has no label and may not lack it.
    """
    name = settings.label or ""
    if not isinstance(features[name], Value | ClassLabel):
        raise ValueError(f"wanted one class of each row in column {name!r}, got {_describe(features[name])}")
    if isinstance(rows, Dataset) and not may_lack:
        for number, label in enumerate(rows.with_format(None)[name]):
            if lacks_class(label, features[name]):
                raise ValueError(f"row {number}: wanted a class in column {name!r}, got {label}: leave the row out")


def lacks_class(label: Any, kind: Any) -> bool:
    """Whether a label of a feature stands for no class: None, NaN, or -1 of a `ClassLabel`, as `datasets` says it.

    >>> lacks_class(float("nan"), Value("float32")), lacks_class(-1, Value("int64"))
    (True, False)
    """
    return label is None or label != label or (label == -1 and isinstance(kind, ClassLabel))


def _describe(kind: Any) -> str:
    """A feature in a few words."""
    return kind.dtype if isinstance(kind, Value) else f"{kind!r:.80}"


def _first_values(
    data: Any, rows: Dataset | IterableDataset, features: Features, settings: Augmentation
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The first values of the columns that are paraphrased, and of those that are copied and hold several values.

    Args:
        data: What is augmented: a data frame, or the rows themselves.
        rows: The rows, of a data frame with the columns that are read alone.
        features: Theirs.
        settings: The columns.
    """
    own_columns = {*settings.columns, *settings.spans.values(), settings.keep, settings.label}
    is_frame = hasattr(data, "iloc")
    kinds = data.loc[:, ~data.columns.duplicated(keep=False)].dtypes.items() if is_frame else features.items()
    copied = [
        name
        for name, kind in kinds
        if name not in own_columns and (str(kind) == "object" if is_frame else _is_nested(kind))
    ]
    names = [*settings.columns, *copied]
    first_values: dict[str, list[Any]]
    if not copied:
        return {}, {}
    if is_frame:
        first_values = {name: _python_values(data[name].head(SAMPLE)) for name in names}
    elif isinstance(rows, Dataset):
        first_rows = rows.with_format(None).select(range(min(SAMPLE, len(rows))))
        first_values = first_rows.select_columns(names).to_dict()
    else:
        samples = list(islice(rows.with_format(None), SAMPLE))
        first_values = {name: [row.get(name) for row in samples] for name in names}
    return {name: first_values[name] for name in settings.columns}, {name: first_values[name] for name in copied}


def _is_nested(kind: Any) -> bool:
    """Whether a feature is a list or a mapping, of texts and numbers alone."""
    items = list(kind.values()) if isinstance(kind, dict) else [getattr(kind, "feature", None)]
    return items != [None] and all(isinstance(item, Value | ClassLabel) or _is_nested(item) for item in items)


def _python_values(column: pd.Series) -> list[Any]:
    """The values of a column, with lists for arrays; None for all of them if no table holds them."""
    try:
        return pa.array(column, from_pandas=True).to_pylist()
    except NO_TABLE:
        return [None] * len(column)


def _columns_read(settings: Augmentation) -> list[str]:
    """The columns that are read."""
    keep = [settings.keep] if isinstance(settings.keep, str) else []
    label = [settings.label] if settings.label is not None else []
    return list(dict.fromkeys([*settings.columns, *keep, *settings.spans, *settings.spans.values(), *label]))


def _tags_of(features: Features, settings: Augmentation) -> dict[str, _Tags]:
    """By column of tokens, the names of its tags."""
    tags_by_column = {}
    for column, tag_column in settings.spans.items():
        item = getattr(features[tag_column], "feature", None)
        if isinstance(features[column], List | LargeList) and isinstance(item, ClassLabel):
            tags_by_column[column] = _Tags(tuple(item.names))
    return tags_by_column


def _provenance_features(settings: Augmentation) -> Features:
    """The columns of provenance, under the names that they have until the end."""
    return Features(dict(zip(settings.provenance or HIDDEN, KINDS, strict=True)))


def _new_dataset(dataset: Dataset, work: Work, show_progress: bool) -> tuple[Dataset, Summary]:
    """The new rows of a data set with its columns and those of provenance, and what was counted.

    Args:
        dataset: Its rows.
        work: What is done.
        show_progress: Whether a bar is shown.
    """
    settings = work.settings
    reading = dataset.with_format(None).select_columns(_columns_read(settings))
    labels = None if settings.label is None else list(reading[settings.label])
    max_rows = settings.max_new_rows
    rows, finish = dataset.with_format("arrow"), _finisher(dataset.features, settings, work.source.name)
    summary, source_name = Summary(), (settings.provenance or HIDDEN)[0]
    parts: list[Dataset] = []
    row_numbers: list[int] = []
    with rows_bar(0, 0, work.source.stages * len(settings.columns), "augmenting", show_progress) as bar:

        def rounds() -> Iterator[Iterator[Rows]]:
            order = shuffled(len(dataset), settings.seed)
            targets = class_targets(labels, settings.balance, settings.stratify, max_rows)
            limit = None if settings.stratify else max_rows
            while not summary.skipped["out_of_time"]:  # else another call would cut other rounds
                sources = [row for part in parts for row in part[source_name]]
                copies = settings.copies * len(settings.groups)
                next_numbers = next_rows(order, labels, targets, limit, copies, row_numbers, sources)
                if not next_numbers:
                    return
                row_numbers.extend(next_numbers)
                bar.total = len(row_numbers)
                yield _split_shards(reading, next_numbers)

        for new, counts in made_shards(
            rounds(),
            work,
            lambda added_rows: finish(added_rows, rows.select([new_row.source for new_row in added_rows])[:]),
            lambda shard: rows.select([number for number, _ in shard])[:].to_pylist(),
            bar,
        ):
            parts.append(new)
            summary.merge(counts)
    if not parts:
        parts.append(finish([], rows.select([])[:]))
    all_new_rows = concatenate_datasets(parts)
    if settings.balance or settings.stratify or max_rows is not None:
        sources = list(all_new_rows[source_name])
        class_limits = None
        if labels is not None and (settings.balance or settings.stratify):
            class_limits = _lacks(labels) if settings.balance else same_share(labels, sources, max_rows)
        indices = wanted_rows(sources, len(dataset), labels, class_limits, max_rows, settings.seed)
        summary.dropped, summary.new_rows = len(all_new_rows) - len(indices), len(indices)
        if settings.stratify and labels and (max_rows is None or len(indices) <= max_rows - len(set(labels))):
            summary.why_dropped = _scarcest(labels, sources)
        if settings.balance and labels:
            kind = dataset.features[settings.label or ""]
            names = kind.int2str if isinstance(kind, ClassLabel) else str
            lacks = smaller_classes(labels, [sources[index] for index in indices])
            summary.smaller = {names(label): lack for label, lack in lacks.items()}
        all_new_rows = all_new_rows.select(indices)
    return all_new_rows, summary


def _split_shards(reading: Dataset, row_numbers: Sequence[int]) -> Iterator[Rows]:
    """The chosen rows, `SHARD_ROWS` at a time."""
    for begin in range(0, len(row_numbers), SHARD_ROWS):
        numbers = row_numbers[begin : begin + SHARD_ROWS]
        yield list(zip(numbers, reading.select(numbers).to_list(), strict=True))


def _finisher(features: Features, settings: Augmentation, name: str) -> Callable[[list[NewRow], pa.Table], Dataset]:
    """A function that makes new rows a data set, given the rows that they are made of as a table.

    Args:
        features: Those of the data.
        settings: The names of the columns of provenance.
        name: Of the paraphraser.
    """
    all_features = Features({**features, **_provenance_features(settings)})
    schema = all_features.arrow_schema

    def finish(added_rows: list[NewRow], table: pa.Table) -> Dataset:
        changed_columns = {column for new_row in added_rows for column in new_row.changes}
        for column in changed_columns:
            old_values = table[column].to_pylist()
            values = [
                new_row.changes.get(column, old_value)
                for new_row, old_value in zip(added_rows, old_values, strict=True)
            ]
            index = table.schema.get_field_index(column)
            table = table.set_column(index, column, pa.array(values, schema.field(column).type))
        provenance_columns: tuple[list[Any], ...] = (
            [new_row.source for new_row in added_rows],
            [name] * len(added_rows),
            [new_row.score for new_row in added_rows],
        )
        for field, provenance_values in zip(_provenance_features(settings), provenance_columns, strict=True):
            table = table.append_column(field, pa.array(provenance_values, schema.field(field).type))
        return Dataset(table.select(schema.names).cast(schema))

    return finish


def _with_new_rows(dataset: Dataset, new: Dataset, settings: Augmentation) -> Dataset:
    """The rows of a data set, and after them its new rows; in its own format."""
    combined = concatenate_datasets([_with_nulls(dataset.with_format(None), settings), new])
    if not settings.provenance:
        combined = combined.remove_columns(list(HIDDEN))
    kind = dataset.format
    columns = None if kind["columns"] == dataset.column_names else kind["columns"]
    if kind["type"] is None and columns is None:
        return combined
    return combined.with_format(kind["type"], columns, kind["output_all_columns"], **kind["format_kwargs"])


def _with_nulls(dataset: Dataset | IterableDataset, settings: Augmentation) -> Any:
    """A data set with columns of provenance that are null."""
    added = _provenance_features(settings)
    if isinstance(dataset, IterableDataset):
        features = _features_of(dataset)
        nulls = dict.fromkeys([*features, *added])
        return dataset.with_format(None).map(
            lambda row: nulls | dict(_check_keys(row, features)), features=Features({**features, **added})
        )
    for name, kind in added.items():
        dataset = dataset.add_column(name, pa.nulls(len(dataset), kind.pa_type), feature=kind)
    return dataset


def _check_keys(row: Mapping[str, Any], features: Features) -> Mapping[str, Any]:
    """A row of a stream, if it has no other keys than the features.

    Raises:
        ValueError: It has others, which would be lost.
    """
    for name in row:
        if name not in features:
            raise ValueError(
                f"wanted rows with the keys {', '.join(features)}, as the first {SHARD_ROWS:,} have them, got one with "
                f"{name!r}: state all features, as with IterableDataset.from_generator(..., features=...)"
            )
    return row


def _rows_as_dataset(rows: Sequence[Mapping[str, Any]], features: Features | None) -> Dataset:
    """Rows of which some may lack keys; without features, with the keys of all of them."""
    names = list(features) if features is not None else list(dict.fromkeys(name for row in rows for name in row))
    return Dataset.from_dict({name: [row.get(name) for row in rows] for name in names}, features=features)


def _features_of(stream: IterableDataset) -> Features:
    """The features of a stream; those of its first rows, with the keys of all of them, if it does not state any.

    Raises:
        ValueError: It has no rows.
    """
    if stream.features is not None:
        return stream.features
    first = list(islice(stream.with_format(None), SHARD_ROWS))
    if not first:
        raise ValueError("wanted rows, got an empty stream that states no columns")
    return _rows_as_dataset(first, None).features


def _frame_columns(frame: pd.DataFrame, settings: Augmentation) -> Dataset:
    """The columns of a data frame that are read.

    Raises:
        ValueError: A column is missing, or holds values of several types.
    """
    _check_names(list(frame.columns), settings)
    read_frame = frame[_columns_read(settings)].copy()
    for column in dict.fromkeys(settings.spans.values()):
        read_frame[column] = _spans_for_table(read_frame[column])
    try:
        return Dataset.from_pandas(read_frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"wanted values of one type in each of {_columns_read(settings)}, got {error}") from None


def _spans_for_table(column: pd.Series) -> pd.Series:
    """A column of spans, as JSON if a table has no type for them: `[[14, 19, "LOC"]]`."""
    try:
        pa.array(column, from_pandas=True)
    except NO_TABLE:
        try:
            return column.map(json.dumps, na_action="ignore")
        except TypeError:  # what is in them is no number of Python and no text
            return column
    return column


def _with_new_frame(frame: pd.DataFrame, new: Dataset, settings: Augmentation) -> pd.DataFrame:
    """The rows of a data frame, and after them its new rows, with the types of its columns.

    An index that counts goes on; of any other a new row has the label of the row that it is made of.
    """
    import pandas as pd

    names = settings.provenance or HIDDEN
    sources = list(new[names[0]])
    added = frame.iloc[sources].copy()
    changed = dict.fromkeys([*settings.columns, *(settings.spans[c] for c in settings.columns if c in settings.spans)])
    for column in changed:
        new_values = [as_in_source(*pair) for pair in zip(new[column], added[column], strict=True)]
        values, dtype = pd.Series(new_values, index=added.index, dtype=object), frame[column].dtype
        added[column] = values if isinstance(dtype, pd.CategoricalDtype) else values.astype(dtype)
    combined = pd.concat([frame, added])
    if isinstance(index := frame.index, pd.RangeIndex):
        end = index.start + len(combined) * index.step
        combined.index = pd.RangeIndex(index.start, end, index.step, name=index.name)
    if settings.provenance:
        empty = len(frame) * [None]
        for name, dtype in zip(names, ("Int64", "object", "Float32"), strict=True):
            combined[name] = pd.array([*empty, *new[name]], dtype=dtype)
    return combined


def _stream_of(
    dataset: IterableDataset, features: Features, work: Work, show_progress: bool, summary: Summary
) -> IterableDataset:
    """A stream of the rows of a stream, and after them of its new rows; it is read twice, in the same order.

    It has no format, because `datasets` does not say which one a stream has.

    Args:
        dataset: Rows.
        features: Theirs.
        work: What is done.
        show_progress: Whether a bar is shown.
        summary: Is given what was counted, when the stream has been read.
    """
    settings = work.settings
    extended = Features({**features, **_provenance_features(settings)})
    finish, read_columns = _finisher(features, settings, work.source.name), _columns_read(settings)

    def new() -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        if worker is not None and worker.num_workers > 1:  # each reads other rows, and does not know their numbers
            raise ValueError(f"wanted one worker of a DataLoader for an augmented stream, got {worker.num_workers}")
        numbered = zip(count(), dataset.with_format(None), strict=False)
        current_shard: list[tuple[int, Mapping[str, Any]]] = []

        def shards() -> Iterator[Rows]:
            while batch := list(islice(numbered, SHARD_ROWS)):
                current_shard[:] = [(number, _check_keys(row, features)) for number, row in batch]
                yield [(number, {column: row.get(column) for column in read_columns}) for number, row in batch]

        def finish_shard(added_rows: list[NewRow]) -> Dataset:
            rows = dict(current_shard)
            table = _rows_as_dataset([rows[new_row.source] for new_row in added_rows], features)
            return finish(added_rows, table.with_format("arrow")[:])

        summary.clear()
        with rows_bar(None, 0, work.source.stages * len(settings.columns), "augmenting", show_progress) as bar:
            for batch, counts in made_shards(
                [shards()], work, finish_shard, lambda _: (row for _, row in current_shard), bar
            ):
                summary.merge(counts)
                yield from batch
        if show_progress:
            print(summary, file=sys.stderr)

    added = IterableDataset.from_generator(new, features=extended)
    combined = concatenate_datasets([_with_nulls(dataset, settings), added])
    return combined if settings.provenance else combined.remove_columns(list(HIDDEN))
