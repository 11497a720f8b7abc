"""Seconds of each stage of a ParaBank 2 build, by watching the functions that the builder calls."""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from builders.parabank2 import ParaBank2Run
    from toolkit.rows import Row

WARM = 4  # ours: rows that warm up
STAGES = ("reading", "sampling", "dual scoring", "clustering", "the rest", "writing")
WATCHED = {  # what the time of a function is put down to, where the builder or its run looks the function up
    "toolkit.translator.load.load_translator": "loading models",
    "toolkit.run.prepare": "reading",
    "toolkit.run.read_shard": "reading",
    "toolkit.generate.sample.sample_rows": "sampling",
    "toolkit.score.dual.dual_rows": "dual scoring",
    "toolkit.select.cluster.cluster_rows": "clustering",
    "toolkit.select.filter.refuse_unknown_words": "the rest",
    "toolkit.select.filter.refuse_dual": "the rest",
    "toolkit.select.rank.rank_rows": "the rest",
    "toolkit.score.overlap.overlap_rows": "the rest",
    "toolkit.run.write_shard": "writing",
    "toolkit.package.build.package_parabank": "packaging",
}
PIPELINE = "builders.parabank2.parabank2"
ALL_ELSE, WARMING = "checks", "warming up"


class Clock:
    """Seconds by name; while one thing waits for another, only the seconds of the inner one count."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.open = [ALL_ELSE]
        self.last = time.perf_counter()

    def count(self) -> None:
        """Put the time since the last call down to what is open."""
        now = time.perf_counter()
        self.seconds[self.open[-1]] += now - self.last
        self.last = now

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Put the time of the block down to `name`."""
        self.count()
        self.open.append(name)
        try:
            yield
        finally:
            self.count()
            self.open.pop()

    def rows(self, name: str, rows: Iterator[Row]) -> Iterator[Row]:
        """The same rows; the time that each takes is put down to `name`."""
        while True:
            with self.span(name):
                row = next(rows, None)
            if row is None:
                return
            yield row

    def watched(self, name: str, function: Callable) -> Callable:
        """The function, whose time and the time of the rows that it yields are put down to `name`."""

        def call(*arguments: Any, **named: Any) -> Any:
            with self.span(name):
                found = function(*arguments, **named)
            return self.rows(name, found) if isinstance(found, Iterator) else found

        return call

    def warmed(self, pipeline: Callable) -> Callable:
        """The pipeline, which begins with a few rows whose time counts for no stage."""

        def call(rows: Iterable[Row], *arguments: Any) -> Iterator[Row]:
            shard = list(rows)
            if WARMING not in self.seconds:
                self.count()
                before, began = self.seconds.copy(), self.last
                list(pipeline(copy.deepcopy(shard[:WARM]), *arguments))
                self.count()
                self.seconds = before
                self.seconds[WARMING] = self.last - began
            return pipeline(iter(shard), *arguments)

        return call


def timed_build(settings: ParaBank2Run) -> dict[str, float]:
    """Build a parabank, in this process.

    Returns:
        Seconds of `STAGES`, "loading models", "packaging", "warming up" (a few rows) and "checks" (all else).
    """
    from builders.parabank2 import build

    originals = {name: getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in WATCHED}
    pipeline = import_module(PIPELINE.rpartition(".")[0]).parabank2
    clock = Clock()
    with ExitStack() as patches:
        for name, stage in WATCHED.items():
            patches.enter_context(mock.patch(name, clock.watched(stage, originals[name])))
        patches.enter_context(mock.patch(PIPELINE, clock.warmed(pipeline)))
        build(settings)
    clock.count()
    return dict(clock.seconds)
