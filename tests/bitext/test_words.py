"""The words of a text, and the filter that refuses others."""

import pytest

from toolkit.bitext.words import read_words, words_of, write_words
from toolkit.rows import Candidate, Row
from toolkit.select.filter import refuse_unknown_words


def test_words_survive_a_file(tmp_path):
    write_words(tmp_path / "words.txt", ["The owl sleeps.", "Über the hill!", "42"])
    assert read_words(tmp_path / "words.txt") == {"the", "owl", "sleeps", "über", "hill"}


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_no_words_is_one_error(tmp_path, content):
    if content is not None:
        (tmp_path / "words.txt").write_text(content)
    with pytest.raises(ValueError, match=r"wanted a file with one known word a line, got .*words\.txt"):
        read_words(tmp_path / "words.txt")


def row() -> Row:
    texts = ["Owls have big eyes.", "Owlles have big eyes!", "Siu-Yin's owls", "...", ""]
    candidates = [Candidate(text, "sample") for text in texts]
    candidates[-1].reason = "empty"
    return Row("t-1", "t", "x", "de", "Siu-Yin has owls.", "en", "train", candidates=candidates)


def test_invented_words_are_refused_and_the_references_are_not():
    known = words_of("they have big eyes, s")
    refused = [c.reason for c in next(refuse_unknown_words([row()], known)).candidates]
    assert refused == [None, "unknown_word", None, None, "empty"]


def test_without_known_words_nothing_is_refused():
    assert [c.reason for c in next(refuse_unknown_words([row()], frozenset())).candidates] == [None] * 4 + ["empty"]
