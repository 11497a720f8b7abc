"""The examples of a seq2seq training as Arrow columns: the ids that the model reads, and those that it should say."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from transformers import PreTrainedTokenizerBase

CHUNK = 10_000  # ours: examples that are Python objects at a time
COLUMNS = pa.schema({"input_ids": pa.large_list(pa.int32()), "labels": pa.large_list(pa.int32())})


def ids_of(pairs: Iterable[tuple[str, str]], tokenizer: PreTrainedTokenizerBase) -> pa.Table:
    """The ids of both sides of pairs, with the columns of `COLUMNS`.

    Args:
        pairs: What the model reads, and what it should say.
        tokenizer: Of the model.
    """
    remaining_pairs, batches = iter(pairs), []
    while chunk := list(islice(remaining_pairs, CHUNK)):
        texts, outputs = map(list, zip(*chunk, strict=True))
        input_ids = tokenizer(texts, verbose=False)["input_ids"]
        label_ids = tokenizer(text_target=outputs, verbose=False)["input_ids"]
        batches.append(pa.record_batch([input_ids, label_ids], COLUMNS))
    return pa.Table.from_batches(batches, COLUMNS)


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
