"""ParaNMT-50M: translate the foreign side by beam search, pair the best translation with the reference, score the pair.

Wieting & Gimpel (2018), "ParaNMT-50M: Pushing the Limits of Paraphrastic Sentence Embeddings with Millions of Machine
Translations", ACL. `paranmt` below is its section 3 with the three measures of section 5.4; `toolkit.select.deciles`
selects pairs by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from builders.build import build_parabank, load_forward, load_source
from builders.pipeline import Pipeline
from toolkit.chat.settings import LM
from toolkit.data.rows import Row
from toolkit.models.coverage import of_language
from toolkit.package.parquet import finished_shards
from toolkit.run.bitext_run import BitextRun
from toolkit.run.shard_runs import Beam
from toolkit.score.guards import Guards, guard_rows
from toolkit.select.corpus import choose
from toolkit.select.deciles import DecileSettings, refuse_by_deciles
from toolkit.system.ranges import Count, Settings

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.score.semantic import Embedder
    from toolkit.translator.load import Translator


@dataclass(frozen=True)
class ParaNMT(Settings):
    """The settings of the pipeline; the defaults are the paper's, unless a comment says otherwise.

    Attributes:
        beam: Beam size; the best hypothesis becomes the paraphrase.
        guards: What a candidate must keep of its reference: "negation", "number", "name", "person"; others are refused.
            Not in the paper.
        batch_rows: Hypotheses in a decoding batch. None is 1,200 on a CPU, and by its memory on a GPU.
        batch_texts: Texts in an encoding batch.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 1200}  # ours: 100 sentences

    beam: Beam = 12  # section 3.1
    guards: Guards = field(default_factory=list)  # ours
    batch_rows: Count | None = None
    batch_texts: Count = 64  # ours


def paranmt(
    rows: Iterable[Row],
    forward: Translator,
    encoder: Embedder,
    settings: ParaNMT,
    generate: Callable[[Iterable[Row]], Iterator[Row]] | None = None,
) -> Iterator[Row]:
    """The pipeline of section 3, on the rows of one shard.

    Args:
        rows: Rows with a source and a reference, without candidates.
        forward: Translates the source language to the references' language.
        encoder: A sentence encoder for the references' language, for the paraphrase score.
        settings: The settings of the pipeline.
        generate: Another source of candidates, with the scores that the paper's generation gives; None is the paper's.

    Yields:
        The same rows, each with its best translation and the scores; a translation that cannot be used has a reason.
    """
    # Imported here because they load torch, so that --help and the error for a mistyped flag appear at once.
    from toolkit.generate.translate import translate_rows
    from toolkit.models.batch_sizes import batches_of
    from toolkit.score.overlap import trigram_rows
    from toolkit.score.semantic import semantic_rows
    from toolkit.select.rank import rank_all

    settings = batches_of(settings, forward)
    if generate is None:  # 3.1; and 5.4, the translation score
        generate = partial(
            translate_rows, translator=forward, beam=settings.beam, batch_rows=settings.batch_sizes["batch_rows"]
        )
    rows = generate(rows)
    rows = guard_rows(rows, settings.guards)  # ours; without guards it refuses nothing
    rows = trigram_rows(rows)  # 5.4, footnote 6
    rows = semantic_rows(rows, encoder, settings.batch_texts)  # 3.1, the paraphrase score
    return rank_all(rows)  # 3: every translation is a paraphrase, even a copy of its reference


@dataclass(frozen=True, kw_only=True)
class ParaNMTRun(ParaNMT, DecileSettings, BitextRun):
    """The settings of a run: a bitext, a translator, an encoder, and the settings of the pipeline and of the selection.

    Attributes:
        forward: Translator from the source language to the references': a Hub id, a local path or "starter/de-en".
        semantic_model: Sentence encoder (SentenceTransformer) for the references' language: a Hub id, a local folder,
            or "starter/encoder" for English.
    """

    forward: str
    semantic_model: Annotated[str, of_language] = "starter/encoder"  # ours: English


def build(run: ParaNMTRun) -> dict:
    """Build the parabank of a bitext and package it.

    The selection (`by` and the settings that need it) may change between the calls of a run, because it does not change
    the run's shards. The seed is an exception where a language model writes the candidates, because its replies depend
    on it.

    Returns:
        What `builders.build.build_parabank` returns, with its errors.
    """
    models = {"forward": run.forward, "semantic_model": run.semantic_model}
    choice = asdict(DecileSettings())
    if run.generator == LM:
        del choice["seed"]  # also that of the replies, which the shards hold
    return build_parabank(
        run,
        "paranmt",
        {"bitext": [*run.bitext]},
        models,
        _load,
        recorded=replace(run, **choice),
        choose=lambda state: chosen(run, state),
    )


def _load(run: ParaNMTRun, state: PartialState) -> Pipeline:
    """Load the translator and the encoder of a run."""
    from toolkit.encoder.load import load_embedder
    from toolkit.score.semantic import semantic_signature
    from toolkit.translator.load import described

    forward = load_forward(run.forward, run, state)
    encoder = load_embedder(run.semantic_model, state.device)
    signature = {"signature": semantic_signature(encoder, run.semantic_model)}
    score = {"role": "paraphrase score"} | described(run.semantic_model) | signature
    source = load_source(run, state, forward)
    models = [*source.models, {"role": "forward"} | described(forward.name), score]

    def recipe(rows: Iterable[Row]) -> Iterator[Row]:
        return paranmt(rows, forward, encoder, run, source.generate)

    return Pipeline(recipe, forward.target.split, models)


def chosen(run: ParaNMTRun, state: PartialState) -> Path:
    """Return the folder of the shards to package: the run's, or that of the selection by a score (section 5.4)."""
    if run.by is None:
        return run.shards_dir
    settings = DecileSettings(run.by, run.deciles, run.sample, run.max_tokens, run.seed)
    rule = partial(refuse_by_deciles, settings=settings)
    return choose(finished_shards(run.shards_dir), settings, rule, state)
