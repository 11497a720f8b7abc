"""Finished shards to the Parquet files of a data set: configs `pairs` and `references`, one folder each.

Columns are derived from the dataclasses of `toolkit.rows`; work is done on Arrow tables, a batch at a time. A file
appears under its final name only when all files of its split are whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.rows import Candidate, Row, Scores, schema
from toolkit.shards import output_of

CONFIGS = ("pairs", "references")
SPLITS = ("train", "validation", "test")
BATCH_ROWS = 1000  # ours: rows with all their candidates in memory at a time
ROW_GROUP_ROWS = 50_000  # ours: rows of a row group at least, where a file has so many


def paraphrase_fields() -> list[pa.Field]:
    """What is published of a chosen candidate: text, rank, scores, how it was made; its `reason` is always None."""
    candidate = schema(Candidate)
    rest = [field for field in candidate if field.name not in ("text", "rank", "scores", "reason")]
    return [candidate.field("text"), candidate.field("rank"), *schema(Scores), *rest]


def row_fields() -> list[pa.Field]:
    """What is published of a row beside its id and its reference; the split is the file's."""
    return [field for field in schema(Row) if field.name not in ("id", "reference", "split", "candidates")]


def pairs_schema() -> pa.Schema:
    """Config `pairs`: one row per reference (`sentence1`) and paraphrase (`sentence2`)."""
    text, *rest = paraphrase_fields()
    reference = schema(Row).field("reference").with_name("sentence1")
    return pa.schema([schema(Row).field("id"), reference, text.with_name("sentence2"), *rest, *row_fields()])


def references_schema() -> pa.Schema:
    """Config `references`: one row per reference that kept a paraphrase, all of them in a list, best first."""
    paraphrases = pa.field("paraphrases", pa.list_(pa.struct(paraphrase_fields())))
    return pa.schema([schema(Row).field("id"), schema(Row).field("reference"), paraphrases, *row_fields()])


def chosen(rows: pa.Table) -> pa.Table:
    """The chosen candidates of rows, best first within a row.

    Returns:
        A table with `row`, the index of the row in `rows`, and `paraphrase_fields()`.
    """
    listed = pa.concat_arrays(rows["candidates"].chunks) if rows.num_rows else rows["candidates"].combine_chunks()
    table = pa.Table.from_struct_array(listed.flatten()).append_column("row", pc.list_parent_indices(listed))
    table = table.filter(pc.is_valid(table["rank"])).sort_by([("row", "ascending"), ("rank", "ascending")])
    for name in schema(Scores).names:
        table = table.append_column(name, pc.struct_field(table["scores"], name))
    return table.select(["row", *(field.name for field in paraphrase_fields())])


def pairs_table(rows: pa.Table) -> pa.Table:
    """The pairs of a table of rows (`toolkit.rows.schema`), in order; columns `pairs_schema()`."""
    found = chosen(rows)
    parents = rows.select(["id", "reference", *(field.name for field in row_fields())]).take(found["row"])
    columns = dict(zip(parents.column_names, parents.columns, strict=True))
    columns |= dict(zip(found.column_names, found.columns, strict=True))
    columns |= {"sentence1": columns["reference"], "sentence2": columns["text"]}
    return pa.table({name: columns[name] for name in pairs_schema().names}).cast(pairs_schema())


def references_table(rows: pa.Table) -> pa.Table:
    """The references of a table of rows that kept a paraphrase, in order; columns `references_schema()`."""
    found = chosen(rows)
    kept, counts = np.unique(found["row"].to_numpy(), return_counts=True)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    structs = found.drop_columns(["row"]).combine_chunks().to_struct_array()
    values = pa.concat_arrays(structs.chunks) if structs.num_chunks else pa.array([], structs.type)
    parents = rows.select(["id", "reference", *(field.name for field in row_fields())]).take(pa.array(kept, pa.int64()))
    parents = parents.append_column("paraphrases", pa.ListArray.from_arrays(offsets, values))
    return parents.select(references_schema().names).cast(references_schema())


TABLES = {"pairs": (pairs_schema, pairs_table), "references": (references_schema, references_table)}


def finished_shards(folder: Path) -> list[Path]:
    """The output shards of a finished run, in order.

    Raises:
        FileNotFoundError: The folder is not a run's.
        ValueError: Shards are still missing.
    """
    done = folder / "inputs.json"
    if not done.is_file():
        raise FileNotFoundError(f"wanted a run's folder with inputs.json, got {folder}: build the shards first")
    shards = [output_of(folder / f"input-{i:05d}.parquet") for i in range(json.loads(done.read_text())["shards"])]
    missing = [shard.name for shard in shards if not shard.is_file()]
    if missing:
        raise ValueError(
            f"wanted {len(shards)} finished shards in {folder}, got {len(shards) - len(missing)} ({missing[0]} is "
            "missing): run the same command again, it goes on where it stopped"
        )
    return shards


