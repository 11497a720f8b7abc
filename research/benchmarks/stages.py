"""Measure the seconds of each stage of a ParaBank 2 build, by patching the functions that the builder calls."""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from builders.parabank2 import ParaBank2Run
    from toolkit.data.rows import Row

cpu_clock = time.process_time  # of all threads of this process
WARM_ROWS = 4  # ours: rows of the warm-up
STAGES = ("reading", "sampling", "dual scoring", "clustering", "the rest", "writing")
WATCHED = {  # patched function, where the builder or the run looks it up -> the stage of its time
    "toolkit.translator.load.load_translator": "loading models",
    "toolkit.run.shard_runs.prepare": "reading",
    "toolkit.run.shard_runs.read_shard": "reading",
    "toolkit.generate.sample.sample_rows": "sampling",
    "toolkit.score.dual.dual_rows": "dual scoring",
    "toolkit.select.cluster.cluster_rows": "clustering",
    "toolkit.select.filter.refuse_unknown_words": "the rest",
    "toolkit.select.filter.refuse_dual": "the rest",
    "toolkit.select.rank.rank_rows": "the rest",
    "toolkit.score.overlap.overlap_rows": "the rest",
    "toolkit.package.keep.write_kept": "writing",
    "toolkit.package.build.package_parabank": "packaging",
}
HOST_STAGES = {  # what is timed beside them where no model runs; these stages have the rest of "sampling"
    "toolkit.bitext.subwords.Pieces.decode": "detokenising",
    "toolkit.bitext.subwords.Pieces.encode": "segmenting",
    "toolkit.bitext.subwords.Pieces.split_all": "segmenting",
    "toolkit.generate.sample._merge": "merging",
    "toolkit.package.build.find_equal_pairs": "packaging: equal pairs",
    "toolkit.package.build._write_parquet": "packaging: Parquet",
    "toolkit.package.statistics.rank_table": "packaging: diversity",
    "toolkit.package.build.measure": "packaging: statistics",
    "toolkit.package.build._draw_pictures": "packaging: pictures",
}
HOST_WATCHED = WATCHED | HOST_STAGES
PIPELINE = "builders.parabank2.parabank2"
ALL_ELSE, WARMING = "checks", "warming up"


class Clock:
    """Seconds by name; the time of a nested span counts only for the inner span.

    Args:
        now: The clock, in seconds: that of the wall, or `cpu_clock`.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.open = [ALL_ELSE]
        self.last = now()

    def count(self) -> None:
        """Add the time since the last call to the innermost open span."""
        last, self.last = self.last, self.now()
        self.seconds[self.open[-1]] += self.last - last

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Add the time of the block to `name`."""
        self.count()
        self.open.append(name)
        try:
            yield
        finally:
            self.count()
            self.open.pop()

    def rows(self, name: str, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the same rows, and add the time of generating each to `name`."""
        while True:
            with self.span(name):
                row = next(rows, None)
            if row is None:
                return
            yield row

    def watched(self, name: str, function: Callable) -> Callable:
        """Wrap a function, so that its time and that of generating its rows are added to `name`."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            with self.span(name):
                result = function(*arguments, **keywords)
            return self.rows(name, result) if isinstance(result, Iterator) else result

        return call

    def warmed(self, pipeline: Callable) -> Callable:
        """Wrap a pipeline, so that it first processes a few rows whose time counts for no stage."""

        def call(rows: Iterable[Row], *arguments: Any) -> Iterator[Row]:
            shard = list(rows)
            if WARMING not in self.seconds:
                self.count()
                before, began = self.seconds.copy(), self.last
                list(pipeline(copy.deepcopy(shard[:WARM_ROWS]), *arguments))
                self.count()
                self.seconds = before
                self.seconds[WARMING] = self.last - began
            return pipeline(iter(shard), *arguments)

        return call


def run_settings(bitext: str, folder: str, overrides: dict) -> ParaBank2Run:
    """The settings of a ParaBank 2 run: the paper's, except for those in `overrides`."""
    from builders.parabank2 import ParaBank2Run

    output = f"{folder}/parabank2"
    return ParaBank2Run(
        bitext=[bitext], source_lang="de", lang="en", output_dir=output, license="cc-by-2.0", **overrides
    )


def timed_build(
    settings: ParaBank2Run, watched: Mapping[str, str] = WATCHED, clock: Clock | None = None
) -> dict[str, float]:
    """Build a parabank in this process.

    Args:
        settings: Of the run.
        watched: The functions that are timed, with the stage of each.
        clock: A new one without it.

    Returns:
        Seconds of `STAGES`, "loading models", "packaging", "warming up" (a few rows) and "checks" (everything else).
    """
    from builders.parabank2 import build

    originals = {name: resolve_name(name) for name in watched}
    pipeline = import_module(PIPELINE.rpartition(".")[0]).parabank2
    clock = clock or Clock()
    with ExitStack() as patches:
        for name, stage in watched.items():
            patches.enter_context(mock.patch(name, clock.watched(stage, originals[name])))
        patches.enter_context(mock.patch(PIPELINE, clock.warmed(pipeline)))
        build(settings)
    clock.count()
    return dict(clock.seconds)
