r"""The recipe of the starter paraphraser: people's and machine's paraphrases of Tatoeba, and the training on them.

    python -m research.experiments.starter_paraphraser --data DIR --output_dir build/starter-paraphraser --limit 60000

The limit is what the starter was made with: half of the distinct sentences. DIR holds
bitext/tatoeba/{deu,fra,cmn}-eng.train.tsv.gz (foreign TAB English), openly licensed (CC BY 2.0 FR). The steps, each of
which goes on where it was interrupted:

- natural: English sentences that translate one foreign sentence are paraphrases, by people. HELD_OUT groups of them are
  left out of all training, with every pair that has one of their sentences.
- parabank: ParaBank 2 of the German-English pairs by the starters, with guards, in the settings below: each English
  sentence of four words or more once, in random order, so that the first shards are a sample of all.
- pairs: both without machine's paraphrases of doubtful meaning, and many of them a second time with a new word, name or
  number in place of one that both sides have, so that the model learns to copy what it has never read.
- train: starter/de-en, which writes English already, learns to read it, from these pairs.
- teacher: two translators, by way of Portuguese, paraphrase sentences of our own (own_sentences.txt.gz) and of Tatoeba;
  what the judge calls usable is kept. It needs the extra pt, and lm for a part of the sentences.
- rewriting: these pairs in both directions, what readers called usable (judge_ratings.json) and the people's pairs of
  high cosine; again many of them a second time with new words.
- rewrite: the model of the step train learns from these, by which it says more with fewer errors.

`parabank package paraphraser` then measures the model on questions of QQP and saves it in float16 with its card.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from builders.parabank2 import ParaBank2Run, build
from research.experiments.corpora import write_tsv
from toolkit.bitext.normalize import match_key, normalize
from toolkit.bitext.read import read_bitext
from toolkit.bitext.text_file import read_text
from toolkit.bitext.words import COMPOUND, write_words
from toolkit.encoder.load import load_encoder
from toolkit.paraphraser.names import PIVOT, pivot_name
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.score.guards import GUARDS, broken_guard
from toolkit.score.semantic import pair_cosines
from toolkit.select.filter import by_usable
from toolkit.starters import WORDS
from toolkit.system.command import run_command
from toolkit.train.paraphraser_pairs import read_training

BASE = "starter/de-en"
LANGUAGES = ("deu", "fra", "cmn")
BITEXT = "bitext/tatoeba/{}-eng.train.tsv.gz"
STEPS = ("natural", "parabank", "pairs", "train", "teacher", "rewriting", "rewrite")
OWN = Path(__file__).with_name("own_sentences.txt.gz")
READ = Path(__file__).parent / "results" / "judge_ratings.json"
TAUGHT, TAUGHT_WITH_MODEL = 8500, 1284  # sentences that the teacher paraphrases, and those with a language model
CHEAP: dict[str, Any] = {  # of the teacher without one: fewer ways back
    "pivots": 2, "pivot_beam": 2, "greedy_pivots": 1, "constraint_sets": 1, "samples_per_set": 1, "pool": 8,
}  # fmt: skip
LEAST_USABLE, LEAST_USABLE_WITH_MODEL = 0.35, 0.45  # of the teacher's outputs, by the judge
MOST_OF_ONE = 6  # of the outputs of a sentence
CHOSEN_OR_LOST = (None, "rank", "cluster", "reference_cluster")  # reasons of candidates that are no worse than others
LEAST_NATURAL = 0.85  # the cosine of people's pairs that the second training takes
LEAST_WORDS = 4  # of a reference of ParaBank 2; shorter ones leave little to say in other words
Pair = tuple[str, str]
MOST = 8  # of the translations of one sentence; "Los!" has dozens, and most are no paraphrases of each other
LEAST_COSINE, MOST_DUAL = 0.8, 2.0  # of the machine's paraphrases; in trials worse ones made the model no better
HELD_OUT = 400  # sentences whose paraphrases by people the held-out iBLEU is measured with
COPIED, MOST_NEW = 0.7, 2  # part of the pairs that get new words, and the most of them
JOINED = 0.3  # longer sentences, by the number of the others
CONJUNCTIONS = (" and ", ", and ", " but ", ", but ", ", so ", " because ", " when ", " while ", ", which means that ")
RARE = 1000  # a lower-case word of fewer texts may be replaced; others are part of the grammar
NAME = 20  # times as often with a capital as without is a name, and no word that begins a sentence
CAPITALS = 0.25  # of the new names are capitals alone, such as "NASA"


def natural(data: Path) -> dict[str, dict[str, None]]:
    """English sentences with the other translations of the foreign sentences that they translate."""
    groups: dict[str, dict[str, None]] = {}
    for language in LANGUAGES:
        for pair in read_bitext([str(data / BITEXT.format(language))]):
            groups.setdefault(f"{language} {normalize(pair.source)}", {})[normalize(pair.reference)] = None
    paraphrases: dict[str, dict[str, None]] = {}
    for english in groups.values():
        if len(english) <= MOST:
            for text, paraphrase in permutations(english, 2):
                if match_key(text) != match_key(paraphrase) and broken_guard(text, paraphrase, "en") is None:
                    paraphrases.setdefault(text, {})[paraphrase] = None
    return paraphrases


def held_out(groups: dict[str, dict[str, None]]) -> dict[str, dict[str, None]]:
    """A sample of the sentences of LEAST_WORDS words or more, each with its paraphrases."""
    long = sorted(text for text in groups if len(text.split()) >= LEAST_WORDS)
    return {text: groups[text] for text in random.Random(0).sample(long, HELD_OUT)}


def distinct(data: Path) -> list[tuple[str, str]]:
    """German-English pairs with different English sides of LEAST_WORDS words or more, in random order."""
    sources: dict[str, str] = {}
    for pair in read_bitext([str(data / BITEXT.format("deu"))]):
        if len(pair.reference.split()) >= LEAST_WORDS:
            sources.setdefault(normalize(pair.reference), normalize(pair.source))
    pairs = [(source, reference) for reference, source in sources.items()]
    random.Random(0).shuffle(pairs)
    return pairs


def parabank_run(folder: Path, limit: int | None, processes: int, threads: int) -> ParaBank2Run:
    """ParaBank 2 of Tatoeba by the starters: fewer samples than the paper's, fewer forbidden words, a tighter cut."""
    return ParaBank2Run(
        bitext=[str(folder / "bitext.tsv")],
        source_lang="de",
        lang="en",
        output_dir=str(folder / "parabank2"),
        forward="starter/de-en",
        backward="starter/en-de",
        known_words="starter/de-en",
        samples_per_set=12,
        constraint_rate=0.3,
        min_p=0.05,
        max_dual_nll=2.5,
        forbid="words",
        guards=list(GUARDS),
        validation_share=0.005,
        test_share=0.0,
        limit=limit,
        processes=processes,
        threads=threads,
        license="cc-by-2.0",
    )


