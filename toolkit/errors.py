"""Error messages on one line, and the refusal of a text where several texts are wanted."""

from __future__ import annotations

import dataclasses

MAX_CHARACTERS = 200  # ours: of another library's message


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


def check_several(value: object, wanted: str) -> None:
    """Refuse a single text where a collection of texts is wanted; it would be read letter by letter.

    Args:
        value: What was given; all but a text passes.
        wanted: What was wanted, for the error: "a list of texts".

    Raises:
        ValueError: It is a `str` or `bytes`.
    """
    if isinstance(value, (str, bytes)):
        raise ValueError(f"wanted {wanted}, got a {type(value).__name__}: put one text in a list")


def check_lists(settings: object) -> None:
    """Refuse settings of which a field that holds several texts was given a single one.

    Args:
        settings: A dataclass, whose fields of several texts have the type `list[str]` or `tuple[str, ...]`.

    Raises:
        ValueError: A field was given a text; it is named.
    """
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        if str(field.type).startswith(("list[str]", "tuple[str, ...]")):
            check_several(getattr(settings, field.name), f"a list as {field.name}")
