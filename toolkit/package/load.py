"""Load a parabank from a local folder or from the Hub with `datasets`."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict, load_dataset
from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from toolkit.data.shards import INPUTS
from toolkit.package.checksums import CHECKSUMS
from toolkit.package.folder import AGAIN, _check_whole, _urls_of, is_parabank
from toolkit.package.parquet import CONFIGS, DATA, PAIR, PAIR_COLUMNS, SPLITS
from toolkit.system.errors import first_line
from toolkit.system.outputs import MANIFEST
from toolkit.system.urls import is_url

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
UNREACHABLE = (DatasetNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, HFValidationError, OSError)


def load_parabank(
    path_or_name: str | Path,
    config: str = "pairs",
    split: str | None = None,
    streaming: bool = False,
    revision: str | None = None,
) -> Dataset | DatasetDict | IterableDataset | IterableDatasetDict:
    """Load a parabank from a folder, or from the Hub if there is no such folder.

    A trainer that takes columns by their order (sentence-transformers) takes the config "pair" as it is.

    Args:
        path_or_name: A folder, absolute or relative, the URL of one ("s3://bucket/parabank2"), or a Hub name
            ("someone/parabank2").
        config: "pairs" (one row per paraphrase), "references" (one row per reference, nested) or "pair" (the two texts
            of each row of "pairs").
        split: "train", "validation" or "test"; None gives all splits, by name.
        streaming: Read while iterating, instead of preparing a cache first.
        revision: A tag, branch or commit on the Hub.

    Raises:
        FileNotFoundError: There is no such folder, and no such name on the Hub, or the Hub cannot be reached.
        ValueError: The folder is not a parabank, one of its files is missing or damaged, the config is unknown, or a
            revision is given for a folder.
    """
    if config not in (*CONFIGS, PAIR):
        raise ValueError(f"wanted config {' or '.join(map(repr, (*CONFIGS, PAIR)))}, got {config!r}: see the card")
    options = {"columns": PAIR_COLUMNS} if config == PAIR else {}  # so that versions without the config have it, too
    config = "pairs" if config == PAIR else config
    if is_url(path_or_name):
        return _load_url(str(path_or_name), config, split, streaming, revision, options)
    folder = Path(path_or_name).expanduser()
    if folder.is_dir():
        _check_local(folder, revision)
        _check_whole(folder, config)
        try:
            if glob.has_magic(str(folder.resolve())):  # `datasets` takes [ ] * ? of a folder's path for a pattern
                files = _escaped_files(folder.resolve(), config)
                return load_dataset("parquet", data_files=files, split=split, streaming=streaming, **options)
            return load_dataset(str(folder.resolve()), config, split=split, streaming=streaming, **options)
        except DatasetGenerationError as error:
            reason = first_line(error.__cause__ or error)
            raise ValueError(
                f"wanted the whole Parquet files of {folder / DATA / config}, got a damaged one ({reason}): "
                f"`sha256sum -c {CHECKSUMS}` in {folder} names it; {AGAIN}"
            ) from error
    if not HUB_NAME.fullmatch(str(path_or_name)):
        # `datasets` would take what it last loaded from any folder of that name out of its cache.
        raise FileNotFoundError(
            f"wanted a parabank, got {str(path_or_name)!r}: there is no folder {folder.absolute()}, and a Hub name has "
            "the form owner/name; give the folder's path"
        )
    try:
        return load_dataset(str(path_or_name), config, split=split, streaming=streaming, revision=revision, **options)
    except UNREACHABLE as error:
        reason = first_line(error)
        raise FileNotFoundError(
            f"wanted a parabank, got {str(path_or_name)!r}: there is no folder {folder.absolute()}, so it can only be "
            f"a Hub name, and that failed ({reason}); give the folder's path, or check the name and the network"
        ) from error


def _load_url(
    url: str, config: str, split: str | None, streaming: bool, revision: str | None, options: dict[str, list[str]]
) -> Dataset | DatasetDict | IterableDataset | IterableDatasetDict:
    """Load a parabank from a URL; arguments and errors as of `load_parabank`, and `options` for `datasets`."""
    if revision is not None:
        raise ValueError(f"wanted no revision for {url}, got {revision!r}: only the Hub keeps revisions")
    files = {name: _urls_of(url, config, name) for name in SPLITS}
    data_files = {name: urls for name, urls in files.items() if urls}
    try:
        return load_dataset("parquet", data_files=data_files, split=split, streaming=streaming, **options)
    except OfflineModeIsEnabled as error:
        raise OSError(f"wanted a network for {url}, got HF_HUB_OFFLINE, which `datasets` obeys: unset it") from error


def _escaped_files(folder: Path, config: str) -> dict[str, list[str]]:
    """The files of each split of a local parabank, as patterns that mean just them."""
    files = {split: sorted((folder / DATA / config).glob(f"{split}-*.parquet")) for split in SPLITS}
    return {split: [glob.escape(str(path)) for path in paths] for split, paths in files.items() if paths}


def _check_local(folder: Path, revision: str | None) -> None:
    """Refuse a local folder that is no parabank, and a revision, which only the Hub has.

    Raises:
        ValueError: The folder or the revision is refused.
    """
    if not is_parabank(folder):
        hint = "these are a run's shards, package them" if (folder / INPUTS).exists() else "check the path"
        raise ValueError(f"wanted a parabank, got the folder {folder.absolute()} without {MANIFEST}: {hint}")
    if revision is not None:
        raise ValueError(f"wanted no revision for the folder {folder}, got {revision!r}: only the Hub keeps revisions")
