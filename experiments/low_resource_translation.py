r"""Do paraphrases of the source side help a translator that has few pairs? English to French with 10,000 pairs.

    python -m experiments.low_resource_translation --data DIR --work build/low-resource \
        --json experiments/results/low_resource_translation.json

DIR holds bitext/tatoeba/fra-eng.*.tsv.gz. Every seed draws other pairs, and its arms train new models on them for as
many steps: "none" on the pairs alone, the others also on as many pairs whose English side is a paraphrase of
`toolkit.augment`, with the same French side. "most likely of eight" takes of eight paraphrases the one after which the
translator of "none" finds the French side most probable. The starter paraphraser knows English from German-English
pairs, which the translators do not have; so had the paper's. The test is other pairs of the same file: no seed trains
on a sentence of them. The work goes on where it was interrupted.

Source: ParaZh-22M (Hao et al. 2022), section 4.5: Chinese to Thai, 200,000 pairs, beam 4, the mean of 5 checkpoints.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sacrebleu.metrics import BLEU, CHRF

import toolkit
from benchmarks.data import fields
from experiments.corpora import write_tsv
from reports import report
from toolkit.augmentation.paired import compare
from toolkit.bitext.normalize import match_key
from toolkit.evaluate.translation import translate
from toolkit.rows import Candidate, Row
from toolkit.score.dual import dual_rows
from toolkit.shards import write_whole
from toolkit.translator.load import Translator, load_translator
from toolkit.translator.settings import TrainingSettings
from toolkit.translator.training import train

BITEXT = "bitext/tatoeba/fra-eng.{}.tsv.gz"
PAIRS, TEST_PAIRS = 10_000, 2000
NONE, LIKELIEST = "none", "one copy, most likely of eight"  # arms
BATCH_TOKENS = 2048
BEAM, AVERAGE = 4, 5  # ParaZh, section 4.5
ARMS: dict[str, dict[str, Any]] = {  # how they are augmented
    NONE: {"copies": 0},
    "one copy": {"copies": 1},
    "one copy, floor 0.8": {"copies": 1, "min_semantic": 0.8},
    "one copy, floor 0.9": {"copies": 1, "min_semantic": 0.9},
    LIKELIEST: {"copies": 8},
}
METRICS = {"BLEU": BLEU(), "chrF": CHRF()}


def pairs_of(data: Path, part: str) -> list[tuple[str, str]]:
    """English and French sentences, one pair of each English sentence, in random order."""
    found = {match_key(english): (english, french) for french, english in fields(data / BITEXT.format(part))}
    pairs = sorted(found.values())
    random.Random(0).shuffle(pairs)
    return pairs


def drawn(data: Path, seed: int) -> list[tuple[str, str]]:
    """The training pairs of a seed; no English sentence of them is in the files of test and validation."""
    apart = {match_key(english) for part in ("test", "validation") for english, _ in pairs_of(data, part)}
    return random.Random(seed).sample([p for p in pairs_of(data, "train") if match_key(p[0]) not in apart], PAIRS)


def held_out(data: Path, seeds: int) -> list[tuple[str, str]]:
    """The test pairs: no seed trains on a sentence of them."""
    seen = {match_key(text) for seed in range(seeds) for pair in drawn(data, seed) for text in pair}
    return [pair for pair in pairs_of(data, "train") if not seen.intersection(map(match_key, pair))][:TEST_PAIRS]


def augmented(data: Path, arm: str, seed: int, translator: Callable[[], Path]) -> list[tuple[str, str]]:
    """The training pairs of an arm."""
    pairs = drawn(data, seed)
    if not ARMS[arm]["copies"]:
        return pairs
    english, french = zip(*pairs, strict=True)
    bitext = Dataset.from_dict({"en": english, "fr": french})
    bigger = toolkit.augment(bitext, columns="en", seed=seed, **ARMS[arm])
    if arm == LIKELIEST:
        return [*pairs, *likeliest(pairs, bigger.skip(PAIRS), load_translator(str(translator()), device="cpu"))]
    return list(zip(bigger["en"], bigger["fr"], strict=True))


def likeliest(pairs: list[tuple[str, str]], new: Dataset, translator: Translator) -> list[tuple[str, str]]:
    """Of the new rows of each pair the one after which the French side is most likely."""
    rows = [Row(str(n), "augmented", fr, "fr", en, "en", "train") for n, (en, fr) in enumerate(pairs)]
    for english, source in zip(new["en"], new["augmented_from"], strict=True):
        rows[source].candidates.append(Candidate(english, "sample"))
    done = dual_rows([row for row in rows if row.candidates], translator, BATCH_TOKENS)
    return [
        (max(row.candidates, key=lambda one: one.scores.backward_logprob or -math.inf).text, row.source or "")
        for row in done
    ]


def trained(folder: Path, arm: str, validation: Path, steps: int, seed: int) -> Path:
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


def scores(model: Path, test: list[tuple[str, str]]) -> dict[str, float]:
    """BLEU and chrF of the best translations."""
    said = translate(load_translator(str(model), device="cpu"), [english for english, _ in test], BEAM)
    references = [[french for _, french in test]]
    return {name: metric.corpus_score(said, references).score for name, metric in METRICS.items()}


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
    test = held_out(options.data, options.seeds)
    validation = options.work / "validation.tsv"
    write_tsv(validation, pairs_of(options.data, "validation"))
    found: dict[str, list[dict[str, float]]] = {arm: [] for arm in options.arms}
    lines: dict[str, int] = {}
    for seed in range(options.seeds):
        folder = options.work / str(seed)
        of_none = partial(trained, folder, NONE, validation, options.steps, seed)
        for arm in options.arms:
            if not (folder / f"{arm}.tsv").exists():
                write_tsv(folder / f"{arm}.tsv", augmented(options.data, arm, seed, of_none))
            kept = folder / f"scores {arm}.json"
            if not kept.exists():
                write_whole(kept, json.dumps(scores(trained(folder, arm, validation, options.steps, seed), test)))
            found[arm].append(json.loads(kept.read_text()))
            lines[arm] = len((folder / f"{arm}.tsv").read_text(encoding="utf-8").splitlines())
            print(seed, arm, found[arm][-1], flush=True)
    results: dict[str, Any] = {}
    for name in METRICS:
        by_arm = {arm: [one[name] for one in some] for arm, some in found.items()}
        compared = compare([(by_arm[arm], by_arm[NONE]) for arm in options.arms if arm != NONE])
        against = dict(zip([arm for arm in options.arms if arm != NONE], compared, strict=True))
        results[name] = {
            arm: {"mean": round(float(np.mean(some)), 2), "deviation": round(float(np.std(some, ddof=1)), 2)}
            | (
                {"against_none": {"difference": round(against[arm].difference, 2), "p": round(against[arm].p, 4)}}
                if arm in against
                else {}
            )
            for arm, some in by_arm.items()
        }
    results |= {
        "pairs": lines,
        "test_pairs": len(test),
        "steps": options.steps,
        "seeds": options.seeds,
        "signatures": {name: f"{metric.get_signature()}|beam:{BEAM}" for name, metric in METRICS.items()},
    }
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
