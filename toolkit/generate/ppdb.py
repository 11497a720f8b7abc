"""Lexical paraphrases with their entailment relations, read from a file of PPDB 2.0 (Pavlick et al. 2015).

A line of the file is `[NN] ||| myth ||| mythology ||| PPDB2.0Score=4.1 ... ||| 0-0 ||| ReverseEntailment`. Only pairs
of single lower-case alphabetical words are kept: constraints are about no others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from sys import intern

from toolkit.bitext.text_file import readable_lines
from toolkit.generate.inflections import _coarse, _is_plain

RELATIONS = ("Equivalence", "ForwardEntailment", "ReverseEntailment")  # ParaBank, section 3.2
FIELDS = 6  # left-hand side, phrase, paraphrase, features, alignment, entailment


@dataclass(frozen=True)
class Ppdb:
    """Paraphrases of single words.

    Attributes:
        paraphrases: By word, relation (of `RELATIONS`) and coarse part of speech; sorted.
    """

    paraphrases: dict[tuple[str, str, str], list[str]]

    def lookup(self, word: str, relation: str, part: str) -> list[str]:
        """The paraphrases of a word in a relation that match its coarse part of speech, sorted."""
        return self.paraphrases.get((word, relation, part), [])


def read_ppdb(path: Path) -> Ppdb:
    """The lexical paraphrases of a PPDB 2.0 pack, plain or .gz; the paper's is the lexical XL pack.

    Raises:
        ValueError: There is no such file, it is damaged, a line is not in PPDB's format, or no pair can be used.
    """
    paraphrases = defaultdict(set)
    for number, line in enumerate(_lines(path), 1):
        fields = [field.strip() for field in line.split("|||")]
        if len(fields) != FIELDS:
            raise ValueError(
                f"wanted PPDB 2.0 lines of {FIELDS} fields between |||, got {len(fields)} in line {number} of {path}: "
                "fetch a PPDB 2.0 pack"
            )
        tag, word, paraphrase, relation = fields[0], fields[1], fields[2], fields[5]
        if relation in RELATIONS and _can_be_constraint(word, paraphrase):
            paraphrases[intern(word), intern(relation), _coarse(tag.strip("[]"))].add(intern(paraphrase))
    return _table(paraphrases, path)


def _can_be_constraint(word: str, paraphrase: str) -> bool:
    """Whether a pair is of two different lower-case alphabetical words."""
    return _is_plain(word) and _is_plain(paraphrase) and word != paraphrase


def _table(paraphrases: dict[tuple[str, str, str], set[str]], path: Path) -> Ppdb:
    """The paraphrases, sorted so that a random choice does not depend on the order of the file.

    Raises:
        ValueError: There are none.
    """
    if not paraphrases:
        raise ValueError(f"wanted pairs of single lower-case words, got {path}, which has none: give a lexical pack")
    return Ppdb({key: sorted(words) for key, words in paraphrases.items()})


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file; a word with a byte that is not UTF-8 is no alphabetical word, and so is not used.

    Raises:
        ValueError: There is no such file, or its compression is damaged.
    """
    if not path.is_file():
        raise ValueError(f"wanted a file of paraphrases, got {path}, which is none: check the path")
    yield from readable_lines(str(path))
