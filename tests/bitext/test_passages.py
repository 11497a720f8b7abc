"""Sentences with their context from running text."""

import gzip
import sys
import unicodedata

import datasets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.bitext.books import _read_paragraphs, is_wide, read_books
from toolkit.bitext.passages import CONTEXT, MAYBE_WIDE, _length, draw_key, drawn, read_passages, sentences_of
from toolkit.bitext.text_file import text_lines

BOOK = [
    "CHAPTER I",
    "It was a dark night in the middle of the long winter, and nobody was on the road. He waited. "
    'Then she said, "We cannot go on like this any longer, my dear friend of old. You know it."',
    "Nobody had ever seen the old house by the river with its doors and windows open. The end.",
]


def passages(*texts, **settings):
    return list(read_passages(read_books(list(map(str, texts)), "en"), "en", **settings))


def write(folder, text, name="book.txt"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def wrapped(paragraphs, width=60):
    """Paragraphs as books on the net have them: wrapped lines, and empty lines between paragraphs."""
    import textwrap

    return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in paragraphs) + "\n"


@pytest.mark.parametrize("text", ["\n".join(BOOK), wrapped(BOOK), wrapped(BOOK).replace("\n", "\r\n")])
def test_sentences_of_a_length_with_the_text_around_them(tmp_path, text):
    result = passages(write(tmp_path, text), context=40)
    assert [passage.sentence for passage in result] == [
        "It was a dark night in the middle of the long winter, and nobody was on the road.",
        'Then she said, "We cannot go on like this any longer, my dear friend of old."',
        "Nobody had ever seen the old house by the river with its doors and windows open.",
    ]
    assert [passage.number for passage in result] == [2, 4, 6] and {passage.origin for passage in result} == {"book"}
    assert result[0].before == "CHAPTER I" and result[0].after == 'He waited. Then she said, "We cannot go'
    assert result[1].before == "and nobody was on the road. He waited." and result[1].after.startswith("You know it.")
    assert result[2].after == "The end."


def test_a_book_of_project_gutenberg_without_its_frame(tmp_path):
    frame = "The Project Gutenberg eBook of X\n\n{}*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\n{}\n\n{}"
    licence = "We ask that you keep this notice with every copy of the book that you give to somebody.\n\n"
    end = f"*** END OF THE PROJECT GUTENBERG EBOOK X ***\n\n{licence}"
    path = write(tmp_path, frame.format(licence, wrapped(BOOK), end))
    assert list(_read_paragraphs(text_lines(path))) == BOOK
    assert len(passages(path)) == 3


def test_folders_globs_and_compressed_files(tmp_path):
    write(tmp_path, "\n".join(BOOK), "a.txt")
    write(tmp_path, wrapped(BOOK), "b.txt.gz")
    (tmp_path / "notes.md").write_text(
        "Not a book, but a note that is longer than sixty characters, so that it counts."
    )
    for text in (str(tmp_path), f"{tmp_path}/*.txt*"):
        result = passages(text)
        assert [passage.origin for passage in result] == ["a"] * 3 + ["b"] * 3
        assert len(drawn((passage.sentence for passage in result), 9, 0)) == 3, "equal sentences are one"


def test_a_sample_does_not_depend_on_the_order_of_the_books(tmp_path):
    lines = [f"The house with number {n} in the long street was painted by the people of the town." for n in range(50)]
    first = passages(write(tmp_path, "\n".join(lines), "one.txt"))
    second = passages(write(tmp_path, "\n".join(reversed(lines)), "two.txt"))
    samples = [
        {p.sentence for p in group if draw_key(p.sentence, seed) in drawn((p.sentence for p in group), 20, seed)}
        for group, seed in ((first, 7), (second, 7), (first, 8))
    ]
    assert len(samples[0]) == 20 and samples[0] == samples[1] != samples[2]


