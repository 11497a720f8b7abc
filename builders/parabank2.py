"""ParaBank 2: sample many translations, score them both ways, cluster them, keep the best of each cluster.

Hu, Singh, Holzenberger, Post & Van Durme (2019), "Large-Scale, Diverse, Paraphrastic Bitexts via Sampling and
Clustering", CoNLL. `parabank2` below is its section 2, top to bottom; the defaults of `ParaBank2` are its section 3.3.
With running text instead of a bitext (ours), a translator first writes the source of each sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from builders.build import MinUsable, build_parabank, judge_models, load_forward, load_judge, load_source
from builders.pipeline import Pipeline
from toolkit.bitext.languages import Language
from toolkit.bitext.words import LANGUAGES_WITHOUT_WORDS, read_words
from toolkit.data.rows import Row
from toolkit.models.coverage import of_language
from toolkit.run.bitext_run import BitextRun
from toolkit.run.shard_runs import PAPER, Beam
from toolkit.run.text_run import TextRun
from toolkit.score.guards import Guards, guard_rows
from toolkit.starters import words_file
from toolkit.system.ranges import Count, Range, Seed, Settings, at_most, one_of

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.translator.load import Translator

FORBID = ("pieces", "words")
MAX_SAMPLES = 10_000  # ours: samples of one sentence are decoded in one batch
LIMITS = "constraint_rate in [0, 1], min_p in [0, 1) and max_dual_nll >= 0"
SHOWN = ("constraint_rate", "min_p", "max_dual_nll")
Rate = Annotated[float, Range(LIMITS, lambda rate: 0 <= rate <= 1, shown=SHOWN)]
MinP = Annotated[float, Range(LIMITS, lambda share: 0 <= share < 1, shown=SHOWN)]
MaxDualNll = Annotated[float, Range(LIMITS, lambda nats: nats >= 0, shown=SHOWN)]
Forbid = Annotated[str, one_of(FORBID)]
Pivot = Annotated[
    list[str],
    Range(
        "two translators as --{}, from the language of the text to another and back",
        lambda models: len(models) == 2,
        show=lambda models: repr(" ".join(models)),
        note="",
    ),
]


@dataclass(frozen=True)
class ParaBank2(Settings):
    """The settings of the pipeline; the defaults are the paper's, unless a comment says otherwise.

    Attributes:
        constraint_sets: Random sets of negative constraints for each sentence.
        samples_per_set: Samples under each constraint set.
        top_k: Sampling draws from this number of most probable tokens at each step.
        constraint_rate: Probability with which a word of the reference is in a constraint set.
        forbid: What a constraint set forbids of a word: the "pieces" that spell it in the reference, so that it may
            come back in others; or the "words" themselves in any pieces, also with a capital.
        min_p: Tokens are not drawn if their probability is below this share of that of the most probable allowed token,
            in [0, 1).
        max_dual_nll: Threshold of the dual score: candidates with more nats, forward per token plus backward per token,
            are refused.
        clusters: Free clusters; one more has its centre fixed on the reference, and its candidates are refused.
        paraphrases: The most paraphrases of a reference.
        guards: What a candidate must keep of its reference: "negation", "number", "name", "person"; others are refused.
            Not in the paper.
        min_usable: The least probability, in [0, 1], that a reader would call a paraphrase usable, in English: the best
            candidates of the clusters are judged (`toolkit.score.judge`), and ranked by it. None, as in the paper,
            judges none.
        batch_rows: Rows of a decoding batch; samples of a sentence with equal beginnings share one. None is 2,400 on a
            CPU, and by its memory on a GPU.
        batch_tokens: Size of a scoring batch: the number of pairs times the tokens of the longest side. None is 8,192
            on a CPU, and by its memory on a GPU.
        seed: Seed of the constraints and the samples.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 2400, "batch_tokens": 8192}  # ours: some 30 short sentences, or 16 long ones

    constraint_sets: Count = 5  # section 3.3
    samples_per_set: Count = 30  # section 3.3
    top_k: Count = 10  # section 3.3
    constraint_rate: Rate = 0.5  # ours: "a subset of tokens" (section 2.1); with 0.5 all subsets are equally probable
    forbid: Forbid = "pieces"  # section 2.1
    min_p: MinP = 0.0  # 0 as in the paper; small translators need more (Nguyen et al. 2024, "min-p")
    max_dual_nll: MaxDualNll = 3.5  # section 3.3
    clusters: Count = 7  # section 3.3: "8 clusters, one of them centered on the English reference"
    paraphrases: Count = 5  # section 3.3
    guards: Guards = field(default_factory=list)  # ours
    min_usable: MinUsable | None = None  # ours
    batch_rows: Count | None = None
    batch_tokens: Count | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse more samples than can be decoded in one batch."""
        super().__post_init__()
        samples = self.constraint_sets * self.samples_per_set
        at_most(MAX_SAMPLES)("constraint_sets x samples_per_set", samples, self)


def parabank2(
    rows: Iterable[Row],
    forward: Translator,
    backward: Translator,
    settings: ParaBank2,
    known_words: Set[str] = frozenset(),
    generate: Callable[[Iterable[Row]], Iterator[Row]] | None = None,
    judge: Callable[[Iterable[Row]], Iterator[Row]] | None = None,
) -> Iterator[Row]:
    """The pipeline of section 2, on the rows of one shard.

    Args:
        rows: Rows with a source and a reference, without candidates.
        forward: Translates the source language to the references' language.
        backward: Translates from the references' language to the source language; it only scores.
        settings: The settings of the pipeline.
        known_words: Candidates with other words are refused; if empty, as in the paper, nothing is refused.
        generate: Another source of candidates, with the scores that the paper's generation gives; None is the paper's.
        judge: Refuses ranked candidates and ranks the others anew; None, as in the paper, does not.

    Yields:
        The same rows with every candidate: chosen ones have a rank, refused ones a reason.
    """
    # Imported here because they load torch, so that --help and the error for a mistyped flag appear at once.
    from toolkit.generate.sample import sample_rows
    from toolkit.models.batch_sizes import batches_of
    from toolkit.score.dual import dual_rows
    from toolkit.score.overlap import overlap_rows
    from toolkit.select.cluster import cluster_rows
    from toolkit.select.filter import refuse_dual, refuse_unknown_words
    from toolkit.select.rank import rank_rows

    settings = batches_of(settings, forward, backward)
    if generate is None:
        rows = sample_rows(  # 2.1 constrained sampling
            rows,
            forward,
            settings.constraint_sets,
            settings.samples_per_set,
            settings.top_k,
            settings.constraint_rate,
            settings.batch_sizes["batch_rows"],
            settings.seed,
            settings.min_p,
            settings.forbid,
        )
    else:
        rows = generate(rows)
    rows = refuse_unknown_words(rows, known_words)  # ours; without known words it refuses nothing
    rows = guard_rows(rows, settings.guards)  # ours; without guards it refuses nothing
    rows = dual_rows(rows, backward, settings.batch_sizes["batch_tokens"])  # 2.2 back-translation likelihoods
    rows = refuse_dual(rows, settings.max_dual_nll)  # 3.3
    rows = cluster_rows(rows, forward.target, settings.clusters)  # 2.3 edit-distance-based clustering
    rows = overlap_rows(rows, forward.target)  # 3.6, for the card and for users who want fewer near copies
    rows = rank_rows(rows, settings.paraphrases)  # 2.3 the best of each cluster
    return judge(rows) if judge else rows  # ours


@dataclass(frozen=True, kw_only=True)
class ParaBank2Run(ParaBank2, BitextRun):
    """The settings of a run: a bitext, two translators and the settings of the pipeline.

    Attributes:
        forward: Translator from the source language to the references': a Hub id, a local path or "starter/de-en".
        backward: Translator in the opposite direction, which only scores: a Hub id, a local path or "starter/en-de".
        known_words: File with one word per line, or "starter/de-en" for the words of that starter's training text;
            candidates with a word that is neither there nor in the reference are refused. Not in the paper.
    """

    forward: str
    backward: str
    known_words: Annotated[str, of_language] | None = None

    def __post_init__(self) -> None:
        """Refuse a language of which no word can be forbidden."""
        super().__post_init__()
        _check_words(self)


@dataclass(frozen=True, kw_only=True)
class ParaBank2TextRun(ParaBank2, TextRun):
    """The settings of a run on running text: two translators, one of which writes the source side.

    Other defaults than the paper's are those of `toolkit.Paraphraser`: what a machine wrote is translated back with
    fewer words forbidden and fewer improbable ones drawn, because each error of the source is there already.

    Attributes:
        pivot: Two translators: from the language of the text to another one, and back. The first writes the sources and
            scores, the second writes the candidates: Hub ids, local paths or "starter/en-pt starter/pt-en".
        pivot_lang: The other language (ISO 639-1); by default the one that the translators state.
        pivot_beam: Hypotheses of the search for a source.
        known_words: See `ParaBank2Run`.
        seed: Seed of the draw of the references, of the constraints and of the samples.
    """

    pivot: Pivot
    pivot_lang: Language | None = None
    pivot_beam: Beam = 6  # ours
    known_words: Annotated[str, of_language] | None = None
    constraint_rate: Rate = 0.15  # ours
    forbid: Forbid = "words"  # ours
    min_p: MinP = 0.1  # ours
    max_dual_nll: MaxDualNll = 2.0  # ours
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse a language of which no word can be forbidden."""
        super().__post_init__()
        _check_words(self)


