"""The settings of the trainings of sentence encoders, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.system.errors import check_lists
from toolkit.system.settings import check_above_zero, check_among, check_at_least_one, check_between, check_machine

PARTS = ("word", "trigram", "lstm")
COMBINE = ("addition", "concatenation")  # table 8
DIRECTIONS = ("forward", "average", "concatenation")  # LSTM; BLSTM (section 4); BLSTM, concatenation (appendix A.2)
POOLING = ("average", "max")  # appendix A.2
CHARACTERS = "characters"
CHINESE = (CHARACTERS, "words")
MARGIN = 0.4  # ParaNMT-50M, section 5.2
LOSSES = ("margin", "ranking")
TRANSFORMER_LOSSES = ("cached-ranking", "ranking", "margin")
DTYPES = ("auto", "float32", "bfloat16")


@dataclass(frozen=True)
class Architecture:
    """What an encoder is made of.

    Attributes:
        parts: Of "word", "trigram" and "lstm", each at most once.
        combine: "addition" or "concatenation" of the parts' vectors.
        dimensions: Size of a row of a table, and of the vector of an averaging part.
        hidden: Size of the recurrent part's state; as `dimensions` unless given.
        direction: "forward" is LSTM; "average" of both directions, or their "concatenation", is BLSTM.
        pooling: "average" or "max" over the recurrent part's states.
        chinese: What a word of Chinese is: each of its "characters", or the "words" that jieba cuts.
    """

    parts: tuple[str, ...] = ("word", "trigram")
    combine: str = "addition"  # ours: of table 8's two
    dimensions: int = 300  # table 8
    hidden: int | None = None
    direction: str = "forward"  # section 4: LSTM
    pooling: str = "average"  # section 4
    chinese: str = CHARACTERS

    def __post_init__(self) -> None:
        """Check that such an encoder can be built.

        Raises:
            ValueError: A value is not among those allowed, or the parts' vectors cannot be added.
        """
        check_lists(self)
        if not self.parts or len(set(self.parts)) < len(self.parts) or not set(self.parts) <= set(PARTS):
            raise ValueError(f"wanted distinct parts of {', '.join(PARTS)}, got {', '.join(self.parts) or 'none'}")
        choices = (("combine", COMBINE), ("direction", DIRECTIONS), ("pooling", POOLING), ("chinese", CHINESE))
        for name, possible in choices:
            if getattr(self, name) not in possible:
                raise ValueError(f"wanted {name} of {' or '.join(possible)}, got {getattr(self, name)!r}")
        if self.dimensions < 1 or (self.hidden is not None and self.hidden < 1):
            raise ValueError(f"wanted dimensions and hidden of at least 1, got {self.dimensions} and {self.hidden}")
        if self.combine == "addition" and len({self.size_of(part) for part in self.parts}) > 1:
            sizes = ", ".join(f"{part} {self.size_of(part)}" for part in self.parts)
            raise ValueError(f"wanted parts of one size to add, got {sizes}; change hidden, or concatenate them")

    def size_of(self, part: str) -> int:
        """The size of one part's vector."""
        if part != "lstm":
            return self.dimensions
        return (self.hidden or self.dimensions) * (2 if self.direction == "concatenation" else 1)

    @property
    def size(self) -> int:
        """The size of a sentence's vector."""
        sizes = [self.size_of(part) for part in self.parts]
        return sum(sizes) if self.combine == "concatenation" else sizes[0]


