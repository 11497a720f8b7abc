"""The public door to a parabank, in a folder here or on the Hub."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict, load_dataset
from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from toolkit.errors import first_line
from toolkit.outputs import MANIFEST
from toolkit.package.checksums import CHECKSUMS
from toolkit.package.parquet import CONFIGS, DATA, SPLITS
from toolkit.package.version import is_parabank

AGAIN = "fetch the data set again, or package it again"
UNREACHABLE = (DatasetNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, HFValidationError, OSError)


def load_parabank(
    path_or_name: str | Path,
    config: str = "pairs",
    split: str | None = None,
    streaming: bool = False,
    revision: str | None = None,
) -> Dataset | DatasetDict | IterableDataset | IterableDatasetDict:
    """Load a parabank from a folder, or from the Hub if there is no such folder.

    A trainer that takes columns by their order (sentence-transformers) wants
    `load_parabank(...).select_columns(["sentence1", "sentence2"])`.

    Args:
        path_or_name: A folder, absolute or from here, or a Hub name ("someone/parabank2").
        config: "pairs" (one row per paraphrase) or "references" (one row per reference, nested).
        split: "train", "validation" or "test"; None gives all, by name.
        streaming: Read while iterating, instead of first into a cache.
        revision: A tag, branch or commit on the Hub.

    Raises:
        FileNotFoundError: There is neither such a folder nor, as far as can be told, such a name.
        ValueError: The folder is not a parabank, or a file of it is missing or damaged; an unknown config; a revision
            of a folder.
    """
    if config not in CONFIGS:
        raise ValueError(f"wanted config {' or '.join(map(repr, CONFIGS))}, got {config!r}: see the card")
    folder = Path(path_or_name).expanduser()
    if folder.is_dir():
        check_local(folder, revision)
        check_files(folder, config)
        try:
            return load_dataset(str(folder.resolve()), config, split=split, streaming=streaming)
        except DatasetGenerationError as error:
            reason = first_line(error.__cause__ or error)
            raise ValueError(
                f"wanted the whole Parquet files of {folder / DATA / config}, got a damaged one ({reason}): "
                f"`sha256sum -c {CHECKSUMS}` in {folder} names it; {AGAIN}"
            ) from error
    try:
        return load_dataset(str(path_or_name), config, split=split, streaming=streaming, revision=revision)
    except UNREACHABLE as error:
        reason = first_line(error)
        raise FileNotFoundError(
            f"wanted a parabank, got {str(path_or_name)!r}: no folder {folder.absolute()} here, so it can only be a "
            f"Hub name, and that failed ({reason}); give the folder's path, or check the name and the network"
        ) from error


def check_local(folder: Path, revision: str | None) -> None:
    """Refuse a folder that is no parabank, and a revision where there is only one.

    Raises:
        ValueError: Either.
    """
    if not is_parabank(folder):
        hint = "these are a run's shards, package them" if (folder / "inputs.json").exists() else "check the path"
        raise ValueError(f"wanted a parabank, got the folder {folder.absolute()} without {MANIFEST}: {hint}")
    if revision is not None:
        raise ValueError(f"wanted no revision for the folder {folder}, got {revision!r}: only the Hub keeps revisions")


def check_files(folder: Path, config: str) -> None:
    """Refuse a parabank of whose Parquet files one is cut short or missing: `datasets` would pass over a missing one.

    Raises:
        ValueError: The first such file, or the split that has other rows than were packaged.
    """
    counts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["counts"]
    for split in (split for split in SPLITS if split in counts):
        wanted = counts[split]["pairs" if config == "pairs" else "kept"]
        found = sum(map(rows_of, sorted((folder / DATA / config).glob(f"{split}-*.parquet"))))
        if found != wanted:
            files = folder / DATA / config / f"{split}-*.parquet"
            raise ValueError(f"wanted {wanted:,} rows in {files}, got {found:,}: a file is missing or another; {AGAIN}")


def rows_of(file: Path) -> int:
    """The rows of a Parquet file, as its end says.

    Raises:
        ValueError: The file is cut short.
    """
    try:
        return pq.read_metadata(file).num_rows
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"wanted a whole Parquet file, got {file} ({first_line(error)}): {AGAIN}") from None
