"""SIGTERM, by which a cluster ends a job at its time limit: what is in flight is finished, and nothing else begins."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

SAME = 5.0  # ours: seconds in which another SIGTERM is the same one, sent to all processes and passed on by a launcher


class Stopped(Exception):
    """SIGTERM came, and what was in flight is finished."""


class ChildKilled(RuntimeError):
    """A signal ended a process that this command had started; the message names the process and the signal."""


@contextlib.contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Note a SIGTERM that comes in the block instead of ending at once; a second one ends the process.

    Outside of the block, as where this process waits for others, SIGTERM ends it at once. Only the main thread can note
    signals; another one does nothing here.

    Yields:
        Whether SIGTERM has come.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    arrival_times: list[float] = []

    def note(number: int, frame: object) -> None:
        if arrival_times and time.monotonic() - arrival_times[0] > SAME:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        arrival_times.append(time.monotonic())

    previous_handler = signal.signal(signal.SIGTERM, note)
    try:
        yield lambda: bool(arrival_times)
    finally:
        signal.signal(signal.SIGTERM, previous_handler or signal.SIG_DFL)
