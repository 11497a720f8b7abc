"""Run the work of a command: print an error as one line, return an exit status, start several processes.

An interrupted command prints whether it can be resumed. This module does not import torch, so that `--help` and the
error for a mistyped flag appear at once.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from toolkit.system.errors import one_line
from toolkit.system.extras import EXTRAS
from toolkit.system.settings import parse_settings
from toolkit.system.signals import ChildKilled, Stopped

Settings = TypeVar("Settings")

# The exceptions that the toolkit and its libraries raise for bad input and full disks. Any other exception is a bug of
# ours, so its traceback is shown.
EXPECTED = (ValueError, RuntimeError, OSError, MemoryError)
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
LAUNCHER = "PARABANK_LAUNCHER"  # set for the processes that this toolkit's launcher starts, which prints for them
LOST = "another process of this launch has ended, so this one stops"


def run_script(
    program: str,
    description: str,
    settings_type: type[Settings],
    work: Callable[[Settings], None],
    arguments: list[str],
    resumes: bool = False,
    presets: Path | None = None,
) -> int:
    """Run a script: parse the command line, do the work, and print an error as one line.

    Args:
        program: The script's name.
        description: The text above the flags in its help.
        settings_type: The dataclass whose fields are its flags; a field `processes` is the number of processes to
            start, and without it the command works in one.
        work: The function that does the work.
        arguments: The command line.
        resumes: Whether an interrupted command continues from its last state when it is run again.
        presets: The folder of its presets, for `--preset`.

    Returns:
        The exit status: 0, 1 after an error, 130 after an interruption.

    Raises:
        SystemExit: The command line has --help (status 0) or is wrong (status 2).
    """
    settings = parse_settings(settings_type, arguments, description, program, presets)
    return run_command(program, lambda: work(settings), resumes, getattr(settings, "processes", None))


def run_command(
    program: str,
    work: Callable[[], None],
    resumes: bool = False,
    processes: int | None = None,
    done: Callable[[], str] | None = None,
) -> int:
    """Run the work of a command, in one process or in several.

    Args:
        program: The command's name, with which its error line begins.
        work: The function that does the work.
        resumes: Whether an interrupted command continues from its last state when it is run again.
        processes: Processes to start on this machine. With more than 1, each of them runs this command line again. The
            number is ignored where a launcher (`accelerate launch`, `torchrun`) has started this process. None is one,
            of a command whose work no processes share: those of a launcher are refused.
        done: Says how much of the work is finished, where a signal ends it.

    Returns:
        The exit status: 0, 1 after an error, 130 after an interruption, 143 after SIGTERM.
    """
    name = f"{program} (process {os.environ['RANK']})" if os.environ.get("RANK", "0") != "0" else program
    try:
        if processes is None:
            _refuse_several(program)
        elif processes > 1 and not _launched():
            from toolkit.system._launch import launch

            os.environ[LAUNCHER] = "1"
            return launch(processes)
        work()
    except (KeyboardInterrupt, Stopped) as error:
        how, status = ("ended by SIGTERM", TERMINATED) if isinstance(error, Stopped) else ("interrupted", INTERRUPTED)
        if name == program and not (_launched() and LAUNCHER in os.environ):
            print(f"\n{program}: {how}; {_describe_state(resumes, done)}", file=sys.stderr)
        return status
    except ChildKilled as error:
        print(f"{program}: {error}; {_describe_state(resumes, done)}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        print(f"{name}: {one_line(error)}", file=sys.stderr)
        return 1
    except EXPECTED as error:
        print(f"{name}: {LOST if _lost_process(error) else one_line(error)}", file=sys.stderr)
        return 1
    return 0


def _describe_state(resumes: bool, progress: Callable[[], str] | None) -> str:
    """What is left of the work of a command that a signal ended, for a message."""
    if not resumes:
        return "nothing was written"
    return f"{progress() if progress else 'what is finished is kept'}, the same command goes on from there"


def _lost_process(error: BaseException) -> bool:
    """Whether an error only follows from the end of another process of this launch, which printed its own error."""
    return _launched() and bool(re.search(r"gloo|NCCL|TCPStore|peer", str(error)))


def _refuse_several(program: str) -> None:
    """Refuse the processes of a launcher, each of which would do the whole work.

    Raises:
        RuntimeError: There are several.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if _launched() and count > 1:
        raise RuntimeError(f"wanted one process, got {count} (WORLD_SIZE): start {program} without a launcher")


def _launched() -> bool:
    """Whether a launcher started this process among others."""
    return "RANK" in os.environ
