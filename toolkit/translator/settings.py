"""The settings of the training of a translator, without imports that take seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

from toolkit.bitext.languages import Language
from toolkit.system.ranges import Count, Positive, Processes, Range, Seed, between, one_of

OPTIMIZERS = ("muon", "adamw")
DEFAULT_SIZE = "starter"  # of a new model
MOST_STEPS = 10**9  # ours: years
Steps = Annotated[int, between(0, MOST_STEPS)]
Rate = Annotated[
    float,
    Range("label_smoothing and dropout in [0, 1)", lambda rate: 0 <= rate < 1, shown=("label_smoothing", "dropout")),
]
Smoothing = Annotated[float, Range("{} of at least 0", lambda alpha: 0 <= alpha < math.inf)]


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
class TrainingSettings(Processes):
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
    """

    bitext: list[str]
    output_dir: str
    source_lang: Language
    lang: Language
    source_column: str | None = None
    reference_column: str | None = None
    check_language: bool = True
    validation: list[str] = field(default_factory=list)
    synthetic: list[str] = field(default_factory=list)
    upsample: Count = 1  # ParaZh, section 2.3, mixes the pairs as they are
    base_model: str | None = None
    size: Annotated[str, one_of(SIZES)] | None = None
    alpha: Smoothing | None = 0.3  # ours: the paper names none; 0.3 samples 1.1 times the pieces of Viterbi
    label_smoothing: Rate = 0.1
    dropout: Rate = 0.1
    optimizer: Annotated[str, one_of(OPTIMIZERS)] = "muon"
    learning_rate: Positive = 3e-3
    warmup_steps: Steps = 1000
    cooldown_steps: Steps = 2000
    max_steps: Annotated[Count, between(0, MOST_STEPS)] = 6000
    batch_tokens: Count = 4096
    max_tokens: Count = 128
    save_every: Count = 250
    average: Count = 4
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse pairs that are longer than a new model can read."""
        super().__post_init__()
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
