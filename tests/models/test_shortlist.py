"""Shortlists of Firefox translators: what a sentence may say, and files that are none."""

import struct

import numpy as np
import pytest

from tests import firefox_folders as firefox
from tests.models.test_marian_file import refused
from toolkit.models.shortlist import MULTIPLE, Shortlist, read_shortlist

TARGETS = [[5, 20, 21], [], [30, 39], [9, 20]]  # of four source tokens, among 40 target tokens


@pytest.fixture
def path(tmp_path):
    firefox.write_shortlist(tmp_path / "lex.bin", TARGETS, first=4)
    return tmp_path / "lex.bin"


def test_what_is_written_is_read(path):
    shortlist = read_shortlist(path, 4, 40)
    assert shortlist.first == 4 and shortlist.offsets.tolist() == [0, 3, 3, 5, 7]
    assert shortlist.targets.tolist() == [5, 20, 21, 30, 39, 9, 20]


def permitted_by_hand(source, first, vocabulary):
    ids = set(range(first)) | {target for token in source for target in TARGETS[token]}
    free = [i for i in range(vocabulary) if i not in ids]
    while len(ids) % MULTIPLE and free:
        ids.add(free.pop(0))
    return ids


@pytest.mark.parametrize("source", [[0], [1], [0, 1, 2, 3], [3, 3, 2, 0], [1, 1]])
def test_the_targets_of_all_tokens_and_the_first_ids_filled_up(path, source):
    permitted = read_shortlist(path, 4, 40).permitted(source, 40)
    assert permitted.dtype == bool and permitted.shape == (40,)
    assert set(np.flatnonzero(permitted)) == permitted_by_hand(source, 4, 40) and permitted.sum() % MULTIPLE == 0


def test_a_vocabulary_that_is_no_multiple_is_permitted_whole():
    shortlist = Shortlist(30, np.array([0, 3]), np.array([31, 32, 33]))
    assert shortlist.permitted([0], 35).all()
    assert Shortlist(100, np.array([0, 0]), np.array([], int)).permitted([0], 35).all()


@pytest.mark.parametrize("twentieth", range(20))
def test_a_cut_file(path, twentieth):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * twentieth // 20])
    refused(lambda: read_shortlist(path, 4, 40), str(path), "fetch it again")


@pytest.mark.parametrize(("sources", "targets"), [(5, 40), (3, 40), (4, 39), (170, 170)])
def test_a_shortlist_of_other_vocabularies(path, sources, targets):
    refused(lambda: read_shortlist(path, sources, targets), str(path), "take the files of one model")


@pytest.mark.parametrize(
    ("at", "number", "words"),
    [
        (0, 7, "which is none"),
        (4, 2**60, "fetch it again"),  # offsets
        (5, 2**64 - 1, "fetch it again"),  # targets
        (6, 1, "offsets are damaged"),
        (8, 2**63 + 5, "offsets are damaged"),
        (8, 2, "offsets are damaged"),
        (10, 6, "offsets are damaged"),
        (10, 2**40, "offsets are damaged"),
        (11, 41, "take the files of one model"),
    ],
)
def test_damaged_numbers(path, at, number, words):
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, 8 * at, number)
    path.write_bytes(data)
    refused(lambda: read_shortlist(path, 4, 40), str(path), words)


def test_a_folder_or_another_file(path, tmp_path):
    (tmp_path / "folder").mkdir()
    refused(lambda: read_shortlist(tmp_path / "folder", 4, 40), "which is no file")
    refused(lambda: read_shortlist(tmp_path / "none", 4, 40), "which is no file")
    path.write_bytes(b"lines of text\n" * 30)
    refused(lambda: read_shortlist(path, 4, 40), "which is none: fetch it again")
