"""ParaNMT-50M: translate the foreign side by beam search, pair the best translation with the reference, score the pair.

Wieting & Gimpel (2018), "ParaNMT-50M: Pushing the Limits of Paraphrastic Sentence Embeddings with Millions of Machine
Translations", ACL. `paranmt` below is its section 3 with the three measures of section 5.4; what is chosen by them, if
anything, is `toolkit.select.deciles`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.contents import contents_of
from toolkit.package.parquet import finished_shards
from toolkit.parallel import mine, processes
from toolkit.rows import Row
from toolkit.run import MAX_BEAM, RunSettings, check_run, make_shards, started
from toolkit.select.corpus import choose_shards, chosen_folder, write_cut
from toolkit.select.deciles import DecileSettings
from toolkit.settings import check_at_least_one, check_at_most

if TYPE_CHECKING:
    from accelerate import PartialState
    from sentence_transformers import SentenceTransformer

    from toolkit.translator.load import Translator


@dataclass(frozen=True)
class ParaNMT:
    """The knobs of the pipeline; what the paper gives is the default.

    Attributes:
        beam: Hypotheses that the search follows at a time; the best one becomes the paraphrase.
        batch_rows: Hypotheses that are decoded at a time.
        batch_texts: Texts that are encoded at a time.
    """

    beam: int = 12  # section 3.1
    batch_rows: int = 1200  # ours: 100 sentences
    batch_texts: int = 64  # ours

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: One is out of its range.
        """
        check_at_least_one(self, "beam", "batch_rows", "batch_texts")
        check_at_most("beam", self.beam, MAX_BEAM)


def paranmt(rows: Iterable[Row], forward: Translator, encoder: SentenceTransformer, settings: ParaNMT) -> Iterator[Row]:
    """The pipeline of section 3, on the rows of one shard.

    Args:
        rows: Rows with a source and a reference, without candidates.
        forward: Translates the source language to the references' language.
        encoder: Of the references' language, for the paraphrase score.
        settings: The knobs.

    Yields:
        The same rows, each with its best translation, measured; one that cannot be used has a reason.
    """
    # Here and not above: they load torch, which no --help and no mistyped flag should wait for.
    from toolkit.generate.translate import translate_rows
    from toolkit.score.overlap import trigram_rows
    from toolkit.score.semantic import semantic_rows
    from toolkit.select.rank import rank_all

    rows = translate_rows(rows, forward, settings.beam, settings.batch_rows)  # 3.1; and 5.4, the translation score
    rows = trigram_rows(rows)  # 5.4, footnote 6
    rows = semantic_rows(rows, encoder, settings.batch_texts)  # 3.1, the paraphrase score
    return rank_all(rows)  # 3: every translation is a paraphrase, a copy of its reference, too


@dataclass(frozen=True, kw_only=True)
class ParaNMTRun(ParaNMT, DecileSettings, RunSettings):
    """A bitext, a translator, an encoder and the knobs: one run, of which another part may be chosen at any time.

    Attributes:
        forward: Source language to the references' language: a Hub id, a local path or "starter/de-en".
        semantic_model: SentenceTransformer of the references' language: a Hub id, a local folder, or the starter.
    """

    forward: str
    semantic_model: str = "starter/encoder"  # ours: English

    def __post_init__(self) -> None:
        """Check the numbers of all three parts."""
        ParaNMT.__post_init__(self)
        DecileSettings.__post_init__(self)
        RunSettings.__post_init__(self)


def build(run: ParaNMTRun) -> dict:
    """Build the parabank of a bitext, in as many processes as the launcher started, and package it.

    Work that an earlier call of the same run has done is not done again. What is chosen (`by` and the settings that go
    with it) may change between the calls: it does not touch the run's shards.

    Returns:
        The measured figures of the card, on the main process; nothing on the others.

    Raises:
        ValueError: The bitext, a model or the settings cannot be used; the message says why.
        RuntimeError: A shard failed, or the processes do not see each other.
    """
    import torch

    from toolkit.encoder.load import load_encoder
    from toolkit.models.checkpoint import fingerprint
    from toolkit.package.build import check_package, package_parabank
    from toolkit.score.semantic import semantic_signature
    from toolkit.translator.int8 import advice
    from toolkit.translator.load import described, load_translator

    state, contents = processes(), {}
    whole = replace(run, **asdict(DecileSettings()))  # what is chosen of it later is no setting of the run
    if state.is_main_process:
        check_package(Path(run.output_dir), run.version, "paranmt")
        contents = contents_of({"bitext": run.bitext}) | {"forward": fingerprint(run.forward)}
        contents |= {"semantic_model": fingerprint(run.semantic_model)}
        check_run(whole, "paranmt", contents)
    torch.set_num_threads(run.threads)
    forward = load_translator(run.forward, run.dtype, state.device, run.source_lang, run.lang)
    if state.is_main_process and (told := advice(run.dtype, state.device)):
        print(told, file=sys.stderr)
    encoder = load_encoder(run.semantic_model, state.device)
    with started(whole, "paranmt", state, contents) as inputs:
        make_shards(inputs, lambda rows: paranmt(rows, forward, encoder, run), state)
        state.wait_for_everyone()
        shards = chosen(run, state)
        if not state.is_main_process:
            return {}
        signature = semantic_signature(encoder, run.semantic_model)
        score = {"role": "paraphrase score"} | described(run.semantic_model) | {"signature": signature}
        models = [{"role": "forward"} | described(forward.name), score]
        output, pieces = Path(run.output_dir), forward.target.split
        return package_parabank(shards, output, output.name, run.version, run.license, models, "paranmt", pieces=pieces)


def chosen(run: ParaNMTRun, state: PartialState) -> Path:
    """The folder of the finished shards to package: the run's, or that of the part chosen by a score (section 5.4)."""
    if run.by is None:
        return run.shards_dir
    settings = DecileSettings(run.by, run.deciles, run.sample, run.max_tokens, run.seed)
    shards, folder = finished_shards(run.shards_dir), chosen_folder(run.shards_dir, settings)
    if state.is_main_process:
        write_cut(shards, settings, folder)
    state.wait_for_everyone()
    choose_shards(list(mine(shards, state)), settings, folder)
    state.wait_for_everyone()
    return folder
