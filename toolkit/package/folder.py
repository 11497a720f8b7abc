"""The folder of a packaged parabank: recognise it, check its version, list its Parquet files and check their rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.bitext.languages import near, short_code
from toolkit.package.parquet import DATA, SPLITS
from toolkit.system.errors import first_line
from toolkit.system.outputs import MANIFEST, is_ours
from toolkit.system.settings import SETTINGS
from toolkit.system.urls import for_arrow, is_file, is_url, joined_url, matching, read_bytes
from toolkit.system.whole_files import read_record

FIRST_VERSION = "1.0.0"
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
AGAIN = "fetch the data set again, or package it again"


def check_version(version: str) -> str:
    """Return a version if it has the form MAJOR.MINOR.PATCH, the only form that `datasets` accepts.

    >>> check_version("1.2.0")
    '1.2.0'

    Raises:
        ValueError: The version has another form.
    """
    if not VERSION.fullmatch(version):
        raise ValueError(f"wanted a version MAJOR.MINOR.PATCH, got {version!r}: write {FIRST_VERSION} for the first")
    return version


def is_parabank(folder: Path) -> bool:
    """Whether a folder is a data set that this toolkit packaged.

    >>> is_parabank(Path("/"))
    False
    """
    return is_ours(folder / MANIFEST)


def language_of(source: str | Path, lang: str | None = None) -> str | None:
    """The language of pairs: the one given, else the one that a parabank or a run states.

    Args:
        source: What `toolkit.package.read` reads. The folder or URL of a parabank and the folder of a run state their
            language; a file, a data set of other origin and a name on the Hub state none.
        lang: The language given (ISO 639-1).

    Returns:
        The language (ISO 639-1); None where none is given or stated.

    Raises:
        ValueError: The source states another language than the one given, or its record is damaged.
    """
    record = {}
    if is_url(source):
        manifest_bytes = None if is_file(source) else read_bytes(joined_url(str(source), MANIFEST))
        record = json.loads(manifest_bytes or b"{}").get("settings", {})
    elif (manifest := Path(source, MANIFEST).expanduser()).is_file():
        record = read_record(manifest).get("settings", {})
    elif (settings := Path(source, SETTINGS).expanduser()).is_file():
        record = read_record(settings)
    stated_lang = record.get("lang")
    if lang is not None and stated_lang is not None and not near(_code(stated_lang), _code(lang)):
        raise ValueError(f"wanted pairs in {lang}, got {source}, which is in {stated_lang}: give --lang {stated_lang}")
    return lang or stated_lang


def _code(lang: str) -> str:
    """The code of ISO 639-1 of a language, if there is one."""
    return short_code(lang) or lang


def files_of(folder: Path, config: str, split: str | None = None) -> list[Path]:
    """The Parquet files of a split of a parabank, in order; of all its splits if `split` is None."""
    splits = SPLITS if split is None else (split,)
    return [file for name in splits for file in sorted((folder / DATA / config).glob(f"{name}-*.parquet"))]


def _urls_of(folder: str, config: str, split: str | None = None) -> list[str]:
    """The Parquet files of a parabank at a URL, as `files_of`, checked as by `_check_whole`.

    Raises:
        FileNotFoundError: There is no parabank at the URL.
        ValueError: A file is truncated or missing, or the manifest is damaged.
    """
    manifest = read_bytes(joined_url(folder, MANIFEST))
    if manifest is None:
        raise FileNotFoundError(f"wanted a packaged parabank, got {folder} without {MANIFEST}: check the URL")
    splits = SPLITS if split is None else (split,)
    urls_by_split = {name: matching(joined_url(folder, DATA, config, f"{name}-*.parquet")) for name in splits}
    _check_counts(json.loads(manifest)["counts"], config, urls_by_split, joined_url(folder, DATA))
    return [url for urls in urls_by_split.values() for url in urls]


def _check_whole(folder: Path, config: str) -> None:
    """Refuse a parabank with a truncated or missing Parquet file; `datasets` would ignore a missing file.

    Raises:
        ValueError: A file is truncated, or a split has another number of rows than its manifest says.
    """
    counts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["counts"]
    _check_counts(counts, config, {name: files_of(folder, config, name) for name in SPLITS}, str(folder / DATA))


def _check_counts(counts: dict, config: str, files: Mapping[str, Sequence[str | Path]], folder: str) -> None:
    """Refuse splits with another number of rows than a manifest says.

    Args:
        counts: Of the manifest.
        config: "pairs" or "references".
        files: The Parquet files of each split.
        folder: Where they are, for the message.

    Raises:
        ValueError: A file is truncated, or a split has another number of rows.
    """
    for split in (split for split in files if split in counts):
        expected_rows = counts[split]["pairs" if config == "pairs" else "kept"]
        actual_rows = sum(map(_count_rows, files[split]))
        if actual_rows != expected_rows:
            names = f"{folder}/{config}/{split}-*.parquet"
            raise ValueError(
                f"wanted {expected_rows:,} rows in {names}, got {actual_rows:,}: a file is missing or another; {AGAIN}"
            )


def _count_rows(file: str | Path) -> int:
    """The number of rows of a Parquet file, from its footer.

    Raises:
        ValueError: The file is truncated.
    """
    try:
        return pq.read_metadata(for_arrow(file)).num_rows
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"wanted a whole Parquet file, got {file} ({first_line(error)}): {AGAIN}") from None
