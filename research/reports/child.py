"""Run functions in new processes, and measure their peak memory.

This module imports no large library and not the toolkit: see `research/reports/report.py`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from research.reports.report import VARIABLES


def peak_megabytes() -> float:
    """The peak memory of this process in MB.

    It is read from VmHWM, because the value of `getrusage` starts at the size of the parent process, which Linux keeps
    through fork and exec.
    """
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


@dataclass(frozen=True)
class Child:
    """A new process, and the connection to it.

    Args:
        connection: The parent's end of the pipe.
        process: The process.
        work: The name of the function that it runs.
    """

    connection: Connection
    process: BaseProcess
    work: str

    def received(self) -> Any:
        """Wait for the next object that the process sends.

        Raises:
            RuntimeError: The process has ended; its traceback is on stderr.
        """
        try:
            return self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            raise RuntimeError(
                f"wanted a result of {self.work}, its process {how_ended(self.process.exitcode)}"
            ) from None


def how_ended(status: int | None) -> str:
    """How a process ended that sent no result, for a message.

    >>> how_ended(-9), how_ended(1)
    ('was ended by SIGKILL: memory may be short, the system then sends it', 'ended with 1; see its error above')
    """
    if status is None or status >= 0:
        return f"ended with {status}; see its error above"
    name = signal.Signals(-status).name
    return f"was ended by {name}" + (": memory may be short, the system then sends it" if name == "SIGKILL" else "")


@contextmanager
def child(serve: Callable[..., None], work: Callable[..., Any], *arguments: Any) -> Iterator[Child]:
    """Start a new process, and wait for its end when the block ends.

    It begins without the variables that this process set for itself when it imported the toolkit.

    Args:
        serve: The function that the process runs; it gets a connection to this process, `work` and the arguments. It
            must be defined at the top level of a module.
        work: The function that does the work.
        arguments: The arguments of `work`.
    """
    context = multiprocessing.get_context("spawn")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=serve, args=(child_end, work, *arguments))
    with under(plain_environment()):
        process.start()
    child_end.close()
    try:
        yield Child(parent_end, process, work.__name__)
    finally:
        parent_end.close()
        process.join()


def in_child(
    work: Callable[..., Any], *arguments: Any, environment: Mapping[str, str] | None = None
) -> tuple[Any, float]:
    """Run a function in a new process.

    Args:
        work: The function, defined at the top level of a module.
        arguments: Its arguments.
        environment: The environment variables of the process, without `VARIABLES`; None takes those of this process.

    Returns:
        The result of the function, and the peak memory of the process in MB.

    Raises:
        RuntimeError: The function failed; its traceback is on stderr.
    """
    with under(os.environ if environment is None else environment), child(send_result, work, *arguments) as worker:
        return worker.received()


def plain_environment() -> dict[str, str]:
    """The environment variables without those that this process set for itself when it imported the toolkit."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES}


@contextmanager
def under(environment: Mapping[str, str]) -> Iterator[None]:
    """Start processes within the block with another environment."""
    previous = dict(os.environ)
    variables = dict(environment)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(previous)


def send_result(connection: Connection, work: Callable[..., Any], *arguments: Any) -> None:
    """Call a function, and send its result and the peak memory to the parent process."""
    result = work(*arguments)
    connection.send((result, peak_megabytes()))


def interpreter(folder: Path, packages: Sequence[str]) -> Path:
    """The Python interpreter of an environment of its own, which is created if it does not exist."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(packages)} into {folder} ...", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def peer_answer(python: Path, script: Path, request: Any) -> Any:
    """Run a peer's script by the interpreter of its own environment, without the toolkit's variables.

    Args:
        python: The interpreter.
        script: Reads a request as JSON from stdin, and writes its answer as JSON in the last line of stdout.
        request: The request.

    Raises:
        CalledProcessError: The script failed; its traceback is on stderr.
    """
    process = subprocess.run(
        [python, script],
        input=json.dumps(request),
        env=plain_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(process.stdout.splitlines()[-1])
