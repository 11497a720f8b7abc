"""A folder of models as mozilla/firefox-translations-models has it: compressed by gzip, and perhaps only pointers."""

import gzip

import pytest
from huggingface_hub import constants

from toolkit.firefox.folder import unpacked

FILES = {"model.ende.intgemm.alphas.bin": b"model " * 99, "lex.50.50.ende.s2t.bin": b"lex", "vocab.ende.spm": b"vocab"}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder of a model, and an empty cache."""
    monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(tmp_path / "assets"))
    folder = tmp_path / "ende"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))
    (folder / "metadata.json").write_text("{}")
    (folder / "notes.txt.gz").write_bytes(b"no gzip")
    return folder


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def test_it_is_unpacked_into_the_cache_once(checkout):
    before = content(checkout)
    place = unpacked(checkout)
    assert content(place) == FILES and content(checkout) == before
    times = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    assert unpacked(checkout) == place and {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == times
    (place / "vocab.ende.spm").write_bytes(b"vacab")
    assert content(unpacked(checkout)) == FILES, "what is damaged in the cache is unpacked again"


def test_other_files_have_another_place(checkout):
    place = unpacked(checkout)
    (checkout / "vocab.ende.spm.gz").write_bytes(gzip.compress(b"newer"))
    assert unpacked(checkout) != place and content(place) == FILES
    assert content(unpacked(checkout))["vocab.ende.spm"] == b"newer"


def test_a_folder_that_is_partly_unpacked(checkout):
    (checkout / "vocab.ende.spm").write_bytes(b"as it is")
    assert content(unpacked(checkout)) == FILES | {"vocab.ende.spm": b"as it is"}
    for name, data in FILES.items():
        (checkout / name).write_bytes(data)
    assert unpacked(checkout) == checkout
    for name in FILES:
        (checkout / f"{name}.gz").unlink()
    assert unpacked(checkout) == checkout


def test_a_pointer_of_git_lfs_and_a_damaged_file(checkout, tmp_path):
    path = checkout / "model.ende.intgemm.alphas.bin.gz"
    whole = path.read_bytes()
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    with pytest.raises(ValueError, match=f"got {path}, a pointer of git-lfs: run `git lfs pull` there"):
        unpacked(checkout)
    for damaged in (whole[:-9], whole[:20] + b"X" + whole[21:], b"plain"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"wanted a whole file of gzip, got {path} \(.*`gzip -d` unpacks it$"):
            unpacked(checkout)
    assert not list((tmp_path / "assets").rglob("model*")) and not list((tmp_path / "assets").rglob("*.tmp"))
