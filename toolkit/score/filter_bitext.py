"""Filter a bitext by dual conditional cross-entropy: clean it, score its pairs in shards, and keep the best.

The shards survive a kill, and another threshold or share needs no other scoring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import torch
from accelerate import PartialState

from toolkit.clean.clean_file import write_judged
from toolkit.clean.corpus import cleaning_folder
from toolkit.data.rows import Candidate, Row
from toolkit.data.shards import all_made, input_shards, output_of
from toolkit.run.batches import settled
from toolkit.run.bitext_run import CLEANING
from toolkit.run.shard_runs import make_run
from toolkit.run.workspace import check_folder, in_folder
from toolkit.score.cross_entropy import BitextFilter, _judged
from toolkit.score.dual import dual_rows, forward_rows
from toolkit.system.outputs import check_output_file, is_ours
from toolkit.system.processes import processes, tell_idle_gpus
from toolkit.system.settings import SETTINGS
from toolkit.system.whole_files import read_record
from toolkit.translator.load import Translator, load_translator

ITSELF = "reference"  # the method of a candidate that is the reference of its row
# may change between the calls of one run
FREE = {"output", "refused", "max_cross_entropy", "best_share", "processes", "check_language"}


def filter_bitext(settings: BitextFilter) -> Counter[str]:
    """Score a bitext and write its best pairs, in all processes of the launch; shards that are finished are kept.

    Returns:
        The numbers of refused lines by reason, and of kept ones as "kept"; empty on all processes but the main one.

    Raises:
        OSError: The bitext does not exist, or an output cannot be written or is another's.
        ValueError: The bitext or a model cannot be used, no pair is left, or the shards are of other settings.
        RuntimeError: A shard failed, another launch works on it, or the processes do not see each other.
    """
    state, outputs = processes(exchange=False), [Path(path) for path in (settings.output, settings.refused) if path]
    folder = settings.shards_dir
    if state.is_main_process:
        for path in outputs:
            check_output_file(path, settings.bitext, lambda path: _is_of_run(path, folder))
    models = {"forward": settings.forward, "backward": settings.backward}
    record = check_folder(folder, settings, {"bitext": settings.bitext}, models, FREE, state)
    settings = settled(settings, folder, models.values(), state)
    record |= settings.batch_sizes
    if not (scored_before := all_made(folder)):
        if state.is_main_process:
            settings.check_bitext()
        tell_idle_gpus()
        recipe = _load(settings, state)
    with in_folder(folder, record, FREE, state):
        if not scored_before:
            make_run(folder, _input_rows(settings), settings.shard_rows, recipe, state, stages=2)
        if not state.is_main_process:
            return Counter()
        return write_judged(_judged(list(map(output_of, input_shards(folder))), settings), outputs, settings.bitext)


def _is_of_run(path: Path, folder: Path) -> bool:
    """Whether the run in a folder names a file as one of its outputs."""
    if not is_ours(folder / SETTINGS):
        return False
    record = read_record(folder / SETTINGS)
    return str(path) in [str(Path(record[name])) for name in ("output", "refused") if record.get(name)]


def _load(settings: BitextFilter, state: PartialState) -> Callable[[Iterable[Row]], Iterator[Row]]:
    """Load both translators; return what scores the rows of a shard."""
    torch.set_num_threads(settings.threads)
    languages = settings.source_lang, settings.lang
    forward = load_translator(settings.forward, settings.dtype, state.device, *languages, scoring=True)
    backward = load_translator(settings.backward, settings.dtype, state.device, *languages[::-1], scoring=True)
    return partial(_score_rows, forward=forward, backward=backward, batch_tokens=settings.batch_sizes["batch_tokens"])


def _input_rows(settings: BitextFilter) -> Iterator[Row]:
    """The pairs of the bitext as rows without candidates; rows that cleaning refuses have a reason."""
    origin = Path(settings.bitext[0]).name.split(".")[0]
    with cleaning_folder(settings.shards_dir / CLEANING) as folder:
        for table in settings.cleaned(folder):
            columns = (table[name].to_pylist() for name in ("line", "source", "reference", "reason"))
            for line, source, reference, reason in zip(*columns, strict=True):
                languages = settings.source_lang, reference, settings.lang
                yield Row(f"{origin}-{line}", origin, source, *languages, "train", reason=reason)


def _score_rows(rows: Iterable[Row], forward: Translator, backward: Translator, batch_tokens: int) -> Iterator[Row]:
    """Give every row its reference as its only candidate, with its likelihoods in both directions.

    Args:
        rows: Rows with a source, without candidates; all of a shard are held at a time.
        forward: From the source language to the references'.
        backward: In the opposite direction.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.

    Yields:
        The rows in their order; a candidate that is too long for a model has the reason "too_long".
    """
    shard = list(rows)
    for row in shard:
        row.candidates = [Candidate(row.reference, ITSELF)]
    return dual_rows(forward_rows(shard, forward, batch_tokens), backward, batch_tokens)
