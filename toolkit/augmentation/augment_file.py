"""A file or a data set of the Hub augmented into a file, by one or several processes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import torch
from datasets import ClassLabel, Dataset, Value, load_dataset
from datasets.exceptions import DatasetGenerationError

from toolkit.augmentation.augment import augment
from toolkit.augmentation.file_settings import AugmentFile
from toolkit.augmentation.preview import Preview
from toolkit.augmentation.settings import PROVENANCE, Augmentation
from toolkit.errors import first_line, named_line
from toolkit.outputs import check_output_file
from toolkit.package.load import UNREACHABLE
from toolkit.parallel import processes, tell_idle_gpus, wait

READERS = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".json": "json", ".parquet": "parquet"}
EMPTY_IS_NONE = {"keep_default_na": False, "na_values": [""]}  # pandas would read "NA" and "null" as no text, too
OPTIONS: dict[str, dict[str, Any]] = {
    ".csv": EMPTY_IS_NONE,
    ".tsv": EMPTY_IS_NONE | {"sep": "\t", "quoting": csv.QUOTE_NONE},
}
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")


def augment_file(settings: AugmentFile) -> Path:
    """Augment a data set and write all its rows, the new ones last; the main process writes.

    Returns:
        The file.

    Raises:
        OSError: The data does not exist, or the output cannot be written.
        ValueError: The data cannot be read, or `toolkit.augment` refuses it.
    """
    output = Path(settings.output)
    write = writer_of(output)
    shards = output.with_name(f"{output.name}.shards")
    check_output_file(output, [settings.data], lambda _: shards.is_dir())
    if settings.preview:
        check_output_file(Path(settings.preview), [settings.data, output], is_preview)
    state = processes(exchange=False)
    tell_idle_gpus(state)
    torch.set_num_threads(settings.threads)
    data = read_data(settings.data, settings.data_split, settings.data_config)
    asked = settings.augmentation
    own = {one.name: getattr(asked, one.name) for one in fields(Augmentation)}
    if output.suffix in OPTIONS:
        check_fits(data, output)
    bigger = augment(
        data,
        **own | {"provenance": PROVENANCE if settings.provenance else ()},
        paraphraser=settings.paraphraser,
        pairs=settings.pairs,
        check=settings.check,
        output_dir=shards,
    )
    if state.is_main_process:
        temporary = output.with_name(f".{output.name}.tmp")
        try:
            write(bigger, temporary)
            temporary.replace(output)
        finally:
            temporary.unlink(missing_ok=True)
        if settings.preview and len(bigger) > len(data):
            Preview(bigger, settings.columns).save(settings.preview)
    wait(state)
    return output


def read_data(data: str, split: str, config: str | None) -> Dataset:
    """The rows of a file, or of a split of a data set.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It cannot be read, or has no such split.
    """
    path = Path(data)
    suffix = next((one for one in reversed(path.suffixes) if one not in COMPRESSED), "")
    if suffix in READERS and not path.is_file():
        raise FileNotFoundError(f"wanted a file, a folder or a Hub name, got {data!r}: there is no such file")
    if path.is_file() and suffix not in READERS:
        raise ValueError(f"wanted a file of {', '.join(READERS)}, got {data!r}")
    try:
        if path.is_file():
            return load_dataset(READERS[suffix], data_files=str(path), split="train", **OPTIONS.get(suffix, {}))
        return load_dataset(data, config, split=split)
    except (DatasetGenerationError, pa.ArrowInvalid) as error:
        raise ValueError(f"wanted rows in {data!r}, got {named_line(error.__cause__ or error)}") from error
    except UNREACHABLE as error:
        raise FileNotFoundError(
            f"wanted a file, a folder or a Hub name, got {data!r}: there is no such folder, and as a Hub name it "
            f"failed ({first_line(error)})"
        ) from error


def writer_of(output: Path) -> Callable[[Dataset, Path], object]:
    """The function that writes rows in the form of a file's name.

    Raises:
        ValueError: The name has another suffix.
    """
    writers: dict[str, Callable[[Dataset, Path], object]] = {
        ".csv": lambda rows, path: rows.to_csv(path, index=False),
        ".tsv": lambda rows, path: rows.to_csv(path, index=False, sep="\t", quoting=csv.QUOTE_NONE),
        ".jsonl": write_json_lines,
        ".parquet": lambda rows, path: rows.to_parquet(path),
    }
    if output.suffix not in writers:
        raise ValueError(f"wanted an output that ends in {', '.join(writers)}, got {output}")
    return writers[output.suffix]


def check_fits(rows: Dataset, output: Path) -> None:
    """Refuse values that a table of text cannot hold.

    Raises:
        ValueError: A column has lists or dictionaries, or, of a .tsv file, a text with a tab or a line break.
    """
    for name, kind in rows.features.items():
        if not isinstance(kind, Value | ClassLabel):
            raise ValueError(f"wanted single values in column {name!r} for {output.name}, got lists: write .jsonl")
        if output.suffix == ".tsv" and kind.dtype in ("string", "large_string"):
            broken = pc.match_substring_regex(rows.with_format("arrow")[name][:], r"[\t\n\r]")
            if pc.any(broken).as_py():
                row = broken.to_pylist().index(True)
                raise ValueError(f"row {row}: wanted a text without tabs and line breaks for {output.name}: write .csv")


def write_json_lines(rows: Dataset, path: Path) -> None:
    """Write rows as objects of JSON, numbers with all their digits and times as text."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows.with_format(None):
            file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")


def is_preview(path: Path) -> bool:
    """Whether a file is a preview of this toolkit."""
    return "<title>Augmented rows</title>" in path.read_text(encoding="utf-8", errors="replace")[:500]
