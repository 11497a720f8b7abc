"""ParabankBuilder: load finished shards with `datasets`, without packaging them first.

    builder = ParabankBuilder(config_name="pairs", data_dir="build/parabank2.shards", dataset_name="parabank2")
    builder.download_and_prepare(num_proc=2)
    train = builder.as_dataset("train")

The tables are those of `toolkit.package.parquet`, without the pairs that are not published, so they equal the published
Parquet files (`toolkit.package.build`). To find these pairs, all shards are read before the first row is yielded, also
in streaming.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets.builder import Key

from toolkit.data.shards import named_if_broken, read_tables
from toolkit.package.folder import FIRST_VERSION
from toolkit.package.parquet import SPLITS, TABLES, finished_shards, published_rows, splits_in
from toolkit.select.equal import find_equal_pairs


class _ParabankConfig(datasets.BuilderConfig):
    """A config whose cache id depends on the shards, so that changed shards in the same folder are built anew."""

    def create_config_id(self, config_kwargs: dict, custom_features: datasets.Features | None = None) -> str:
        """The name of the cache, from the config's arguments and the shards' names, sizes and modification times."""
        stats = [(shard.name, shard.stat()) for shard in finished_shards(_data_folder(self))]
        state = repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats])
        kwargs = {**config_kwargs, "shards": hashlib.sha256(state.encode()).hexdigest()}
        return super().create_config_id(kwargs, custom_features)


class ParabankBuilder(datasets.ArrowBasedBuilder):
    """A parabank from the shards of a finished run, `data_dir`.

    Configs: `pairs` (default), one row per reference and paraphrase; `references`, one row per reference that has a
    paraphrase.

    Raises:
        FileNotFoundError: `data_dir` is not a run's folder.
        ValueError: There is no `data_dir`, or its run is not finished.
    """

    BUILDER_CONFIG_CLASS = _ParabankConfig
    BUILDER_CONFIGS = [  # noqa: RUF012 - the library's name and type
        _ParabankConfig(name="pairs", version=FIRST_VERSION, description="One row per reference and paraphrase."),
        _ParabankConfig(name="references", version=FIRST_VERSION, description="One row per reference, nested."),
    ]
    DEFAULT_CONFIG_NAME = "pairs"

    def _info(self) -> datasets.DatasetInfo:
        columns, _ = TABLES[self.config.name]
        features = datasets.Features.from_arrow_schema(columns())
        return datasets.DatasetInfo(description=self.config.description or "", features=features)

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        shards = finished_shards(_data_folder(self.config))
        left_out = find_equal_pairs(shards).left_out
        shards_by_split: dict[str, list[int]] = {}
        for number, shard in enumerate(shards):
            with named_if_broken(shard):
                table = pq.read_table(shard, columns=["split"], filters=pc.field("reason").is_null())
            for split in splits_in(table):
                shards_by_split.setdefault(split, []).append(number)
        return [
            datasets.SplitGenerator(
                name=split,
                gen_kwargs={
                    "shards": [str(shards[n]) for n in numbers],
                    "left_out": [left_out[n] for n in numbers],
                    "split": split,
                },
            )
            for split, numbers in sorted(shards_by_split.items(), key=lambda item: SPLITS.index(item[0]))
        ]

    def _generate_tables(
        self, shards: list[str], left_out: list[np.ndarray], split: str
    ) -> Iterator[tuple[Key, pa.Table]]:
        _, make_table = TABLES[self.config.name]
        for number, (shard, indices) in enumerate(zip(shards, left_out, strict=True)):
            for batch, rows in enumerate(published_rows(read_tables(Path(shard)), indices)):
                table = make_table(rows.filter(pc.equal(rows["split"], split)))
                if table.num_rows:
                    yield Key(number, batch), table


def _data_folder(config: datasets.BuilderConfig) -> Path:
    """The run's folder.

    Raises:
        ValueError: None was given.
    """
    if config.data_dir is None:
        raise ValueError("wanted data_dir, a run's folder of finished shards, got none: give data_dir=...")
    return Path(config.data_dir)
