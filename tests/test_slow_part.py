import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_slow(number):
    pass

def test_quick():
    pass
"""


@pytest.fixture
def collect(tmp_path):
    """Collect `TESTS` with the options of this repository's tests; the result is the process."""
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path)
    (tmp_path / "test_all.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: takes long\n")

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


def names_in(process: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"::(\S+)", process.stdout)


def test_every_slow_test_is_in_one_part_and_a_quick_one_in_all(collect):
    counts = Counter(name for part in (1, 2, 3) for name in names_in(collect("--slow-part", f"{part}/3")))
    assert counts == {f"test_slow[{n}]": 1 for n in range(20)} | {"test_quick": 3}


def test_without_the_option_all_run(collect):
    assert len(names_in(collect())) == 21


@pytest.mark.parametrize("part", ["0/3", "4/3", "3", "1/0"])
def test_a_part_that_is_none_is_an_error(collect, part):
    process = collect("--slow-part", part)
    assert process.returncode == 4
    assert f"wanted K/N, such as 3/8, with K from 1 to N, got '{part}'" in process.stderr
