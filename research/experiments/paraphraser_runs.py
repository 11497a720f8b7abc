"""Make equal corpora of ParaNMT, ParaBank, ParaBank 2 and ParaNet, and train paraphrasers on them.

`corpora.py` makes the first three of the same references; ParaNet is the authors' corpus, whose lower-cased tokens are
put back into the form of sentences; a ParaNet of our own can stand beside it. Every step goes on where it was
interrupted. `paraphraser_table.py` measures.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Collection, Container
from functools import cache
from pathlib import Path
from typing import Any

import torch

from research.experiments.corpora import MODELS, parabanks, write_tsv
from research.experiments.paraphraser_data import Pair, domain_pairs, test_keys
from research.experiments.starter_paraphraser import distinct, joined, with_new_words, words_in
from research.experiments.work_record import check_work
from toolkit.bitext.normalize import match_key
from toolkit.package.read import read_references
from toolkit.paraphraser.form import LOWER_PRONOUN
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.system.contents import contents_of
from toolkit.train.paraphraser import train

TRANSLATOR = "starter/de-en"  # it writes English and reads German; `base` teaches it to read English
BASE_STEPS, SWAPPED = 600, 0.15  # of that training, and the share of words that change places in its inputs
OF_BITEXT = ("ParaNMT", "ParaBank", "ParaBank 2")  # in the order of `corpora.BUILDERS`
CORPORA = (*OF_BITEXT, "ParaNet")
OURS = "ParaNet, ours"
PARANET = "paraphrase/paranet/paramac_run311.jsonl.gz"
FINE_EPOCHS, FINE_PAIRS = 2, 16  # ParaMac, section 5.1.3, and appendix A: 4 pairs and 4 accumulated batches
FINE_RATE = 3e-4  # ours: the paper's 1e-4 is for a model 40 times as large


def slug(name: str) -> str:
    """A name as a file name."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a .tsv file."""
    records = (line.partition("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(first, second) for first, _, second in records]


def corpora(data: Path, work: Path, count: int, names: Collection[str] = CORPORA, ours: Path | None = None) -> None:
    """Write the pairs of each corpus; those of a bitext are the best of the same `count` references.

    Args:
        data: The folder of the data.
        work: The folder of the experiment.
        count: How many pairs those of a bitext have; ParaNet's are all written.
        names: Of the corpora: of `CORPORA`, or `OURS`. With one of a bitext, all of a bitext are written, so that its
            references do not depend on the names.
        ours: The folder of a built ParaNet, for `OURS`.

    Raises:
        ValueError: The folder was made with other settings, or there are too few references.
    """
    check_work(work, "paraphrasers", {"data": data}, {"models": MODELS})
    if not {*names}.isdisjoint(OF_BITEXT):
        check_work(work, "pairs of a bitext", {"pairs": count})
        if not all((work / f"{slug(name)}.tsv").exists() for name in OF_BITEXT):
            write_of_bitext(data, work, count)
    missing = [name for name in names if not (work / f"{slug(name)}.tsv").exists()]
    if "ParaNet" in missing:
        write_tsv(work / f"{slug('ParaNet')}.tsv", paranet(data))
    if OURS in names and ours is not None:
        check_work(work, OURS, contents_of({"parabank": [ours]}))
    if OURS in missing and ours is not None:
        pairs = sorted(best_pairs(ours, test_keys(data)).items())
        random.Random(0).shuffle(pairs)
        write_tsv(work / f"{slug(OURS)}.tsv", pairs)


def write_of_bitext(data: Path, work: Path, count: int) -> None:
    """Write `count` pairs of each corpus of `OF_BITEXT`, of the same references."""
    used = test_keys(data)
    best_by_corpus = {
        name: best_pairs(folder, used) for name, folder in zip(OF_BITEXT, parabanks(data, work).values(), strict=True)
    }
    first, *rest = best_by_corpus.values()
    shared = [reference for reference in first if all(reference in best for best in rest)]
    if len(shared) < count:
        raise ValueError(f"wanted {count} references with a paraphrase in all corpora, got {len(shared)}")
    shared = random.Random(0).sample(sorted(shared), count)
    for name, best in best_by_corpus.items():
        write_tsv(work / f"{slug(name)}.tsv", [(reference, best[reference]) for reference in shared])


def best_pairs(folder: Path, used: Container[str]) -> dict[str, str]:
    """The best paraphrase of each reference of a parabank that is no copy of it, without the texts of tests."""
    pairs = ((row.reference, row.paraphrases[0].text) for row in read_references(folder) if row.paraphrases)
    return {
        reference: paraphrase
        for reference, paraphrase in pairs
        if match_key(reference) != match_key(paraphrase) and match_key(reference) not in used
    }


def paranet(data: Path) -> list[Pair]:
    """The authors' pairs in random order, each side in the form of a sentence."""
    with gzip.open(data / PARANET, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    pairs = [(as_sentence(record["X"]), as_sentence(record["Y"])) for record in records]
    pairs = [pair for pair in pairs if all(pair) and match_key(pair[0]) != match_key(pair[1])]
    random.Random(0).shuffle(pairs)
    return pairs


def as_sentence(text: str) -> str:
    """Lower-cased tokens as a sentence: white space before marks removed, a capital at the beginning and for "i".

    >>> as_sentence("he asked if i 'd been there , ma 'am .")
    "He asked if I'd been there, ma'am."
    """
    text = " ".join(text.split())
    text = re.sub(r" (?=[.,!?;:]|n't\b|'(?:s|d|m|ll|re|ve|am)\b)", "", text)
    text = LOWER_PRONOUN.sub("I", text)
    return text[:1].upper() + text[1:]


@cache  # its pairs take many seconds, and every training asks for it
def base(data: Path, work: Path) -> Path:
    """The model that all trainings begin with: the translator, which has learnt to put English words in order.

    It thereby copies words, new ones too, and says nothing in other words. ParaMac begins with T5 instead.
    """
    chance = random.Random(0)
    same = [(reference, reference) for _, reference in distinct(data)]
    counts = Counter(word for text, _ in same for word in set(words_in(text)))
    more = list(with_new_words(same, counts, chance))
    pairs = [(text, swapped(text, chance)) for text, _ in same + more + joined(same + more, counts, chance)]
    sizes = {"batch_tokens": 4096, "max_steps": BASE_STEPS, "learning_rate": 5e-4}
    return training(work, "base", pairs, 0, base_model=TRANSLATOR, direction="to_reference", **sizes)


def swapped(text: str, chance: random.Random) -> str:
    """A text in which some words have changed places with the next.

    >>> swapped("We go home now.", random.Random(1))
    'go We home now.'
    """
    words = text.split()
    for n in range(len(words) - 1):
        if chance.random() < SWAPPED:
            words[n : n + 2] = words[n + 1], words[n]
    return " ".join(words)


def training(work: Path, name: str, pairs: list[Pair], seed: int, base_model: str | Path, **changed: Any) -> Path:
    """Train a model unless it is there, with the same settings; it is the last of the training, not the best.

    Args:
        work: The folder of the experiment.
        name: Of the model.
        pairs: What it is trained on.
        seed: Of the order of the pairs, and of what else is random.
        base_model: What the training begins with.
        changed: Settings that are not the usual.

    Returns:
        The folder of the model.
    """
    folder = work / "models" / f"{slug(name)}-{seed}"
    file = work / "pairs" / f"{folder.name}.tsv"
    write_tsv(file, pairs)
    usual: dict[str, Any] = {
        "base_model": str(base_model),
        "epochs": 3,
        "batch_tokens": 1024,
        "learning_rate": 5e-4,
        "warmup_steps": 100,
        "max_tokens": 80,
        "held_out": 0,
        "save_every": 10**6,
        "threads": torch.get_num_threads(),
    }
    return train(ParaphraserTraining(pairs=[str(file)], output_dir=str(folder), seed=seed, **(usual | changed)))


def adapted(work: Path, data: Path, begun: str, folder: str | Path, test: str, count: int, seed: int) -> Path:
    """Fine-tune a model on pairs of a test's domain (ParaMac, sections 5.1.3 and 5.2.1).

    Args:
        work: The folder of the experiment.
        data: The folder of the data.
        begun: Name of the model that is fine-tuned.
        folder: Where it is, or a starter.
        test: Whose domain.
        count: How many pairs.
        seed: Of the choice of the pairs and of the training.
    """
    return training(
        work,
        f"{begun} {test} {count}",
        domain_pairs(data, test, count, seed),
        seed,
        folder,
        epochs=FINE_EPOCHS,
        batch_pairs=FINE_PAIRS,
        learning_rate=FINE_RATE,
        warmup_steps=0,
    )


def corpus_model(work: Path, data: Path, corpus: str, count: int, seed: int, epochs: int = 3) -> Path:
    """A paraphraser trained on so many pairs of a corpus."""
    pairs = read_pairs(work / f"{slug(corpus)}.tsv")
    if len(pairs) < count:
        raise ValueError(f"wanted {count} pairs of {corpus}, got {len(pairs)}")
    return training(work, f"{corpus} {count} {epochs}", pairs[:count], seed, base(data, work), epochs=epochs)
