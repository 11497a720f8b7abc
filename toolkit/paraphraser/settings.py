"""The settings of paraphrasing, and of the training of a paraphraser, without imports that take seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from toolkit.bitext.languages import Language
from toolkit.evaluate.ibleu import ALPHA
from toolkit.models.coverage import check_language_of, covers, starter_of_language
from toolkit.paraphraser.names import STARTER
from toolkit.paraphraser.protect import CLASSES, Classes, OwnPatterns
from toolkit.score.guards import GUARDS
from toolkit.score.meaning import MODELS
from toolkit.system.ranges import (
    Count,
    CountOrZero,
    PairTraining,
    Positive,
    Range,
    Settings,
    Share,
    at_least,
    at_most,
    between,
    one_of,
)
from toolkit.translator.settings import SIZES

PRESETS = Path(__file__).with_name("presets")  # the papers' settings, for `--preset`
MEANING = tuple(MODELS)  # scores that need their models
METHODS = ("auto", "sample", "beam", "top_p")
RANKINGS = ("dual", "forward", "semantic", "usable", "draws", *MEANING)
DIRECTIONS = ("from_reference", "to_reference", "both")
WEIGHTS = ("equal", "rank", "dual")
DTYPES = ("auto", "float32", "bfloat16")
Smoothing = Annotated[float, Range("{} in [0, 1)", lambda rate: 0 <= rate < 1)]


def _parser_of_language(name: str, parser: str, settings: Any) -> None:
    """Refuse Link Grammar for another language than it parses.

    Raises:
        ValueError: The pairs are in another language.
    """
    if parser == "link-grammar":
        check_language_of(parser, settings.lang, f"--{name}")


@dataclass(frozen=True)
class Paraphrasing(Settings):
    """How texts are paraphrased.

    The numbers are ours, chosen on validation data (docs/results/paraphraser-defaults.md).

    Attributes:
        n: The most paraphrases of a text.
        method: "sample" (ParaBank 2's: random words of the text are forbidden), "beam", "top_p" (no words are; of one
            model), or "auto": "beam" for one paraphrase of a text, else "sample"; of two translators both.
        rank_by: "dual" (forward plus backward log-likelihood per token), "forward", "semantic" (the cosine), "draws"
            (how often the model said it), "entailment", "parapluie" or "rubric" (`toolkit.score.meaning`, with its
            models), or, in English, "usable": the probability that a reader would call it usable
            (`toolkit.score.judge`). Only "dual", "usable", max_dual_nll and min_usable take the time of a backward
            score.
        guards: What a paraphrase must keep, of `toolkit.score.guards.GUARDS`.
        protect: What of a text stays letter for letter, of `toolkit.paraphraser.protect.CLASSES`: "code", "url",
            "mail", "placeholder", "mention", "hashtag", "quantity" (a number with its unit) and "emoji".
        protect_patterns: Regular expressions of what else does.
        min_semantic: The least cosine of text and paraphrase, in [-1, 1]; None refuses none.
        min_forward: The least forward log-likelihood per token of a paraphrase, in nats, at most 0; None refuses none.
        min_usable: The least probability, in [0, 1], that a reader would call a paraphrase usable, in English: a high
            one gives fewer paraphrases and surer ones. None refuses none.
        max_iou: The greatest share of pieces that text and paraphrase have in common, in [0, 1]; None refuses none.
        max_dual_nll: The most nats per token, forward plus backward; None refuses none.
        allow_trivial: Whether a text that only contracts or expands ("What's", "What is") is a paraphrase.
        pool: Only the pool x n candidates with the greatest forward log-likelihood per token are scored backward and
            clustered; 0 keeps all. Where a language model scores, too, it reads so many, it reads back a quarter of
            these, and twice as many are scored backward.
        constraint_sets: Of "sample": random sets of forbidden words.
        samples_per_set: Of "sample", of one model: samples under each set. "top_p" draws as many in all, under none.
        constraint_rate: Likewise: the probability with which a word of the text is in a set.
        top_k: Of "sample": the number of most probable tokens that are drawn from.
        min_p: Of "sample": tokens below this share of the most probable one's probability are not drawn.
        top_p: Of "top_p": the share of the probability that is drawn from.
        beam: Of "beam", and wherever words are required: hypotheses that a search follows.
        pivots: Of two translators: translations of a text that are translated back.
        pivot_beam: Likewise: hypotheses that their searches follow.
        greedy_pivots: Likewise: for so many translations each word of the text is forbidden in turn; 0 for none.
        rewrites: Likewise, where candidates are judged: so many outputs of each seq2seq paraphraser of the language
            itself join those of the translators; 0 for none.
        continuations: Likewise: so many of each causal model that was tuned to paraphrase; 0 for none.
        batch_rows: Rows of a decoding batch; of long texts there are fewer. None is 2,400 on a CPU, and by its memory
            on a GPU.
        batch_tokens: Size of a scoring batch, pairs times tokens. None is 8,192 on a CPU, and by its memory on a GPU.
        seed: Of the forbidden words and the samples.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 2400, "batch_tokens": 8192}

    n: Count = 1
    method: Annotated[str, one_of(METHODS)] = "auto"
    rank_by: Annotated[str, one_of(RANKINGS)] = "forward"
    guards: tuple[str, ...] = GUARDS
    protect: Classes = CLASSES
    protect_patterns: OwnPatterns = ()
    min_semantic: Annotated[float, between(-1, 1)] | None = 0.5
    min_forward: Annotated[float, at_most(0)] | None = None
    min_usable: Share | None = None
    max_iou: Share | None = None
    max_dual_nll: Annotated[float, at_least(0)] | None = None
    allow_trivial: bool = False
    pool: CountOrZero = 2
    constraint_sets: Count = 4
    samples_per_set: Count = 5
    constraint_rate: Share = 0.15
    top_k: Count = 10
    min_p: Share = 0.1
    top_p: Share = 0.9
    beam: Count = 12
    pivots: Count = 3
    pivot_beam: Count = 6
    greedy_pivots: CountOrZero = 2
    rewrites: CountOrZero = 6
    continuations: CountOrZero = 16
    batch_rows: Count | None = None
    batch_tokens: Count | None = None
    seed: int = 0

    @property
    def searches(self) -> bool:
        """Whether a beam is searched, instead of samples drawn."""
        return self.method == "beam" or (self.method == "auto" and self.n == 1)

    @property
    def scores_backward(self) -> bool:
        """Whether candidates need a score of the text given the candidate."""
        return self.rank_by == "dual" or self.max_dual_nll is not None or self.judges

    @property
    def judges(self) -> bool:
        """Whether candidates are judged by how probably a reader would call them usable."""
        return self.rank_by == "usable" or self.min_usable is not None


