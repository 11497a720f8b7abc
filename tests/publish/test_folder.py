"""A published folder changes at the end of the block or not at all, whatever happens in it."""

import errno
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.tiny import ENVIRONMENT, ROOT
from toolkit.package.checksums import CHECKSUMS, check_checksums
from toolkit.publish._folder import MEASURED, made_beside, read_training
from toolkit.run.workspace import RECORD


@pytest.fixture
def published(tmp_path):
    """A folder of an earlier publication, and a file that somebody added."""
    folder = tmp_path / "published"
    folder.mkdir()
    for name in (MEASURED, "weights", "added"):
        (folder / name).write_text(f"old {name}")
    return folder


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != CHECKSUMS}


def test_files_of_the_same_name_are_replaced_and_others_stay(published):
    with made_beside(published) as folder:
        assert folder.parent == published.parent and folder != published
        for name in ("weights", "words", MEASURED):
            (folder / name).write_text(f"new {name}")
        assert content(published)["weights"] == "old weights", "before the end of the block"
    assert content(published) == {
        MEASURED: f"new {MEASURED}", "weights": "new weights", "words": "new words", "added": "old added",
    }  # fmt: skip
    assert list(published.parent.iterdir()) == [published], "no temporary folder is left"
    assert set(check_checksums(published)) == {MEASURED, "weights", "words"}


def test_a_new_folder_is_made_with_its_parents(tmp_path):
    with made_beside(tmp_path / "a" / "b") as folder:
        (folder / MEASURED).write_text("x")
        assert not (tmp_path / "a" / "b").exists()
    assert content(tmp_path / "a" / "b") == {MEASURED: "x"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("wanted this"), "^wanted this$"),
        (KeyboardInterrupt("stopped"), "^stopped$"),
        (OSError(errno.ENOSPC, "No space left"), r"^wanted to write .*published, got a full disk \(.*make room"),
    ],
)
def test_an_error_leaves_the_old_folder_whole(published, error, message):
    before = content(published)
    with pytest.raises(type(error), match=message), made_beside(published) as folder:
        (folder / MEASURED).write_text("new")
        raise error
    assert content(published) == before and list(published.parent.iterdir()) == [published]


def test_a_killed_process_leaves_the_old_folder_whole(published):
    before = content(published)
    program = (
        "import os, signal, sys; from pathlib import Path; from toolkit.publish._folder import made_beside\n"
        "with made_beside(Path(sys.argv[1])) as made:\n"
        "    (made / 'weights').write_text('new')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", program, str(published)]
    process = subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert content(published) == before


def test_what_marks_the_folder_as_ours_comes_first(tmp_path, monkeypatch):
    """A command that was killed among the moves can then be repeated: the folder is known as the toolkit's."""
    moved, replace = [], os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: (moved.append(target), replace(source, target)))
    with made_beside(tmp_path / "new") as folder:
        for name in ("a", MEASURED, "z"):
            (folder / name).write_text(name)
    moved_names = [target.name for target in moved if target.parent == tmp_path / "new"]
    assert moved_names[0] == MEASURED and sorted(moved_names) == sorted(["a", MEASURED, "z", CHECKSUMS])


def test_the_record_of_a_training_is_read_without_private_settings(tmp_path):
    record = {"settings": {"pairs": "/home/me/a.tsv", "seed": 1}, "loss": [0.5]}
    (tmp_path / RECORD).write_text(json.dumps(record))
    assert read_training(str(tmp_path), "train.py", ("pairs", "output_dir")) == {"settings": {"seed": 1}, "loss": [0.5]}


@pytest.mark.parametrize(
    ("text", "name"), [("{", "JSONDecodeError"), ("{}", "KeyError"), ('{"settings": 1}', "TypeError")]
)
def test_a_damaged_record_is_named(tmp_path, text, name):
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(
        ValueError, match=rf"^wanted the record of a training by `parabank train`, .* \({name}\): train"
    ):
        read_training(str(tmp_path), "parabank train", ())
