"""Work in a fresh process, with its peak memory.

Imports nothing heavy and nothing of the toolkit: see `reports/report.py`.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any


def peak_megabytes() -> float:
    """The most memory this process has held.

    `getrusage` would start at the parent's size, which Linux hands on through fork and exec. VmHWM is the child's.
    """
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


@dataclass(frozen=True)
class Child:
    """A fresh process, and the connection to it.

    Args:
        connection: What it sends and is sent.
        process: The process.
        work: The name of what it does.
    """

    connection: Connection
    process: BaseProcess
    work: str

    def received(self) -> Any:
        """What it sends.

        Raises:
            RuntimeError: It ended; its own traceback is on stderr.
        """
        try:
            return self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            raise RuntimeError(
                f"wanted a result of {self.work}, its process ended with {self.process.exitcode}; see its error above"
            ) from None


@contextmanager
def child(serve: Callable[..., None], work: Callable[..., Any], *arguments: Any) -> Iterator[Child]:
    """Start a fresh process, and wait for its end when the block ends.

    Args:
        serve: A function of a module; it is called with a connection to this process, `work` and the arguments.
        work: What is to be done.
        arguments: What it is done with.
    """
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=serve, args=(its, work, *arguments))
    process.start()
    its.close()
    try:
        yield Child(ours, process, work.__name__)
    finally:
        ours.close()
        process.join()


def in_child(
    work: Callable[..., Any], *arguments: Any, environment: Mapping[str, str] | None = None
) -> tuple[Any, float]:
    """Run a function of a module in a fresh process.

    Args:
        work: The function.
        arguments: What it is called with.
        environment: The environment of the process; this process's own unless given.

    Returns:
        What it returned, and the child's peak memory in MB.

    Raises:
        RuntimeError: It failed; its own traceback is on stderr.
    """
    with under(os.environ if environment is None else environment), child(send_result, work, *arguments) as one:
        return one.received()


@contextmanager
def under(environment: Mapping[str, str]) -> Iterator[None]:
    """Give the processes that are started in the block another environment."""
    own = dict(os.environ)
    wanted = dict(environment)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(own)


def send_result(connection: Connection, work: Callable[..., Any], *arguments: Any) -> None:
    """Work, and send the result and the peak memory to the parent."""
    result = work(*arguments)
    connection.send((result, peak_megabytes()))
