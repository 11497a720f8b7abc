"""Tables of all settings, made from the dataclasses that are the flags and the YAML files."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

from builders.commands.paraphrase_document import ParaphraseDocument
from builders.parabank import ParaBankRun
from builders.parabank2 import ParaBank2Run, ParaBank2TextRun
from builders.paranet import ParaNetRun
from builders.paranmt import ParaNMTRun
from builders.parazh import ParaZhRun
from research.reports.figures import table
from toolkit.augmentation.file_settings import AugmentFile
from toolkit.chat.settings import PromptedModel, ServerSettings
from toolkit.clean.bitext import BitextSettings
from toolkit.clean.clean_file import CleanFile
from toolkit.clean.rules import CleanSettings
from toolkit.encoder.settings import EncoderTraining, StaticTraining, TransformerTraining
from toolkit.generate.monolingual import BackTranslation
from toolkit.pair_classifier.settings import PairClassifierSettings
from toolkit.paraphraser.protect import Protection
from toolkit.paraphraser.settings import ParaphraserTraining, Paraphrasing
from toolkit.run.bitext_run import BitextRun
from toolkit.run.shard_runs import LanguageModelSettings, RaySettings, RunSettings
from toolkit.run.text_run import TextRun
from toolkit.score.cross_entropy import BitextFilter
from toolkit.study.study_settings import StudyFile
from toolkit.system.ranges import Machine, Processes
from toolkit.system.settings import attribute_help, base_type, required
from toolkit.train.hard_negatives_settings import NegativesSettings
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.translator.settings import TrainingSettings


@dataclasses.dataclass(frozen=True)
class Group:
    """Settings that several commands share, shown once.

    Attributes:
        title: What the group is called in a sentence.
        page: Where its table is, from a page of settings.
        base: The dataclass that has the fields; a command has the group if its dataclass is one of these.
        names: The fields.
    """

    title: str
    page: str
    base: type[Any]
    names: tuple[str, ...]


def own_names(cls: type[Any]) -> tuple[str, ...]:
    """The fields that a dataclass itself declares, without those of its bases."""
    fields = {field.name for field in dataclasses.fields(cls)}
    return tuple(name for name in cls.__annotations__ if name in fields)


LANGUAGE_MODEL = tuple(dict.fromkeys((*own_names(LanguageModelSettings), *own_names(PromptedModel))))
GROUPS = (
    Group("a bitext", "input.md#a-bitext", BitextSettings, (*own_names(BitextSettings), *own_names(BitextRun))),
    Group("running text", "input.md#running-text", TextRun, ("lang", *own_names(TextRun))),
    Group("cleaning", "cleaning.md", CleanSettings, own_names(CleanSettings)),
    Group("the run", "run.md", RunSettings, (*own_names(RunSettings), *own_names(Machine), *own_names(Processes))),
    Group("what stays of a text", "augmentation.md#what-stays-of-a-text", Protection, own_names(Protection)),
    Group("a language model", "language-model.md#candidates-of-a-builder", RunSettings, LANGUAGE_MODEL),
    Group("a server of language models", "language-model.md#a-server", ServerSettings, own_names(ServerSettings)),
    Group("Ray", "ray.md", RunSettings, own_names(RaySettings)),
)


def settings_of(cls: type[Any], flag: str = "--") -> str:
    """The settings that only this dataclass has, and where those are that it shares with others."""
    groups = [group for group in GROUPS if issubclass(cls, group.base)]
    shared = {name for group in groups for name in group.names if same_setting(cls, group.base, name)}
    fields = [field.name for field in dataclasses.fields(cls) if field.name not in shared]
    links = ", ".join(f"[{group.title}]({group.page})" for group in groups)
    return rows_of(cls, fields, flag) + (f"\n\nAlso the settings of {links}." if links else "")


def same_setting(cls: type[Any], base: type[Any], name: str) -> bool:
    """Whether a field of a dataclass has the default and the meaning that it has in the base of a group."""
    if name not in base.__dataclass_fields__:  # of a class between the two, such as `origin` of `BitextRun`
        return True
    ours, theirs = cls.__dataclass_fields__[name], base.__dataclass_fields__[name]
    return default_of(ours) == default_of(theirs)


def group_of(page: str) -> str:
    """The table of a group."""
    group = next(group for group in GROUPS if group.page == page)
    cls = BitextRun if group.base is BitextSettings else group.base
    return rows_of(cls, group.names, "--")


def rows_of(cls: type[Any], names: Sequence[str], flag: str) -> str:
    """Flag, type, default and meaning of some fields, those without a default first."""
    hints, meaning = typing.get_type_hints(cls), attribute_help(cls)
    fields = sorted((cls.__dataclass_fields__[name] for name in names), key=lambda field: not required(field))
    head = ["flag" if flag else "name", "type", "default", "meaning"]
    return table(head, [line(field, hints[field.name], meaning, flag) for field in fields])


def default_of(field: dataclasses.Field) -> Any:
    """The default of a field, made if it has a factory."""
    factory = field.default_factory
    return field.default if factory is dataclasses.MISSING else factory()


def line(field: dataclasses.Field, hint: Any, meaning: dict[str, str], flag: str) -> list[str]:
    """The row of one field."""
    is_list = typing.get_origin(hint) is list
    kind = "list" if is_list else base_type(hint).__name__
    if required(field):
        default = "required"
    else:
        value = default_of(field)
        default = "" if value is None else f"`{' '.join(map(str, value)) if is_list else value}`".replace("``", "")
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


def settings_static() -> str:
    """Of parabank train static_encoder."""
    return settings_of(StaticTraining)


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


def settings_negatives() -> str:
    """The settings of the search of hard negatives."""
    return settings_of(NegativesSettings)


def settings_augmentation() -> str:
    """Of parabank augment."""
    return settings_of(AugmentFile)


def settings_protection() -> str:
    """Of what stays of a text."""
    return group_of("augmentation.md#what-stays-of-a-text")


def settings_paraphrase() -> str:
    """Of parabank paraphrase."""
    return settings_of(ParaphraseDocument)


def settings_study() -> str:
    """Of parabank study."""
    return settings_of(StudyFile)


def settings_input_bitext() -> str:
    """Of what reads a bitext."""
    return group_of("input.md#a-bitext")


def settings_input_text() -> str:
    """Of what reads running text."""
    return group_of("input.md#running-text")


def settings_cleaning() -> str:
    """Of what cleans a bitext or text."""
    return group_of("cleaning.md")


def settings_run() -> str:
    """Of all builders."""
    return group_of("run.md")


def settings_language_model() -> str:
    """Of all builders, for candidates from a language model."""
    return group_of("language-model.md#candidates-of-a-builder")


def settings_server() -> str:
    """The settings of whoever asks a server."""
    return group_of("language-model.md#a-server")


def settings_ray() -> str:
    """Of all builders, for Ray."""
    return group_of("ray.md")


MADE = (
    settings_input_bitext,
    settings_input_text,
    settings_cleaning,
    settings_run,
    settings_language_model,
    settings_server,
    settings_ray,
    settings_parabank2,
    settings_parabank2_text,
    settings_parabank,
    settings_paranmt,
    settings_parazh,
    settings_paranet,
    settings_clean,
    settings_encoder,
    settings_static,
    settings_transformer,
    settings_translator,
    settings_filter_bitext,
    settings_backtranslation,
    settings_infiller,
    settings_paraphraser,
    settings_paraphrasing,
    settings_pair_classifier,
    settings_negatives,
    settings_augmentation,
    settings_protection,
    settings_paraphrase,
    settings_study,
)
