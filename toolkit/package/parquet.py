"""Write the Parquet files of a data set from finished shards: configs `pairs` and `references`, one folder each.

The columns are derived from the dataclasses of `toolkit.data.rows`; the conversion works on Arrow tables, a batch at a
time. A file gets its final name only when all files of its split are complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.data.rows import Candidate, Row, Scores, schema
from toolkit.data.shards import candidates_of, input_shards, output_of, read_tables, with_candidates

CONFIGS = ("pairs", "references")
PAIR, PAIR_COLUMNS = "pair", ["sentence1", "sentence2"]  # a config of two columns of the files of `pairs`
DATA = "data"  # the folder of the Parquet files within the folder of a data set
SPLITS = ("train", "validation", "test")
# ours: the least rows of a row group, or its least bytes in memory, where a file has so many
ROW_GROUP_ROWS, ROW_GROUP_BYTES = 50_000, 16 << 20


def _paraphrase_fields() -> list[pa.Field]:
    """The published fields of a chosen candidate: text, rank, scores, `dual`, and all others but `reason`."""
    candidate = schema(Candidate)
    rest = [field for field in candidate if field.name not in ("text", "rank", "scores", "reason")]
    return [candidate.field("text"), candidate.field("rank"), *schema(Scores), pa.field("dual", pa.float64()), *rest]


def _row_fields() -> list[pa.Field]:
    """The published fields of a row besides id and reference; the split is given by the file."""
    return [field for field in schema(Row) if field.name not in ("id", "reference", "split", "candidates", "reason")]


def _pairs_schema() -> pa.Schema:
    """Config `pairs`: one row per reference (`sentence1`) and paraphrase (`sentence2`)."""
    text, *rest = _paraphrase_fields()
    reference = schema(Row).field("reference").with_name("sentence1")
    return pa.schema([schema(Row).field("id"), reference, text.with_name("sentence2"), *rest, *_row_fields()])


def _references_schema() -> pa.Schema:
    """Config `references`: one row per reference that has a paraphrase, with the list of all, best first."""
    paraphrases = pa.field("paraphrases", pa.list_(pa.struct(_paraphrase_fields())))
    return pa.schema([schema(Row).field("id"), schema(Row).field("reference"), paraphrases, *_row_fields()])


def _chosen_candidates(rows: pa.Table) -> pa.Table:
    """The chosen candidates of rows, best first within a row, with their ranks renumbered to 0, 1, 2, ...

    Returns:
        A table with the columns `row`, the index of the row in `rows`, and `_paraphrase_fields()`.
    """
    listed = candidates_of(rows)
    table = pa.Table.from_struct_array(listed.flatten()).append_column("row", pc.list_parent_indices(listed))
    table = table.filter(pc.is_valid(table["rank"])).sort_by([("row", "ascending"), ("rank", "ascending")])
    row = table["row"].to_numpy()
    ranks = pa.array(np.arange(len(row)) - np.searchsorted(row, row), pa.int32())
    table = table.set_column(table.column_names.index("rank"), "rank", ranks)
    for name in schema(Scores).names:
        table = table.append_column(name, pc.struct_field(table["scores"], name))
    forward, backward = (
        pc.divide(table[f"{direction}_logprob"], pc.cast(table[f"{direction}_tokens"], pa.float64()))
        for direction in ("forward", "backward")
    )
    return table.append_column("dual", pc.add(forward, backward)).select(
        ["row", *(field.name for field in _paraphrase_fields())]
    )


def _pairs_table(rows: pa.Table) -> pa.Table:
    """The pairs of a table of rows (`toolkit.data.rows.schema`), in order; columns `_pairs_schema()`."""
    candidates = _chosen_candidates(rows)
    parents = rows.select(["id", "reference", *(field.name for field in _row_fields())]).take(candidates["row"])
    columns = dict(zip(parents.column_names, parents.columns, strict=True))
    columns |= dict(zip(candidates.column_names, candidates.columns, strict=True))
    columns |= {"sentence1": columns["reference"], "sentence2": columns["text"]}
    return pa.table({name: columns[name] for name in _pairs_schema().names}).cast(_pairs_schema())


def _references_table(rows: pa.Table) -> pa.Table:
    """The references with a paraphrase of a table of rows, in order; columns `_references_schema()`."""
    candidates = _chosen_candidates(rows)
    row_indices, counts = np.unique(candidates["row"].to_numpy(), return_counts=True)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    structs = candidates.drop_columns(["row"]).combine_chunks().to_struct_array()
    values = pa.concat_arrays(structs.chunks) if structs.num_chunks else pa.array([], structs.type)
    parents = rows.select(["id", "reference", *(field.name for field in _row_fields())]).take(
        pa.array(row_indices, pa.int64())
    )
    parents = parents.append_column("paraphrases", pa.ListArray.from_arrays(offsets, values))
    return parents.select(_references_schema().names).cast(_references_schema())


TABLES = {"pairs": (_pairs_schema, _pairs_table), "references": (_references_schema, _references_table)}


def finished_shards(folder: Path) -> list[Path]:
    """The output shards of a finished run, in order.

    Raises:
        FileNotFoundError: The folder is not a run's.
        ValueError: Shards are missing, or `inputs.json` is damaged.
    """
    shards = [output_of(path) for path in input_shards(folder)]
    missing = [shard.name for shard in shards if not shard.is_file()]
    if missing:
        raise ValueError(
            f"wanted {len(shards)} finished shards in {folder}, got {len(shards) - len(missing)} ({missing[0]} is "
            "missing): run the same command again, it goes on where it stopped"
        )
    return shards


class _SplitWriter:
    """Writes one split of one config to numbered files.

    Args:
        folder: The folder of the files, which must exist.
        split: The split's name.
        columns: The schema of the files.
        max_rows: The most rows of a file.
    """

    def __init__(self, folder: Path, split: str, columns: pa.Schema, max_rows: int):
        self.folder, self.split, self.columns, self.max_rows = folder, split, columns, max_rows
        self.files: list[Path] = []
        self.writer: pq.ParquetWriter | None = None
        self.written = 0
        self.buffer: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        """Buffer rows, and write them when there are enough for a row group."""
        self.buffer.append(table)
        rows, size = sum(map(len, self.buffer)), sum(part.nbytes for part in self.buffer)
        if rows >= ROW_GROUP_ROWS or size >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows, and start a new file whenever a file is full."""
        table = pa.concat_tables(self.buffer) if self.buffer else self.columns.empty_table()
        self.buffer = []
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
        """Close the open file, if there is one."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def close(self) -> list[Path]:
        """Write the buffered rows and give every file its final name, `{split}-{i}-of-{n}.parquet`."""
        self.flush()
        self.end_file()
        final_names = [f"{self.split}-{i:05d}-of-{len(self.files):05d}.parquet" for i in range(len(self.files))]
        return [file.rename(self.folder / name) for file, name in zip(self.files, final_names, strict=True)]


def published_rows(tables: Iterator[pa.Table], left_out: np.ndarray) -> Iterator[pa.Table]:
    """The rows of a shard as they are published: a chosen candidate that is left out loses its rank.

    Args:
        tables: The rows of one shard, in order.
        left_out: The indices of these candidates among all candidates of the shard, ascending
            (`toolkit.select.equal`).
    """
    if not len(left_out):
        yield from tables
    candidate_count = 0
    for rows in tables:
        values = pa.Table.from_struct_array(candidates_of(rows).flatten())
        indices = np.arange(candidate_count, candidate_count + len(values))
        candidate_count += len(values)
        column, no_rank = values.column_names.index("rank"), pa.scalar(None, pa.int32())
        ranks = pc.if_else(pa.array(np.isin(indices, left_out, kind="sort")), no_rank, values["rank"])
        yield with_candidates(rows, values.set_column(column, values.schema.field(column), ranks))


def _write_parquet(
    shards: list[Path], folder: Path, left_out: list[np.ndarray], max_rows_per_file: int = 500_000
) -> dict[str, dict[str, list[Path]]]:
    """Write both configs of a data set under `folder`/data.

    Args:
        shards: Finished shards, in order.
        folder: The data set's folder.
        left_out: For each shard, the chosen candidates that are not published (`toolkit.select.equal`).
        max_rows_per_file: The most rows of a file.

    Returns:
        The files by config and split; a split without a paraphrase is left out.

    Raises:
        ValueError: A shard is broken; `max_rows_per_file` is not positive.
    """
    if max_rows_per_file < 1:
        raise ValueError(f"wanted max_rows_per_file of at least 1, got {max_rows_per_file}: leave it at 500000")
    writers: dict[tuple[str, str], _SplitWriter] = {}
    for config in CONFIGS:
        (folder / DATA / config).mkdir(parents=True, exist_ok=True)
    tables = (published_rows(read_tables(shard), indices) for shard, indices in zip(shards, left_out, strict=True))
    for table in chain.from_iterable(tables):
        for split in splits_in(table):
            rows = table.filter(pc.equal(table["split"], split))
            for config, (columns, make_table) in TABLES.items():
                if (config, split) not in writers:
                    target = folder / DATA / config
                    writers[config, split] = _SplitWriter(target, split, columns(), max_rows_per_file)
                writers[config, split].write(make_table(rows))
    files: dict[str, dict[str, list[Path]]] = {config: {} for config in CONFIGS}
    for config, split in sorted(writers, key=lambda key: (key[0], SPLITS.index(key[1]))):
        if split_files := writers[config, split].close():
            files[config][split] = split_files
    return files


def splits_in(table: pa.Table) -> list[str]:
    """The splits of a table's rows, in the order of `SPLITS`.

    Raises:
        ValueError: The table has a split that is not in `SPLITS`.
    """
    splits = set(pc.unique(table["split"]).to_pylist())
    if unknown := splits - set(SPLITS):
        raise ValueError(f"wanted splits {', '.join(SPLITS)}, got {sorted(map(str, unknown))}: split the bitext again")
    return [split for split in SPLITS if split in splits]
