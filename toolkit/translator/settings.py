"""The settings of the training of a translator, without imports that take seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from toolkit.bitext.languages import check_codes
from toolkit.system.errors import check_lists
from toolkit.system.settings import check_above_zero, check_among, check_at_least_one, check_between, check_machine

OPTIMIZERS = ("muon", "adamw")
DEFAULT_SIZE = "starter"  # of a new model
MOST_STEPS = 10**9  # ours: years


@dataclass(frozen=True)
class Size:
    """The shape of a Marian model.

    Attributes:
        vocabulary: Pieces of each SentencePiece model.
        joint: One SentencePiece model and one embedding for both sides.
        width: Of the model and its embeddings.
        encoder_layers: Number of encoder layers.
        decoder_layers: Number of decoder layers.
        heads: Attention heads of each layer.
        feed_forward: Width of the feed-forward layers.
    """

    vocabulary: int
    joint: bool
    width: int
    encoder_layers: int
    decoder_layers: int
    heads: int
    feed_forward: int

    @property
    def positions(self) -> int:
        """The most pieces of a side; ours."""
        return 512 if self.width > 256 else 256


SIZES = {
    # ParaBank 2, section 3.2: "a 12 layer Transformer with a model and embedding size of 768, 12 heads, 3072"
    "parabank2-generation": Size(20_000, False, 768, 12, 12, 12, 3072),
    # ParaBank 2, section 3.2: "6 layers, model and embedding size of 512, 8 attention heads, 2048"
    "parabank2-scoring": Size(20_000, False, 512, 6, 6, 8, 2048),
    # ParaZh, section 4.1: "6 encoder and decoder layers, an embedding size of 512, 8 attention heads, 2048", the
    # translator's 32k Chinese merges, shared embeddings; ours: ParaBank's rewriter has the same shape
    "parazh-paraphraser": Size(32_000, True, 512, 6, 6, 8, 2048),
    # ParaZh, sections 2.2 and 2.3: "Transformer Big", "a 12-layer deep encoder", "a 6-layer decoder", 32k merges a side
    "parazh": Size(32_000, False, 1024, 12, 6, 16, 4096),
    # ours: the same idea for a CPU, where the sides have different scripts: 13M parameters
    "small": Size(8_000, False, 256, 6, 2, 4, 1024),
    # ours: 5.6M parameters, 12 MB in float16; a deep encoder and a shallow decoder, because the decoder runs 150 times
    "starter": Size(7_500, True, 256, 4, 2, 4, 512),
}


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of `toolkit.train.translator.train`.

    Attributes:
        bitext: One TSV, Parquet or dataset, or two line-aligned files.
        output_dir: Where the model and its checkpoints go.
        source_lang: Language of the side that is read (ISO 639-1).
        lang: Language of the side that is written.
        source_column: Column of the source: an index in a TSV, else a name.
        reference_column: Column of the reference.
        check_language: Refuse a bitext of which one side is in another language than said.
        validation: A bitext for the held-out likelihood; unless given, one reference in a hundred is held out.
        synthetic: Files of back-translated pairs (`parabank backtranslate`), each a TSV, Parquet or dataset, to
            train on beside the bitext; none is held out.
        upsample: How often an epoch has each pair of the bitext, beside each back-translated pair once.
        base_model: A translator of this script to begin with, its weights and its pieces: a folder or "starter/NAME";
            unless given, a new one of --size.
        size: Name of a preset; unless given, that of the base model, or "starter".
        alpha: Smoothing of the sampled segmentations (Kudo 2018); 0 is uniform, large is Viterbi, none at all too.
        label_smoothing: In [0, 1).
        dropout: Of residual connections, in [0, 1).
        optimizer: "muon" or "adamw".
        learning_rate: The highest.
        warmup_steps: Steps of linear warm-up, a sixth of the training at most.
        cooldown_steps: Last steps, over which the learning rate falls linearly to zero; at most all after the warm-up.
        max_steps: Optimiser steps altogether.
        batch_tokens: Greatest size of a batch of one process: rows times the longer side's pieces.
        max_tokens: Pairs with more pieces on one side are skipped in training, and counted.
        save_every: Steps between checkpoints.
        average: How many of the last checkpoints are averaged into the model that is saved.
        seed: Of everything random.
        processes: Processes to start on this machine, which share the work.
    """

    bitext: list[str]
    output_dir: str
    source_lang: str
    lang: str
    source_column: str | None = None
    reference_column: str | None = None
    check_language: bool = True
    validation: list[str] = field(default_factory=list)
    synthetic: list[str] = field(default_factory=list)
    upsample: int = 1  # ParaZh, section 2.3, mixes the pairs as they are
    base_model: str | None = None
    size: str | None = None
    alpha: float | None = 0.3  # ours: the paper names none; 0.3 samples 1.1 times the pieces of Viterbi
    label_smoothing: float = 0.1
    dropout: float = 0.1
    optimizer: str = "muon"
    learning_rate: float = 3e-3
    warmup_steps: int = 1000
    cooldown_steps: int = 2000
    max_steps: int = 6000
    batch_tokens: int = 4096
    max_tokens: int = 128
    save_every: int = 250
    average: int = 4
    seed: int = 0
    processes: int = 1

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: A number is out of its range, or a value is not among those allowed.
        """
        check_lists(self)
        check_codes(self)
        if self.size is not None:
            check_among(self, "size", tuple(SIZES))
        check_among(self, "optimizer", OPTIMIZERS)
        check_at_least_one(self, "upsample", "max_steps", "batch_tokens", "max_tokens", "save_every", "average")
        check_between(self, 0, MOST_STEPS, "warmup_steps", "cooldown_steps", "max_steps")
        check_above_zero(self, "learning_rate")
        check_machine(self)
        if not (0 <= self.label_smoothing < 1 and 0 <= self.dropout < 1):
            raise ValueError(
                f"wanted label_smoothing and dropout in [0, 1), got {self.label_smoothing} and {self.dropout}"
            )
        if self.alpha is not None and not 0 <= self.alpha < math.inf:
            raise ValueError(f"wanted alpha of at least 0, got {self.alpha}")
        if self.size or not self.base_model:
            size = self.size or DEFAULT_SIZE
            check_positions(self.max_tokens, SIZES[size].positions, f"size {size}")


def check_positions(max_tokens: int, positions: int, model: str) -> None:
    """Refuse pairs of more pieces than a model has positions.

    Args:
        max_tokens: The most pieces of a side.
        positions: Of the model.
        model: What it is, for the error.

    Raises:
        ValueError: There are too few positions.
    """
    if max_tokens > positions:
        raise ValueError(f"wanted max_tokens up to {positions}, which {model} reads, got {max_tokens}")