@dataclass(frozen=True, kw_only=True)
class ParaphraserTraining(PairTraining):
    """The settings of `toolkit.train.paraphraser.train`. The papers' are its presets.

    Attributes:
        base_model: A seq2seq model to begin with: a Hub id, a folder or "starter/NAME". Unless given, and without
            --size, "starter/paraphraser", in English.
        size: Size of a new Marian model, a preset of the translators.
        lang: Language of the pairs (ISO 639-1).
        direction: "from_reference": the input is the reference and the output the paraphrase; "to_reference": the other
            way, so that people's text is learnt; or "both".
        prefix: Text that is put before every input, as T5's checkpoints expect ("paraphrase: ").
        syntax: Parser of the outputs, "link-grammar" (English), "stanza:LANGUAGE" or "file:PATH": the template of its
            output is put before each input (`syntax.py`), so that the model can be asked for one.
        most_ranks: The most paraphrases of a reference, best first; 0 takes all.
        max_dual_nll: Pairs whose dual score is worse, in nats per token forward plus backward, are left out; None takes
            all. Pairs without that score are taken.
        weight: What a pair counts: "equal"; "rank", one over its rank; or "dual", by its dual score.
        known_words: Save the words of the pairs with the model; `Paraphraser` then refuses outputs with any other. For
            small models, which invent words.
        validation: Parabank or file of the held-out pairs; unless given, they are those of the parabanks' validation
            splits, and one reference in a hundred of a file. Where these are fewer than 50, a tenth of all references
            is held out, 50 at most.
        held_out: The most references of the held-out pairs, a random sample; 0 holds out none and saves the last
            checkpoint.
        lora: Train adapters (LoRA) instead of all weights.
        lora_rank: Rank of the adapters.
        lora_alpha: Scale of the adapters: what they add is multiplied by it and divided by their rank.
        epochs: How often each pair is read.
        max_steps: Steps after which the training ends, if it is shorter than the epochs; 0 is no limit.
        batch_tokens: Greatest size of a batch of one process: pairs times the longer side's pieces.
        batch_pairs: The most pairs of a batch of one process.
        accumulate: Batches whose gradients make one step.
        max_tokens: Pairs with more pieces on one side are left out, and counted.
        learning_rate: The highest; it falls linearly to zero.
        warmup_steps: Steps in which it rises to that, a tenth of the training at most.
        weight_decay: Of AdamW.
        label_smoothing: In [0, 1).
        dtype: "bfloat16", "float32", or "auto" (bfloat16 where the processor has it).
        save_every: Steps between checkpoints, at each of which the held-out iBLEU is measured.
        average: 1 saves the best checkpoint; more save the mean weights of so many last ones.
        patience: The training ends when so many checkpoints in a row are no better; 0 never ends it so.
        alpha: Weight of the references in the held-out iBLEU.
        license: Licence of the model, for its card.
    """

    base_model: Annotated[str, starter_of_language] | None = None
    size: Annotated[str, one_of(SIZES)] | None = None
    lang: Language = "en"
    direction: Annotated[str, one_of(DIRECTIONS)] = "from_reference"
    prefix: str = ""
    syntax: Annotated[str, _parser_of_language] | None = None
    most_ranks: CountOrZero = 0
    max_dual_nll: Annotated[float, at_least(0)] | None = None
    weight: Annotated[str, one_of(WEIGHTS)] = "equal"
    known_words: bool = False
    validation: str | None = None
    held_out: CountOrZero = 500
    lora: bool = False
    lora_rank: Count = 16
    lora_alpha: Positive = 32.0
    epochs: Count = 3
    max_steps: CountOrZero = 0
    batch_tokens: Count = 4096
    batch_pairs: Count = 1024
    accumulate: Count = 1
    max_tokens: Count = 128
    learning_rate: Positive = 3e-4
    warmup_steps: CountOrZero = 200
    weight_decay: Share = 0.01
    label_smoothing: Smoothing = 0.1
    dtype: Annotated[str, one_of(DTYPES)] = "auto"
    save_every: Count = 500
    average: Count = 1
    patience: CountOrZero = 0
    alpha: Share = ALPHA
    license: str = "unknown"

    def __post_init__(self) -> None:
        """Begin with the starter unless told otherwise, and refuse settings that do not go together."""
        if not self.base_model and not self.size and covers(STARTER, self.lang):
            object.__setattr__(self, "base_model", STARTER)
        if bool(self.base_model) == bool(self.size):
            raise ValueError(
                f"wanted either base_model or size, got {'both' if self.size else f'neither, and lang {self.lang!r}'}: "
                f"--base_model MODEL goes on from a model, --size starter begins a new one; {STARTER} is for English"
            )
        super().__post_init__()
        if self.validation and not self.held_out:
            raise ValueError("wanted held_out of at least 1 with a validation, got 0")
        if self.patience and not self.held_out:
            raise ValueError(f"wanted references to be held out for patience {self.patience}, got held_out 0")
        if self.average > 1 and self.lora:
            raise ValueError(f"wanted average 1 with lora, because means of adapters are none, got {self.average}")
