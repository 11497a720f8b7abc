"""What every command does around its work: one line for what went wrong, an exit status, several processes.

A command that resumes says so when it is interrupted. Nothing here imports torch, so that `--help` and a mistyped flag
are answered at once.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from typing import TypeVar

from toolkit.errors import one_line
from toolkit.settings import parse_settings

Settings = TypeVar("Settings")

# What the toolkit and the libraries below it raise for bad input and full disks; anything else is our own fault, and
# its traceback is wanted.
EXPECTED = (ValueError, RuntimeError, OSError, MemoryError)
INTERRUPTED = 128 + signal.SIGINT
LOST = "another process of this launch has ended, so this one stops"


def run_script(
    program: str,
    description: str,
    settings_of: type[Settings],
    work: Callable[[Settings], None],
    arguments: list[str],
    resumes: bool = False,
) -> int:
    """Be a script: parse the command line, work, and say in one line what went wrong.

    Args:
        program: The script's name.
        description: What its help says.
        settings_of: The dataclass whose fields are its flags; `processes`, if it has that field, are started.
        work: What it does.
        arguments: The command line.
        resumes: Whether the same command goes on where it was interrupted.

    Returns:
        The exit status: 0, 1 after an error, 130 after an interruption.

    Raises:
        SystemExit: --help was asked for (0), or the command line is wrong (2).
    """
    settings = parse_settings(settings_of, arguments, description, program)
    return run_command(program, lambda: work(settings), resumes, getattr(settings, "processes", 1))


def run_command(program: str, work: Callable[[], None], resumes: bool = False, processes: int = 1) -> int:
    """Do the work of a command, in one process or in several.

    Args:
        program: The command's name, which begins its error line.
        work: What it does.
        resumes: Whether the same command goes on where it was interrupted.
        processes: Processes to start on this machine; more than 1 starts this command line again in each of them, and
            is ignored where a launcher (`accelerate launch`, `torchrun`) has started this process.

    Returns:
        The exit status: 0, 1 after an error, 130 after an interruption.
    """
    name = f"{program} (process {os.environ['RANK']})" if os.environ.get("RANK", "0") != "0" else program
    try:
        if processes > 1 and not launched():
            from toolkit.launch import launch

            return launch(processes)
        work()
    except KeyboardInterrupt:
        if name == program:
            kept = "what is finished is kept, the same command goes on from there" if resumes else "nothing was written"
            print(f"\n{program}: interrupted; {kept}", file=sys.stderr)
        return INTERRUPTED
    except EXPECTED as error:
        print(f"{name}: {LOST if lost_process(error) else one_line(error)}", file=sys.stderr)
        return 1
    return 0


def lost_process(error: BaseException) -> bool:
    """Whether an error only says that another process of the same launch has ended; that one has its own line."""
    return launched() and bool(re.search(r"gloo|NCCL|TCPStore|peer", str(error)))


def launched() -> bool:
    """Whether a launcher started this process among others."""
    return "RANK" in os.environ
