"""ParaBank 2: sample many translations, score them both ways, cluster them, keep the best of each cluster.

Hu, Singh, Holzenberger, Post & Van Durme (2019), "Large-Scale, Diverse, Paraphrastic Bitexts via Sampling and
Clustering", CoNLL. `parabank2` below is its section 2, top to bottom; the defaults of `ParaBank2` are its section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders.build import Pipeline, build_parabank, load_forward
from toolkit.bitext.words import read_words
from toolkit.rows import Row
from toolkit.run import RunSettings
from toolkit.settings import check_at_least_one, check_at_most
from toolkit.starters import words_file

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.translator.load import Translator

MAX_SAMPLES = 10_000  # ours: samples of one sentence are decoded in one batch


@dataclass(frozen=True)
class ParaBank2:
    """The knobs of the pipeline; what the paper gives is the default.

    Attributes:
        constraint_sets: Random sets of negative words for each sentence.
        samples_per_set: Samples under each set.
        top_k: Most probable tokens that are left to draw from at each step.
        constraint_rate: Probability with which a word of the reference goes into a set.
        min_p: Tokens below this share of the most probable allowed one's probability are not drawn, in [0, 1).
        max_dual_nll: Candidates with more nats, forward per token plus backward per token, are refused.
        clusters: Free clusters; one more is held on the reference and thrown away.
        paraphrases: The most that are kept for a reference.
        batch_rows: Samples that are decoded at a time.
        batch_tokens: Size of a scoring batch: pairs times the longer side's tokens.
        seed: Of the constraints and the samples.
    """

    constraint_sets: int = 5  # section 3.3
    samples_per_set: int = 30  # section 3.3
    top_k: int = 10  # section 3.3
    constraint_rate: float = 0.5  # ours: "a subset of tokens" (section 2.1), every subset as likely as any other
    min_p: float = 0.0  # ours: 0 is the paper's; small translators need some (Nguyen et al. 2024, "min-p")
    max_dual_nll: float = 3.5  # section 3.3
    clusters: int = 7  # section 3.3: "8 clusters, one of them centered on the English reference"
    paraphrases: int = 5  # section 3.3
    batch_rows: int = 1200  # ours: 8 sentences
    batch_tokens: int = 8192  # ours
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: One is out of its range.
        """
        sizes = ("constraint_sets", "samples_per_set", "top_k", "clusters", "paraphrases", "batch_rows", "batch_tokens")
        check_at_least_one(self, *sizes)
        check_at_most("constraint_sets x samples_per_set", self.constraint_sets * self.samples_per_set, MAX_SAMPLES)
        if not (0 <= self.constraint_rate <= 1 and 0 <= self.min_p < 1 and self.max_dual_nll >= 0):
            raise ValueError(
                "wanted constraint_rate in [0, 1], min_p in [0, 1) and max_dual_nll >= 0, "
                f"got {self.constraint_rate}, {self.min_p} and {self.max_dual_nll}"
            )


def parabank2(
    rows: Iterable[Row],
    forward: Translator,
    backward: Translator,
    settings: ParaBank2,
    known_words: Set[str] = frozenset(),
) -> Iterator[Row]:
    """The pipeline of section 2, on the rows of one shard.

    Args:
        rows: Rows with a source and a reference, without candidates.
        forward: Translates the source language to the references' language.
        backward: Translates back, and only scores.
        settings: The knobs.
        known_words: Candidates that say another word are refused; none, as in the paper, refuses nothing.

    Yields:
        The same rows with every candidate: chosen ones have a rank, refused ones a reason.
    """
    # Here and not above: they load torch, which no --help and no mistyped flag should wait for.
    from toolkit.generate.sample import sample_rows
    from toolkit.score.dual import dual_rows
    from toolkit.score.overlap import overlap_rows
    from toolkit.select.cluster import cluster_rows
    from toolkit.select.filter import refuse_dual, refuse_unknown_words
    from toolkit.select.rank import rank_rows

    rows = sample_rows(  # 2.1 constrained sampling
        rows,
        forward,
        settings.constraint_sets,
        settings.samples_per_set,
        settings.top_k,
        settings.constraint_rate,
        settings.batch_rows,
        settings.seed,
        settings.min_p,
    )
    rows = refuse_unknown_words(rows, known_words)  # ours, and idle unless asked for
    rows = dual_rows(rows, backward, settings.batch_tokens)  # 2.2 back-translation likelihoods
    rows = refuse_dual(rows, settings.max_dual_nll)  # 3.3
    rows = cluster_rows(rows, forward.target, settings.clusters)  # 2.3 edit-distance-based clustering
    rows = rank_rows(rows, settings.paraphrases)  # 2.3 the best of each cluster
    return overlap_rows(rows, forward.target)  # 3.6, for the card and for users who want fewer near copies


@dataclass(frozen=True, kw_only=True)
class ParaBank2Run(ParaBank2, RunSettings):
    """A bitext, two translators and the knobs: one run.

    Attributes:
        forward: Source language to the references' language: a Hub id, a local path or "starter/de-en".
        backward: The other way; it only scores.
        known_words: A file with one word a line, or "starter/de-en" for the words that starter was trained on;
            candidates with a word that is neither there nor in the reference are refused. Not in the paper.
    """

    forward: str
    backward: str
    known_words: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers of both halves."""
        ParaBank2.__post_init__(self)
        RunSettings.__post_init__(self)


def build(run: ParaBank2Run) -> dict:
    """Build the parabank of a bitext and package it.

    Returns:
        What `builders.build.build_parabank` returns, with its errors.
    """
    files: dict[str, list[str | Path]] = {"bitext": [*run.bitext], "known_words": []}
    if run.known_words:
        files["known_words"] = [words_file(run.known_words)]
    models = {"forward": run.forward, "backward": run.backward}
    return build_parabank(run, "parabank2", files, models, lambda state: load(run, state))


def load(run: ParaBank2Run, state: PartialState) -> Pipeline:
    """The pipeline of a run, its models loaded. The scoring translator has no int8."""
    from toolkit.translator.load import described, load_translator

    known = read_words(words_file(run.known_words)) if run.known_words else frozenset()
    forward = load_forward(run.forward, run, state)
    scoring = "auto" if run.dtype == "int8" else run.dtype
    backward = load_translator(run.backward, scoring, state.device, run.lang, run.source_lang)
    models = [{"role": role} | described(t.name) for role, t in (("forward", forward), ("backward", backward))]
    return Pipeline(lambda rows: parabank2(rows, forward, backward, run, known), forward, models, stages=2)
