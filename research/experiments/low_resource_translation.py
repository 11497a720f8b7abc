r"""Do paraphrases of the source side help a translator that has few pairs? English to French with 10,000 pairs.

    python -m research.experiments.low_resource_translation --data DIR --work build/low-resource \
        --json research/experiments/results/low_resource_translation.json

DIR holds bitext/tatoeba/fra-eng.*.tsv.gz. Every seed draws other pairs, and its arms train new models on them for as
many steps: "none" on the pairs alone, the others also on as many pairs whose English side is a paraphrase of
`toolkit.augment`, with the same French side. The starter paraphraser knows English from German-English pairs, which
the translators do not have; so had the paper's. The test is other pairs of the same file, which are drawn first: no
seed trains on a sentence of them. (The committed figures are of test pairs that were drawn after the pairs of their
seeds.) The work goes on where it was interrupted; other settings want another --work.

Source: ParaZh-22M (Hao et al. 2022), section 4.5: Chinese to Thai, 200,000 pairs, beam 4, the mean of 5 checkpoints.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sacrebleu.metrics import BLEU, CHRF

import toolkit
from research.benchmarks.data import fields
from research.experiments.corpora import write_tsv
from research.experiments.work_record import check_work, models_read
from research.reports import report
from toolkit.bitext.normalize import match_key
from toolkit.bitext.words import words_of
from toolkit.evaluate.translation import translate
from toolkit.paraphraser.names import BEST
from toolkit.study.significance import compare
from toolkit.system.whole_files import write_whole
from toolkit.train.translator import train
from toolkit.translator.load import load_translator
from toolkit.translator.settings import TrainingSettings

Pair = tuple[str, str]  # a source and its translation
BITEXT = "bitext/tatoeba/fra-eng.{}.tsv.gz"
PAIRS, TEST_PAIRS = 10_000, 2000
TEST_SEED = 1_000_000  # no seed of a training
NONE = "none"  # an arm
BATCH_TOKENS = 2048
BEAM, AVERAGE = 4, 5  # ParaZh, section 4.5
ARMS: dict[str, dict[str, Any]] = {  # how they are augmented
    NONE: {"copies": 0},
    "one copy": {"copies": 1},
    "one copy, floor 0.9": {"copies": 1, "min_semantic": 0.9},
}


def pairs_of(data: Path, part: str) -> list[Pair]:
    """English and French sentences, one pair of each English sentence, in random order."""
    pairs_by_key = {match_key(english): (english, french) for french, english in fields(data / BITEXT.format(part))}
    pairs = sorted(pairs_by_key.values())
    random.Random(0).shuffle(pairs)
    return pairs


def held_out(pairs: Sequence[Pair]) -> list[Pair]:
    """The test pairs among these, the same for every seed."""
    return random.Random(TEST_SEED).sample(pairs, TEST_PAIRS)


def without_sentences_of(test: Sequence[Pair], pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that have no sentence with a test pair in common."""
    test_keys = {match_key(text) for pair in test for text in pair}
    return [pair for pair in pairs if test_keys.isdisjoint(map(match_key, pair))]


def drawn(data: Path, seed: int, test: Sequence[Pair]) -> list[Pair]:
    """The training pairs of a seed; no English sentence of them is in the files of test and validation."""
    apart = {match_key(english) for part in ("test", "validation") for english, _ in pairs_of(data, part)}
    left = [pair for pair in without_sentences_of(test, pairs_of(data, "train")) if match_key(pair[0]) not in apart]
    return random.Random(seed).sample(left, PAIRS)


def augmented(data: Path, arm: str, seed: int, test: Sequence[Pair]) -> list[Pair]:
    """The training pairs of an arm."""
    pairs = drawn(data, seed, test)
    if not ARMS[arm]["copies"]:
        return pairs
    english, french = zip(*pairs, strict=True)
    bitext = Dataset.from_dict({"en": english, "fr": french})
    bigger = toolkit.augment(bitext, columns="en", seed=seed, **ARMS[arm])
    return list(zip(bigger["en"], bigger["fr"], strict=True))


