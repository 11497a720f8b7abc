"""Error messages on one line."""

from __future__ import annotations

import signal

MAX_CHARACTERS = 200  # ours: of another library's message
CAUSES = {  # the likely cause of a signal that no user sent
    signal.SIGKILL: "the system sends it where memory is short: fewer processes, or smaller batches, need less",
    signal.SIGSEGV: "a library crashed",
    signal.SIGABRT: "a library crashed",
    signal.SIGBUS: "a library crashed, or a disk is full",
    signal.SIGILL: "a library is built for another processor",
}


def signal_cause(number: int) -> str:
    """The name of the signal that ended a process, and its likely cause.

    >>> signal_cause(11), signal_cause(1)
    ('SIGSEGV (a library crashed)', 'SIGHUP')
    """
    known = {*map(int, signal.Signals)}
    name = signal.Signals(number).name if number in known else f"signal {number}"
    return f"{name} ({CAUSES[signal.Signals(number)]})" if number in CAUSES else name


def one_line(error: BaseException) -> str:
    r"""The message of an error on one line.

    >>> one_line(OSError(28, "No space left on device", "bank.shards/rows-00002.parquet"))
    'No space left on device: bank.shards/rows-00002.parquet'
    >>> one_line(ValueError("wanted this,\n  got that"))
    'wanted this, got that'
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def named_line(error: BaseException) -> str:
    r"""The class name and the message of another library's error on one line, to be put at the end of our message.

    >>> named_line(TypeError("it has no\n  modules.json"))
    'TypeError: it has no modules.json'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())[:MAX_CHARACTERS]}"


def first_line(error: BaseException) -> str:
    """The first line of an error's message; the name of its class if the message is empty."""
    return next(iter(str(error).splitlines()), type(error).__name__)
