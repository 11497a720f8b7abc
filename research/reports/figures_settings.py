"""Tables of all settings, made from the dataclasses that are the flags and the YAML files."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from builders.parabank import ParaBankRun
from builders.parabank2 import ParaBank2Run, ParaBank2TextRun
from builders.paranet import ParaNetRun
from builders.paranmt import ParaNMTRun
from builders.parazh import ParaZhRun
from research.reports.figures import table
from toolkit.augmentation.file_settings import AugmentFile
from toolkit.clean.clean_file import CleanFile
from toolkit.encoder.settings import EncoderTraining, TransformerTraining
from toolkit.generate.monolingual import BackTranslation
from toolkit.pair_classifier.settings import PairClassifierSettings
from toolkit.paraphraser.settings import ParaphraserTraining, Paraphrasing
from toolkit.score.cross_entropy import BitextFilter
from toolkit.study.study_settings import StudyFile
from toolkit.system.settings import attribute_help, base_type, required
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.translator.settings import TrainingSettings


def settings_of(cls: type[Any], flag: str = "--") -> str:
    """Flag, type, default and meaning of every field, those without a default first."""
    hints, meaning = typing.get_type_hints(cls), attribute_help(cls)
    fields = sorted(dataclasses.fields(cls), key=lambda field: not required(field))
    head = ["flag" if flag else "name", "type", "default", "meaning"]
    return table(head, [line(field, hints[field.name], meaning, flag) for field in fields])


def line(field: dataclasses.Field, hint: Any, meaning: dict[str, str], flag: str) -> list[str]:
    """The row of one field."""
    several = typing.get_origin(hint) is list
    kind = "list" if several else base_type(hint).__name__
    if required(field):
        default = "required"
    else:
        made = field.default_factory
        value: Any = field.default if made is dataclasses.MISSING else made()
        default = "" if value is None else f"`{' '.join(map(str, value)) if several else value}`".replace("``", "")
    return [f"`{flag}{field.name}`", kind, default, meaning[field.name].replace("|", "\\|")]


def settings_parabank2() -> str:
    """Of `parabank build parabank2`."""
    return settings_of(ParaBank2Run)


def settings_parabank2_text() -> str:
    """Of `parabank build parabank2 --text`."""
    return settings_of(ParaBank2TextRun)


def settings_parabank() -> str:
    """Of `parabank build parabank`."""
    return settings_of(ParaBankRun)


def settings_paranmt() -> str:
    """Of `parabank build paranmt`."""
    return settings_of(ParaNMTRun)


def settings_parazh() -> str:
    """Of `parabank build parazh`."""
    return settings_of(ParaZhRun)


def settings_paranet() -> str:
    """Of `parabank build paranet`."""
    return settings_of(ParaNetRun)


def settings_clean() -> str:
    """Of parabank clean."""
    return settings_of(CleanFile)


def settings_infiller() -> str:
    """Of parabank train infiller."""
    return settings_of(InfillerTraining)


def settings_encoder() -> str:
    """Of parabank train encoder."""
    return settings_of(EncoderTraining)


def settings_transformer() -> str:
    """Of parabank train transformer_encoder."""
    return settings_of(TransformerTraining)


def settings_translator() -> str:
    """Of parabank train translator."""
    return settings_of(TrainingSettings)


def settings_filter_bitext() -> str:
    """Of parabank filter bitext."""
    return settings_of(BitextFilter)


def settings_backtranslation() -> str:
    """Of parabank backtranslate."""
    return settings_of(BackTranslation)


def settings_paraphraser() -> str:
    """Of parabank train paraphraser."""
    return settings_of(ParaphraserTraining)


def settings_paraphrasing() -> str:
    """Of `toolkit.Paraphraser`."""
    return settings_of(Paraphrasing, "")


def settings_pair_classifier() -> str:
    """Of parabank train pair_classifier."""
    return settings_of(PairClassifierSettings)


def settings_augmentation() -> str:
    """Of parabank augment."""
    return settings_of(AugmentFile)


def settings_study() -> str:
    """Of parabank study."""
    return settings_of(StudyFile)


MADE = (
    settings_parabank2,
    settings_parabank2_text,
    settings_parabank,
    settings_paranmt,
    settings_parazh,
    settings_paranet,
    settings_clean,
    settings_encoder,
    settings_transformer,
    settings_translator,
    settings_filter_bitext,
    settings_backtranslation,
    settings_infiller,
    settings_paraphraser,
    settings_paraphrasing,
    settings_pair_classifier,
    settings_augmentation,
    settings_study,
)