def _check_words(run: ParaBank2Run | ParaBank2TextRun) -> None:
    """Refuse to forbid words of a language whose words are not known, of which no set of constraints would have any.

    Raises:
        ValueError: The language puts no spaces between words, and a rate of its words is to be forbidden.
    """
    if run.generator == PAPER and run.constraint_rate and run.lang in LANGUAGES_WITHOUT_WORDS:
        raise ValueError(
            f"wanted words to forbid, got {run.lang}, which puts no spaces between words: give --constraint_rate 0 to "
            "sample without constraints"
        )


def build(run: ParaBank2Run | ParaBank2TextRun) -> dict:
    """Build the parabank of a bitext, or of running text, and package it.

    Returns:
        What `builders.build.build_parabank` returns, with its errors.
    """
    files: dict[str, list[str | Path]] = {"known_words": [words_file(run.known_words)] if run.known_words else []}
    judge = judge_models(run.min_usable)
    if isinstance(run, ParaBank2TextRun):
        files, models = {"text": [*run.text], **files}, {"forward": run.pivot[1], "backward": run.pivot[0], **judge}
        return build_parabank(run, "parabank2", files, models, _load_text)
    files, models = {"bitext": [*run.bitext], **files}, {"forward": run.forward, "backward": run.backward, **judge}
    return build_parabank(run, "parabank2", files, models, _load)


