"""Importing the toolkit decides how the threads of every engine wait, so no benchmark may do so before its children."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAMS = sorted(path.stem for path in (ROOT / "research" / "benchmarks").glob("bench_*.py"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_benchmark_starts_without_the_toolkit_and_without_torch(program):
    code = f"import sys, research.benchmarks.{program}; print(*{{'toolkit', 'torch', 'numpy'}} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == ""
