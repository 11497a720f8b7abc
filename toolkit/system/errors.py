"""Error messages on one line, and the refusal of a text where several texts are wanted."""

from __future__ import annotations

import dataclasses
import errno
import re
import signal
import typing
from functools import cache
from typing import Any

MAX_CHARACTERS = 200  # ours: of another library's message
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_DISK = (  # where an error does not say which file it was
    "make room on the disk of the output and on that of temporary files, which the environment variable TMPDIR names, "
    "then give the same command again"
)
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


# The user part of a URL, as in s3://KEY:SECRET@bucket, where the secret may have slashes; before "@" an Azure URL names
# a container, which is no secret.
USER_PART = re.compile(
    r"\b(s3a?://)[^/\s:@]+:[^\s@]*@"
    r"|\b((?!abfss?:|wasbs?:|az:)[A-Za-z][A-Za-z0-9+.-]*:/{1,2})[^/\s'\"]*@"
    r"|\b(\w+://)[^/\s'\"@]*:[^/\s'\"]*@"
)
# The query of a URL with a key in it, as in a signed URL.
SECRET_QUERY = re.compile(
    r"(://[^\s'\"?]*)\?[^\s'\"]*(?:key|token|sig|signature|secret|credential|password)=[^\s'\"]*", re.I
)


def without_secrets(text: str) -> str:
    """A text without the user names, passwords and keys of the URLs in it, for messages and records.

    >>> without_secrets("wanted s3://KEY:SECRET@bucket/a.tsv, got https://host/a?X-Amz-Signature=f00")
    'wanted s3://bucket/a.tsv, got https://host/a'
    >>> without_secrets("hf://datasets/someone/corpus@main/a.tsv and abfs://container@account/a.tsv")
    'hf://datasets/someone/corpus@main/a.tsv and abfs://container@account/a.tsv'
    """
    return SECRET_QUERY.sub(r"\1", USER_PART.sub(r"\1\2\3", text)) if "@" in text or "?" in text else text


def public_record(value: Any) -> Any:
    """A JSON value whose texts, also within lists and mappings, are `without_secrets`.

    >>> public_record({"bitext": ["http://me:word@host/a.tsv", 3]})
    {'bitext': ['http://host/a.tsv', 3]}
    """
    if isinstance(value, dict):
        return {key: public_record(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [public_record(item) for item in value]
    return without_secrets(value) if isinstance(value, str) else value


def one_line(error: BaseException) -> str:
    r"""The message of an error on one line.

    >>> one_line(OSError(28, "No space left on device", "bank.shards/rows-00002.parquet"))
    'No space left on device: bank.shards/rows-00002.parquet'
    >>> one_line(ValueError("wanted this,\n  got that"))
    'wanted this, got that'
    """
    if isinstance(error, OSError) and error.strerror:
        where = error.filename or (FULL_DISK if error.errno in FULL else "")
        return without_secrets(f"{error.strerror}: {where}" if where else error.strerror)
    return without_secrets(" ".join(str(error).split())) or type(error).__name__


def named_line(error: BaseException) -> str:
    r"""The class name and the message of another library's error on one line, to be put at the end of our message.

    >>> named_line(TypeError("it has no\n  modules.json"))
    'TypeError: it has no modules.json'
    """
    return f"{type(error).__name__}: {without_secrets(' '.join(str(error).split()))[:MAX_CHARACTERS]}"


def first_line(error: BaseException) -> str:
    r"""The first line of an error's message that is not blank; the name of its class if there is none.

    >>> first_line(ValueError("\n  The file is damaged.\nSee the manual.")), first_line(KeyError())
    ('The file is damaged.', 'KeyError')
    """
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def check_several(value: object, expected: str) -> None:
    """Refuse a single text where a collection of texts is wanted; it would be read letter by letter.

    Args:
        value: What was given; all but a text passes.
        expected: What was wanted, for the error: "a list of texts".

    Raises:
        ValueError: It is a `str` or `bytes`.
    """
    if isinstance(value, (str, bytes)):
        raise ValueError(f"wanted {expected}, got a {type(value).__name__}: put one text in a list")


def check_lists(settings: object) -> None:
    """Refuse settings of which a field that holds several texts was given a single one.

    Args:
        settings: A dataclass, whose fields of several texts have the type `list[str]` or `tuple[str, ...]`.

    Raises:
        ValueError: A field was given a text; it is named.
    """
    for name in _list_fields(type(settings)):  # type: ignore[arg-type]  # a class is hashable
        check_several(getattr(settings, name), f"a list as {name}")


@cache
def _list_fields(cls: type) -> list[str]:
    """The fields of a dataclass that hold several texts."""
    hints = typing.get_type_hints(cls)
    return [field.name for field in dataclasses.fields(cls) if hints[field.name] in (list[str], tuple[str, ...])]
