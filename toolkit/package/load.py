"""The public door to a parabank, in a folder here or on the Hub."""

from __future__ import annotations

from pathlib import Path

from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict, load_dataset
from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from toolkit.errors import first_line
from toolkit.outputs import MANIFEST
from toolkit.package.checksums import CHECKSUMS
from toolkit.package.folder import AGAIN, check_whole, is_parabank
from toolkit.package.parquet import CONFIGS, DATA
from toolkit.shards import INPUTS

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
        check_whole(folder, config)
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
        hint = "these are a run's shards, package them" if (folder / INPUTS).exists() else "check the path"
        raise ValueError(f"wanted a parabank, got the folder {folder.absolute()} without {MANIFEST}: {hint}")
    if revision is not None:
        raise ValueError(f"wanted no revision for the folder {folder}, got {revision!r}: only the Hub keeps revisions")
