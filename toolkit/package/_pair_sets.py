"""Pairs from data sets of any origin: a `save_to_disk` folder, a folder of data files, or a data set on the Hub.

A data set on the Hub is read from the cache of `datasets`, or fetched into it. A folder is read anew each time, because
that cache knows files by their names, sizes and times. Rows stream from disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from toolkit.bitext.csv_data_sets import check_folder, csv_options
from toolkit.system.errors import first_line

ADDRESS = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(:[\w.-]*){0,2}", re.ASCII)
PARABANK_CONFIG = "pairs"  # that of a parabank of this toolkit (`toolkit.package.parquet.CONFIGS`)
TRAIN = "train"
SAVED = ("dataset_dict.json", "state.json")  # of folders that `save_to_disk` wrote
DATA_FILES = ("*.parquet", "*.jsonl", "*.jsonl.gz", "*.csv", "*.arrow")


def is_data_folder(folder: Path) -> bool:
    """Whether a folder is a data set that `datasets` reads: saved by it, or with data files in it or in its folders."""
    if any((folder / name).is_file() for name in SAVED):
        return True
    return any(next(folder.glob(f"{where}{name}"), None) for where in ("", "*/") for name in DATA_FILES)


@cache
def is_foreign(name: str) -> bool:
    """Whether a name is that of a data set on the Hub that is no parabank; False where the Hub cannot be asked."""
    if not ADDRESS.fullmatch(name):
        return False
    if ":" in name:
        return True
    import datasets  # most pairs are files: they need not wait for this import

    try:
        return PARABANK_CONFIG not in datasets.get_dataset_config_names(name)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError):
        return False  # `load_parabank` says what is wrong


class DataSet:
    """The rows of a data set: those of the split that is named, else of "train", else of its only split."""

    def __init__(self, address: str) -> None:
        """Open it; no row is read.

        Args:
            address: A folder; or owner/name, with ":configuration" and ":split" where it has several.

        Raises:
            ValueError: It does not load, or it has several splits, and none is named.
        """
        import datasets  # most pairs are files: they need not wait for this import

        check_folder(address)
        try:
            self.rows = _opened(address)
            self.names: list[str] = list(self.rows.column_names or self.rows.features or next(iter(self.rows), {}))
        except (OSError, ValueError, RuntimeError, StopIteration, datasets.exceptions.DatasetsError) as error:
            raise ValueError(
                f"wanted a data set of pairs, got {address}, which does not load ({first_line(error)}): check the path "
                "or Hub id, its configuration and split (owner/name:configuration:split)"
            ) from error

    def tables(self, batch_rows: int) -> Iterator[pa.Table]:
        """The rows, so many at a time."""
        yield from self.rows.with_format("arrow").iter(batch_rows)


def _opened(address: str) -> Any:
    """One split of a data set."""
    import datasets

    if Path(address).is_dir():
        if any(Path(address, name).is_file() for name in SAVED):
            return _split_of(datasets.load_from_disk(address), "", address)
        return _split_of(datasets.load_dataset(address, streaming=True, **csv_options(address, None)), "", address)
    name, _, rest = address.partition(":")
    configuration, _, split = rest.partition(":")
    options = csv_options(name, configuration or None)
    return _split_of(datasets.load_dataset(name, configuration or None, **options), split, address)


def _split_of(loaded: Any, split: str, address: str) -> Any:
    """The split of a data set that is named; else "train", or the only one.

    Raises:
        ValueError: There is no such split, or there are several and none is "train".
    """
    if not isinstance(loaded, dict):
        return loaded
    name = split or (TRAIN if TRAIN in loaded else next(iter(loaded)) if len(loaded) == 1 else "")
    if name not in loaded:
        raise ValueError(f"it has the splits {', '.join(loaded)}; name one")
    return loaded[name]
