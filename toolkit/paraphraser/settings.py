"""The settings of paraphrasing, and of the training of a paraphraser, without imports that take seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from toolkit.bitext.languages import check_code
from toolkit.evaluate.ibleu import ALPHA
from toolkit.models.coverage import check_language_of, covers
from toolkit.paraphraser.names import STARTER
from toolkit.score.guards import GUARDS
from toolkit.system.errors import check_lists
from toolkit.system.settings import check_above_zero, check_among, check_at_least_one, check_between, check_machine
from toolkit.translator.settings import SIZES

PRESETS = Path(__file__).with_name("presets")  # the papers' settings, for `--preset`
METHODS = ("auto", "sample", "beam", "top_p")
RANKINGS = ("dual", "forward", "semantic", "usable")
DIRECTIONS = ("from_reference", "to_reference", "both")
WEIGHTS = ("equal", "rank", "dual")
DTYPES = ("auto", "float32", "bfloat16")


@dataclass(frozen=True)
class Paraphrasing:
    """How texts are paraphrased.

    The numbers are ours, chosen on validation data (docs/results/paraphraser-defaults.md).

    Attributes:
        n: The most paraphrases of a text.
        method: "sample" (ParaBank 2's: random words of the text are forbidden), "beam", "top_p" (no words are), or
            "auto": "beam" for one paraphrase of a text, else "sample".
        rank_by: "dual" (forward plus backward log-likelihood per token), "forward", "semantic" (the cosine), or, in
            English, "usable": the probability that a reader would call it usable (`toolkit.score.judge`). Only "dual",
            "usable", max_dual_nll and min_usable take the time of a backward score.
        guards: What a paraphrase must keep, of `toolkit.score.guards.GUARDS`.
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
        samples_per_set: Of "sample": samples under each set. "top_p" draws as many in all, under none.
        constraint_rate: Of "sample": the probability with which a word of the text is in a set.
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
        batch_rows: Rows of a decoding batch; of long texts there are fewer.
        batch_tokens: Size of a scoring batch, pairs times tokens.
        seed: Of the forbidden words and the samples.
    """

    n: int = 1
    method: str = "auto"
    rank_by: str = "forward"
    guards: tuple[str, ...] = GUARDS
    min_semantic: float | None = 0.5
    min_forward: float | None = None
    min_usable: float | None = None
    max_iou: float | None = None
    max_dual_nll: float | None = None
    allow_trivial: bool = False
    pool: int = 2
    constraint_sets: int = 4
    samples_per_set: int = 5
    constraint_rate: float = 0.15
    top_k: int = 10
    min_p: float = 0.1
    top_p: float = 0.9
    beam: int = 12
    pivots: int = 3
    pivot_beam: int = 6
    greedy_pivots: int = 2
    rewrites: int = 6
    continuations: int = 16
    batch_rows: int = 2400
    batch_tokens: int = 8192
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is out of its range.
        """
        check_lists(self)
        sizes = ("n", "constraint_sets", "samples_per_set", "top_k", "beam", "pivots", "pivot_beam")
        check_at_least_one(self, *sizes, "batch_rows", "batch_tokens")
        for name in ("greedy_pivots", "rewrites", "continuations"):
            if getattr(self, name) < 0:
                raise ValueError(f"wanted {name} of at least 0, got {getattr(self, name)}")
        check_among(self, "method", METHODS)
        check_among(self, "rank_by", RANKINGS)
        check_between(self, 0, 1, "constraint_rate", "min_p", "top_p")
        if self.pool < 0:
            raise ValueError(f"wanted pool of at least 0, got {self.pool}")
        if self.searches and self.beam < self.n:
            raise ValueError(f"wanted a beam of at least n, got beam {self.beam} and n {self.n}")
        ranges = (
            ("min_semantic", -1, 1),
            ("min_forward", -math.inf, 0),
            ("min_usable", 0, 1),
            ("max_iou", 0, 1),
            ("max_dual_nll", 0, math.inf),
        )
        for name, minimum, maximum in ranges:
            value = getattr(self, name)
            if value is not None and not minimum <= value <= maximum:
                raise ValueError(f"wanted {name} in [{minimum}, {maximum}], got {value}")

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
class ParaphraserTraining:
    """The settings of `toolkit.train.paraphraser.train`. The papers' are its presets.

    Attributes:
        pairs: Parabanks: folders, Hub names, runs' folders of shards, and .parquet, .tsv or .jsonl files.
        output_dir: Where the model goes.
        base_model: A seq2seq model to begin with: a Hub id, a folder or "starter/NAME". Unless given, and without
            --size, "starter/paraphraser", in English.
        size: Size of a new Marian model, a preset of the translators.
        lang: Language of the pairs (ISO 639-1).
        direction: "from_reference": references are read and paraphrases are said; "to_reference": the other way, so
            that people's text is learnt; or "both".
        prefix: Text that is put before every input, as T5's checkpoints expect ("paraphrase: ").
        syntax: Parser of the outputs, "link-grammar" (English), "stanza:LANGUAGE" or "file:PATH": the template of its
            output is put before each input (`syntax.py`), so that the model can be asked for one.
        most_ranks: The most paraphrases of a reference, best first; 0 takes all.
        max_dual_nll: Pairs whose dual score is worse, in nats per token forward plus backward, are left out; None takes
            all. Pairs without that score are taken.
        weight: What a pair counts: "equal"; "rank", one over its rank; or "dual", by its dual score.
        known_words: Save the words of the pairs with the model; `Paraphraser` then refuses outputs with any other. For
            small models, which invent words.
        decontaminate: Evaluation sets whose texts must not be trained on: files, globs or data sets. A pair with a
            sentence that equals such a text, or contains nearly all of it, is left out.
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
        seed: Of everything random.
        threads: Threads of each process on a CPU.
        processes: Processes to start on this machine, which share the work.
    """

    pairs: list[str]
    output_dir: str
    base_model: str | None = None
    size: str | None = None
    lang: str = "en"
    direction: str = "from_reference"
    prefix: str = ""
    syntax: str | None = None
    most_ranks: int = 0
    max_dual_nll: float | None = None
    weight: str = "equal"
    known_words: bool = False
    decontaminate: list[str] = field(default_factory=list)
    validation: str | None = None
    held_out: int = 500
    lora: bool = False
    lora_rank: int = 16
    lora_alpha: float = 32.0
    epochs: int = 3
    max_steps: int = 0
    batch_tokens: int = 4096
    batch_pairs: int = 1024
    accumulate: int = 1
    max_tokens: int = 128
    learning_rate: float = 3e-4
    warmup_steps: int = 200
    weight_decay: float = 0.01
    label_smoothing: float = 0.1
    dtype: str = "auto"
    save_every: int = 500
    average: int = 1
    patience: int = 0
    alpha: float = ALPHA
    license: str = "unknown"
    seed: int = 0
    threads: int = 2
    processes: int = 1

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A number is out of its range, a value is not among those allowed, or there are a base model and
                a size, or neither.
        """
        check_lists(self)
        if not self.base_model and not self.size and covers(STARTER, self.lang):
            object.__setattr__(self, "base_model", STARTER)
        if bool(self.base_model) == bool(self.size):
            raise ValueError(
                f"wanted either base_model or size, got {'both' if self.size else f'neither, and lang {self.lang!r}'}: "
                f"--base_model MODEL goes on from a model, --size starter begins a new one; {STARTER} is for English"
            )
        if self.size is not None:
            check_among(self, "size", tuple(SIZES))
        check_code(self.lang, "--lang")
        if self.base_model and self.base_model.startswith("starter/"):
            check_language_of(self.base_model, self.lang, "--base_model")
        if self.syntax == "link-grammar":
            check_language_of(self.syntax, self.lang, "--syntax")
        for name, possible in (("direction", DIRECTIONS), ("weight", WEIGHTS), ("dtype", DTYPES)):
            check_among(self, name, possible)
        sizes = ("lora_rank", "epochs", "batch_tokens", "batch_pairs", "accumulate", "max_tokens")
        check_at_least_one(self, *sizes, "save_every", "average")
        if self.validation and not self.held_out:
            raise ValueError("wanted held_out of at least 1 with a validation, got 0")
        if self.patience and not self.held_out:
            raise ValueError(f"wanted references to be held out for patience {self.patience}, got held_out 0")
        if self.average > 1 and self.lora:
            raise ValueError(f"wanted average 1 with lora, because means of adapters are none, got {self.average}")
        check_above_zero(self, "learning_rate", "lora_alpha")
        check_between(self, 0, 1, "alpha", "weight_decay")
        for name in ("most_ranks", "max_steps", "warmup_steps", "patience", "max_dual_nll", "held_out"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"wanted {name} of at least 0, got {getattr(self, name)}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"wanted label_smoothing in [0, 1), got {self.label_smoothing}")
        check_machine(self)
