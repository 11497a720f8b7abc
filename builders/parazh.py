"""ParaZh: translate with a wide beam, keep what is worded differently, choose by the dual score, over the whole corpus.

Hao, Xu, Xiong, Zan & Mu (2022), "ParaZh-22M: A Large-Scale Chinese Parabank via Machine Translation", COLING. `parazh`
below is its section 2.4 up to the choice of a paraphrase for each reference; `toolkit.select.best` makes its last
choice, the best pairs of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from builders.build import build_parabank, load_forward, load_source
from builders.pipeline import Pipeline
from toolkit.data.rows import Row
from toolkit.data.shards import read_inputs
from toolkit.package.parquet import finished_shards
from toolkit.run.bitext_run import BitextRun
from toolkit.run.shard_runs import Beam
from toolkit.score.guards import Guards, guard_rows
from toolkit.select.best import BestBy, BestSettings, check_enough, refuse_but_best
from toolkit.select.corpus import choose
from toolkit.system.ranges import Count, Settings, at_least

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.translator.load import Translator


@dataclass(frozen=True)
class ParaZh(Settings):
    """The settings of the pipeline; the defaults are the paper's, unless a comment says otherwise.

    Attributes:
        beam: Beam size; all hypotheses at the end of the search are candidates.
        min_edit_ratio: Candidates that differ less from their reference are refused: edit distance in characters over
            the characters of the reference.
        guards: What a candidate must keep of its reference: "negation", "number", "name", "person"; others are refused.
            Not in the paper.
        batch_rows: Hypotheses in a decoding batch. None is 1,200 on a CPU, and by its memory on a GPU.
        batch_tokens: Size of a scoring batch: the number of pairs times the tokens of the longest side. None is 8,192
            on a CPU, and by its memory on a GPU.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 1200, "batch_tokens": 8192}  # ours: 80 sentences

    beam: Beam = 15  # section 2.4
    min_edit_ratio: Annotated[float, at_least(0, ": 0 refuses nothing")] = 0.12  # section 2.4
    guards: Guards = field(default_factory=list)  # ours
    batch_rows: Count | None = None
    batch_tokens: Count | None = None


def parazh(
    rows: Iterable[Row],
    forward: Translator,
    backward: Translator,
    settings: ParaZh,
    generate: Callable[[Iterable[Row]], Iterator[Row]] | None = None,
) -> Iterator[Row]:
    """The pipeline of section 2.4, on the rows of one shard.

    Args:
        rows: Rows with a source and a reference, without candidates.
        forward: Translates the source language to the references' language.
        backward: Translates from the references' language to the source language; it only scores.
        settings: The settings of the pipeline.
        generate: Another source of candidates, with the scores that the paper's generation gives; None is the paper's.

    Yields:
        The same rows with every candidate: the chosen one has rank 0, refused ones a reason.
    """
    # Imported here because they load torch, so that --help and the error for a mistyped flag appear at once.
    from toolkit.generate.translate import translate_rows
    from toolkit.models.batch_sizes import batches_of
    from toolkit.score.dual import dual_rows
    from toolkit.score.edit_ratio import edit_rows
    from toolkit.select.filter import refuse_edit_ratio
    from toolkit.select.rank import rank_by_dual_sum

    settings, beam = batches_of(settings, forward, backward), settings.beam
    if generate is None:  # "a beam size of 15", and "all Chinese beam search candidates"
        generate = partial(
            translate_rows, translator=forward, beam=beam, batch_rows=settings.batch_sizes["batch_rows"], n_best=beam
        )
    rows = generate(rows)
    rows = guard_rows(rows, settings.guards)  # ours; without guards it refuses nothing
    rows = edit_rows(rows)
    rows = refuse_edit_ratio(rows, settings.min_edit_ratio)  # "a minimum edit-distance ratio of 12%"
    rows = dual_rows(rows, backward, settings.batch_sizes["batch_tokens"])  # equation 1
    return rank_by_dual_sum(rows)  # "the candidate with the highest p_dual"


@dataclass(frozen=True, kw_only=True)
class ParaZhRun(ParaZh, BestSettings, BitextRun):
    """The settings of a run: a bitext, two translators, the settings of the pipeline and of the choice over the corpus.

    Attributes:
        forward: Translator from the source language to the references': a Hub id, a local path or "starter/de-en".
        backward: Translator in the opposite direction, which only scores: a Hub id, a local path or "starter/en-de".
    """

    forward: str
    backward: str


def build(run: ParaZhRun) -> dict:
    """Build the parabank of a bitext and package it.

    The choice over the corpus may change between the calls of a run, because it does not change the run's shards.

    Returns:
        What `builders.build.build_parabank` returns, with its errors.
    """
    models = {"forward": run.forward, "backward": run.backward}
    return build_parabank(
        run,
        "parazh",
        {"bitext": [*run.bitext]},
        models,
        _load,
        recorded=replace(run, **asdict(BestSettings())),
        choose=lambda state: chosen(run, state),
        check=lambda references: check_enough(run, references, "lines that cleaning has kept"),
    )


def _load(run: ParaZhRun, state: PartialState) -> Pipeline:
    """Load the translators of a run."""
    from toolkit.translator.load import described, load_translator

    forward = load_forward(run.forward, run, state)
    backward = load_translator(run.backward, run.dtype, state.device, run.lang, run.source_lang, scoring=True)
    source = load_source(run, state, forward)
    models = [{"role": role} | described(t.name) for role, t in (("forward", forward), ("backward", backward))]

    def recipe(rows: Iterable[Row]) -> Iterator[Row]:
        return parazh(rows, forward, backward, run, source.generate)

    return Pipeline(recipe, forward.target.split, [*source.models, *models], stages=2)


def chosen(run: ParaZhRun, state: PartialState) -> Path:
    """Return the folder of the shards to package: copies in which only the best pairs of the corpus have a rank."""
    settings = BestBy(**{setting.name: getattr(run, setting.name) for setting in fields(BestSettings)})
    lines = read_inputs(run.shards_dir)["rows"]
    rule = partial(refuse_but_best, settings=settings, lang=run.lang, lines=lines)
    return choose(finished_shards(run.shards_dir), settings, rule, state)
