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
    thesaurus: dict[str, set[str]] = defaultdict(set)
    with (data / WORDNET).open("rb") as compressed:
        packed = zstandard.ZstdDecompressor().stream_reader(compressed).read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as folder:
        for entry in folder:
            file = folder.extractfile(entry)
            if file is not None:
                for block in MEMBERS.findall(file.read().decode()):
                    members = [line[4:].strip("'").lower() for line in block.splitlines()]
                    for word in members:
                        thesaurus[word] |= set(members) - {word}
    return {word: sorted(synonyms) for word, synonyms in thesaurus.items() if synonyms}


def read_stop_words(data: Path) -> frozenset[str]:
    """English stop words, which EDA does not replace."""
    return frozenset(json.loads((data / STOP_WORDS).read_text(encoding="utf-8"))["en"])


def eda(text: str, copies: int, thesaurus: Thesaurus, stop: Collection[str], seed: int) -> list[str]:
    """Different versions of a text, each by one of EDA's four operations in turn."""
    chance = random.Random(f"{seed} {text}")
    operations: tuple[Operation, ...] = (replaced, inserted, swapped, deleted)
    versions: list[str] = []
    for n in range(4 * copies):
        words = text.split()
        operation = operations[(n + chance.randrange(4)) % 4]
        version = " ".join(operation(words, max(1, int(ALPHA * len(words))), thesaurus, stop, chance))
        if version and version != text and version not in versions:
            versions.append(version)
    return versions[:copies]


def wordnet(text: str, copies: int, thesaurus: Thesaurus, stop: Collection[str], seed: int) -> list[str]:
    """Different versions of a text, in each of which three words of ten are replaced with synonyms."""
    chance = random.Random(f"{seed} {text}")
    words = text.split()
    count = max(1, int(SYNONYM_SHARE * len(words)))
    versions = (" ".join(replaced(words, count, thesaurus, stop, chance)) for _ in range(4 * copies))
    return [version for version in dict.fromkeys(versions) if version != text][:copies]


def replaced(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """So many words replaced with a synonym each; all places of a word at once."""
    possible = [word for word in dict.fromkeys(words) if word.lower() not in stop and word.lower() in thesaurus]
    synonyms = {
        word: chance.choice(thesaurus[word.lower()]) for word in chance.sample(possible, min(count, len(possible)))
    }
    return [synonyms.get(word, word) for word in words]


def inserted(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """So many synonyms of words of the text, at random places."""
    known = [word.lower() for word in words if word.lower() in thesaurus]
    new_words = list(words)
    for _ in range(count if known else 0):
        new_words.insert(chance.randrange(len(new_words) + 1), chance.choice(thesaurus[chance.choice(known)]))
    return new_words


def swapped(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """So many times two words that change places."""
    new_words = list(words)
    for _ in range(count):
        first, second = chance.randrange(len(new_words)), chance.randrange(len(new_words))
        new_words[first], new_words[second] = new_words[second], new_words[first]
    return new_words


def deleted(
    words: list[str], count: int, thesaurus: Thesaurus, stop: Collection[str], chance: random.Random
) -> list[str]:
    """Each word deleted with the probability `ALPHA`; one word stays at least."""
    return [word for word in words if chance.random() > ALPHA] or [chance.choice(words)]
