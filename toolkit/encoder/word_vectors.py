"""Word vectors from a file, to begin a training with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from toolkit.bitext.text_file import lines
from toolkit.encoder.modules import ParaphrasticEncoder
from toolkit.encoder.vocabulary import UNKNOWN, _writable

UNKNOWN_NAMES = ("UUUNKKK", "<unk>", "<UNK>", "unk")  # PARAGRAM's, then others'


def read_word_vectors(path: Path, dimensions: int) -> dict[str, np.ndarray]:
    r"""The vectors of a file: a word and its numbers a line, separated by single spaces; a word may have spaces itself.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "vectors.txt")
    >>> _ = path.write_text("2 2\nthe 0.5 1\nUUUNKKK 0 -1\n")
    >>> {word: vector.tolist() for word, vector in read_word_vectors(path, 2).items()}
    {'the': [0.5, 1.0], '<unk>': [0.0, -1.0]}

    Args:
        path: Plain or compressed; a first line of two numbers (word2vec's) is passed over.
        dimensions: Numbers that each word should have.

    Returns:
        Lower-cased words; of several with one spelling the first, and none with a space, which no text has as a token.
        PARAGRAM's vector of unknown words is that of "<unk>".

    Raises:
        ValueError: A line has another number of numbers, or the file none; the message names it.
    """
    if not path.is_file():
        raise ValueError(f"wanted a text file of word vectors, got {path}, which is none")
    vectors: dict[str, np.ndarray] = {}
    for number, line in enumerate(lines(str(path)), 1):
        fields = line.decode("utf-8", "replace").rstrip().split(" ")
        if number == 1 and len(fields) == 2:
            continue
        spelling = " ".join(fields[:-dimensions])
        word = UNKNOWN if spelling in UNKNOWN_NAMES else spelling.lower()
        try:
            vector = np.array(fields[-dimensions:], np.float32)
        except ValueError:
            vector = np.zeros(0, np.float32)
        extra_fields = fields[1:-dimensions]
        is_wider = bool(extra_fields) and all(map(_is_number, extra_fields))
        if len(fields) <= dimensions or is_wider or not np.isfinite(vector).all() or len(vector) != dimensions:
            raise ValueError(
                f"wanted a word and {dimensions} finite numbers, got {len(fields)} fields in line {number} of {path}: "
                "give --dimensions of the file"
            )
        if word and _writable(word) and not any(letter.isspace() for letter in word):
            vectors.setdefault(word, vector)
    if not vectors:
        raise ValueError(f"wanted word vectors, got none in {path}")
    return vectors


def _is_number(text: str) -> bool:
    """Whether a text is a number.

    >>> _is_number("-0.5"), _is_number("name@domain.com")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def initialise(encoder: ParaphrasticEncoder, word_vectors: dict[str, np.ndarray]) -> int:
    """Give the tables of words the vectors that there are; other words keep their random ones.

    Returns:
        How many words have one. Unknown words begin with the mean of all vectors where the file has none for them.
    """
    entries = encoder.vocabularies["word"].entries
    vectors = (
        word_vectors
        if UNKNOWN in word_vectors
        else word_vectors | {UNKNOWN: np.mean(list(word_vectors.values()), 0, dtype=np.float32)}
    )
    rows = [row for row, entry in enumerate(entries) if entry in vectors]
    weights = torch.from_numpy(np.stack([vectors[entries[row]] for row in rows]))
    for part, table in encoder.tables.items():
        if part != "trigram":
            table.data[rows] = weights
    return len(rows)
