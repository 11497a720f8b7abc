r"""Does back-translated text improve a translator? German to English, as ParaZh-22M's table 2 in miniature.

    python -m research.experiments.backtranslation_table --data DIR --work build/back-translation \
        --json research/experiments/results/backtranslation_table.json

DIR holds bitext/tatoeba/deu-eng.*.tsv.gz. Every seed draws other pairs and, from the rest, other English sentences,
whose German side is not read. Translators of both directions are trained on the pairs; that from English translates the
sentences back. Then the arms go on training the translator from German, each with as many steps: "bitext" on the pairs
alone, "mixed" also on the synthetic pairs, "upsampled" so that an epoch has as many of both kinds, and "real" also on
the sentences with their own German side, which back-translation stands for. The test is other pairs of the same file,
which are drawn first: no seed trains on a sentence of them. (The committed figures are of test pairs that were drawn
after the pairs of their seeds.) The work goes on where it was interrupted; other settings want another --work.

Source: ParaZh-22M (Hao et al. 2022), sections 2.1 and 2.3, table 2: beam 4; 26.4M pairs, 10.6M sentences.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from research.benchmarks.data import TATOEBA, fields
from research.experiments.corpora import write_tsv
from research.experiments.low_resource_translation import (
    BATCH_TOKENS,
    BEAM,
    Pair,
    held_out,
    metrics_of,
    scores,
    summary,
    without_sentences_of,
)
from research.experiments.work_record import check_work
from research.reports import report
from toolkit.bitext.normalize import match_key
from toolkit.bitext.read import read_bitext
from toolkit.generate.backtranslate import back_translate
from toolkit.generate.monolingual import BackTranslation
from toolkit.system.whole_files import write_whole
from toolkit.train.translator import train
from toolkit.translator.settings import TrainingSettings

PAIRS, SENTENCES = 20_000, 80_000
BEFORE, BITEXT = "before", "bitext"  # the translator that all arms begin with, and the arm without synthetic pairs
ARMS = (BITEXT, "mixed", "upsampled", "real")
AVERAGE = 4  # ours: of 20 checkpoints; the paper's 20 are the last tenth of its training, too


def pairs_of(data: Path, part: str) -> list[Pair]:
    """German and English sentences, one pair of each English sentence, in random order."""
    pairs_by_key = {
        match_key(english): (german, english) for german, english, *_ in fields(data / TATOEBA.format(part))
    }
    pairs = sorted(pairs_by_key.values())
    random.Random(0).shuffle(pairs)
    return pairs


def drawn(data: Path, seed: int, test: Sequence[Pair], pairs: int, sentences: int) -> tuple[list[Pair], list[Pair]]:
    """The training pairs of a seed, and others, of which the English side is the monolingual text.

    No English sentence of them is in the files of test and validation.
    """
    apart = {match_key(english) for part in ("test", "validation") for _, english in pairs_of(data, part)}
    left = [pair for pair in without_sentences_of(test, pairs_of(data, "train")) if match_key(pair[1]) not in apart]
    sample = random.Random(seed).sample(left, pairs + sentences)
    return sample[:pairs], sample[pairs:]


def train_translator(folder: Path, name: str, validation: Path, steps: int, seed: int, **changed: Any) -> Path:
    """The folder of a model from German to English that is trained on the pairs of a seed, unless settings differ."""
    goes = folder / name
    settings: dict[str, Any] = {
        "bitext": [str(folder / "pairs.tsv")],
        "output_dir": str(goes),
        "source_lang": "de",
        "lang": "en",
        "source_column": "0",
        "reference_column": "1",
        "validation": [str(validation)],
        "max_steps": steps,
        "warmup_steps": steps // 10,
        "cooldown_steps": steps // 3,
        "batch_tokens": BATCH_TOKENS,
        "save_every": max(1, steps // 20),
        "average": AVERAGE,
        "seed": seed,
    }
    if not (goes / "model" / "training.json").exists():
        train(TrainingSettings(**settings | changed))
    return goes / "model"


def translated_back(folder: Path, model: Path, threads: int) -> Path:
    """The synthetic pairs of a seed."""
    output = folder / "synthetic.tsv"
    if not output.exists():
        back_translate(
            BackTranslation(
                model=str(model),
                text=[str(folder / "english.txt")],
                output=str(output),
                source_lang="de",
                lang="en",
                threads=threads,
            )
        )
    return output


def added(folder: Path, arm: str, synthetic: Path, pairs: int, sentences: int) -> dict[str, Any]:
    """The settings by which an arm differs from the training on the pairs alone."""
    if arm == BITEXT:
        return {}
    times = max(1, round(sentences / pairs)) if arm == "upsampled" else 1
    return {"synthetic": [str(folder / "real.tsv" if arm == "real" else synthetic)], "upsample": times}


def figures_of_seed(
    folder: Path, seed: int, options: argparse.Namespace, test: list[Pair]
) -> dict[str, dict[str, float]]:
    """The figures of all arms of a seed, and of the translator that they begin with."""
    pairs, real_pairs = drawn(options.data, seed, test, options.pairs, options.sentences)
    write_tsv(folder / "pairs.tsv", pairs)
    write_tsv(folder / "real.tsv", real_pairs)
    write_tsv(folder / "english.txt", [(english,) for _, english in real_pairs])
    validation, metrics = options.work / "validation.tsv", metrics_of(test)
    base = train_translator(folder, BEFORE, validation, options.steps, seed)
    swapped = {"source_lang": "en", "lang": "de", "source_column": "1", "reference_column": "0"}
    back = train_translator(folder, "back", validation, options.steps, seed, **swapped)
    synthetic = translated_back(folder, back, options.threads)
    figures: dict[str, dict[str, float]] = {}
    for arm in (BEFORE, *options.arms):
        file = folder / f"scores {arm}.json"
        if not file.exists():
            model = base
            if arm != BEFORE:
                more = added(folder, arm, synthetic, options.pairs, options.sentences)
                begin = {"base_model": str(base), "learning_rate": options.learning_rate}
                model = train_translator(folder, arm, validation, options.more_steps, seed, **begin, **more)
            write_whole(file, json.dumps(scores(model, test, metrics)))
        figures[arm] = json.loads(file.read_text())
        print(seed, arm, figures[arm], flush=True)
    return figures | {"synthetic": {"pairs": sum(1 for _ in read_bitext([str(synthetic)]))}}


def main() -> None:
    """Train and test, print the figures, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--more_steps", type=int, default=3000)
    parser.add_argument("--learning_rate", type=float, default=1e-3, help="of the arms")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    names = ("data", "pairs", "sentences", "steps", "more_steps", "learning_rate")
    check_work(options.work, "back-translation", {name: getattr(options, name) for name in names})
    test = held_out(pairs_of(options.data, "train"))
    write_tsv(options.work / "validation.tsv", pairs_of(options.data, "validation"))
    by_seed = [figures_of_seed(options.work / str(seed), seed, options, test) for seed in range(options.seeds)]
    metrics = metrics_of(test)
    by_arm = {arm: [figures[arm] for figures in by_seed] for arm in (BEFORE, *options.arms)}
    results = summary(by_arm, list(metrics), BITEXT) | {
        "pairs": options.pairs,
        "sentences": options.sentences,
        "synthetic_pairs": [figures["synthetic"]["pairs"] for figures in by_seed],
        "test_pairs": len(test),
        "steps": [options.steps, options.more_steps],
        "learning_rate": options.learning_rate,
        "seeds": options.seeds,
        "signatures": {name: f"{metric.get_signature()}|beam:{BEAM}" for name, metric in metrics.items()},
    }
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
