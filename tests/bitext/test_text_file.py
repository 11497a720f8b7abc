"""One opener for all texts: what a file is says its first bytes, in every reader."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pytest
import zstandard

from toolkit.annotation._answers import read_table
from toolkit.bitext.books import read_books
from toolkit.bitext.idf import read_idf
from toolkit.bitext.read import read_bitext, read_sentences
from toolkit.bitext.text_file import LONGEST_FIELD, _whole_lines, lines, read_text, text_lines
from toolkit.bitext.words import read_words
from toolkit.clean.evaluation_sets import _read_set
from toolkit.clean.rules import CleanSettings
from toolkit.encoder.word_vectors import read_word_vectors
from toolkit.evaluate.parsers import _from_file
from toolkit.generate.prompt import read_prompt
from toolkit.generate.rewrite_file import read_texts
from toolkit.generate.synonyms import _own_sets
from toolkit.package.read import read_pairs
from toolkit.pair_classifier.tasks import read_task
from toolkit.paraphraser.evaluation import read_outputs, read_test
from toolkit.system.urls import files_at

SENTENCE = "The dog sleeps under the table."
OTHER = "Under the table sleeps the dog."


def texts_of_bitext(path: Path) -> list[str]:
    """The texts of both sides of a bitext."""
    return [text for pair in read_bitext([str(path)]) for text in (pair.source, pair.reference)]


def texts_of_sentences(path: Path) -> list[str]:
    """The lines of text in one language."""
    return [line.decode() for block in read_sentences([str(path)]) for line in block.sides[0].splitlines()]


READERS = {  # how the texts of a file are read, and what the file holds
    "bitext": (texts_of_bitext, f"{SENTENCE}\t{OTHER}\nJa.\tYes.\n"),
    "monolingual text": (texts_of_sentences, f"{SENTENCE}\n{OTHER}\n"),
    "books": (lambda path: [p for book in read_books([str(path)], "en") for p in book.paragraphs], f"{SENTENCE}\n"),
    "evaluation set": (lambda path: _read_set(str(path)).texts, f"{SENTENCE}\n{OTHER}\n"),
    "pairs": (
        lambda path: [text for table in read_pairs(path) for text in table["sentence1"].to_pylist()],
        f"{SENTENCE}\t{OTHER}\n",
    ),
    "labelled pairs": (
        lambda path: [text for pair in read_task(path, ("0", "1", "2")) for text in pair[:2]],
        f"{SENTENCE}\t{OTHER}\t1\n",
    ),
    "inputs to rewrite": (read_texts, f"{SENTENCE}\n{OTHER}\n"),
    "inputs with paraphrases": (lambda path: [item.text for item in read_test(str(path))], f"{SENTENCE}\t{OTHER}\n"),
    "outputs": (lambda path: [text for texts in read_outputs(path, 1) for text in texts], f"{SENTENCE}\t{OTHER}\n"),
    "known words": (lambda path: sorted(read_words(path)), "dog\ntable\n"),
    "IDF": (lambda path: sorted(read_idf(path).df), "# sentences\t5\ndog\t2\ntable\t1\n"),
    "synonyms": (lambda path: [sorted(words) for words in _own_sets(path)], "dog\thound\ntable\tdesk\n"),
    "word vectors": (lambda path: sorted(read_word_vectors(path, 2)), "dog 0.5 1\ntable 1 0\n"),
    "trees": (lambda path: _from_file(path)(["The dog."]), "The dog.\t(S (NP (DT The) (NN dog)))\n"),
    "prompt": (lambda path: read_prompt(str(path)).text, "Say in other words: {reference}\n"),
    "answers": (lambda path: read_table(path, ["id", "score"]), "id,score\na,5\n"),
}
SUFFIX = {
    "pairs": ".tsv",
    "inputs with paraphrases": ".tsv",
    "labelled pairs": ".tsv",
    "answers": ".csv",
    "bitext": ".tsv",
}


@pytest.fixture(params=READERS)
def reader(request, tmp_path):
    """The name of a reader, and a function that writes bytes to a file and reads them."""
    name = request.param

    def read(raw: bytes, suffix: str = ""):
        path = tmp_path / f"file{SUFFIX.get(name, '.txt')}{suffix}"
        path.write_bytes(raw)
        return READERS[name][0](path)

    return READERS[name][1].encode(), read


PACKED = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstandard.compress}


@pytest.mark.parametrize("kind", PACKED)
def test_compression_is_known_without_its_suffix(reader, kind):
    raw, read = reader
    assert read(PACKED[kind](raw)) == read(raw)


def test_a_mark_of_utf8_zeros_after_gzip_and_two_members_change_nothing(reader):
    raw, read = reader
    assert read(b"\xef\xbb\xbf" + raw) == read(raw)
    assert read(gzip.compress(raw[:9]) + gzip.compress(raw[9:]) + bytes(512)) == read(raw)


@pytest.mark.parametrize(
    ("encoded", "name"),
    [
        (lambda text: text.encode("utf-16"), "UTF-16"),
        (lambda text: text.encode("utf-16-be"), "UTF-16BE"),
        (lambda text: text.encode("utf-32"), "UTF-32"),
        (lambda text: gzip.compress(text.encode("utf-16")), "UTF-16"),
        (lambda text: b"PK\x03\x04" + bytes(26) + text.encode(), "a zip archive"),
        (lambda text: text.replace("\n", "\r").encode(), r"carriage return \(CR\) alone"),
    ],
)
def test_what_is_no_text_in_utf8_is_named(reader, encoded, name):
    raw, read = reader
    text = raw.decode() * 2
    with pytest.raises(ValueError, match=name):
        read(encoded(text))


def test_latin1_is_named_with_its_line(tmp_path):
    path = tmp_path / "file.txt"
    path.write_bytes(b"dog\ncaf\xe9\n")
    for read in (list, read_text):
        with pytest.raises(ValueError, match=r"line 2.*LATIN1"):
            read(str(path) if read is read_text else text_lines(str(path)))


def test_a_pipe_is_refused_as_a_pipe(reader, tmp_path):
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    for read in (lines, _whole_lines):
        with pytest.raises(ValueError, match="a pipe"):
            next(read(str(pipe)))


def test_a_cut_file_is_broken_after_its_last_line(tmp_path):
    path = tmp_path / "cut.txt"
    for kind, pack in PACKED.items():
        path.write_bytes(pack(b"".join(b"%d\n" % (n * n) for n in range(9000)))[:-60])
        for read in (lines, _whole_lines):
            with pytest.raises(ValueError, match="broken after line"):
                print(kind, sum(1 for _ in read(str(path))))


@pytest.mark.parametrize("text", ["wort " * 700_000, "ß" * 3_000_000, "x" * (LONGEST_FIELD + 1)])
def test_a_long_text_is_cut_at_a_whole_character_and_the_next_is_not(tmp_path, text):
    path = tmp_path / "a.tsv"
    path.write_text(f"Ja.\tYes.\n{text}\t{text}\nNein.\tNo.\n", encoding="utf-8")
    first, second, third = read_bitext([str(path)])
    assert (first.reference, third.reference) == ("Yes.", "No.")
    assert second.fault is None and second.source == second.reference
    assert text.startswith(second.source) and LONGEST_FIELD - 4 < len(second.source.encode()) <= LONGEST_FIELD
    path.write_text(f"{text}\t{text}", encoding="utf-8")
    assert [pair.source for pair in read_bitext([str(path)])] == [second.source]


@pytest.mark.slow
def test_a_line_of_very_many_texts_lacks_columns_and_the_next_does_not(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"Ja.\tYes.\n" + b"a\t" * 8_000_000 + b"\nNein.\tNo.\n")
    assert [pair.fault for pair in read_bitext([str(path)])] == [None, "columns", None]


def test_a_carriage_return_in_a_long_first_line_ends_no_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 70_000 + b"\r" + b"y" * 10 + b"\nNein.\n")
    assert [len(line) for line in lines(str(path))] == [70_011, 5]


def test_capital_letters_in_the_names_of_texts_make_no_difference(tmp_path):
    for name in ("a.txt", "ALICE.TXT", "B.Txt"):
        (tmp_path / name).write_text(f"{name}\n")
    books = {book.name: list(book.paragraphs) for book in read_books([str(tmp_path)], "en")}
    assert books == {"a": ["a.txt"], "ALICE": ["ALICE.TXT"], "B": ["B.Txt"]}


def test_signs_of_patterns_in_a_path_are_letters_or_refused(tmp_path):
    folder = tmp_path / "da[1]"
    folder.mkdir()
    (tmp_path / "a1.txt").write_text("Not this text.\n")
    (tmp_path / "a[1].txt").write_text(f"{SENTENCE}\n")
    (folder / "a.csv").write_text("source,reference\nJa.,Yes.\n")
    (book,) = read_books([str(tmp_path / "a[1].txt")], "en")
    assert list(book.paragraphs) == [SENTENCE] and _read_set(str(tmp_path / "a[1].txt")).texts == [SENTENCE]
    assert files_at(tmp_path / "a[1].txt") == [tmp_path / "a[1].txt"]
    for read in (_read_set, lambda path: list(read_bitext([path]))):
        with pytest.raises(ValueError, match=r"wanted a folder without \[ \] \* \?"):
            read(str(folder))


def test_no_limit_on_characters_is_beyond_what_is_read():
    with pytest.raises(ValueError, match="max_chars"):
        CleanSettings(max_chars=LONGEST_FIELD)


def test_the_last_numbers_of_a_line_are_the_vector(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 0\n. . . 0 1\nat name@domain.com 1 1\n1999 0 0\n")
    assert sorted(read_word_vectors(path, 2)) == ["1999", "dog"]
    with pytest.raises(ValueError, match="--dimensions"):
        read_word_vectors(path, 1)
