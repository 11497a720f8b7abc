"""EDA and WordNet substitution, the usual augmentation without a model, with Open English WordNet as their thesaurus.

nlpaug and TextAttack download NLTK's WordNet when they are first used, so their recipes are written out here.

Source: EDA (Wei and Zou 2019), section 2 and its released code; nlpaug 1.1.11, `SynonymAug`, for the share of words.
"""

from __future__ import annotations

import io
import json
import random
import re
import tarfile
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import zstandard

WORDNET = "lexical/open_english_wordnet_yaml.tar.zst"
STOP_WORDS = "lexical/stopwords-iso.json"
MEMBERS = re.compile(r"^  members:\n((?:  - .*\n)+)", re.MULTILINE)
ALPHA = 0.1  # EDA, section 3.3: the share of words that each operation changes
SYNONYM_SHARE = 0.3  # nlpaug's default

Thesaurus = Mapping[str, Sequence[str]]
Operation = Callable[[list[str], int, Thesaurus, Collection[str], random.Random], list[str]]


def read_thesaurus(data: Path) -> dict[str, list[str]]:
    """The synonyms of each word: all other members of all its synsets, of any part of speech."""
    found: dict[str, set[str]] = defaultdict(set)
    with (data / WORDNET).open("rb") as compressed:
        packed = zstandard.ZstdDecompressor().stream_reader(compressed).read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as folder:
        for entry in folder:
            file = folder.extractfile(entry)
            if file is not None:
                for block in MEMBERS.findall(file.read().decode()):
                    members = [line[4:].strip("'").lower() for line in block.splitlines()]
                    for word in members:
                        found[word] |= set(members) - {word}
    return {word: sorted(others) for word, others in found.items() if others}


def read_stop_words(data: Path) -> frozenset[str]:
    """English stop words, which EDA does not replace."""
    return frozenset(json.loads((data / STOP_WORDS).read_text(encoding="utf-8"))["en"])


def eda(text: str, copies: int, thesaurus: Thesaurus, stop: Collection[str], seed: int) -> list[str]:
    """Different versions of a text, each by one of EDA's four operations in turn."""
    chance = random.Random(f"{seed} {text}")
    operations: tuple[Operation, ...] = (replaced, inserted, swapped, deleted)
    found: list[str] = []
    for n in range(4 * copies):
        words = text.split()
        operation = operations[(n + chance.randrange(4)) % 4]
        said = " ".join(operation(words, max(1, int(ALPHA * len(words))), thesaurus, stop, chance))
        if said and said != text and said not in found:
            found.append(said)
    return found[:copies]


def wordnet(text: str, copies: int, thesaurus: Thesaurus, stop: Collection[str], seed: int) -> list[str]:
    """Different versions of a text, in each of which three words of ten are replaced with synonyms."""
    chance = random.Random(f"{seed} {text}")
    words = text.split()
    count = max(1, int(SYNONYM_SHARE * len(words)))
    drawn = (" ".join(replaced(words, count, thesaurus, stop, chance)) for _ in range(4 * copies))
    return [said for said in dict.fromkeys(drawn) if said != text][:copies]


def replaced(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """So many words replaced with a synonym each; all places of a word at once."""
    possible = [word for word in dict.fromkeys(words) if word.lower() not in stop and word.lower() in thesaurus]
    chosen = {
        word: chance.choice(thesaurus[word.lower()]) for word in chance.sample(possible, min(count, len(possible)))
    }
    return [chosen.get(word, word) for word in words]


def inserted(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """So many synonyms of words of the text, at random places."""
    known = [word.lower() for word in words if word.lower() in thesaurus]
    said = list(words)
    for _ in range(count if known else 0):
        said.insert(chance.randrange(len(said) + 1), chance.choice(thesaurus[chance.choice(known)]))
    return said


def swapped(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """So many times two words that change places."""
    said = list(words)
    for _ in range(count):
        one, other = chance.randrange(len(said)), chance.randrange(len(said))
        said[one], said[other] = said[other], said[one]
    return said


def deleted(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """Each word deleted with the probability `ALPHA`; one word stays at least."""
    return [word for word in words if chance.random() > ALPHA] or [chance.choice(words)]
