"""The settings of the training of an infiller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolkit.bitext.languages import Language
from toolkit.generate.keywords import DROP_RATE
from toolkit.models.coverage import starter_of_language
from toolkit.system.ranges import DTYPES, Count, Machine, Positive, Share, Training, one_of


@dataclass(frozen=True, kw_only=True)
class InfillerTraining(Training, Machine):
    """The settings of `toolkit.train.infiller.train`; the defaults are those of the starter.

    Attributes:
        text: Running text, such as books: files, folders or globs.
        sentences: Text files with a sentence in each line, which have no context.
        base_model: A T5-type model to begin with, a Hub id or a folder; unless given, a new one of the sizes below.
        lang: Language of the text (ISO 639-1).
        vocabulary: Pieces of a new model, without the sentinels.
        width: Of the layers of a new model.
        feed_forward: Inner width of its feed-forward layers.
        encoder_layers: Layers of its encoder.
        decoder_layers: Layers of its decoder.
        min_chars: Fewest characters of a sentence.
        max_chars: Most characters of a sentence.
        context: Most characters of the text before a sentence, and of that after it.
        context_rate: Share of the examples that have their context.
        drop_rate: Share of the keywords that are dropped.
        any_rate: Share of the examples with any number of keywords, from none to all, so that the model can tell how
            probable a whole sentence is, or the rest of it beside one keyword.
        mask_rate: Share of the examples with all of the sentence but one word, so that the model can say what else
            could stand there.
        epochs: How often each sentence is read, with other keywords dropped.
        max_steps: Steps after which the training ends, if it is shorter than the epochs; 0 is no limit.
        held_out: Sentences whose loss is measured at each checkpoint.
        batch_tokens: Greatest size of a batch of one process: examples times the longer side's pieces.
        max_tokens: Examples with more pieces on one side are left out, and counted.
        learning_rate: The highest, relative to the size of the weights (Adafactor); it falls by a cosine to zero.
        warmup_steps: Steps in which it rises to that, a tenth of the training at most.
        dtype: "bfloat16", "float32", or "auto" (bfloat16 where the processor has it).
        save_every: Steps between checkpoints.
        license: Licence of the model, for its card.
        source: What the text is and where it is from, for the card.
    """

    text: list[str]
    sentences: list[str] = field(default_factory=list)
    base_model: Annotated[str, starter_of_language] | None = None
    lang: Language = "en"
    vocabulary: Count = 6000
    width: Count = 256
    feed_forward: Count = 896
    encoder_layers: Count = 3
    decoder_layers: Count = 2
    min_chars: Count = 25
    max_chars: int = 170
    context: int = 120
    context_rate: Share = 0.75
    drop_rate: Share = DROP_RATE
    any_rate: Share = 0.2
    mask_rate: Share = 0.1
    epochs: Count = 2
    max_steps: int = 0
    held_out: Count = 1000
    batch_tokens: Count = 4096
    max_tokens: Count = 200
    learning_rate: Positive = 0.02
    warmup_steps: int = 200
    dtype: Annotated[str, one_of(DTYPES[:3])] = "auto"
    save_every: Count = 1000
    license: str = "unknown"
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse lengths that no sentence has."""
        super().__post_init__()
        if self.max_chars < self.min_chars:
            raise ValueError(f"wanted max_chars of at least min_chars, got {self.max_chars} and {self.min_chars}")
