import shutil
import subprocess

import pytest

from toolkit.package.checksums import CHECKSUMS, verify_checksums


def test_all_files_are_listed_and_hold(demo_parabank):
    listed = [line.partition("  ")[2] for line in (demo_parabank / CHECKSUMS).read_text().splitlines()]
    there = [p.relative_to(demo_parabank).as_posix() for p in demo_parabank.rglob("*") if p.is_file()]
    assert listed == sorted(set(there) - {CHECKSUMS})
    assert {"README.md", "parabank.json", "statistics.json"} < set(listed)
    assert verify_checksums(demo_parabank) == len(listed)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_sha256sum_agrees(demo_parabank):
    subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=demo_parabank, check=True)


def test_a_flipped_byte_is_found(demo_parabank):
    path = demo_parabank / "data/pairs/test-00000-of-00001.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"wanted .*test-00000-of-00001.parquet with SHA-256 .*: fetch"):
        verify_checksums(demo_parabank)


def test_a_missing_file_is_found(demo_parabank):
    (demo_parabank / "README.md").unlink()
    with pytest.raises(ValueError, match=r"README.md with SHA-256 .*, got no file"):
        verify_checksums(demo_parabank)


def test_a_missing_or_broken_listing_is_found(demo_parabank):
    (demo_parabank / CHECKSUMS).write_text("rubbish\n")
    with pytest.raises(ValueError, match="wanted 'checksum  path'"):
        verify_checksums(demo_parabank)
    (demo_parabank / CHECKSUMS).unlink()
    with pytest.raises(FileNotFoundError, match="wanted SHA256SUMS"):
        verify_checksums(demo_parabank)
