"""The option `--slow-part K/N` of the tests: of the slow ones only the K-th of N parts runs, beside all others."""

from __future__ import annotations

import argparse
import re
from zlib import crc32

import pytest


def part(text: str) -> tuple[int, int]:
    """K and N of "K/N"."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"wanted K/N, such as 3/8, with K from 1 to N, got {text!r}")
    return int(found[1]), int(found[2])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--slow-part", type=part, metavar="K/N", help="run the K-th of N parts of the slow tests alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow tests of other parts; a test is always in the same part."""
    if config.option.slow_part is None:
        return
    number, parts = config.option.slow_part
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        is_of_other_part = item.get_closest_marker("slow") and crc32(item.nodeid.encode()) % parts != number - 1
        (left_out if is_of_other_part else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
