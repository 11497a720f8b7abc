"""Files are known by their bytes, wherever and whenever they were written."""

import hashlib
import os

import pytest

from toolkit.system.contents import contents_of, hash_file, with_contents
from toolkit.system.settings import check_record, compare_record

HOUND = "5e12b6f9be69cae3e8a79608cf8648d76ed431d792c64ebe03b51101468925cd"


def test_bytes_count_and_not_names_or_times(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.tsv").write_text("dog\thound\n")
    os.utime(tmp_path / "b" / "b.tsv", (0, 0))
    paths = {"one": [tmp_path / "a" / "a.tsv"], "two": [str(tmp_path / "b")], "three": [tmp_path / "*" / "b*"]}
    hashes = contents_of(paths)
    assert hashes["one"] == hashes["two"] == hashes["three"] and hashes["one"].startswith("10 bytes, sha256 ")
    (tmp_path / "b" / "b.tsv").write_text("dog\thounds")
    assert contents_of({"two": [tmp_path / "b"]})["two"] != hashes["two"], "of the same size"


def test_what_is_no_file_has_no_content(tmp_path):
    assert contents_of({"hub": ["someone/parabank"], "none": [], "lost": [tmp_path / "lost.tsv"]}) == {
        "hub": "", "none": "", "lost": "",
    }  # fmt: skip


def test_the_content_of_a_setting_that_may_change_may_change(tmp_path):
    file, settings = tmp_path / "settings.json", {"bitext": "a", "test": "b"}
    check_record(file, with_contents(settings, {"bitext": "1", "test": "2"}), set())
    compare_record(file, with_contents(settings | {"test": "c"}, {"bitext": "1", "test": "3"}), {"test"})
    with pytest.raises(ValueError, match="content of bitext was '1', now '4'; take them back or choose another"):
        compare_record(file, with_contents(settings, {"bitext": "4", "test": "2"}), {"test"})


def test_recorded_hashes_are_those_of_sha256(tmp_path):
    """A run that was begun before compares them; `printf 'dog\\thound\\n' | sha256sum` printed the literal."""
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text("dog\thound\n")
    assert hash_file(tmp_path / "a.tsv") == hashlib.sha256(b"dog\thound\n").hexdigest() == HOUND
    digest = hashlib.sha256(bytes.fromhex(HOUND) * 2).hexdigest()
    assert contents_of({"both": [tmp_path]}) == {"both": f"20 bytes, sha256 {digest}"}
