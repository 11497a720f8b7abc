"""The settings of the training of a classifier of sentence pairs, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolkit.system.ranges import Count, Positive, Range, Seed, Settings, Training, between

NAMED = ["sentence1", "sentence2", "label"]
Columns = Annotated[
    list[str],
    Range(
        "the columns of two sentences and a label",
        lambda columns: len(columns) == len(NAMED),
        remedy=": name three",
        show=", ".join,
    ),
]
PairCount = Annotated[int, Range("{} of at least 2, half of them paraphrases", lambda pairs: pairs >= 2)]


@dataclass(frozen=True)
class _FitSettings(Settings):
    """Settings of the training itself.

    Attributes:
        epochs: Times that each pair is seen.
        batch: Pairs of a step in each process.
        learning_rate: At its highest, after a tenth of the steps; it falls to 0 in a line.
        max_length: The most tokens of both sentences together; what is longer is cut.
        seed: Of the order of the pairs and dropout, and in a run of the output layer.
        save_every: Steps from checkpoint to checkpoint.
    """

    epochs: Positive = 3.0  # Devlin et al. (2018), section 4.1
    batch: Count = 32  # Devlin et al. (2018), section 4.1
    learning_rate: Positive = 5e-5  # Devlin et al. (2018), section 4.1, the best of 5e-5, 4e-5, 3e-5, 2e-5 on dev
    max_length: Count = 128  # ours: two sentences of 50 words
    seed: Seed = 0
    save_every: Count = 500


@dataclass(frozen=True)
class PairClassifierSettings(_FitSettings, Training):
    """Settings of the command: base model, training data, output folder.

    Attributes:
        base_model: A checkpoint: a folder or a Hub id; its output layer is drawn anew.
        output_dir: Folder of the run; the classifier is in its folder model.
        parabank: Learn paraphrase identification from this parabank: a folder, a Hub name, a run or a file of pairs.
        encoder: With a parabank: the sentence encoder that finds near sentences, a folder or a Hub id.
        max_pairs: With a parabank: the most pairs, half of them paraphrases.
        max_cosine: With a parabank: nearer sentences count as paraphrases and are passed over.
        task: Or learn the labelled pairs of this file or data set; a negative of a triplet has the label 0.
        columns: Of the task's two sentences and its label: names, or numbers from 0 if it has no header.
        scored: The task's label is a score from 0 to 5 (STS-B), learnt by one output with the squared error.
        test: Labelled files with the same columns to measure the finished classifier on.
    """

    base_model: str = field(kw_only=True)
    parabank: str | None = None
    encoder: str | None = None
    max_pairs: PairCount | None = None
    max_cosine: Annotated[float, between(-1, 1)] = 1.0
    task: str | None = None
    columns: Columns = field(default_factory=lambda: list(NAMED))
    scored: bool = False
    test: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what does not say from where the pairs come: there is one source."""
        super().__post_init__()
        if (self.parabank is None) == (self.task is None):
            raise ValueError("wanted either --parabank or --task, got both or neither: give one to learn from")
        if self.parabank is not None and self.encoder is None:
            raise ValueError("wanted --encoder with --parabank, got none: name the encoder that finds near sentences")
        if self.scored and self.task is None:
            raise ValueError("wanted --task with --scored, got --parabank: a parabank's pairs have labels")
