"""What every builder does around its pipeline: check what it is given, load models, make shards, package them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.contents import contents_of
from toolkit.parallel import processes
from toolkit.rows import Row
from toolkit.run import RunSettings, check_run, make_shards, started

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.translator.load import Translator


@dataclass(frozen=True)
class Pipeline:
    """The pipeline of a paper, its models loaded.

    Attributes:
        recipe: Rows of one shard in, the same rows with candidates out.
        forward: The translator that makes the candidates; the card counts overlap in its pieces.
        models: Of each model what the card says: its role, name, licence and quality.
        stages: How many stages of the recipe report their rows (`toolkit.progress`).
    """

    recipe: Callable[[Iterable[Row]], Iterator[Row]]
    forward: Translator
    models: list[dict]
    stages: int = 1


def build_parabank(
    run: RunSettings,
    name: str,
    files: Mapping[str, list[str | Path]],
    models: Mapping[str, str],
    load: Callable[[PartialState], Pipeline],
    recorded: RunSettings | None = None,
    choose: Callable[[PartialState], Path] | None = None,
) -> dict:
    """Build the parabank of a bitext, in as many processes as the launcher started, and package it.

    Work that an earlier call of the same run has done is not done again.

    Args:
        run: The settings.
        name: Of the builder, its card and its record.
        files: The files that the run reads, by setting.
        models: The models that it reads, by setting.
        load: Loads them; called once all that can be checked without them is checked.
        recorded: The settings by which the run is known when it goes on, if not all of `run`.
        choose: Gives the folder of the shards to package, if not all of the run's; every process calls it.

    Returns:
        The measured figures of the card, on the main process; nothing on the others.

    Raises:
        ValueError: The bitext, a model, another file or the settings cannot be used; the message says why.
        RuntimeError: A shard failed, or the processes do not see each other.
    """
    import torch

    from toolkit.models.checkpoint import fingerprint
    from toolkit.package.build import check_package, package_parabank

    state, recorded, output = processes(), recorded or run, Path(run.output_dir)
    contents: dict[str, str] = {}
    if state.is_main_process:
        check_package(output, run.version, name)
        contents = contents_of(files) | {setting: fingerprint(model) for setting, model in models.items()}
        check_run(recorded, name, contents)
    torch.set_num_threads(run.threads)
    pipeline = load(state)
    with started(recorded, name, state, contents) as inputs:
        make_shards(inputs, pipeline.recipe, state, pipeline.stages)
        state.wait_for_everyone()
        shards = choose(state) if choose else run.shards_dir
        if not state.is_main_process:
            return {}
        pieces = pipeline.forward.target.split
        return package_parabank(
            shards, output, output.name, run.version, run.license, pipeline.models, name, pieces=pieces
        )


def load_forward(name: str, run: RunSettings, state: PartialState) -> Translator:
    """The translator from the source to the references' language; if another dtype is faster here, one line says so."""
    from toolkit.translator.int8 import advice
    from toolkit.translator.load import load_translator

    forward = load_translator(name, run.dtype, state.device, run.source_lang, run.lang)
    if state.is_main_process and (told := advice(run.dtype, state.device)):
        print(told, file=sys.stderr)
    return forward