def pairs(folder: Path) -> tuple[list[Pair], list[Pair]]:
    """The pairs to train on, output first: as they were made, and some of them with a new word."""
    settings = ParaphraserTraining(
        pairs=[""],
        validation=str(folder / "held-out.tsv"),
        output_dir="",
        base_model=BASE,
        max_dual_nll=MOST_DUAL,
        held_out=HELD_OUT,
    )
    people, machine = (
        [(pair.text, pair.output) for pair in read_training(replace(settings, pairs=[str(folder / name)])).pairs]
        for name in ("natural.tsv", "parabank2")
    )
    cosines = pair_cosines(machine, load_encoder("starter/encoder"))
    training_pairs = people + [pair for pair, cosine in zip(machine, cosines, strict=True) if cosine >= LEAST_COSINE]
    counts = Counter(word for pair in training_pairs for text in pair for word in set(words_in(text)))
    chance = random.Random(0)
    new = list(with_new_words(training_pairs, counts, chance))
    return training_pairs, new + joined(training_pairs + new, counts, chance)


def joined(pairs: Sequence[Pair], counts: Counter[str], chance: random.Random) -> list[Pair]:
    """Longer sentences: two or three pairs that are no questions, with the same conjunctions on both sides."""
    plain = [pair for pair in pairs if all(text.endswith(".") for text in pair)]
    long_pairs = []
    for _ in range(round(JOINED * len(pairs))):
        parts = chance.sample(plain, chance.randint(2, 3))
        links = chance.choices(CONJUNCTIONS, k=len(parts) - 1)
        first, second = (sentence(side, links, counts) for side in zip(*parts, strict=True))
        long_pairs.append((first, second))
    return long_pairs


def sentence(texts: Sequence[str], links: Sequence[str], counts: Counter[str]) -> str:
    """One sentence of several, without the capitals in it but those of names and of "I"."""
    long_text = texts[0][:-1]
    for link, text in zip(links, texts[1:], strict=True):
        first = next(iter(words_in(text)), "")
        ordinary = counts[first] < NAME * counts[first.lower()] and first != "I"
        long_text += link + (text[:1].lower() + text[1:-1] if ordinary else text[:-1])
    return long_text + "."


