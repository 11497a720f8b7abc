"""One launch at a time on a folder: a lock that dies with the processes that hold it.

The lock is the kernel's (`flock`), so `kill -9` releases it, and a worker that outlives its killed launcher keeps it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from toolkit.outputs import LOCK

if TYPE_CHECKING:
    from accelerate import PartialState


@contextlib.contextmanager
def held(folder: Path, state: PartialState) -> Iterator[None]:
    """Hold a folder for all processes of this launch, or refuse while another launch works in it.

    The main process asks for the folder alone; once it has it, every process of the launch shares it.

    Args:
        folder: Of a run or a training; it is made if it is not there.
        state: The processes.

    Raises:
        RuntimeError: A process of another launch holds the folder; the message says which.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+", encoding="utf-8") as file:
        if state.is_main_process:
            take(file, fcntl.LOCK_EX, folder)
            file.truncate(0)
            write_holder(file)
            take(file, fcntl.LOCK_SH, folder)
        state.wait_for_everyone()
        if not state.is_main_process:
            take(file, fcntl.LOCK_SH, folder)
            write_holder(file)
        state.wait_for_everyone()
        yield


def check_free(folder: Path) -> None:
    """Refuse a folder that a process of another launch holds, before any work; nothing is made or held.

    Raises:
        RuntimeError: One does; the message says which.
    """
    if (folder / LOCK).exists():
        with (folder / LOCK).open(encoding="utf-8") as file:
            take(file, fcntl.LOCK_EX, folder)


def take(file: IO[str], kind: int, folder: Path) -> None:
    """Take the lock, or say who has it.

    Raises:
        RuntimeError: Another launch has it.
    """
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RuntimeError(
            f"wanted {folder} for this command alone, got it held by {holders(file)}: wait for it, or end it"
        ) from None


def write_holder(file: IO[str]) -> None:
    """Add this process to those that hold the lock."""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": since, "command": " ".join(sys.argv)}
    file.write(json.dumps(holder) + "\n")
    file.flush()


def holders(file: IO[str]) -> str:
    """Who holds the lock: the processes that wrote themselves down, those of this machine only if they still run."""
    file.seek(0)
    found = [json.loads(line) for line in file if line.strip()]
    alive = [one for one in found if one["host"] != socket.gethostname() or Path("/proc", str(one["pid"])).exists()]
    return ", ".join(
        f"process {one['pid']} on {one['host']} since {one['since']} ({one['command'][:80]})" for one in alive or found
    )