def train_translator(folder: Path, arm: str, validation: Path, steps: int, seed: int) -> Path:
    """The folder of the model of an arm."""
    goes = folder / f"model {arm}"
    settings = TrainingSettings(
        bitext=[str(folder / f"{arm}.tsv")],
        output_dir=str(goes),
        source_lang="en",
        lang="fr",
        source_column="0",
        reference_column="1",
        validation=[str(validation)],
        max_steps=steps,
        warmup_steps=steps // 10,
        cooldown_steps=steps // 3,
        batch_tokens=BATCH_TOKENS,
        alpha=None,  # the paper samples no segmentations, which would be another way to make more of few pairs
        save_every=steps // 20,
        average=AVERAGE,
        seed=seed,
    )
    if not (goes / "model" / "training.json").exists():
        train(settings)
    return goes / "model"


def metrics_of(test: list[Pair]) -> dict[str, BLEU | CHRF]:
    """The metrics against the French sentences."""
    references = [[french for _, french in test]]
    return {"BLEU": BLEU(references=references), "chrF": CHRF(references=references)}


def scores(model: Path, test: list[Pair], metrics: dict[str, BLEU | CHRF]) -> dict[str, float]:
    """The figures of the best translations."""
    translations = translate(load_translator(str(model), device="cpu"), [english for english, _ in test], BEAM)
    return {name: metric.corpus_score(translations, None).score for name, metric in metrics.items()}


def counted(pairs: Path, test: list[Pair]) -> dict[str, float]:
    """The number of training pairs, and how many per cent of the English words of the test are in none of them."""
    sources = [line.split("\t")[0] for line in pairs.read_text(encoding="utf-8").splitlines()]
    known = {word for source in sources for word in words_of(source)}
    test_words = [word for english, _ in test for word in words_of(english)]
    return {"pairs": len(sources), "unseen": 100 * sum(word not in known for word in test_words) / len(test_words)}


def summary(figures: dict[str, list[dict[str, float]]], metrics: Sequence[str], baseline: str) -> dict[str, Any]:
    """By metric and arm the mean and the deviation over the seeds, and the difference from one arm.

    Args:
        figures: Those of each seed, by arm.
        metrics: Their names.
        baseline: The arm that the others are compared with.
    """
    results: dict[str, Any] = {}
    other_arms = [arm for arm in figures if arm != baseline]
    for name in metrics:
        by_arm = {arm: [run[name] for run in runs] for arm, runs in figures.items()}
        against = dict(zip(other_arms, compare([(by_arm[arm], by_arm[baseline]) for arm in other_arms]), strict=True))
        results[name] = {
            arm: {"mean": round(float(np.mean(values)), 2), "deviation": round(float(np.std(values, ddof=1)), 2)}
            | (
                {f"against_{baseline}": {"difference": round(comparison.difference, 2), "p": round(comparison.p, 4)}}
                if (comparison := against.get(arm)) and comparison.p is not None
                else {}
            )
            for arm, values in by_arm.items()
        }
    return results


def main() -> None:
    """Train and test, print the figures, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = {"data": options.data, "steps": options.steps}
    check_work(options.work, "translators of few pairs", settings, {"paraphraser": models_read(BEST)})
    test = held_out(pairs_of(options.data, "train"))
    metrics = metrics_of(test)
    validation = options.work / "validation.tsv"
    write_tsv(validation, pairs_of(options.data, "validation"))
    figures: dict[str, list[dict[str, float]]] = {arm: [] for arm in options.arms}
    counts: dict[str, list[dict[str, float]]] = {arm: [] for arm in options.arms}
    for seed in range(options.seeds):
        folder = options.work / str(seed)
        for arm in options.arms:
            if not (folder / f"{arm}.tsv").exists():
                write_tsv(folder / f"{arm}.tsv", augmented(options.data, arm, seed, test))
            file = folder / f"scores {arm}.json"
            if not file.exists():
                model = train_translator(folder, arm, validation, options.steps, seed)
                write_whole(file, json.dumps(scores(model, test, metrics)))
            figures[arm].append(json.loads(file.read_text()))
            counts[arm].append(counted(folder / f"{arm}.tsv", test))
            print(seed, arm, figures[arm][-1], flush=True)
    results = summary(figures, list(metrics), NONE)
    results |= {
        "pairs": {arm: round(float(np.mean([run["pairs"] for run in runs]))) for arm, runs in counts.items()},
        "unseen_words": {
            arm: round(float(np.mean([run["unseen"] for run in runs])), 2) for arm, runs in counts.items()
        },
        "by_seed": figures,
        "test_pairs": len(test),
        "steps": options.steps,
        "seeds": options.seeds,
        "signatures": {name: f"{metric.get_signature()}|beam:{BEAM}" for name, metric in metrics.items()},
    }
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