@dataclass(frozen=True, kw_only=True)
class EncoderTraining:
    """The settings of a training of our own encoders; the defaults are those of ParaNMT-50M where it gives them.

    Attributes:
        pairs: Parabanks: folders, Hub names, runs' folders of shards, and .parquet, .tsv or .jsonl files.
        output_dir: Where the model goes.
        parts: Of "word", "trigram" and "lstm".
        combine: "addition" or "concatenation" of the parts' vectors.
        dimensions: Size of the tables' rows.
        hidden: Size of the recurrent part's state; as `dimensions` unless given.
        direction: Of the recurrent part: "forward", "average" or "concatenation" of both directions.
        pooling: Of the recurrent part's states: "average" or "max".
        chinese: What a word of Chinese is: each of its "characters", or the "words" that jieba cuts.
        word_vectors: A text file of word vectors (GloVe's or word2vec's form) to begin with.
        min_count: A word or trigram that the texts say less often has no row of its own.
        max_words: The largest table of words.
        max_trigrams: The largest table of trigrams.
        max_tokens: Pairs with more tokens (`toolkit.bitext.words.tokens`) on either side are left out.
        decontaminate: Evaluation sets whose texts must not be trained on: files, globs or data sets. A pair with a
            sentence that equals such a text, or contains nearly all of it, is left out.
        loss: "margin" is the papers'; "ranking" takes all others of a mini-batch as negatives.
        margin: How much nearer than its negative a paraphrase should be.
        batch: Pairs of a mini-batch.
        mega_batch: Mini-batches that negatives are chosen from at a time.
        epochs: Times that every pair is read.
        learning_rate: Of Adam.
        scramble: Probability with which both sentences of a pair are shuffled for a recurrent part.
        negatives_dtype: What the cosines of a mega-batch are computed in: "float32", "bfloat16", or "auto": bfloat16
            where the processor has it.
        seed: Of the first weights, the order of the pairs and the shuffling.
        save_every: Mega-batches between two checkpoints.
        threads: Threads of one process on a CPU.
        processes: Processes to start on this machine, which share the work.
    """

    pairs: list[str]
    output_dir: str
    parts: list[str] = field(default_factory=lambda: ["word", "trigram"])
    combine: str = "addition"  # ours: of table 8's two; concatenation is a little better there and twice as wide
    dimensions: int = 300  # table 8
    hidden: int | None = None
    direction: str = "forward"  # section 4: LSTM
    pooling: str = "average"  # section 4
    chinese: str = CHARACTERS
    word_vectors: str | None = None  # ours: from scratch; the paper begins with PARAGRAM-SL999 (section 5.2)
    min_count: int = 2  # ours
    max_words: int = 100_000  # ours
    max_trigrams: int = 100_000  # ours
    max_tokens: int = PARANMT_TOKENS  # section 5.4
    decontaminate: list[str] = field(default_factory=list)
    loss: str = "margin"  # section 4
    margin: float = MARGIN
    batch: int = 100  # section 5.2
    mega_batch: int = 40  # section 5.5
    epochs: int = 5  # section 5.2
    learning_rate: float = 0.001  # section 5.2
    scramble: float = 0.3  # section 5.2
    negatives_dtype: str = "auto"
    seed: int = 0
    save_every: int = 50  # ours
    threads: int = 2
    processes: int = 1

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: A number is out of its range, or a value is not among those allowed.
        """
        check_lists(self)
        _ = self.architecture
        whole = ("min_count", "max_words", "max_trigrams", "max_tokens", "batch", "mega_batch", "epochs", "save_every")
        check_at_least_one(self, *whole)
        check_between(self, 0, 2, "margin")
        check_between(self, 0, 1, "scramble")
        check_above_zero(self, "learning_rate")
        check_machine(self)
        check_among(self, "loss", LOSSES)
        check_among(self, "negatives_dtype", DTYPES)

    @property
    def architecture(self) -> Architecture:
        """The architecture of the encoder."""
        shape = self.combine, self.dimensions, self.hidden, self.direction, self.pooling
        return Architecture(tuple(self.parts), *shape, self.chinese)


@dataclass(frozen=True, kw_only=True)
class TransformerTraining:
    """The settings of a fine-tuning of a transformer.

    Attributes:
        pairs: Parabanks: folders, Hub names, runs' folders of shards, and .parquet, .tsv or .jsonl files.
        output_dir: Where the model goes.
        base_model: A transformer or a sentence encoder made of one (folder or Hub id); without pooling, the mean is.
        loss: "cached-ranking" or "ranking" takes all others of a batch as negatives, the second with all activations in
            memory; "margin" is ParaBank 2's, against the nearest of the batch on both sides.
        margin: How much nearer than its negative a paraphrase should be, for the loss "margin".
        batch: Pairs of a step, of all processes together.
        mini_batch: Pairs that go through the transformer at a time; the loss "ranking" takes all at once.
        epochs: Times that every pair is read.
        learning_rate: At its highest, after a tenth of the steps; it falls to 0 in a line.
        max_tokens: A pair with more tokens in one sentence is left out; of the rest so many pieces are read.
        decontaminate: Evaluation sets whose texts must not be trained on: files, globs or data sets. A pair with a
            sentence that equals such a text, or contains nearly all of it, is left out.
        dtype: What the transformer computes in: "float32", "bfloat16", or "auto": bfloat16 where the processor has it;
            its weights are float32.
        seed: Of the order of the pairs and dropout.
        save_every: Steps between two checkpoints.
        threads: Threads of one process on a CPU.
        processes: Processes to start on this machine, which share the work.
    """

    pairs: list[str]
    output_dir: str
    base_model: str
    loss: str = "cached-ranking"
    margin: float = MARGIN
    batch: int = 512  # ours: more negatives than a GPU would hold of activations
    mini_batch: int = 32  # ours: sentence-transformers'
    epochs: int = 1  # Sentence-BERT, section 3.1
    learning_rate: float = 2e-5  # Sentence-BERT, section 3.1
    max_tokens: int = 64  # ours: pieces of twice the 30 tokens of ParaNMT-50M
    decontaminate: list[str] = field(default_factory=list)
    dtype: str = "auto"
    seed: int = 0
    save_every: int = 500  # ours
    threads: int = 2
    processes: int = 1

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: A number is out of its range, or the loss or the dtype is unknown.
        """
        check_lists(self)
        check_at_least_one(self, "mini_batch", "epochs", "max_tokens", "save_every")
        if self.batch < 2:
            raise ValueError(f"wanted a batch of at least 2 pairs, each other's negatives, got {self.batch}")
        check_between(self, 0, 2, "margin")
        check_above_zero(self, "learning_rate")
        check_machine(self)
        check_among(self, "loss", TRANSFORMER_LOSSES)
        check_among(self, "dtype", DTYPES)
