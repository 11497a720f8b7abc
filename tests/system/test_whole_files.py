"""A file is whole or absent, whatever ends the writing of it."""

import pytest

from toolkit.system.outputs import check_output_folder
from toolkit.system.whole_files import TEMPORARY, remove_unfinished, temporary_of, whole_file, write_whole


def test_the_file_appears_at_the_end_of_the_block_and_its_folder_with_it(tmp_path):
    with whole_file(tmp_path / "new" / "words.txt") as temporary:
        temporary.write_text("two words")
        assert not (tmp_path / "new" / "words.txt").exists() and temporary.match(TEMPORARY)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["words.txt"]
    assert (tmp_path / "new" / "words.txt").read_text() == "two words"


def test_after_an_error_the_older_file_is_as_it_was(tmp_path):
    write_whole(tmp_path / "words.txt", "older")
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "words.txt") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]
    assert (tmp_path / "words.txt").read_text() == "older"


def test_the_error_of_the_block_is_raised_though_its_folder_is_gone(tmp_path):
    with pytest.raises(ValueError, match="of the block"), whole_file(tmp_path / "new" / "words.txt"):
        (tmp_path / "new").rmdir()
        (tmp_path / "new").touch()
        raise ValueError("of the block")


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"words\.txt, which was not written; every file that was finished is kept"):
        write_whole(tmp_path / "file" / "words.txt", "two words")


def test_what_a_killed_process_left_counts_for_nothing_and_is_removed(tmp_path):
    temporary_of(tmp_path / "words.txt").touch()
    (tmp_path / ".rows-00000.parquet.77.tmp").touch()
    check_output_folder(tmp_path, "parabank.json")
    (tmp_path / ".hidden").touch()
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".hidden"]
