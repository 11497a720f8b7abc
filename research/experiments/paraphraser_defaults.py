r"""What `Paraphraser` does by default, chosen on validation data: method, number of samples, ranking and thresholds.

    python -m research.experiments.paraphraser_defaults --data DIR \
        --json research/experiments/results/paraphraser_defaults.json

DIR holds paraphrase/{quora,captions,two-references,paranet}. Every line of the table is the default with what its name
says changed, on --texts questions, captions and news sentences each (`paraphraser_data.py`; no text of a test is among
them). Figures are means over the three sets: of the first output iBLEU (alpha 0.8), BLEU with the reference and with
the input, and the cosine with the input by all-MiniLM-L6-v2; iBLEU of the best of five; self-BLEU among the five;
how many texts have an output, and how many outputs; and texts per second, which hold only beside each other.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from research.experiments.paraphraser_data import VALIDATION, validation_set
from research.experiments.table_quality import Encoder
from research.reports import report
from research.reports.figures_paraphrasers import SETTINGS, defaults_table
from toolkit.evaluate.paraphraser import Measure, evaluate_systems
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.score.semantic import pair_cosines

N = 5
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "beam": {"method": "beam"},
    "top_p, 5 samples": {"method": "top_p", "constraint_sets": 1},
    "top_p, 20 samples": {"method": "top_p"},
    "sample, 4 x 10": {"samples_per_set": 10},
    "sample, 2 x 10": {"constraint_sets": 2, "samples_per_set": 10},
    "sample, 8 x 2": {"constraint_sets": 8, "samples_per_set": 2},
    "constraint_rate 0": {"constraint_rate": 0.0},
    "constraint_rate 0.3": {"constraint_rate": 0.3},
    "constraint_rate 0.5": {"constraint_rate": 0.5},
    "min_p 0.05": {"min_p": 0.05},
    "min_p 0.2": {"min_p": 0.2},
    "rank_by dual": {"rank_by": "dual"},
    "rank_by semantic": {"rank_by": "semantic"},
    "max_dual_nll 2": {"max_dual_nll": 2.0},
    "max_dual_nll 3": {"max_dual_nll": 3.0},
    "max_dual_nll 4": {"max_dual_nll": 4.0},
    "min_semantic none": {"min_semantic": None},
    "min_semantic 0.7": {"min_semantic": 0.7},
    "min_semantic 0.8": {"min_semantic": 0.8},
    "min_forward -0.6": {"min_forward": -0.6},
    "min_forward -0.3": {"min_forward": -0.3},
    "allow_trivial": {"allow_trivial": True},
    "pool 0": {"pool": 0},
    "pool 1": {"pool": 1},
    "pool 4": {"pool": 4},
    "max_iou 0.8": {"max_iou": 0.8},
    "max_iou 0.6": {"max_iou": 0.6},
    "no guards": {"guards": ()},
}


def figures_of(
    paraphraser: Paraphraser, cosines: Measure, test: list, settings: Paraphrasing, seed: int
) -> tuple[dict[str, float], list]:
    """The figures of one setting on one set, and its outputs."""
    paraphraser.settings = settings
    begin = time.perf_counter()
    outputs = paraphraser.paraphrase([item.text for item in test], seed=seed, progress=False)
    seconds = time.perf_counter() - begin
    figures = evaluate_systems(test, {"": outputs}, measures={"semantic": cosines})[""]
    first = {name: figures["first"][name] for name in ("ibleu", "bleu", "input_bleu", "semantic")}
    rest = {name: figures["all"][name] for name in ("self_bleu", "answered", "outputs")}
    return first | rest | {"best_ibleu": figures["best"]["ibleu"], "texts_per_second": len(test) / seconds}, outputs


def main() -> None:
    """Measure all variants, print the table and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--model", default="starter/paraphraser")
    parser.add_argument("--texts", type=int, default=300, help="of each validation set")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    options = parser.parse_args()
    sets = {name: validation_set(options.data, name, options.texts) for name in VALIDATION}
    paraphraser, cosines = Paraphraser(options.model), partial(pair_cosines, encoder=Encoder().model)
    paraphraser.paraphrase([item.text for test in sets.values() for item in test[:20]], progress=False)  # a warm-up
    results: dict[str, Any] = {"texts": options.texts, "variants": {}, "outputs": {}}
    for variant in options.variants:
        settings = replace(Paraphrasing(n=N), **VARIANTS[variant])
        figures_by_set: dict[str, Any] = {}
        for name, test in sets.items():
            runs = [figures_of(paraphraser, cosines, test, settings, seed) for seed in options.seeds]
            figures_by_set[name] = {key: fmean(figures[key] for figures, _ in runs) for key in SETTINGS}
            results["outputs"].setdefault(name, {})[variant] = runs[0][1][:20]
        figures_by_set["mean"] = {key: fmean(figures[key] for figures in figures_by_set.values()) for key in SETTINGS}
        results["variants"][variant] = figures_by_set
        print(variant, {key: round(value, 2) for key, value in figures_by_set["mean"].items()}, file=sys.stderr)
    results["inputs"] = {name: [item.text for item in test[:20]] for name, test in sets.items()}
    print(defaults_table(results["variants"]))
    report.write(options.json, options.seeds, results, {})


if __name__ == "__main__":
    main()
