"""Finished shards to the Parquet files of a data set: configs `pairs` and `references`, one folder each.

Columns are derived from the dataclasses of `toolkit.rows`; work is done on Arrow tables, a batch at a time. A file
appears under its final name only when all files of its split are whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.rows import Candidate, Row, Scores, schema
from toolkit.shards import input_shards, output_of

CONFIGS = ("pairs", "references")
DATA = "data"  # the folder of all Parquet files in a data set's
SPLITS = ("train", "validation", "test")
BATCH_ROWS = 1000  # ours: rows with all their candidates in memory at a time
# Columns of a shard, as Parquet names them, that say what became of candidates
FATES = ["candidates.list.element.reason"]
ROW_GROUP_ROWS = 50_000  # ours: rows of a row group at least, where a file has so many


def paraphrase_fields() -> list[pa.Field]:
    """What is published of a chosen candidate: text, rank, scores, how it was made; its `reason` is always None."""
    candidate = schema(Candidate)
    rest = [field for field in candidate if field.name not in ("text", "rank", "scores", "reason")]
    return [candidate.field("text"), candidate.field("rank"), *schema(Scores), *rest]


def row_fields() -> list[pa.Field]:
    """What is published of a row beside its id and its reference; the split is the file's."""
    return [field for field in schema(Row) if field.name not in ("id", "reference", "split", "candidates", "reason")]


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
    """The chosen candidates of rows, best first within a row; their ranks close up to 0, 1, 2, ...

    Returns:
        A table with `row`, the index of the row in `rows`, and `paraphrase_fields()`.
    """
    listed = candidates_of(rows)
    table = pa.Table.from_struct_array(listed.flatten()).append_column("row", pc.list_parent_indices(listed))
    table = table.filter(pc.is_valid(table["rank"])).sort_by([("row", "ascending"), ("rank", "ascending")])
    row = table["row"].to_numpy()
    ranks = pa.array(np.arange(len(row)) - np.searchsorted(row, row), pa.int32())
    table = table.set_column(table.column_names.index("rank"), "rank", ranks)
    for name in schema(Scores).names:
        table = table.append_column(name, pc.struct_field(table["scores"], name))
    return table.select(["row", *(field.name for field in paraphrase_fields())])


def candidates_of(rows: pa.Table) -> pa.ListArray:
    """The column of candidates in one piece."""
    column = rows["candidates"]
    return pa.concat_arrays(column.chunks) if rows.num_rows else column.combine_chunks()


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
        ValueError: Shards are still missing, or `inputs.json` is damaged.
    """
    shards = [output_of(path) for path in input_shards(folder)]
    missing = [shard.name for shard in shards if not shard.is_file()]
    if missing:
        raise ValueError(
            f"wanted {len(shards)} finished shards in {folder}, got {len(shards) - len(missing)} ({missing[0]} is "
            "missing): run the same command again, it goes on where it stopped"
        )
    return shards


def read_tables(shard: Path, batch_rows: int = BATCH_ROWS, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """The rows of a shard as Arrow tables, a batch at a time.

    Args:
        shard: A Parquet file of rows.
        batch_rows: Rows of a batch.
        columns: Of the file, as Parquet names them; None reads all.

    Raises:
        ValueError: The file is not a shard of rows.
    """
    try:
        with pq.ParquetFile(shard) as file:
            missing = set(schema().names) - set(file.schema_arrow.names)
            if missing:
                raise ValueError(f"{shard}: wanted a shard of rows, got a table without {sorted(missing)}; rebuild it")
            for batch in file.iter_batches(batch_rows, columns=columns):
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


def once(tables: Iterator[pa.Table], repeated: np.ndarray) -> Iterator[pa.Table]:
    """The rows of a shard with every pair once: a candidate that repeats a better pair loses its rank.

    Args:
        tables: Rows of one shard, in order.
        repeated: The numbers of such candidates among all of the shard, ascending (`toolkit.package.equal`).
    """
    if not len(repeated):
        yield from tables
    before = 0
    for rows in tables:
        listed = candidates_of(rows)
        values = pa.Table.from_struct_array(listed.flatten())
        numbers = np.arange(before, before + len(values))
        before += len(values)
        place, none = values.column_names.index("rank"), pa.scalar(None, pa.int32())
        kept = pc.if_else(pa.array(np.isin(numbers, repeated, kind="sort")), none, values["rank"])
        structs = values.set_column(place, values.schema.field(place), kept).to_struct_array()
        offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(listed))])
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.concat_arrays(structs.chunks))
        yield rows.set_column(rows.column_names.index("candidates"), rows.schema.field("candidates"), lists)


def write_parquet(
    shards: list[Path], folder: Path, repeated: list[np.ndarray], max_rows_per_file: int = 500_000
) -> dict[str, dict[str, list[Path]]]:
    """Write both configs of a data set under `folder`/data.

    Args:
        shards: Finished shards, in order.
        folder: The data set's folder.
        repeated: Of each shard, the candidates that repeat a better pair (`toolkit.package.equal`).
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
        (folder / DATA / config).mkdir(parents=True, exist_ok=True)
    tables = (once(read_tables(shard), lost) for shard, lost in zip(shards, repeated, strict=True))
    for table in chain.from_iterable(tables):
        for split in splits_in(table):
            rows = table.filter(pc.equal(table["split"], split))
            for config, (columns, made) in TABLES.items():
                if (config, split) not in writers:
                    target = folder / DATA / config
                    writers[config, split] = SplitWriter(target, split, columns(), max_rows_per_file)
                writers[config, split].write(made(rows))
    files: dict[str, dict[str, list[Path]]] = {config: {} for config in CONFIGS}
    for config, split in sorted(writers, key=lambda key: (key[0], SPLITS.index(key[1]))):
        if written := writers[config, split].close():
            files[config][split] = written
    if not files["pairs"]:
        raise ValueError(none_chosen(shards))
    return files


def none_chosen(shards: list[Path]) -> str:
    """The message that a run has no paraphrase: how many candidates each reason refused."""
    fates: Counter[str] = Counter()
    for rows in (rows for shard in shards for rows in read_tables(shard, columns=FATES)):
        candidates = pa.Table.from_struct_array(candidates_of(rows).flatten())
        fates.update(reason or "without a reason" for reason in candidates["reason"].to_pylist())
    counted = ", ".join(f"{n:,} {reason}" for reason, n in fates.most_common()) or "the decoder gave none"
    place = shards[0].parent if shards else "the run"
    return (
        f"wanted at least one paraphrase, got none of the {fates.total():,} candidates in {place}: {counted}; "
        "relax what refused most and build again"
    )


def splits_in(table: pa.Table) -> list[str]:
    """The splits of a table's rows, in the usual order.

    Raises:
        ValueError: A split has another name.
    """
    found = set(pc.unique(table["split"]).to_pylist())
    if unknown := found - set(SPLITS):
        raise ValueError(f"wanted splits {', '.join(SPLITS)}, got {sorted(map(str, unknown))}: split the bitext again")
    return [split for split in SPLITS if split in found]
