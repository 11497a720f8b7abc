"""The settings of the training of a classifier of sentence pairs, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolkit.system.errors import check_lists
from toolkit.system.settings import check_above_zero, check_at_least_one, check_between, check_machine

NAMED = ["sentence1", "sentence2", "label"]


@dataclass(frozen=True)
class _FitSettings:
    """Settings of the training itself.

    Attributes:
        epochs: Times that each pair is seen.
        batch: Pairs of a step in each process.
        learning_rate: At its highest, after a tenth of the steps; it falls to 0 in a line.
        max_length: The most tokens of both sentences together; what is longer is cut.
        seed: Of the order of the pairs and dropout, and in a run of the output layer.
        save_every: Steps from checkpoint to checkpoint.
    """

    epochs: float = 3.0  # Devlin et al. (2018), section 4.1
    batch: int = 32  # Devlin et al. (2018), section 4.1
    learning_rate: float = 5e-5  # Devlin et al. (2018), section 4.1, the best of 5e-5, 4e-5, 3e-5, 2e-5 on dev
    max_length: int = 128  # ours: two sentences of 50 words
    seed: int = 0
    save_every: int = 500

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: One is out of its range.
        """
        check_lists(self)
        check_above_zero(self, "epochs", "learning_rate")
        check_at_least_one(self, "batch", "max_length", "save_every")
        check_machine(self)


@dataclass(frozen=True)
class PairClassifierSettings(_FitSettings):
    """Settings of the command: base model, training data, output folder.

    Attributes:
        base_model: A checkpoint: a folder or a Hub id; its output layer is drawn anew.
        output_dir: Folder of the run; the classifier is in its folder model.
        parabank: Learn paraphrase identification from this parabank: a folder, a Hub name, a run or a file of pairs.
        encoder: With a parabank: the sentence encoder that finds near sentences, a folder or a Hub id.
        max_pairs: With a parabank: the most pairs, half of them paraphrases.
        max_cosine: With a parabank: nearer sentences count as paraphrases and are passed over.
        task: Or learn the labelled pairs of this TSV or CSV file.
        columns: Of the task's two sentences and its label: names, or numbers from 0 if it has no header.
        scored: The task's label is a score from 0 to 5 (STS-B), learnt by one output with the squared error.
        test: Labelled files with the same columns to measure the finished classifier on.
        processes: Processes to start on this machine, which share the work.
    """

    base_model: str = field(kw_only=True)
    output_dir: str = field(kw_only=True)
    parabank: str | None = None
    encoder: str | None = None
    max_pairs: int | None = None
    max_cosine: float = 1.0
    task: str | None = None
    columns: list[str] = field(default_factory=lambda: list(NAMED))
    scored: bool = False
    test: list[str] = field(default_factory=list)
    processes: int = 1

    def __post_init__(self) -> None:
        """Check the numbers, and that there is one source of pairs.

        Raises:
            ValueError: A number is out of its range; there is no source of pairs, or there are two.
        """
        check_lists(self)
        super().__post_init__()
        if (self.parabank is None) == (self.task is None):
            raise ValueError("wanted either --parabank or --task, got both or neither: give one to learn from")
        if self.parabank is not None and self.encoder is None:
            raise ValueError("wanted --encoder with --parabank, got none: name the encoder that finds near sentences")
        if self.scored and self.task is None:
            raise ValueError("wanted --task with --scored, got --parabank: a parabank's pairs have labels")
        if self.max_pairs is not None and self.max_pairs < 2:
            raise ValueError(f"wanted max_pairs of at least 2, half of them paraphrases, got {self.max_pairs}")
        check_between(self, -1, 1, "max_cosine")
        if len(self.columns) != len(NAMED):
            raise ValueError(
                f"wanted the columns of two sentences and a label, got {', '.join(self.columns)}: name three"
            )
