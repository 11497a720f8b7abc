"""Give freed memory back to the system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def _trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # no glibc: macOS, Windows, musl
        return None


_malloc_trim = _trim()


def release_memory() -> None:
    """Give the memory that this process has freed back to the system, where the C library keeps it (glibc).

    Batches of different sizes leave gaps between what is still in use, so that without this a process grows a little
    with every shard of the same work. It takes milliseconds.
    """
    if _malloc_trim is not None:
        _malloc_trim(0)


def releasing(batches: Iterable[T]) -> Iterator[T]:
    """Batches that take about a second each, with `release_memory` between them.

    >>> list(releasing("ab"))
    ['a', 'b']
    """
    for number, batch in enumerate(batches):
        if number:
            release_memory()
        yield batch
