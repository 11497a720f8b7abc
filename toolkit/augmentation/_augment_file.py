"""A file or a data set of the Hub augmented into a file, by one or several processes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from datasets import Dataset

from toolkit.augmentation._records import FileRows
from toolkit.augmentation._write_rows import (
    DELIMITERS,
    Added,
    check_fits,
    check_suffix,
    write_records,
    write_values,
)
from toolkit.augmentation.augment import augment
from toolkit.augmentation.containers import HIDDEN
from toolkit.augmentation.data_files import read_file
from toolkit.augmentation.file_settings import AugmentFile
from toolkit.augmentation.preview import Preview
from toolkit.augmentation.settings import PROVENANCE, Augmentation
from toolkit.chat.settings import LM
from toolkit.system.outputs import check_output_file
from toolkit.system.processes import processes, tell_idle_gpus, wait
from toolkit.system.whole_files import whole_file

if TYPE_CHECKING:
    from toolkit.paraphraser.paraphraser import Paraphraser

PREVIEWED = 500  # ours: texts of a page, whose box filters them


def augment_file(settings: AugmentFile) -> Path:
    """Augment a data set and write all its rows, the new ones last; the main process writes.

    Returns:
        The file.

    Raises:
        OSError: The data does not exist, or the output cannot be written.
        ValueError: The data cannot be read, or `toolkit.augment` refuses it.
    """
    output = Path(settings.output)
    check_suffix(output)
    shards = output.with_name(f"{output.name}.shards")
    check_output_file(output, [settings.data], lambda _: shards.is_dir())
    if settings.preview:
        check_output_file(Path(settings.preview), [settings.data, output], _is_preview)
    state = processes(exchange=False)
    tell_idle_gpus()
    torch.set_num_threads(settings.threads)
    data = read_file(settings.data, settings.data_split, settings.data_config)
    if settings.provenance:
        _check_free_names(data.rows)
    if output.suffix in DELIMITERS:
        check_fits(data.rows, output)
    paraphraser = _paraphraser(settings, shards)
    is_loaded = not isinstance(paraphraser, str)
    bigger = augment(
        data.rows,
        **{field.name: getattr(settings.augmentation, field.name) for field in fields(Augmentation)}
        | {"provenance": PROVENANCE if settings.provenance else HIDDEN},
        paraphraser=paraphraser,
        pivot=None if is_loaded else settings.pivot or None,
        pairs=settings.pairs,
        check=settings.check,
        output_dir=shards,
        lang=None if is_loaded else settings.lang,
        encoder=None if is_loaded else settings.encoder,  # what is loaded has one
    )
    if state.is_main_process:
        _write_whole_file(data, bigger, settings, output)
        if settings.preview and len(bigger) > len(data.rows):
            Preview(bigger, settings.columns, PREVIEWED, lang=settings.lang).save(settings.preview)
    wait(state)
    return output


def _paraphraser(settings: AugmentFile, shards: Path) -> str | Paraphraser:
    """The paraphraser of the settings: its name, or one with models that keep a server's replies beside the shards."""
    meaning = settings.alone(shards)
    if settings.paraphraser == LM:
        from toolkit.paraphraser.paraphraser import prompted_paraphraser

        return prompted_paraphraser(settings, settings.lang, shards, settings.encoder, meaning)
    if meaning is None:
        return settings.paraphraser
    from toolkit.paraphraser.paraphraser import Paraphraser

    pivot = settings.pivot or None
    return Paraphraser(settings.paraphraser, settings.lang, settings.encoder, pivot=pivot, meaning=meaning)


def _write_whole_file(data: FileRows, bigger: Dataset, settings: AugmentFile, output: Path) -> None:
    """Write all rows, so that the file appears when it is whole.

    Args:
        data: What was read.
        bigger: Its rows and the new ones, with columns of provenance.
        settings: The columns that are written.
        output: The file.
    """
    with whole_file(output) as temporary:
        if data.records is not None and data.records.suffix == output.suffix:
            spans = settings.augmentation.spans
            changed = [*settings.columns, *(spans[column] for column in settings.columns if column in spans)]
            source = (PROVENANCE if settings.provenance else HIDDEN)[0]
            write_records(data.records, Added(bigger, changed, source, PROVENANCE * settings.provenance), temporary)
        else:
            rows = bigger if settings.provenance else bigger.remove_columns(list(HIDDEN))
            write_values(rows, temporary, output.suffix)


def _check_free_names(rows: Dataset) -> None:
    """Refuse data with a column of the name of one that is added.

    Raises:
        ValueError: It has one.
    """
    for name in PROVENANCE:
        if name in rows.column_names:
            raise ValueError(
                f"wanted data without a column {name!r}, because a column of this name is added: give --no-provenance, "
                "or rename the column"
            )


def _is_preview(path: Path) -> bool:
    """Whether a file is a preview of this toolkit."""
    return "<title>Augmented rows</title>" in path.read_text(encoding="utf-8", errors="replace")[:500]
