"""Files of somebody else's are never written over."""

import json
import os
from pathlib import Path

import pytest

from toolkit.system.outputs import LOCK, check_output_file, check_output_folder, is_ours


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text("mine")
    return tmp_path / "notes.txt"


def test_a_new_file_is_welcome_also_in_folders_that_are_not_there_yet(tmp_path):
    check_output_file(tmp_path / "a" / "b" / "c.tsv", [tmp_path / "lost.tsv", "someone/dataset"])


def test_a_file_that_is_there_is_refused_unless_the_command_made_it(notes):
    with pytest.raises(FileExistsError, match=r"wanted a new file to write, got .*notes\.txt"):
        check_output_file(notes)
    with pytest.raises(FileExistsError):
        check_output_file(notes, made=lambda path: "yours" in path.read_text())
    check_output_file(notes, made=lambda path: "mine" in path.read_text())


def test_an_input_is_no_output_by_whatever_name(notes, tmp_path):
    (tmp_path / "link.txt").symlink_to(notes)
    for name in (notes, tmp_path / "link.txt", tmp_path / "." / "notes.txt"):
        with pytest.raises(FileExistsError, match="as both"):
            check_output_file(name, [notes], made=lambda _path: True)


def test_a_folder_is_no_file_and_a_file_no_folder(notes, tmp_path):
    with pytest.raises(IsADirectoryError, match="add a file name"):
        check_output_file(tmp_path)
    with pytest.raises(NotADirectoryError, match="got the file"):
        check_output_folder(notes, "settings.json")
    with pytest.raises(NotADirectoryError, match="choose another output"):
        check_output_file(notes / "below.tsv")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_found_before_the_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="read-only"):
        check_output_file(tmp_path / "a.tsv")


def test_folders_new_empty_and_ours(tmp_path, notes):
    check_output_folder(tmp_path / "new" / "er", "settings.json")
    (tmp_path / "empty").mkdir()
    check_output_folder(tmp_path / "empty", "settings.json")
    (tmp_path / "empty" / LOCK).touch()
    (tmp_path / "empty" / ".settings.json.77.tmp").touch()  # of a killed process
    check_output_folder(tmp_path / "empty", "settings.json")
    (tmp_path / "empty" / "README.md").write_text("somebody's")
    with pytest.raises(FileExistsError, match=r"holds files but no settings.json"):
        check_output_folder(tmp_path / "empty", "settings.json")
    (tmp_path / "empty" / "settings.json").write_text(json.dumps({"editor": "somebody's"}))
    with pytest.raises(FileExistsError):
        check_output_folder(tmp_path / "empty", "settings.json")
    (tmp_path / "empty" / "settings.json").write_text(json.dumps({"toolkit": "0.1.0"}))
    check_output_folder(tmp_path / "empty", "settings.json")


def test_a_folder_that_holds_an_input_is_no_output(tmp_path, notes):
    (tmp_path / "settings.json").write_text(json.dumps({"toolkit": "0.1.0"}))
    for folder in (tmp_path, tmp_path.parent):
        with pytest.raises(FileExistsError, match="apart from the input"):
            check_output_folder(folder, "settings.json", [notes])


@pytest.mark.parametrize("text", ["", "[]", "5", "null", "{", '"toolkit"'])
def test_what_is_no_record_of_ours(text, tmp_path):
    (tmp_path / "settings.json").write_text(text)
    assert not is_ours(tmp_path / "settings.json")


def test_two_outputs_of_a_command_are_two_files(tmp_path):
    with pytest.raises(FileExistsError, match=r"wanted an output that is no input, got .*b.txt as both"):
        check_output_file(tmp_path / "a" / ".." / "b.txt", [tmp_path / "b.txt"])
