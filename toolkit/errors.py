"""An error in one line."""

from __future__ import annotations

LONGEST = 200  # ours: characters of another library's message


def one_line(error: BaseException) -> str:
    r"""What an error says, on one line.

    >>> one_line(OSError(28, "No space left on device", "bank.shards/rows-00002.parquet"))
    'No space left on device: bank.shards/rows-00002.parquet'
    >>> one_line(ValueError("wanted this,\n  got that"))
    'wanted this, got that'
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def named_line(error: BaseException) -> str:
    r"""An error of another library on one line, with its name, for the end of a message of ours.

    >>> named_line(TypeError("it has no\n  modules.json"))
    'TypeError: it has no modules.json'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())[:LONGEST]}"


def first_line(error: BaseException) -> str:
    """What an error says first; its name, if it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)
