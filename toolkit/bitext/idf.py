"""The inverse document frequency (IDF) of words, counted in sentences of a training corpus.

A table is counted once, on the text that a translator was trained on, and kept in a file. No table is counted on the
input of a run: a small text does not tell which words are rare.
"""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from toolkit.bitext.text_file import text_lines
from toolkit.bitext.words import lower_words
from toolkit.system.whole_files import write_whole

MIN_DF = 2  # ours: in less than 131,072 sentences a word seen once, such as a typing error, is below ParaBank's 17.0
HEADER = "# sentences"


@dataclass(frozen=True)
class Idf:
    """The document frequencies of a corpus, where a sentence is a document.

    Attributes:
        sentences: Number of sentences of the corpus, N.
        df: Number of sentences that a word occurs in, by lower-cased word.
    """

    sentences: int
    df: dict[str, int]

    def idf(self, word: str) -> float | None:
        """log2(N / df) of a lower-cased word, in bits, >= 0; None if it occurs in fewer than `MIN_DF` sentences.

        >>> table = count_idf(["Go!", "Go on.", "Come on.", "Stay."])
        >>> table.idf("go"), table.idf("stay"), table.idf("leave")
        (1.0, None, None)

        Source: ParaBank (Hu et al. 2019a), section 3.2.
        """
        df = self.df.get(word, 0)
        return math.log2(self.sentences / df) if df >= MIN_DF else None


def count_idf(sentences: Iterable[str]) -> Idf:
    """Count the sentences that each lower-cased word occurs in.

    >>> count_idf(["The more, the better.", "The end"]).df["the"]
    2

    Args:
        sentences: Of the training corpus, one language; read once.
    """
    df: Counter[str] = Counter()
    count = 0
    for sentence in sentences:
        count += 1
        df.update(set(lower_words(sentence)))
    return Idf(count, dict(df))


def write_idf(path: Path, idf: Idf) -> None:
    """Write a table: `# sentences<TAB>N`, then `word<TAB>df` sorted by word, words under `MIN_DF` left out.

    Equal tables give equal bytes, also when compressed.

    Args:
        path: The file to write; compressed by gzip if it ends in .gz.
        idf: The table.
    """
    words = sorted(word for word, df in idf.df.items() if df >= MIN_DF)
    text = "".join([f"{HEADER}\t{idf.sentences}\n", *(f"{word}\t{idf.df[word]}\n" for word in words)])
    raw = text.encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def read_idf(path: Path) -> Idf:
    """A table that `write_idf` wrote.

    Raises:
        ValueError: There is no such file, or it is not such a table.
    """
    if not path.is_file():
        raise ValueError(f"wanted an IDF table, got {path}, which is no file: make one with parabank count idf")
    try:
        return _parse_idf(text_lines(str(path)))
    except (ValueError, OSError) as error:
        raise ValueError(
            f"wanted an IDF table ({HEADER}<TAB>N, then word<TAB>df), got {path} ({error}): "
            "make one with parabank count idf"
        ) from None


def is_idf(path: Path) -> bool:
    """Whether a file begins like a table that `write_idf` wrote."""
    try:
        return next(text_lines(str(path)), "").startswith(f"{HEADER}\t")
    except (ValueError, OSError):
        return False


def _parse_idf(lines: Iterable[str]) -> Idf:
    """The table in some lines of text.

    Raises:
        ValueError: A line has another format, or a count is impossible; the message names the line.
    """
    sentences, df = 0, {}
    for number, line in enumerate(lines, 1):
        word, _, count = line.rstrip("\r\n").partition("\t")
        if not count.isdecimal() or int(count) < 1 or (word == HEADER) != (number == 1):
            raise ValueError(f"line {number} is {line.rstrip()[:40]!r}")
        if number == 1:
            sentences = int(count)
            continue
        if int(count) > sentences or word in df:
            raise ValueError(f"line {number} counts {word!r} twice or more often than there are sentences")
        df[word] = int(count)
    if not sentences:
        raise ValueError("it is empty")
    return Idf(sentences, df)
