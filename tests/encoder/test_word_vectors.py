"""Word vectors of PARAGRAM's, GloVe's and word2vec's form, and what an encoder makes of them."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.encoder.test_modules import encoder
from toolkit.encoder.vocabulary import UNKNOWN
from toolkit.encoder.word_vectors import initialise, read_word_vectors


def vector_file(folder: Path, content: str, name: str = "vectors.txt") -> Path:
    raw = content.encode("utf-8", "surrogatepass")
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder / name


def read_vectors(path: Path, dimensions: int = 2) -> dict[str, list[float]]:
    return {word: vector.tolist() for word, vector in read_word_vectors(path, dimensions).items()}


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.gz"])
def test_words_are_lower_case_and_the_first_of_a_spelling_counts(name, tmp_path):
    path = vector_file(tmp_path, "Dog 1 -2e-1 \n\u00c9t\u00e9 0.5 .25\ndog 7 7\n' 3 3\n", name)
    assert read_vectors(path) == {"dog": [1, np.float32(-0.2)], "\u00e9t\u00e9": [0.5, 0.25], "'": [3, 3]}


def test_a_head_of_two_numbers_is_passed_over_and_one_dimension_is_not_a_head(tmp_path):
    assert read_vectors(vector_file(tmp_path, "2 2\ndog 1 2\ncat 3 4\n")) == {"dog": [1, 2], "cat": [3, 4]}


@pytest.mark.parametrize("name", ["UUUNKKK", "<unk>", "<UNK>", "unk"])
def test_the_vector_of_unknown_words(name, tmp_path):
    assert read_vectors(vector_file(tmp_path, f"dog 1 2\n{name} 3 4\n")) == {"dog": [1, 2], UNKNOWN: [3, 4]}


def test_words_that_no_text_has_are_left_out(tmp_path):
    assert read_vectors(vector_file(tmp_path, "dog 1 2\n\u2009 5 6\n 3 4\n")) == {"dog": [1, 2]}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("dog 1 2\ncat 1\n", "2 fields in line 2"),
        ("dog 1 2\ncat 1 2 3\n", "4 fields in line 2"),
        ("dog 1 two\n", "3 fields in line 1"),
        ("dog 1 2\n\n", "1 fields in line 2"),
    ],
)
def test_a_bad_line_is_an_error_of_one_line(content, fault, tmp_path):
    path = vector_file(tmp_path, content)
    message = f"wanted a word and 2 finite numbers, got {fault} of {path}: give --dimensions of the file"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_word_vectors(path, 2)


def test_a_file_without_vectors_is_an_error_of_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"^wanted word vectors, got none in .*vectors\.txt$"):
        read_word_vectors(vector_file(tmp_path, "0 2\n"), 2)
    with pytest.raises(ValueError, match=r"^wanted word vectors, got none in .*vectors\.txt$"):
        read_word_vectors(vector_file(tmp_path, ""), 2)
    with pytest.raises(ValueError, match=r"^wanted a text file of word vectors, got .*none\.txt, which is none$"):
        read_word_vectors(tmp_path / "none.txt", 2)


@pytest.mark.parametrize("unknown", [True, False])
def test_tables_of_words_begin_with_the_vectors(unknown):
    module = encoder(("word", "trigram", "lstm"), ["dog cat bird"], dimensions=2)
    before = {part: table.detach().clone() for part, table in module.tables.items()}
    vectors = {
        "dog": np.array([1, 2], np.float32),
        "cat": np.array([3, 6], np.float32),
        "zebra": np.array([8, 1], np.float32),
    }
    vectors |= {UNKNOWN: np.array([-1, -1], np.float32)} if unknown else {}
    assert initialise(module, vectors) == 3
    entries = module.vocabularies["word"].entries
    for part in ("word", "lstm"):
        rows = dict(zip(entries, module.tables[part].tolist(), strict=True))
        assert rows["dog"] == [1, 2] and rows["cat"] == [3, 6]
        assert rows[UNKNOWN] == ([-1, -1] if unknown else [4, 3])
        assert rows["bird"] == before[part][entries.index("bird")].tolist()
    assert torch.equal(module.tables["trigram"], before["trigram"])
    assert len(vectors) == 3 + unknown, "what was given stays"