def with_new_words(pairs: Sequence[Pair], counts: Counter[str], chance: random.Random) -> Iterator[Pair]:
    """A part of the pairs, with new words, names or numbers in place of some that both sides have."""
    ordinary = sorted(word for word in counts if word.islower() and word.isalpha() and len(word) > 3)
    for first, second in pairs:
        common_words = [
            word for word in dict.fromkeys(words_in(first)) if word in words_in(second) and replaceable(word, counts)
        ]
        if common_words and chance.random() < COPIED:
            for word in chance.sample(common_words, chance.randint(1, min(MOST_NEW, len(common_words)))):
                place, new = re.compile(rf"\b{word}\b"), new_word(word, ordinary, chance)
                first, second = place.sub(new, first), place.sub(new, second)
            yield first, second


def words_in(text: str) -> list[str]:
    """The words, "didn't" and "well-known" whole."""
    return COMPOUND.findall(text)


def replaceable(word: str, counts: Counter[str]) -> bool:
    """Whether a word is a number, a name, or a word that the grammar does not need."""
    name = word[:1].isupper() and len(word) > 1 and counts[word] > NAME * counts[word.lower()]
    rare = word.isalpha() and word.islower() and len(word) > 3 and counts[word] < RARE
    return word.isdigit() or name or rare


def new_word(word: str, ordinary: Sequence[str], chance: random.Random) -> str:
    """A number for a number; for a word the beginning of an ordinary word and the end of another, in the same case."""
    if word.isdigit():
        return str(chance.randrange(10 ** chance.randint(1, 4)))
    if not word.islower() and chance.random() < CAPITALS:
        return "".join(chance.choices(ascii_uppercase, k=chance.randint(2, 4)))
    begin, end = chance.sample(ordinary, 2)
    new = begin[: chance.randint(2, len(begin) - 1)] + end[chance.randint(1, len(end) - 2) :]
    return new if word.islower() else new.capitalize()


