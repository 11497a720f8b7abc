"""What `datasets` has to be told so that it keeps the texts of data sets in CSV."""

from __future__ import annotations

import csv
import glob
from itertools import islice
from pathlib import Path
from typing import Any

from toolkit.bitext.csv_records import SAMPLE_LINES, TAB, delimiter_of
from toolkit.bitext.text_file import readable_lines

# pandas would read "None", "null", "NA" and "nan" as no text, too
EMPTY_IS_NONE: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
COMMA = ","


def check_folder(folder: str) -> None:
    """Refuse a folder whose path `datasets` takes for a pattern.

    Args:
        folder: A folder of files; anything else is left alone.

    Raises:
        ValueError: Its path has one of [ ] * ?.
    """
    if Path(folder).is_dir() and glob.has_magic(str(Path(folder).resolve())):
        raise ValueError(
            f"wanted a folder without [ ] * ? in its path, which `datasets` takes for a pattern, got {folder!r}: "
            "rename it, or give one file"
        )


def csv_options(name: str, configuration: str | None, cache: str | None = None) -> dict[str, Any]:
    """The options with which `datasets.load_dataset` reads a data set in CSV; none for a data set in another form.

    Between tabs quotes are letters, as `csv_records` reads them.

    Args:
        name: A folder or a Hub id.
        configuration: Its configuration, None for the default.
        cache: The folder in which `datasets` works; None is its own.

    Raises:
        Exception: What `datasets` raises for a data set that does not load.
    """
    from datasets import load_dataset_builder
    from datasets.packaged_modules.csv.csv import CsvConfig

    config = load_dataset_builder(name, configuration, cache_dir=cache).config
    if not isinstance(config, CsvConfig):
        return {}
    files = [Path(file) for part in (config.data_files or {}).values() for file in part]
    local = next((file for file in files if file.suffix == ".csv" and file.is_file()), None)
    options = dict(EMPTY_IS_NONE)
    separator = config.sep
    if separator == COMMA and local is not None:
        first = islice(readable_lines(str(local)), SAMPLE_LINES)
        options["sep"] = separator = delimiter_of(list(first))
    if separator == TAB:
        options["quoting"] = csv.QUOTE_NONE
    return options
