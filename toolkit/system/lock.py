"""A lock that lets only one launch at a time work in a folder.

The kernel holds the lock (`flock`) as long as a process that took it lives: `kill -9` releases it, and a worker that
outlives its killed launcher still holds it.
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

from toolkit.system.errors import one_line, without_secrets
from toolkit.system.outputs import LOCK
from toolkit.system.processes import wait
from toolkit.system.whole_files import remove_unfinished

if TYPE_CHECKING:
    from accelerate import PartialState


@contextlib.contextmanager
def held(folder: Path, state: PartialState) -> Iterator[None]:
    """Lock a folder for all processes of this launch, or raise an error while another launch works in it.

    The main process takes an exclusive lock, removes what killed processes left of files, and turns the lock into a
    shared one; then the other processes share it.

    Args:
        folder: The folder of a run or a training; it is created if it does not exist.
        state: The processes of this launch, from Accelerate.

    Raises:
        RuntimeError: A process of another launch holds the lock; the message names it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _open_lock_file(folder) as file:
        if state.is_main_process:
            take(file, fcntl.LOCK_EX, folder)
            file.truncate(0)
            write_holder(file)
            remove_unfinished(folder)
            take(file, fcntl.LOCK_SH, folder)
        wait(state)
        if not state.is_main_process:
            take(file, fcntl.LOCK_SH, folder)
            write_holder(file)
        wait(state)
        yield


@contextlib.contextmanager
def alone(folder: Path, remedy: str) -> Iterator[None]:
    """Lock a folder for this process, which waits while another one has it and says so on the terminal.

    Args:
        folder: The folder; it is created if it does not exist.
        remedy: What the user should do if the folder cannot be written, for the error.

    Raises:
        OSError: It cannot be created, or not be written by this user.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise OSError(f"wanted a folder to write to, got {folder} ({one_line(error)}): {remedy}") from error
    with file:
        try:
            take(file, fcntl.LOCK_EX, folder)
        except RuntimeError:
            print(f"{folder}: waiting for {_holders(file)}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        write_holder(file)
        yield


def check_free(folder: Path) -> None:
    """Raise an error if a process of another launch has locked a folder; create and lock nothing.

    Raises:
        RuntimeError: A process holds the lock; the message names it.
    """
    if (folder / LOCK).exists():
        with _open_lock_file(folder) as file:
            take(file, fcntl.LOCK_EX, folder)


def _open_lock_file(folder: Path) -> IO[str]:
    """The lock file of a folder, open to write, because NFS locks no file that is open to read alone.

    Raises:
        PermissionError: It is another user's.
    """
    try:
        return (folder / LOCK).open("a+", encoding="utf-8")
    except PermissionError:
        raise PermissionError(
            f"wanted a folder in which this user may write, got {folder} of another one: choose another output, "
            "or for a URL another folder in the variable PARABANK_CACHE"
        ) from None


def take(file: IO[str], kind: int, folder: Path) -> None:
    """Take a lock of a kind, LOCK_EX or LOCK_SH, on an open file.

    Raises:
        RuntimeError: A process of another launch holds the lock; the message names it.
    """
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RuntimeError(
            f"wanted {folder} for this command alone, got it held by {_holders(file)}: wait for it, or end it"
        ) from None


def write_holder(file: IO[str]) -> None:
    """Append this process to the processes that the lock file names."""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": since,
        "command": without_secrets(" ".join(sys.argv)),
    }
    file.write(json.dumps(holder) + "\n")
    file.flush()


def _holders(file: IO[str]) -> str:
    """The processes that the lock file names, for an error message; of this machine only those that still run."""
    file.seek(0)
    holders = [json.loads(line) for line in file if line.strip()]
    alive_holders = [
        holder
        for holder in holders
        if holder["host"] != socket.gethostname() or Path("/proc", str(holder["pid"])).exists()
    ]
    return ", ".join(
        f"process {holder['pid']} on {holder['host']} since {holder['since']} ({holder['command'][:80]})"
        for holder in alive_holders or holders
    )
