"""Give freed memory back to the system, and get along with that of a GPU."""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

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


def free_gpu_bytes(device: torch.device | str) -> int:
    """How many bytes of a GPU's memory are free, those included that torch keeps for itself."""
    import torch  # imported here so that this room loads none

    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + max(0, unused)


def in_halves(batch: Sequence[T], work: Callable[[Sequence[T]], None]) -> None:
    """Work on a batch, or one after another on its halves where it is too large for the memory of a GPU.

    A line on stderr says so, once.

    >>> in_halves([1, 2, 3], print)
    [1, 2, 3]

    Args:
        batch: What one call of `work` takes.
        work: Changes nothing before it has all of the memory that it needs, and makes the same of a row in any batch.

    Raises:
        torch.OutOfMemoryError: There is too little for one element alone.
    """
    import torch  # imported here so that this room loads none

    try:
        return work(batch)
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            raise
    # Behind the handler, as the traceback of the error holds the tensors of the batch.
    gc.collect()
    torch.cuda.empty_cache()
    _tell_halved()
    middle = len(batch) // 2
    in_halves(batch[:middle], work)
    in_halves(batch[middle:], work)


@functools.cache
def _tell_halved() -> None:
    """Print the line; a second call does nothing."""
    print("out of GPU memory: batches that do not fit are halved; give smaller ones to save the time", file=sys.stderr)