def _load_text(run: ParaBank2TextRun, state: PartialState) -> Pipeline:
    """Load the translators of a run on running text.

    Raises:
        ValueError: A translator cannot be loaded, or neither states the language between them.
    """
    from toolkit.generate.translate import sourced_rows
    from toolkit.translator.load import described, languages_of, load_translator

    there, back = run.pivot
    between = run.pivot_lang or languages_of(there)[1] or languages_of(back)[0]
    if not between:
        raise ValueError(f"wanted the language between {there} and {back}, got none: state it as --pivot_lang")
    known = read_words(words_file(run.known_words)) if run.known_words else frozenset()
    backward = load_translator(there, run.dtype, state.device, run.lang, between, scoring=True)
    forward = load_translator(back, run.dtype, state.device, between, run.lang)
    source, judge = load_source(run, state, forward), load_judge(run.min_usable, state)
    models = [{"role": role} | described(t.name) for role, t in (("forward", forward), ("backward", backward))]

    rows_at_once = run.batch_sizes["batch_rows"]

    def recipe(rows: Iterable[Row]) -> Iterator[Row]:
        sourced = list(sourced_rows(rows, backward, between, run.pivot_beam, rows_at_once))
        finished_rows = parabank2(
            (row for row in sourced if row.source), forward, backward, run, known, source.generate, judge.generate
        )
        yield from (next(finished_rows) if row.source else row for row in sourced)

    return Pipeline(recipe, forward.target.split, [*source.models, *models, *judge.models], stages=3 + judge.stages)


def _load(run: ParaBank2Run, state: PartialState) -> Pipeline:
    """Load the translators of a run."""
    from toolkit.translator.load import described, load_translator

    known = read_words(words_file(run.known_words)) if run.known_words else frozenset()
    forward = load_forward(run.forward, run, state)
    backward = load_translator(run.backward, run.dtype, state.device, run.lang, run.source_lang, scoring=True)
    source, judge = load_source(run, state, forward), load_judge(run.min_usable, state)
    models = [{"role": role} | described(t.name) for role, t in (("forward", forward), ("backward", backward))]

    def recipe(rows: Iterable[Row]) -> Iterator[Row]:
        return parabank2(rows, forward, backward, run, known, source.generate, judge.generate)

    return Pipeline(recipe, forward.target.split, [*source.models, *models, *judge.models], stages=2 + judge.stages)
