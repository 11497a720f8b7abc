"""Freed memory goes back to the system."""

import os
from pathlib import Path

import pytest
import torch

from toolkit.system import memory
from toolkit.system.memory import in_halves, release_memory

STATM = Path("/proc/self/statm")


@pytest.mark.skipif(memory._malloc_trim is None or not STATM.exists(), reason="the C library is not glibc")
def test_gaps_between_what_is_in_use_are_given_back():
    def resident() -> int:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    blocks = [bytearray(64 * 1024) for _ in range(2000)]  # 128 MB, each below the size that glibc maps by itself
    full = resident()
    blocks = blocks[::20]  # what is in use stays between the gaps
    assert resident() > full - 64_000_000, "the C library keeps what is freed"
    release_memory()
    assert len(blocks) == 100 and resident() < full - 64_000_000


def test_without_glibc_nothing_happens(monkeypatch):
    monkeypatch.setattr(memory, "_malloc_trim", None)
    release_memory()


@pytest.mark.parametrize("largest", [1, 2, 3, 8])
def test_a_batch_is_halved_until_it_fits(largest, capsys):
    items, sizes = [], []

    def work(batch):
        sizes.append(len(batch))
        if len(batch) > largest:
            raise torch.OutOfMemoryError("CUDA out of memory")
        items.extend(batch)

    memory._tell_halved.cache_clear()
    for _ in range(2):
        in_halves(range(7), work)
    assert items == [*range(7)] * 2 and max(sizes) == 7
    assert capsys.readouterr().err.count("halved") == (largest < 7)


def test_one_row_that_does_not_fit_is_the_error():
    def work(batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        in_halves([1, 2], work)
    with pytest.raises(ValueError, match="another"):
        in_halves([1, 2], lambda batch: int("another"))
