"""The texts that paraphrasers are chosen on, tested on and adapted to: questions, captions and news.

All are below `paraphrase/` of the data folder. What is chosen is chosen on the validation sets; the tests share no text
with them, nor with the pairs that a model is adapted to.
"""

from __future__ import annotations

import gzip
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from toolkit.bitext.normalize import match_key
from toolkit.evaluate.paraphraser import Paraphrased

SEPARATOR = "[JOIN]"  # between the sides of ParaNet's pairs of KQA Pro
NEWS = ("newstest2021.de-en.refAB", "newstest2021.cs-en.refAB")
VALIDATION_NEWS = "generaltest2022.de-en.refAB"
Pair = tuple[str, str]


def lines(data: Path, name: str) -> list[str]:
    """The lines of a compressed file of `paraphrase/`."""
    with gzip.open(data / "paraphrase" / name, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def halves(data: Path, corpus: str) -> list[Paraphrased]:
    """The half of a test of ParaNet's authors that is released: an input and a paraphrase."""
    sides = (lines(data, f"paranet/{corpus}/test_{side}.txt.first-half.gz") for side in ("input", "target"))
    return [Paraphrased(text, (paraphrase,), ()) for text, paraphrase in zip(*sides, strict=True)]


def mscoco(data: Path) -> list[Paraphrased]:
    """The 5,000 inputs of MSCOCO of ParaNet's authors, with the four other captions that each image has or more."""
    references = defaultdict(list)
    for line in lines(data, "paranet/mscoco_split/test_new_target.txt.gz"):
        index, _, text = line.partition(" ")
        references[int(index)].append(text)
    texts = lines(data, "paranet/mscoco_split/test_new_input.txt.gz")
    return [Paraphrased(text, tuple(references[i][:4]), ()) for i, text in enumerate(texts) if len(references[i]) >= 4]


def captions(data: Path, split: str) -> list[Paraphrased]:
    """Multi30k: a caption, and the four others of the same image."""
    records = (line.split("\t") for line in lines(data, f"captions/multi30k-5-english.{split}.tsv.gz"))
    return [Paraphrased(first, tuple(references), ()) for first, *references in records]


def two_references(data: Path, names: Iterable[str]) -> list[Paraphrased]:
    """Two human translations of the same news sentence."""
    records = (line.split("\t") for name in names for line in lines(data, f"two-references/{name}.tsv.gz"))
    return [Paraphrased(first, (second,), ()) for first, second in records]


def quora_pairs(data: Path) -> list[Pair]:
    """Quora's training pairs of the split used since VAE-SVG."""
    return list(zip(lines(data, "quora/train.txt.gz"), lines(data, "quora/train_2.txt.gz"), strict=True))


def kqa_pairs(data: Path) -> list[Pair]:
    """ParaNet's development pairs of KQA Pro: a question of a template, and a person's."""
    records = (line.partition(SEPARATOR) for line in lines(data, "paranet/kqapro_split/dev.txt.gz"))
    return [(template, question) for template, _, question in records]


def caption_pairs(data: Path) -> list[Pair]:
    """Multi30k's training captions: the first of each image with the second."""
    return [(image.text, image.references[0]) for image in captions(data, "train")]


TESTS: dict[str, Callable[[Path], list[Paraphrased]]] = {
    "QQP": lambda data: halves(data, "QQP_split"),
    "MSCOCO": mscoco,
    "KQA Pro": lambda data: halves(data, "kqapro_split"),
    "two references": lambda data: two_references(data, NEWS),
}
VALIDATION: dict[str, Callable[[Path], list[Paraphrased]]] = {
    "questions": lambda data: [Paraphrased(first, (second,), ()) for first, second in quora_pairs(data)],
    "captions": lambda data: captions(data, "validation"),
    "news": lambda data: two_references(data, [VALIDATION_NEWS]),
}
DOMAINS = {"QQP": "Quora", "MSCOCO": "Multi30k", "KQA Pro": "KQA Pro's development set"}
DOMAIN_PAIRS: dict[str, Callable[[Path], list[Pair]]] = {
    "QQP": quora_pairs,
    "MSCOCO": caption_pairs,
    "KQA Pro": kqa_pairs,
}


def sample(items: Sequence, count: int, seed: int) -> list:
    """So many items in random order, or all if there are fewer."""
    return random.Random(seed).sample(items, min(count, len(items)))


def test_keys(data: Path, names: Iterable[str] = TESTS) -> set[str]:
    """The texts of tests, of all unless named, with their references, without case and punctuation."""
    tests = (item for name in names for item in TESTS[name](data))
    return {key for item in tests for key in map(match_key, (item.text, *item.references))}


def test_set(data: Path, name: str, count: int) -> list[Paraphrased]:
    """A sample of a test, the same for every seed of a training."""
    return sample(TESTS[name](data), count, 0)


def validation_set(data: Path, name: str, count: int) -> list[Paraphrased]:
    """A sample of a validation set, without texts that any test has."""
    used = test_keys(data)
    free = [
        item
        for item in VALIDATION[name](data)
        if used.isdisjoint(map(match_key, (item.text, *item.references))) and match_key(item.text)
    ]
    return sample(free, count, 0)


def domain_pairs(data: Path, name: str, count: int, seed: int) -> list[Pair]:
    """Pairs of a test's domain, without texts that the test has."""
    used = test_keys(data, [name])
    free = [pair for pair in DOMAIN_PAIRS[name](data) if used.isdisjoint(map(match_key, pair))]
    return sample(free, count, seed)
