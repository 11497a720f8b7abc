"""A text where a collection of texts is wanted is refused, and never read letter by letter."""

from dataclasses import fields, replace

import pytest
from datasets import Dataset

import toolkit
from builders.paranet import ParaNetRun
from builders.paranmt import ParaNMTRun
from toolkit.augmentation.file_settings import AugmentFile
from toolkit.augmentation.settings import Augmentation
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.encoder.settings import EncoderTraining, TransformerTraining
from toolkit.paraphraser.settings import ParaphraserTraining, Paraphrasing
from toolkit.study.study_settings import StudyFile
from toolkit.train.encoder_pairs import read_pairs
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.translator.settings import TrainingSettings

BITEXT = {"bitext": ["b.tsv"], "source_lang": "de", "lang": "en", "output_dir": "new"}
SETTINGS = [
    ConstraintSet(),
    Paraphrasing(),
    Augmentation(columns=("text",)),
    ParaNMTRun(**BITEXT, forward="x"),
    ParaNetRun(text=["t"], lang="en", output_dir="new"),
    TrainingSettings(**BITEXT, size="starter"),
    EncoderTraining(pairs=["p"], output_dir="new"),
    TransformerTraining(pairs=["p"], output_dir="new", base_model="x"),
    ParaphraserTraining(pairs=["p"], output_dir="new", size="starter"),
    InfillerTraining(text=["t"], output_dir="new"),
    StudyFile(train="a", test="b", columns=["text"], label="l", output_dir="new"),
    AugmentFile(data="d", columns=["text"], output="new"),
]
SEVERAL = [
    (settings, field.name)
    for settings in SETTINGS
    for field in fields(settings)
    if str(field.type).startswith(("list[str]", "tuple[str, ...]"))
]


@pytest.mark.parametrize(("settings", "name"), SEVERAL, ids=[f"{type(s).__name__}.{n}" for s, n in SEVERAL])
def test_a_text_for_a_field_of_several_texts(settings, name):
    with pytest.raises(ValueError, match=f"wanted a list as {name}, got a str: put one text in a list"):
        replace(settings, **{name: "film"})


@pytest.mark.parametrize(
    "call",
    [
        lambda: ConstraintSet(positive="film"),
        lambda: ConstraintSet(("a",), "film"),
        lambda: list(read_pairs("pairs.tsv")),
        lambda: toolkit.augment(Dataset.from_dict({"text": ["A dog."]}), "text", provenance="abc"),
        lambda: toolkit.rewrite("Good morning.", None),
    ],
)
def test_a_text_for_an_argument_of_several_texts(call):
    with pytest.raises(ValueError, match=r"wanted .*, got a str: put one text in a list"):
        call()
