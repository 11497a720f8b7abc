"""The settings of the trainings of sentence encoders, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.system.ranges import Count, PairTraining, Positive, Range, Settings, Share, at_least, between, one_of

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
STATIC_DTYPES = ("float16", "float32")
Parts = Annotated[
    tuple[str, ...],
    Range(
        f"distinct parts of {', '.join(PARTS)}",
        lambda parts: parts and len(set(parts)) == len(parts) and set(parts) <= set(PARTS),
        show=lambda parts: ", ".join(parts) or "none",
    ),
]
Combine = Annotated[str, one_of(COMBINE, separator=" or ")]
Direction = Annotated[str, one_of(DIRECTIONS, separator=" or ")]
Pooling = Annotated[str, one_of(POOLING, separator=" or ")]
Chinese = Annotated[str, one_of(CHINESE, separator=" or ")]
Size = Annotated[
    int, Range("dimensions and hidden of at least 1", lambda size: size >= 1, shown=("dimensions", "hidden"))
]
Batch = Annotated[int, Range("a batch of at least 2 pairs, each other's negatives", lambda pairs: pairs >= 2)]
Margin = Annotated[float, between(0, 2)]


@dataclass(frozen=True)
class Architecture(Settings):
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

    parts: Parts = ("word", "trigram")
    combine: Combine = "addition"  # ours: of table 8's two
    dimensions: Size = 300  # table 8
    hidden: Size | None = None
    direction: Direction = "forward"  # section 4: LSTM
    pooling: Pooling = "average"  # section 4
    chinese: Chinese = CHARACTERS

    def __post_init__(self) -> None:
        """Refuse parts whose vectors cannot be added."""
        super().__post_init__()
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
class EncoderTraining(PairTraining):
    """The settings of a training of our own encoders; the defaults are those of ParaNMT-50M where it gives them.

    Attributes:
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
    """

    parts: list[str] = field(default_factory=lambda: ["word", "trigram"])
    combine: Combine = "addition"  # ours: of table 8's two; concatenation is a little better there and twice as wide
    dimensions: Size = 300  # table 8
    hidden: Size | None = None
    direction: Direction = "forward"  # section 4: LSTM
    pooling: Pooling = "average"  # section 4
    chinese: Chinese = CHARACTERS
    word_vectors: str | None = None  # ours: from scratch; the paper begins with PARAGRAM-SL999 (section 5.2)
    min_count: Count = 2  # ours
    max_words: Count = 100_000  # ours
    max_trigrams: Count = 100_000  # ours
    max_tokens: Count = PARANMT_TOKENS  # section 5.4
    loss: Annotated[str, one_of(LOSSES)] = "margin"  # section 4
    margin: Margin = MARGIN
    batch: Count = 100  # section 5.2
    mega_batch: Count = 40  # section 5.5
    epochs: Count = 5  # section 5.2
    learning_rate: Positive = 0.001  # section 5.2
    scramble: Share = 0.3  # section 5.2
    negatives_dtype: Annotated[str, one_of(DTYPES)] = "auto"
    save_every: Count = 50  # ours

    def __post_init__(self) -> None:
        """Refuse an encoder that cannot be built."""
        super().__post_init__()
        _ = self.architecture

    @property
    def architecture(self) -> Architecture:
        """The architecture of the encoder."""
        shape = self.combine, self.dimensions, self.hidden, self.direction, self.pooling
        return Architecture(tuple(self.parts), *shape, self.chinese)


@dataclass(frozen=True, kw_only=True)
class TransformerTraining(PairTraining):
    """The settings of a fine-tuning of a transformer.

    Attributes:
        base_model: A transformer or a sentence encoder made of one (folder or Hub id); without pooling, the mean is.
        loss: "cached-ranking" or "ranking" takes all others of a batch as negatives, the second with all activations in
            memory; "margin" is ParaBank 2's, against the nearest of the batch on both sides.
        margin: How much nearer than its negative a paraphrase should be, for the loss "margin".
        batch: Pairs of a step, of all processes together.
        mini_batch: Pairs that go through the transformer at a time; the loss "ranking" takes all at once.
        epochs: Times that every pair is read.
        learning_rate: At its highest, after a tenth of the steps; it falls to 0 in a line.
        max_tokens: A pair with more tokens in one sentence is left out; of the rest so many pieces are read.
        dtype: What the transformer computes in: "float32", "bfloat16", or "auto": bfloat16 where the processor has it;
            its weights are float32.
        seed: Of the order of the pairs and dropout.
        save_every: Steps between two checkpoints.
    """

    base_model: str
    loss: Annotated[str, one_of(TRANSFORMER_LOSSES)] = "cached-ranking"
    margin: Margin = MARGIN
    batch: Batch = 512  # ours: more negatives than a GPU would hold of activations
    mini_batch: Count = 32  # ours: sentence-transformers'
    epochs: Count = 1  # Sentence-BERT, section 3.1
    learning_rate: Positive = 2e-5  # Sentence-BERT, section 3.1
    max_tokens: Count = 64  # ours: pieces of twice the 30 tokens of ParaNMT-50M
    dtype: Annotated[str, one_of(DTYPES)] = "auto"
    save_every: Count = 500  # ours


@dataclass(frozen=True, kw_only=True)
class StaticTraining(PairTraining):
    """The settings of a training of one vector for each piece of a word.

    Attributes:
        teacher: A sentence encoder (starter/encoder, a folder or Hub id) to learn from: its vectors of the pieces are
            the first ones, and its cosines of sentences are learned beside the ranking.
        vocabulary: The most pieces, which are cut from the texts of the pairs (WordPiece).
        dimensions: Size of a vector; at most the teacher's.
        shortest: The beginnings of a vector are trained to stand for the whole (Matryoshka): its half, its quarter and
            so on, as long as they have at least so many numbers; as `dimensions` for none.
        smoothing: What a piece counts falls with its share of the text, to half at this share; a large number counts
            all pieces alike.
        ranking: Weight of the ranking loss beside the teacher's cosines; without a teacher it is the only loss.
        batch: Pairs of a step, of all processes together, which are each other's negatives.
        epochs: Times that every pair is read.
        learning_rate: Of Adam at its highest, after a tenth of the steps; it falls to 0 in a line.
        max_tokens: Pairs with more tokens (`toolkit.bitext.words.tokens`) on either side are left out.
        dtype: What the vectors are saved in: "float16", or "float32" with twice the bytes.
        seed: Of the first vectors and the order of the pairs.
        save_every: Steps between two checkpoints.
    """

    teacher: str | None = None
    vocabulary: Count = 32_000  # ours: with 256 dimensions 16 MB
    dimensions: Count = 256  # ours
    shortest: Count = 32  # ours
    smoothing: Positive = 0.003  # ours: SIF's a, which is 0.001 to 0.0001 there (Arora et al. 2017, section 4.1)
    ranking: Annotated[float, at_least(0)] = 0.02  # ours
    batch: Batch = 2048  # ours: as static-retrieval-mrl-en-v1
    epochs: Count = 4  # ours
    learning_rate: Positive = 0.003  # ours
    max_tokens: Count = 64  # ours: as TransformerTraining
    dtype: Annotated[str, one_of(STATIC_DTYPES)] = "float16"
    save_every: Count = 200  # ours

    @property
    def prefixes(self) -> list[int]:
        """The sizes of the beginnings of a vector that are trained, the whole first."""
        sizes = [self.dimensions]
        while sizes[-1] >= 2 * self.shortest:
            sizes.append(sizes[-1] // 2)
        return sizes
