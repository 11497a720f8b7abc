"""The settings of a command that studies augmentation, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolkit.augmentation.settings import VARY
from toolkit.bitext.languages import Language
from toolkit.chat.settings import LM, PromptedModel
from toolkit.paraphraser.names import BEST
from toolkit.paraphraser.protect import Protection
from toolkit.score.meaning import MeaningModels
from toolkit.system.ranges import Count, Range, Threads, at_least, one_of

EMBEDDINGS, WORDS = "embeddings", "tfidf"
Sizes = Annotated[
    list[str],
    Range(
        "whole numbers as {}",
        lambda sizes: sizes and all(map(str.isdecimal, sizes)),
        show=" ".join,
        note="whole numbers",
    ),
]


@dataclass(frozen=True, kw_only=True)
class StudyFile(PromptedModel, Protection, MeaningModels):
    """A task, a classifier, and the arms that are compared.

    Attributes:
        train: Rows to train on: a .csv, .tsv, .jsonl, .json or .parquet file, or a data set.
        test: Rows to test on, likewise; never the rows by which settings are chosen.
        columns: Columns of the texts.
        label: Column of the classes.
        output_dir: Folder of the results, which keeps finished ones if the command is ended: results.jsonl, study.txt,
            curves.png.
        classifier: "tfidf" (logistic regression on weighted words, pairs of words and parts of words), "embeddings"
            (logistic regression on frozen embeddings), or a transformer that is fine-tuned: a Hub id or a folder.
            Unless given, "tfidf" for one column and "embeddings" for several.
        encoder: A sentence encoder, of "embeddings"; in other languages than English, if it is given, also for the
            cosine of text and paraphrase and for --check. Unless given, "starter/encoder", in English.
        steps: Of a transformer: steps of each training, whatever the number of rows.
        paraphraser: "best" (what is installed), a model (starter/NAME, a Hub id or a folder), two translators with
            " > " between, there and back, or "lm", the language model of --model.
        lang: Language of the texts (ISO 639-1); unless given, what the paraphraser states, or English.
        pivot: Two translators instead of a paraphraser, there and back: --pivot starter/en-pt starter/pt-en.
        copies: New rows for each row, at most.
        vary: "separately" or "together".
        check: Try a second arm, with the new rows that a classifier of the other rows gives their label.
        sizes: Training rows of each class, all of a smaller class; 0 takes all rows, and so does a size that no class
            exceeds. Where all seeds train on the same rows, nothing is tested.
        seeds: How often each arm is trained.
        threads: Threads on a CPU.
    """

    train: str
    test: str
    columns: list[str]
    label: str
    output_dir: str
    classifier: str | None = None
    encoder: str | None = None
    steps: Count = 200
    paraphraser: str = BEST
    lang: Language | None = None
    pivot: list[str] = field(default_factory=list)
    copies: Count = 2
    vary: Annotated[str, one_of(VARY)] = "separately"
    check: bool = False
    sizes: Sizes = field(default_factory=lambda: ["16", "64", "256"])
    seeds: Annotated[int, at_least(2, ": one says nothing about chance")] = 10
    threads: Threads = 2

    def __post_init__(self) -> None:
        """Refuse several columns for a classifier of one, and a language model that is not asked."""
        super().__post_init__()
        self.check_model(self.paraphraser == LM, f"--paraphraser {LM}", self.rubric is not None)
        self.check_used()
        if self.classifier == WORDS and len(self.columns) > 1:
            raise ValueError(f"wanted one column for the classifier {WORDS}, got {' '.join(self.columns)}")

    @property
    def chosen_classifier(self) -> str:
        """The classifier that is trained: the one that was given, or else that of so many columns."""
        return self.classifier or (WORDS if len(self.columns) == 1 else EMBEDDINGS)
