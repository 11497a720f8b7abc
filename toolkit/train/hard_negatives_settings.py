"""The settings of the search of hard negatives, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolkit.bitext.languages import Language
from toolkit.system.ranges import Count, Settings, Share, between


@dataclass(frozen=True, kw_only=True)
class NegativesSettings(Settings):
    """The settings of the command.

    Attributes:
        parabank: The pairs: a folder, a Hub name, a run or a file; of a parabank its training split.
        encoder: The sentence encoder that says what is near: starter/encoder, a folder or a Hub id.
        output: A new folder of a data set, or a .parquet or .jsonl file.
        negatives: Negatives of each pair, at most; each is a row of its own.
        relative_margin: The cosine of a negative is at most that of the positive less this share of it; nearer
            sentences may be paraphrases and are passed over.
        max_overlap: A sentence that shares more of its words (intersection over union) may be a paraphrase and is
            passed over, unless it changes a number, a name, a negation or a person.
        nli: A cross-encoder for natural language inference: a sentence that follows from the anchor, and the anchor
            from it, more probably than max_entailment is a paraphrase and is passed over; so is what it cannot read
            whole.
        max_entailment: The greatest probability of the less probable direction, in [0, 1].
        neighbours: Near sentences that are looked at for each anchor.
        skip: The nearest of those below the ceiling that are passed over.
        scores: Write the column `score`: by how much the positive is nearer than the negative, as losses of margins
            (MarginMSELoss) read it.
        lang: The language of the texts (ISO 639-1); guards and rules of contractions know some (default: what the
            folder or URL of a parabank states, else en).
        batch_size: Texts that the encoder reads at once.
        device: Where the models compute, such as cpu or cuda:1 (default: a GPU where there is one).
    """

    parabank: str
    encoder: str
    output: str
    negatives: Count = 1
    relative_margin: Annotated[float, between(0, 1)] = 0.05  # NV-Retriever (Moreira et al. 2024), table 1: 95 %
    max_overlap: Share = 0.7  # ours: with more words in common a text without a broken guard mostly says the same
    nli: str | None = None
    max_entailment: Share = 0.5  # ours: more probable than not, in both directions
    neighbours: Count = 50  # ours
    skip: Annotated[int, between(0, 1000)] = 0
    scores: bool = False
    lang: Language | None = None
    batch_size: Count = 256
    device: str | None = None
