"""The steps that all builders share: check the inputs, load the models, make the shards, package them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from builders.pipeline import Making, Pipeline, contents_of_run
from toolkit.chat.settings import LM, SEVERAL
from toolkit.data.rows import Row
from toolkit.data.shards import read_inputs
from toolkit.generate.prompt import make_prompt, prompt_file
from toolkit.models.coverage import covers
from toolkit.paraphraser.names import ENCODER, installed_critic
from toolkit.run.batches import settled
from toolkit.run.bitext_run import BitextRun
from toolkit.run.mirror import fetch_run, send_parabank, send_run, sending, working_folder
from toolkit.run.shard_runs import ACCELERATE, FREE, RAY, RunSettings, check_run, make_shards, record_of, started
from toolkit.system.outputs import MANIFEST
from toolkit.system.processes import processes, tell_idle_gpus, wait
from toolkit.system.ranges import Share
from toolkit.system.settings import SETTINGS
from toolkit.system.whole_files import read_record

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.translator.load import Translator


R = TypeVar("R", bound=RunSettings)
BATCH_TOKENS = 8192  # ours: of a scoring batch of a language model, or of candidates that one wrote
HOPELESS = 0.5  # ours: of the floor; what is less probably usable before it is read back will not pass after it
JUDGE = "the judge of paraphrases"


@dataclass(frozen=True)
class _Source:
    """Where the candidates of a run come from.

    Attributes:
        generate: Takes rows without candidates and yields them with candidates, which have the scores that the paper's
            generation gives; None if the source is the paper's.
        models: Its lines on the card.
        stages: Of `generate` that report their rows to the progress bar, beside those of the paper.
    """

    generate: Callable[[Iterable[Row]], Iterator[Row]] | None
    models: list[dict]
    stages: int = 0


def build_parabank(
    run: R,
    name: str,
    files: Mapping[str, list[str | Path]],
    models: Mapping[str, str],
    load: Callable[[R, PartialState], Pipeline],
    recorded: R | None = None,
    choose: Callable[[PartialState], Path] | None = None,
    check: Callable[[int], None] | None = None,
    lists: Collection[str] = (),
) -> dict:
    """Build the parabank of a bitext or text in all processes of the launch or by Ray's workers, and package it.

    Shards that an earlier call of the same run has finished are kept.

    Args:
        run: The settings of the run.
        name: The name of the builder, which is also that of its card.
        files: The files that the run reads, by setting.
        models: The models that the run loads, by setting.
        load: Loads the models; called after all checks that do not need them, with the settings of the run and its
            batch sizes. With Ray every worker calls it, so it holds nothing but settings.
        recorded: The settings that are recorded and compared when the run is resumed; `run` if None.
        choose: Returns the folder of the shards to package; the folder of the run if None. Every process calls it.
        check: Called with the number of references before anything is decoded; raises ValueError if they are not
            enough. Every process calls it.
        lists: Settings that name several files, such as the input, which `load` reads, too.

    Returns:
        The measured figures of the card on the main process; an empty dictionary on the others.

    Raises:
        OSError: The output cannot be written; finished shards stay on the disk.
        ValueError: An input, a model, another file or a setting cannot be used; the message says why.
        RuntimeError: A shard failed, or the processes do not see each other.
    """
    from toolkit.package.build import check_package, package_parabank

    _check_cost(run)
    state = processes(exchange=False, computes=run.engine != RAY)
    recorded, output = recorded or run, working_folder(run.output_dir)
    if run.generator == LM:
        models = {**models, **({} if run.server else {"model": run.model or ""})}  # nobody knows what a server changes
        make_prompt(run)  # a prompt that cannot be used is an error before anything else
        files = {**files, **({"prompt": [prompt_file(run.prompt)]} if run.prompt != SEVERAL else {})}
        files = {**files, **({"examples": [run.examples]} if run.examples else {})}
    if run.decontaminate:
        files = {**files, "decontaminate": [*run.decontaminate]}
    contents, damaged = dict[str, str](), set[str]()
    if state.is_main_process:
        check_package(output, run.version, name)
        contents = contents_of_run(files, models)
        damaged = fetch_run(run.output_dir, record_of(recorded, name, contents), FREE)
        check_run(recorded, name, contents)
    if run.engine == RAY:
        from builders.on_ray import making_on_ray  # Ray is an extra

        starting = making_on_ray(run, load, state, files, models, contents, lists)
    else:
        starting = _making_here(run, load, models, state)
    with starting as making, started(replace(recorded, **making.sizes), name, state, contents) as inputs:
        if check:
            check(read_inputs(run.shards_dir)["rows"])
        if state.is_main_process:
            send_run(run.output_dir, damaged)
        with sending(run.output_dir) as send:
            making.make(inputs, send)
        wait(state)
        if state.is_main_process:
            send_run(run.output_dir, damaged)  # what could not be sent when it was finished
        shards = choose(state) if choose else run.shards_dir
        if not state.is_main_process:
            return {}
        _tell_replaced(output, shards)
        about = run.version, run.license, making.models, name
        figures = package_parabank(shards, output, output.name, *about, pieces=making.pieces)
        send_parabank(run.output_dir)
        return figures


def _check_cost(run: RunSettings) -> None:
    """Refuse a limit of cost where each machine has its own file of replies, and so would spend as much.

    Raises:
        ValueError: There is one.
    """
    if run.engine == RAY and run.max_cost is not None:
        raise ValueError(
            f"wanted --engine {ACCELERATE} with --max_cost, got {RAY}, by which each machine would spend "
            f"{run.max_cost:g} dollars: build on one machine, or set the limit at the service and leave --max_cost out"
        )


@contextlib.contextmanager
def _making_here(
    run: R, load: Callable[[R, PartialState], Pipeline], models: Mapping[str, str], state: PartialState
) -> Iterator[Making]:
    """Load the models into this process, which makes its share of the shards."""
    import torch

    from toolkit.package.keep import write_kept

    torch.set_num_threads(run.threads)
    tell_idle_gpus()
    run = settled(run, run.shards_dir, models.values(), state)
    pipeline = load(run, state)

    def make(inputs: list[Path], send: Callable[[Path], None]) -> None:
        def write(shard: Path, rows: Iterable[Row]) -> None:
            write_kept(shard, rows, run.keep)
            send(shard)

        make_shards(inputs, pipeline.recipe, state, pipeline.stages, write)

    yield Making(make, pipeline.pieces, pipeline.models, run.batch_sizes)


def _tell_replaced(output: Path, shards: Path) -> None:
    """Print a line if a parabank of another choice from the same run is replaced."""
    from toolkit.package.folder import is_parabank
    from toolkit.select.corpus import CHOSEN

    if not is_parabank(output):
        return
    before, now = read_record(output / MANIFEST)["settings"].get(CHOSEN), read_record(shards / SETTINGS).get(CHOSEN)
    if before != now:
        print(
            f"{output}: this choice replaces the parabank that was there, which had another one; the same command with "
            "the settings of before makes that again from the finished shards",
            file=sys.stderr,
        )


def load_source(run: RunSettings, state: PartialState, forward: Translator | None = None) -> _Source:
    """Load the language model of a run with `generator` "lm"; other runs have the paper's candidates.

    Args:
        run: The settings of the run.
        state: The processes.
        forward: The translator that gives candidates their forward score, if the pipeline has one.
    """
    if run.generator != LM:
        return _Source(None, [])
    from toolkit.generate.language_model import ask_rows, load_asked, make_asking
    from toolkit.score.dual import forward_rows
    from toolkit.translator.load import described

    model = load_asked(run, run.dtype, state.device, run.shards_dir)
    asking = make_asking(run, run.samples, getattr(run, "seed", 0))

    def generate(rows: Iterable[Row]) -> Iterator[Row]:
        rows = ask_rows(rows, model, asking)
        return forward_rows(rows, forward, BATCH_TOKENS) if forward else rows

    generator_record = {"role": "generator"} | described(run.model or "") | {"signature": asking.signature}
    prompt_record = {
        "role": "prompt",
        "name": asking.prompt.name,
        "bleu": None,
        "signature": asking.prompt.shown,
        "license": None,
    }
    return _Source(generate, [generator_record, prompt_record])


def check_judge(min_usable: float | None, lang: str) -> None:
    """Refuse a floor of what readers call usable in a language that the judge does not know.

    Raises:
        ValueError: There is a floor, and the language is another.
    """
    if min_usable is not None and not covers(JUDGE, lang):
        raise ValueError(f"wanted no min_usable for language {lang!r}, got {min_usable}: the judge reads English alone")


def _of_the_judge(name: str, min_usable: float, settings: object) -> None:
    """Refuse a floor as `check_judge`, where the settings name the language of the texts.

    Raises:
        ValueError: As `check_judge`.
    """
    if (lang := getattr(settings, "lang", None)) is not None:
        check_judge(min_usable, lang)


MinUsable = Annotated[Share, _of_the_judge]


def judge_models(min_usable: float | None) -> dict[str, str]:
    """The models of the judge, by a name for the record of a run; none without a floor."""
    if min_usable is None:
        return {}
    critic = installed_critic()
    return {"judge_encoder": ENCODER} | ({"judge_critic": critic} if critic else {})


def load_judge(min_usable: float | None, state: PartialState) -> _Source:
    """Load what judges the chosen candidates of English rows, refuses those below a floor and ranks the others anew.

    What only contracts, or has a word in another form, is refused without being judged, as by `toolkit.Paraphraser`.
    The language model is "starter/rewriter" where its package is installed; without it the judge tells much less.
    """
    if min_usable is None:
        return _Source(None, [])
    from toolkit.encoder.load import load_embedder
    from toolkit.paraphraser.english import refuse_english
    from toolkit.paraphraser.judged import BATCH_TEXTS
    from toolkit.score.critic import judge_by_reading, load_critic
    from toolkit.score.edit_ratio import edit_rows
    from toolkit.score.judge import WITHOUT_CRITIC, judge_rows, read_judge
    from toolkit.score.semantic import semantic_rows
    from toolkit.select.filter import by_usable, refuse_usable
    from toolkit.select.rank import rank_again
    from toolkit.translator.load import described

    names = judge_models(min_usable)
    encoder = load_embedder(ENCODER, state.device)
    critic = load_critic(names["judge_critic"], "auto", state.device) if "judge_critic" in names else None

    def judge(rows: Iterable[Row]) -> Iterator[Row]:
        rows = refuse_english(rows, allow_trivial=False, forms=True)
        rows = semantic_rows(edit_rows(rows), encoder, BATCH_TEXTS)
        if critic:
            rows = judge_by_reading(rows, critic, BATCH_TOKENS, lambda read: refuse_usable(read, HOPELESS * min_usable))
        else:
            rows = judge_rows(rows, read_judge(WITHOUT_CRITIC))
        return rank_again(refuse_usable(rows, min_usable), by_usable)

    return _Source(judge, [{"role": "judge"} | described(name) for name in names.values()], 2 if critic else 0)


def load_forward(name: str, run: BitextRun, state: PartialState) -> Translator:
    """Load the translator into the references' language; print a line if another dtype is faster on this machine."""
    from toolkit.translator.int8 import advice
    from toolkit.translator.load import load_translator

    forward = load_translator(name, run.dtype, state.device, run.source_lang, run.lang)
    if state.is_main_process and (advice_line := advice(run.dtype, state.device)):
        print(advice_line, file=sys.stderr)
    return forward
