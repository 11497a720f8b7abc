"""Read the rows of a file, or of a split of a data set.

Nothing of a file is kept in the cache of `datasets`, which knows a file by its path, size and time.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset, Features, Value, load_dataset, load_dataset_builder
from datasets.exceptions import DatasetGenerationError

from toolkit.augmentation._csv_rows import read_csv_rows, typed
from toolkit.augmentation._json_rows import read_json_rows
from toolkit.augmentation._records import FileRows
from toolkit.bitext.csv_data_sets import check_folder, csv_options
from toolkit.bitext.read import text_suffix
from toolkit.package.load import UNREACHABLE
from toolkit.system.errors import first_line, named_line

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")


def read_file(data: str, split: str, config: str | None) -> FileRows:
    """The rows of a file, or of a split of a data set.

    Args:
        data: A file, a folder or a Hub name.
        split: Of a data set.
        config: Of a data set; None is its only one.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It cannot be read, or has no such split.
    """
    path = Path(data)
    suffix = text_suffix(data)
    if suffix in SUFFIXES and not path.exists():
        raise FileNotFoundError(f"wanted a file, a folder or a Hub name, got {data!r}: there is no such file")
    if path.is_file() and suffix not in SUFFIXES:
        raise ValueError(f"wanted a file of {', '.join(SUFFIXES)}, got {data!r}")
    if not path.is_file():
        return FileRows(_read_data_set(data, split, config), None)
    if suffix in (".csv", ".tsv"):
        return read_csv_rows(data, suffix)
    return FileRows(_read_parquet(data), None) if suffix == ".parquet" else read_json_rows(data, suffix)


def _read_parquet(path: str) -> Dataset:
    """The rows of a Parquet file.

    Raises:
        ValueError: It is none.
    """
    try:
        with pa.OSFile(path) as file:
            return Dataset(pq.ParquetFile(file).read())
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"wanted rows in {path!r}, got {named_line(error)}") from error


def _read_data_set(data: str, split: str, config: str | None) -> Dataset:
    """The rows of a split of a data set; those of a folder are read anew.

    Raises:
        FileNotFoundError: There is no such folder or Hub name.
        ValueError: It cannot be read, or has no such split.
    """
    check_folder(data)
    try:
        if not Path(data).is_dir():
            return load_dataset(data, config, split=split)
        with tempfile.TemporaryDirectory() as cache:
            return _read_folder(data, split, config, cache)
    except (DatasetGenerationError, pa.ArrowInvalid) as error:
        raise ValueError(f"wanted rows in {data!r}, got {named_line(error.__cause__ or error)}") from error
    except UNREACHABLE as error:
        if Path(data).is_dir():
            raise ValueError(f"wanted rows in the folder {data!r}, got {named_line(error)}") from error
        raise FileNotFoundError(
            f"wanted a file, a folder or a Hub name, got {data!r}: there is no such folder, and as a Hub name it "
            f"failed ({first_line(error)})"
        ) from error


def _read_folder(data: str, split: str, config: str | None, cache: str) -> Dataset:
    """The rows of a split of a folder; values of CSV without stated features are typed as those of a file.

    Args:
        data: A folder.
        split: Of the data set.
        config: Of the data set; None is its only one.
        cache: An empty folder.
    """
    options = csv_options(data, config, cache)
    rows = load_dataset(data, config, split=split, cache_dir=cache, keep_in_memory=True, **options)
    if not options or load_dataset_builder(data, config, cache_dir=cache).config.features is not None:
        return rows
    texts = Features(dict.fromkeys(rows.column_names, Value("string")))
    rows = load_dataset(data, config, split=split, cache_dir=cache, keep_in_memory=True, features=texts, **options)
    return Dataset(pa.table([typed(column) for column in rows.data.table.columns], rows.column_names))