def read_tables(shard: Path, batch_rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """The rows of a shard as Arrow tables, a batch at a time.

    Raises:
        ValueError: The file is not a shard of rows.
    """
    try:
        with pq.ParquetFile(shard) as file:
            missing = set(schema().names) - set(file.schema_arrow.names)
            if missing:
                raise ValueError(f"{shard}: wanted a shard of rows, got a table without {sorted(missing)}; rebuild it")
            for batch in file.iter_batches(batch_rows):
                yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{shard}: wanted a shard of rows, got a broken file ({error}); delete it, run again"
        ) from None


class SplitWriter:
    """Writes one split of one config to numbered files.

    Args:
        folder: Where the files go; it exists.
        split: The split's name.
        columns: Their schema.
        max_rows: Rows of a file at most.
    """

    def __init__(self, folder: Path, split: str, columns: pa.Schema, max_rows: int):
        self.folder, self.split, self.columns, self.max_rows = folder, split, columns, max_rows
        self.files: list[Path] = []
        self.writer: pq.ParquetWriter | None = None
        self.written = 0
        self.waiting: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        """Take rows in; they are written when a row group is full."""
        self.waiting.append(table)
        if sum(map(len, self.waiting)) >= ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait, and start a new file wherever one is full."""
        table = pa.concat_tables(self.waiting) if self.waiting else self.columns.empty_table()
        self.waiting = []
        while table.num_rows:
            if self.writer is None or self.written == self.max_rows:
                self.next_file()
            assert self.writer is not None
            part = table.slice(0, self.max_rows - self.written).combine_chunks()
            self.writer.write_table(part, row_group_size=len(part))
            self.written += len(part)
            table = table.slice(len(part))

    def next_file(self) -> None:
        """Start a file under a temporary name."""
        self.end_file()
        self.files.append(self.folder / f".{self.split}-{len(self.files):05d}.tmp")
        self.writer = pq.ParquetWriter(
            self.files[-1], self.columns, compression="zstd", use_content_defined_chunking=True
        )
        self.written = 0

    def end_file(self) -> None:
        """Finish the open file, if there is one."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def close(self) -> list[Path]:
        """Write what waits and give every file its final name, `{split}-{i}-of-{n}.parquet`."""
        self.flush()
        self.end_file()
        named = [f"{self.split}-{i:05d}-of-{len(self.files):05d}.parquet" for i in range(len(self.files))]
        return [file.rename(self.folder / name) for file, name in zip(self.files, named, strict=True)]


def write_parquet(
    shards: list[Path], folder: Path, max_rows_per_file: int = 500_000
) -> dict[str, dict[str, list[Path]]]:
    """Write both configs of a data set under `folder`/data.

    Args:
        shards: Finished shards, in order.
        folder: The data set's folder.
        max_rows_per_file: Rows of a file at most.

    Returns:
        Config to split to files; a split without a paraphrase has none.

    Raises:
        ValueError: No reference kept a paraphrase; a shard is broken; `max_rows_per_file` is not positive.
    """
    if max_rows_per_file < 1:
        raise ValueError(f"wanted max_rows_per_file of at least 1, got {max_rows_per_file}: leave it at 500000")
    writers: dict[tuple[str, str], SplitWriter] = {}
    for config in CONFIGS:
        (folder / "data" / config).mkdir(parents=True, exist_ok=True)
    for table in (table for shard in shards for table in read_tables(shard)):
        for split in splits_in(table):
            rows = table.filter(pc.equal(table["split"], split))
            for config, (columns, made) in TABLES.items():
                if (config, split) not in writers:
                    target = folder / "data" / config
                    writers[config, split] = SplitWriter(target, split, columns(), max_rows_per_file)
                writers[config, split].write(made(rows))
    files: dict[str, dict[str, list[Path]]] = {config: {} for config in CONFIGS}
    for config, split in sorted(writers, key=lambda key: (key[0], SPLITS.index(key[1]))):
        if written := writers[config, split].close():
            files[config][split] = written
    if not files["pairs"]:
        place = shards[0].parent if shards else "the run"
        raise ValueError(
            f"wanted at least one paraphrase, got none in the {len(shards)} shards of {place}: see the "
            "candidates' `reason` there, relax that filter and build again"
        )
    return files


def splits_in(table: pa.Table) -> list[str]:
    """The splits of a table's rows, in the usual order.

    Raises:
        ValueError: A split has another name.
    """
    found = set(pc.unique(table["split"]).to_pylist())
    if unknown := found - set(SPLITS):
        raise ValueError(f"wanted splits {', '.join(SPLITS)}, got {sorted(map(str, unknown))}: split the bitext again")
    return [split for split in SPLITS if split in found]