def test_books_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for name in ("a/1.txt", "b/1.txt", "b/2.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path, BOOK[1], name)
    assert [book.name for book in read_books([str(tmp_path)], "en")] == ["a/1", "b/1", "b/2"]
    assert [book.name for book in read_books([f"{tmp_path}/b"], "en")] == ["1", "2"]
    write(tmp_path, BOOK[1], "b/1.txt.gz")
    with pytest.raises(ValueError, match=r"wanted a name for each book, got .*1.txt and .*1.txt.gz: leave one out"):
        list(read_books([str(tmp_path)], "en"))


def test_datasets_of_one_name_are_told_apart_and_no_record_has_the_name_of_a_file(tmp_path):
    for name in ("a/shelf", "b/shelf"):
        datasets.Dataset.from_dict({"text": ["\n".join(BOOK)]}).save_to_disk(str(tmp_path / name))
    paths = [str(tmp_path / name / "shelf") for name in "ab"]
    assert [book.name for book in read_books(paths, "en")] == ["a/shelf-1", "b/shelf-1"]
    write(tmp_path, BOOK[1], "shelf-1.txt")
    with pytest.raises(ValueError, match=r"wanted a name for each book, got .*shelf-1.txt and the records of shelf"):
        list(read_books([paths[0], str(tmp_path / "shelf-1.txt")], "en"))


def test_a_dataset_has_a_book_in_each_record(tmp_path):
    datasets.Dataset.from_dict({"title": ["A", "B"], "text": ["\n".join(BOOK), wrapped(BOOK)]}).save_to_disk(
        str(tmp_path / "shelf")
    )
    result = passages(tmp_path / "shelf")
    assert [passage.origin for passage in result] == ["shelf-1"] * 3 + ["shelf-2"] * 3
    assert [passage.sentence for passage in result[:3]] == [passage.sentence for passage in result[3:]]
    with pytest.raises(ValueError, match=r"wanted column 'body', got only title, text in .*shelf: name the column"):
        list(read_books([str(tmp_path / "shelf")], "en", "body"))
    with pytest.raises(ValueError, match="wanted split 'train' of a dataset, got nobody/shelf, which does not load"):
        list(read_books(["nobody/shelf"], "en"))


def test_typographic_marks_are_those_of_keyboards_unless_the_language_has_its_own(tmp_path):
    path = write(tmp_path, "“It’s the house by the river…” she said — and nobody in the room had a word to say to it.")
    assert passages(path)[0].sentence.startswith('"It\'s the house by the river..." she said - and nobody')
    assert next(read_books([path], "zh")).paragraphs.__next__().startswith("“It’s the house by the river…” she said —")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("Caf\xe9".encode("latin-1"), "a.txt", r"a.txt, line 1: wanted UTF-8, got .*: convert the file"),
        (gzip.compress(b"x" * 100)[:-8], "a.txt.gz", r"wanted a whole file, got .*a.txt.gz"),
    ],
    ids=["latin-1", "cut gzip"],  # the bytes hold the time of day, and workers must agree on a test's name
)
def test_a_bad_file_is_named(tmp_path, content, name, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        passages(str(tmp_path))


def test_no_text_is_an_error(tmp_path):
    for text in (tmp_path, f"{tmp_path}/*.txt", tmp_path / "book.txt"):
        with pytest.raises(FileNotFoundError):
            passages(str(text))


@given(st.lists(st.text(alphabet="abC .,?!\"“”'", max_size=80), max_size=6))
def test_any_text_gives_sentences_of_it(paragraphs):
    text = [" ".join(string.split()) for string in paragraphs]
    for paragraph in text:
        for sentence in sentences_of(paragraph, "en"):
            assert sentence.strip('"“”') in paragraph and sentence == sentence.strip() != ""


def test_context_is_of_whole_words_and_not_too_long(tmp_path):
    path = write(tmp_path, "\n".join(BOOK * 30))
    words = {word.strip('"') for word in " ".join(BOOK).split()}
    for passage in passages(path):
        assert len(passage.before) <= CONTEXT and len(passage.after) <= CONTEXT
        assert {word.strip('"') for word in f"{passage.before} {passage.after}".split()} <= words


def test_every_wide_character_counts_as_three():
    assigned = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Cs")]
    assert not [c for c in assigned if is_wide(c) and not MAYBE_WIDE.match(c)]
    assert _length("Aé字。“") == 3 + 2 * 3
