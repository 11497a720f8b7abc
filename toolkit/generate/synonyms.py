"""Synonyms from WordNet's database files, or from a file of one's own.

The files are those of WordNet 3.0 and of Open English WordNet in the same format: `data.noun`, `data.verb`, `data.adj`
and `data.adv` in a folder (on Debian the package wordnet-base puts them into /usr/share/wordnet). A file of one's own
has words that mean the same in each line, with tabs between them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import lemminflect

from toolkit.bitext.text_file import decode, lines, readable_lines

PARTS = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True)
class Synonyms:
    """Which words mean the same in some context.

    Attributes:
        groups: By lower-cased base form, the numbers of the groups of synonyms that it is in.
    """

    groups: dict[str, frozenset[int]]

    def holds(self, word: str, other: str) -> bool:
        """Whether two words in any inflection are synonyms, and no forms of one word."""
        word_bases, other_bases = bases(word), bases(other)
        if word_bases & other_bases:
            return False
        empty: frozenset[int] = frozenset()
        return any(self.groups.get(a, empty) & self.groups.get(b, empty) for a in word_bases for b in other_bases)


def bases(word: str) -> frozenset[str]:
    """A word in lower case, and its base forms as any part of speech.

    >>> sorted(bases("Geese")), sorted(bases("left"))
    (['geese', 'goose'], ['leave', 'left'])
    """
    lemmas_by_part = lemminflect.getAllLemmas(word.lower())
    return frozenset({word.lower(), *(lemma.lower() for lemmas in lemmas_by_part.values() for lemma in lemmas)})


def read_synonyms(path: Path) -> Synonyms:
    """Read WordNet's files from a folder, or a file of lines of synonyms.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The folder has none of WordNet's files, a line has another form, or there is no pair of synonyms.
    """
    groups: defaultdict[str, set[int]] = defaultdict(set)
    sets = _wordnet_sets(path) if path.is_dir() else _own_sets(path)
    pairs = 0
    for number, words in enumerate(sets):
        pairs += len(words) > 1
        for word in words if len(words) > 1 else ():
            groups[word].add(number)
    if not pairs:
        raise ValueError(f"wanted synonyms, got none in {path}: give WordNet's folder, or words with tabs between them")
    return Synonyms({word: frozenset(numbers) for word, numbers in groups.items()})


def _own_sets(path: Path) -> list[set[str]]:
    """The synonyms of each line of a file."""
    sets = []
    for number, raw in enumerate(lines(str(path)), 1):
        line, fault = decode(raw)
        if fault or "\t" not in line:
            raise ValueError(
                f"wanted UTF-8 lines of synonyms with tabs between them, got {line[:40]!r} in line {number} of {path}: "
                "mend the line, or give WordNet's folder"
            )
        sets.append({word.strip().lower() for word in line.split("\t") if word.strip()})
    return sets


def _wordnet_sets(folder: Path) -> list[set[str]]:
    """The single words of each synset of WordNet's database files."""
    files = [folder / f"data.{part}" for part in PARTS if (folder / f"data.{part}").is_file()]
    if not files:
        raise ValueError(
            f"wanted {', '.join(f'data.{part}' for part in PARTS)} of WordNet, got a folder without them: {folder}; "
            "on Debian the package wordnet-base has them in /usr/share/wordnet"
        )
    return [_synset(line, number, file) for file in files for number, line in _numbered_lines(file)]


def _numbered_lines(file: Path) -> list[tuple[int, str]]:
    """The lines of a database file after its licence, which stands in lines that begin with two spaces."""
    numbered = enumerate(readable_lines(str(file)), 1)
    return [(number, line) for number, line in numbered if line.strip() and not line.startswith("  ")]


def _synset(line: str, number: int, file: Path) -> set[str]:
    """The single words of a synset; a phrase has "_", an adjective may end with its place, as in "galore(ip)".

    >>> sorted(_synset("01382086 00 a 02 large 0 big 0 001 & 01382086 a 0000 | above average", 1, Path("data.adj")))
    ['big', 'large']

    Raises:
        ValueError: The line is no synset.
    """
    fields = line.split(" ")
    try:
        count = int(fields[3], 16)
        words = [fields[4 + 2 * position] for position in range(count)]
    except (IndexError, ValueError):
        raise ValueError(f"wanted a synset of WordNet, got {line[:40]!r} in line {number} of {file}") from None
    return {word.partition("(")[0].lower() for word in words if "_" not in word}
