r"""The recipe of the starter paraphraser: people's and machine's paraphrases of Tatoeba, and the training on them.

    python -m experiments.starter_paraphraser --data DIR --output_dir build/starter-paraphraser --steps natural parabank
    python -m experiments.starter_paraphraser --data DIR --output_dir build/starter-paraphraser --steps train

The starter was made with --limit 60000 for the second step: half of the distinct sentences. DIR holds
bitext/tatoeba/{deu,fra,cmn}-eng.{train,validation}.tsv.gz (foreign TAB English), openly licensed (CC BY 2.0 FR). The
steps, each of which goes on where it was interrupted:

- natural: English sentences that translate one foreign sentence are paraphrases, by people.
- parabank: ParaBank 2 of the German-English pairs by the starters, with guards, in the settings below: each English
  sentence of four words or more once, in random order, so that the first shards are a sample of all.
- train: starter/de-en, which writes English already, learns to read it, from both.

`scripts/package_paraphraser.py` then measures the model on questions of QQP and saves it in float16 with its card.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from pathlib import Path

from builders.parabank2 import ParaBank2Run, build
from toolkit.bitext.normalize import match_key, normalize
from toolkit.bitext.read import read_bitext
from toolkit.command import run_command
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.score.guards import GUARDS, broken_guard
from toolkit.shards import write_whole

LANGUAGES = ("deu", "fra", "cmn")
BITEXT = "bitext/tatoeba/{}-eng.{}.tsv.gz"
STEPS = ("natural", "parabank", "train")
LEAST_WORDS = 4  # of a reference of ParaBank 2; shorter ones leave little to say in other words
MOST = 8  # of the translations of one sentence; "Los!" has dozens, and most are no paraphrases of each other


def natural(data: Path, split: str) -> Iterator[tuple[str, list[str]]]:
    """English sentences with the other translations of the foreign sentences that they translate."""
    groups: dict[str, dict[str, None]] = {}
    for language in LANGUAGES:
        for pair in read_bitext([str(data / BITEXT.format(language, split))]):
            groups.setdefault(f"{language} {normalize(pair.source)}", {})[normalize(pair.reference)] = None
    found: dict[str, dict[str, None]] = {}
    for english in groups.values():
        if len(english) <= MOST:
            for one, other in permutations(english, 2):
                if match_key(one) != match_key(other) and broken_guard(one, other, "en") is None:
                    found.setdefault(one, {})[other] = None
    yield from ((text, list(others)) for text, others in found.items())


def write_tsv(path: Path, lines: Iterable[Sequence[str]]) -> None:
    """Write the texts of each line with tabs between them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join("\t".join(texts) + "\n" for texts in lines))


def distinct(data: Path) -> list[tuple[str, str]]:
    """German-English pairs with different English sides of LEAST_WORDS words or more, in random order."""
    found: dict[str, str] = {}
    for pair in read_bitext([str(data / BITEXT.format("deu", "train"))]):
        if len(pair.reference.split()) >= LEAST_WORDS:
            found.setdefault(normalize(pair.reference), normalize(pair.source))
    pairs = [(source, reference) for reference, source in found.items()]
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


def training(folder: Path, steps: int, threads: int) -> ParaphraserTraining:
    """The training on both: the German-English starter goes on with English on both sides.

    It learns people's sentences from the machine's ("to_reference"). In trials of 130 steps that gave more grammatical
    outputs than the other direction, and a higher iBLEU on the validation sets of `paraphraser_data.py`.
    """
    return ParaphraserTraining(
        pairs=[str(folder / "natural.tsv"), str(folder / "parabank2")],
        output_dir=str(folder / "model"),
        base_model="starter/de-en",
        direction="to_reference",
        max_dual_nll=2.0,
        known_words=True,
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
    parser.add_argument("--steps_of_training", type=int, default=1250)
    parser.add_argument("--processes", type=int, default=1, help="that share the work")
    parser.add_argument("--threads", type=int, default=2, help="of each process")
    options = parser.parse_args()
    sys.exit(run_command(parser.prog, lambda: work(options), resumes=True, processes=options.processes))


def work(options: argparse.Namespace) -> None:
    """Do the steps in this process, with its share of the work."""
    if "natural" in options.steps:
        for split, name in (("train", "natural.tsv"), ("validation", "validation.tsv")):
            groups = natural(options.data, split)
            write_tsv(options.output_dir / name, ([text, *others] for text, others in groups))
    if "parabank" in options.steps:
        write_tsv(options.output_dir / "bitext.tsv", distinct(options.data))
        build(parabank_run(options.output_dir, options.limit, options.processes, options.threads))
    if "train" in options.steps:
        from toolkit.paraphraser.training import train

        train(training(options.output_dir, options.steps_of_training, options.threads))


if __name__ == "__main__":
    main()
