"""A study of files: what `parabank study` does."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

from toolkit.augmentation.augment import augment
from toolkit.augmentation.containers import check_columns
from toolkit.augmentation.data_files import read_file
from toolkit.augmentation.settings import CROSS_VALIDATED, Augmentation
from toolkit.bitext.languages import SAMPLE
from toolkit.chat.settings import FREE_OF_SERVER, LM
from toolkit.clean.script import check_script
from toolkit.encoder.load import load_embedder
from toolkit.models.checkpoint import fingerprint
from toolkit.models.coverage import check_language_of, covers
from toolkit.paraphraser.names import ENCODER
from toolkit.paraphraser.paraphraser import Paraphraser, prompted_paraphraser, stated_language
from toolkit.study._labels import check_labels
from toolkit.study._paraphrase_cache import CachedParaphraser
from toolkit.study.row_sample import _distinct_sizes, _sample_indices
from toolkit.study.study import OVERSAMPLED, Arm, Study, oversampled, study
from toolkit.study.study_settings import EMBEDDINGS, WORDS, StudyFile
from toolkit.study.trials import Trial, by_estimator, by_trainer, on_embeddings, text_regression
from toolkit.system.contents import contents_of, with_contents
from toolkit.system.lock import held
from toolkit.system.outputs import check_output_folder
from toolkit.system.processes import processes
from toolkit.system.settings import SETTINGS, check_record
from toolkit.system.whole_files import write_whole

PARAPHRASED, CHECKED = "paraphrased", "labels checked"
FREE = {"sizes", "seeds", "threads"} | FREE_OF_SERVER  # more of them may be added to finished ones


def study_file(settings: StudyFile) -> Study:
    """Study a task, and write study.txt and curves.png into its folder.

    Raises:
        OSError: A file does not exist, or the folder holds something else.
        ValueError: A column is missing, a row has no text or no class, or the folder holds a study with other settings.
    """
    folder = Path(settings.output_dir)
    check_output_folder(folder, SETTINGS, [settings.train, settings.test])
    train, test = (
        read_file(path, split, None).rows for path, split in ((settings.train, "train"), (settings.test, "test"))
    )
    for rows in (train, test):
        check_columns(rows.features, Augmentation(columns=tuple(settings.columns), label=settings.label, provenance=()))
        for column in settings.columns:
            if None in (texts := list(rows[column])):
                raise ValueError(f"wanted texts in column {column!r}, got None in row {texts.index(None)}")
    check_labels(train, test, settings.label)  # before the settings are recorded, so that mended files may follow
    torch.set_num_threads(settings.threads)
    with held(folder, processes(exchange=False)):
        finished_study = _study_rows(train, test, settings, folder)
        write_whole(folder / "study.txt", f"{finished_study}\n")
        finished_study.plot(folder / "curves.png")
        return finished_study


def _study_rows(train: Dataset, test: Dataset, settings: StudyFile, folder: Path) -> Study:
    """Study the task of some rows; what is finished in the folder is not done again.

    Raises:
        ValueError: A model cannot be used, or the folder holds a study with other settings, files or models.
    """
    sizes = [int(size) for size in settings.sizes]
    base = _load_paraphraser(settings, folder)
    if settings.chosen_classifier == EMBEDDINGS:
        check_language_of(settings.encoder or ENCODER, base.lang, "--encoder")
    if settings.check and base.encoder is None:
        raise ValueError(f"wanted --encoder, a sentence encoder of {base.lang}, for --check, got none")
    first_texts = (text for column in settings.columns for text in train[column][:SAMPLE])
    check_script(first_texts, base.lang, f"{base.name} is for {base.lang}; give --lang and a paraphraser of the texts")
    trial = _choose_trial(settings)
    check_record(folder / SETTINGS, _record_of(settings, base), FREE)
    paraphraser = CachedParaphraser(base, _sample_texts(train, settings, sizes))

    def paraphrased(rows: Dataset, seed: int, check: str | None = None) -> Dataset:
        return augment(
            rows,
            settings.columns,
            copies=settings.copies,
            vary=settings.vary,
            label=settings.label,
            stratify=True,
            check=check,
            paraphraser=paraphraser,
            protect=settings.protect,
            protect_patterns=settings.protect_patterns,
            provenance=(),
            seed=seed,
            progress=False,
        )

    copies_per_row = settings.copies * (len(settings.columns) if settings.vary == "separately" else 1)
    arms: dict[str, Arm] = {PARAPHRASED: paraphrased}
    if settings.check:
        arms[CHECKED] = partial(paraphrased, check=CROSS_VALIDATED)
    arms[OVERSAMPLED] = oversampled(copies_per_row)
    return study(train, test, settings.label, trial, arms, sizes, settings.seeds, folder)


def _record_of(settings: StudyFile, paraphraser: Paraphraser) -> dict[str, Any]:
    """What must be equal in every call that goes on in a folder, with the content of files and models."""
    record = paraphraser.record()
    contents = contents_of({"train": [settings.train], "test": [settings.test]})
    contents |= {f"paraphraser's {use}": " ".join(hashes) for use, hashes in record["models"].items()}
    kind = settings.chosen_classifier
    if kind != WORDS:
        contents["classifier"] = fingerprint((settings.encoder or ENCODER) if kind == EMBEDDINGS else kind)
    return with_contents(asdict(settings), contents) | {"paraphraser's replies": record.get("lm")}


def _load_paraphraser(settings: StudyFile, folder: Path) -> Paraphraser:
    """The paraphraser of a study; in a language that the starter encoder does not know it has the encoder given."""
    meaning = settings.alone(folder)
    if settings.paraphraser == LM:
        lang = settings.lang or "en"
        encoder = None if covers(ENCODER, lang) else settings.encoder
        return prompted_paraphraser(settings, lang, folder, encoder, meaning)
    pivot = settings.pivot or None
    lang = settings.lang or stated_language(settings.paraphraser, pivot)
    encoder = None if covers(ENCODER, lang) else settings.encoder
    return Paraphraser(settings.paraphraser, lang, encoder, pivot=pivot, meaning=meaning)


def _sample_texts(train: Dataset, settings: StudyFile, sizes: list[int]) -> list[str]:
    """The texts of all rows that a study draws, each once; paraphrases are made of no others."""
    labels = list(train[settings.label])
    row_indices = {
        index
        for size in _distinct_sizes(labels, sizes)
        for seed in range(settings.seeds)
        for index in _sample_indices(labels, size, seed)
    }
    rows = train.select(sorted(row_indices))
    return list(dict.fromkeys(text for column in settings.columns for text in rows[column]))


def _choose_trial(settings: StudyFile) -> Trial:
    """The classifier that a study trains."""
    kind = settings.chosen_classifier
    if kind == EMBEDDINGS:
        return on_embeddings(load_embedder(settings.encoder or ENCODER), settings.columns, settings.label)
    if kind == WORDS:
        return by_estimator(text_regression(), settings.columns[0], settings.label)
    return by_trainer(kind, settings.columns, settings.label, settings.steps)
