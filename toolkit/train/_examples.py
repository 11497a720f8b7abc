"""A seq2seq training's pairs and examples as Arrow columns: texts, and the ids that a model reads and should say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

T = TypeVar("T")
CHUNK = 10_000  # ours: items that are Python objects at a time
COLUMNS = pa.schema({"input_ids": pa.large_list(pa.int32()), "labels": pa.large_list(pa.int32())})


def table_of(items: Iterable[T], columns: Callable[[list[T]], list[list[Any]]], schema: pa.Schema) -> pa.Table:
    """A table of items, of which only `CHUNK` are Python objects at a time.

    Args:
        items: The items, which are read once.
        columns: The columns of some items, in the order of the schema.
        schema: Of the table.
    """
    remaining_items, batches = iter(items), []
    while chunk := list(islice(remaining_items, CHUNK)):
        batches.append(pa.record_batch(columns(chunk), schema))
    return pa.Table.from_batches(batches, schema)


def ids_of(pairs: Iterable[tuple[str, str]], tokenizer: PreTrainedTokenizerBase) -> pa.Table:
    """The ids of both sides of pairs, with the columns of `COLUMNS`.

    Args:
        pairs: What the model reads, and what it should say.
        tokenizer: Of the model.
    """

    def columns(chunk: list[tuple[str, str]]) -> list[list[list[int]]]:
        texts, outputs = map(list, zip(*chunk, strict=True))
        return [
            tokenizer(texts, verbose=False)["input_ids"],
            tokenizer(text_target=outputs, verbose=False)["input_ids"],
        ]

    return table_of(pairs, columns, COLUMNS)


def longer_sides(table: pa.Table) -> list[int]:
    """The pieces of the longer side of each example."""
    return _longer_sides(table).to_pylist()


def without_long(table: pa.Table, max_tokens: int) -> pa.Table:
    """The examples of which no side has more pieces."""
    return table.filter(pc.less_equal(_longer_sides(table), max_tokens))


def cut_long(table: pa.Table, max_tokens: int) -> pa.Table:
    """The examples with the first pieces of sides that have more."""
    columns = [pc.list_slice(column, 0, max_tokens) for column in table.columns]
    return pa.table(columns, COLUMNS)


def _longer_sides(table: pa.Table) -> pa.ChunkedArray:
    """The pieces of the longer side of each example, as a column."""
    return pc.max_element_wise(*(pc.list_value_length(table[name]) for name in COLUMNS.names))
