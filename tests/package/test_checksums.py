import shutil
import subprocess

import pytest

from toolkit.package.checksums import CHECKSUMS
from toolkit.system.contents import hash_file

WITH_SHA256SUM = pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")


def test_all_files_are_listed_and_hold(demo_parabank):
    listed = [line.partition("  ")[2] for line in (demo_parabank / CHECKSUMS).read_text().splitlines()]
    there = [p.relative_to(demo_parabank).as_posix() for p in demo_parabank.rglob("*") if p.is_file()]
    assert listed == sorted(set(there) - {CHECKSUMS})
    assert {"README.md", "parabank.json", "statistics.json"} < set(listed)
    lines = (demo_parabank / CHECKSUMS).read_text().splitlines()
    assert lines == [f"{hash_file(demo_parabank / name)}  {name}" for name in listed]


@WITH_SHA256SUM
def test_sha256sum_agrees(demo_parabank):
    subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=demo_parabank, check=True)


@WITH_SHA256SUM
def test_sha256sum_finds_a_flipped_byte(demo_parabank):
    path = demo_parabank / "data/pairs/test-00000-of-00001.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    command = ["sha256sum", "--check", "--quiet", CHECKSUMS]
    process = subprocess.run(command, cwd=demo_parabank, capture_output=True, text=True)
    assert process.returncode and "test-00000-of-00001.parquet: FAILED" in process.stdout
