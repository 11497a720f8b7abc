"""Freed memory goes back to the system."""

import os
from pathlib import Path

import pytest

from toolkit.system import memory
from toolkit.system.memory import release_memory

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