def records(path: Path) -> list[list[str]]:
    """The lines of a file of this recipe, each as its fields."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def left_out(folder: Path) -> set[str]:
    """The held-out sentences and their paraphrases."""
    return {text for texts in records(folder / "held-out.tsv") for text in texts}


def taught(folder: Path) -> list[Pair]:
    """Sentences with the outputs of two translators that the judge calls usable: with a language model, and without."""
    from toolkit.paraphraser.paraphraser import Paraphraser

    own_texts, apart = read_text(str(OWN)).splitlines(), left_out(folder)
    tatoeba = [text for _, text in records(folder / "bitext.tsv") if text not in apart]
    mixed = [text for pair in zip(own_texts, tatoeba, strict=False) for text in pair][:TAUGHT]
    teacher = Paraphraser(pivot_name(PIVOT))
    usual = replace(teacher.settings, min_usable=None, rewrites=0, continuations=0)  # the translators alone
    new_pairs = []
    for texts, floor, changes in (
        (own_texts[:TAUGHT_WITH_MODEL], LEAST_USABLE_WITH_MODEL, {}),
        (mixed, LEAST_USABLE, CHEAP),
    ):
        teacher.settings = replace(usual, **changes)
        for text, candidates in zip(texts, teacher.candidates(texts), strict=True):
            usable = [c for c in candidates if (c.scores.usable or 0.0) >= floor and c.reason in CHOSEN_OR_LOST]
            new_pairs += [(text, c.text) for c in sorted(usable, key=by_usable)[:MOST_OF_ONE]]
        teacher.critic = None
    return new_pairs


def rewriting(folder: Path) -> tuple[list[Pair], list[Pair]]:
    """The pairs of the second training: as they are, and some of them with new words."""
    groups, apart = records(folder / "natural.tsv"), left_out(folder)
    natural_pairs = [
        (text, paraphrase)
        for text, *paraphrases in groups
        for paraphrase in paraphrases
        if not apart & {text, paraphrase}
    ]
    cosines = pair_cosines(natural_pairs, load_encoder("starter/encoder"))
    people = [pair for pair, cosine in zip(natural_pairs, cosines, strict=True) if cosine >= LEAST_NATURAL]
    teacher = [(text, output) for text, output in records(folder / "teacher.tsv")]
    read = [
        (text["text"], candidate["text"])
        for text in json.loads(READ.read_text(encoding="utf-8"))["results"]["texts"]
        for candidate in text["candidates"]
        if candidate.get("ratings") and set(candidate["ratings"]) == {"u"}
    ]
    machine = list(
        dict.fromkeys(pair for text, output in [*teacher, *read] for pair in ((text, output), (output, text)))
    )
    training_pairs = list(dict.fromkeys([*people, *machine]))
    counts = Counter(word for pair in training_pairs for text in pair for word in set(words_in(text)))
    chance = random.Random(0)
    new = [*with_new_words(training_pairs, counts, chance), *with_new_words(machine, counts, chance)]
    return [*training_pairs, *machine], new


def second_training(folder: Path, threads: int) -> ParaphraserTraining:
    """The training on these: few steps at a lower rate, without a choice among checkpoints."""
    return ParaphraserTraining(
        pairs=[str(folder / "rewriting.tsv"), str(folder / "rewriting-new-words.tsv")],
        held_out=0,
        output_dir=str(folder / "rewriter"),
        base_model=str(folder / "model"),
        epochs=40,
        max_steps=600,
        learning_rate=4e-4,
        warmup_steps=100,
        max_tokens=64,
        save_every=600,
        license="cc-by-2.0",
        threads=threads,
    )


def training(folder: Path, steps: int, threads: int) -> ParaphraserTraining:
    """The training: the German-English starter goes on with English on both sides.

    It learns people's sentences from the machine's ("to_reference"). In trials of 130 steps that gave more grammatical
    outputs than the other direction, and a higher iBLEU on the validation sets of `paraphraser_data.py`.
    """
    return ParaphraserTraining(
        pairs=[str(folder / "pairs.tsv"), str(folder / "new-words.tsv")],
        validation=str(folder / "held-out.tsv"),
        held_out=HELD_OUT,
        output_dir=str(folder / "model"),
        base_model=BASE,
        direction="to_reference",
        epochs=20,
        max_steps=steps,
        learning_rate=5e-4,
        warmup_steps=150,
        max_tokens=64,
        save_every=300,
        license="cc-by-2.0",
        threads=threads,
    )


def main() -> None:
    """Do the steps that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the bitexts")
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--limit", type=int, help="lines of the bitext that ParaBank 2 reads (default all)")
    parser.add_argument("--steps_of_training", type=int, default=2500)
    parser.add_argument("--processes", type=int, default=1, help="that share the work")
    parser.add_argument("--threads", type=int, default=2, help="of each process")
    options = parser.parse_args()
    sys.exit(run_command(parser.prog, lambda: work(options), resumes=True, processes=options.processes))


def write_both(folder: Path, name: str, name_of_new: str, pair_lists: tuple[list[Pair], list[Pair]]) -> None:
    """Write pairs, and those of them with new words, to files of their own."""
    for file, pair_list in zip((name, name_of_new), pair_lists, strict=True):
        write_tsv(folder / file, pair_list)


def work(options: argparse.Namespace) -> None:
    """Do the steps in this process, with its share of the work."""
    if "natural" in options.steps:
        groups = natural(options.data)
        for name, file_groups in (("natural.tsv", groups), ("held-out.tsv", held_out(groups))):
            write_tsv(options.output_dir / name, ([text, *paraphrases] for text, paraphrases in file_groups.items()))
    if "parabank" in options.steps:
        write_tsv(options.output_dir / "bitext.tsv", distinct(options.data))
        build(parabank_run(options.output_dir, options.limit, options.processes, options.threads))
    if "pairs" in options.steps:
        write_both(options.output_dir, "pairs.tsv", "new-words.tsv", pairs(options.output_dir))
    if "train" in options.steps:
        from toolkit.train.paraphraser import train

        folder = train(training(options.output_dir, options.steps_of_training, options.threads))
        write_words(folder / WORDS, (options.output_dir / "pairs.tsv").read_text(encoding="utf-8").splitlines())
    if "teacher" in options.steps:
        write_tsv(options.output_dir / "teacher.tsv", taught(options.output_dir))
    if "rewriting" in options.steps:
        write_both(options.output_dir, "rewriting.tsv", "rewriting-new-words.tsv", rewriting(options.output_dir))
    if "rewrite" in options.steps:
        from toolkit.train.paraphraser import train

        folder = train(second_training(options.output_dir, options.threads))
        texts = (options.output_dir / name for name in ("pairs.tsv", "rewriting.tsv"))
        write_words(folder / WORDS, [line for path in texts for line in path.read_text(encoding="utf-8").splitlines()])


if __name__ == "__main__":
    main()
