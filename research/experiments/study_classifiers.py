r"""Which classifier should a study of augmentation train? Chosen on validation rows of TREC, SST-2, SUBJ and CR.

    python -m research.experiments.study_classifiers --data DIR \
        --json research/experiments/results/study_classifiers.json

DIR holds classification/. The test rows of `augmentation_table.py` are not read: of each task's training rows, 1,000
random ones are the validation, and the training rows are drawn from the others, several times: 16 or 64 of each class,
or 500 of all. Without augmentation; the figure is the accuracy on the validation rows, in percent.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import torch
from datasets import Dataset
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from tqdm import tqdm

from research.experiments.augmentation_data import TASKS, task, word_regression
from research.reports import report
from research.reports.figures_augmentation import classifiers_table
from toolkit.encoder.load import load_encoder
from toolkit.study.row_sample import few_of_each
from toolkit.study.trials import ITERATIONS, Trial, by_estimator, on_embeddings, text_regression

VALIDATION_ROWS, ROWS = 1000, 500
SIZES = {"16 of a class": 16, "64 of a class": 64, f"{ROWS} rows": 0}
PENALTIES = (1, 10, 100)  # sklearn's C
SEED = 0


def classifiers() -> dict[str, Trial]:
    """By name, what trains and tests."""
    simple = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=ITERATIONS))
    pipelines: dict[str, Pipeline] = {"TF-IDF": simple, "TF-IDF, logarithmic counts": word_regression()}
    for penalty in PENALTIES:
        pipelines[f"words, pairs of words, parts of words; C {penalty}"] = text_regression(penalty)
    trials = {name: by_estimator(pipeline, "text", "label") for name, pipeline in pipelines.items()}
    return {"starter/encoder": on_embeddings(load_encoder("starter/encoder"), ["text"], "label")} | trials


def training_rows(rows: Dataset, size: int, seed: int) -> Dataset:
    """So many random rows of each class, or `ROWS` random rows of all classes if the size is 0."""
    if size:
        return few_of_each(rows, "label", size, seed)
    return rows.select(random.Random(seed).sample(range(len(rows)), ROWS))


def main() -> None:
    """Train all of them on the same rows, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    trials = classifiers()
    accuracy: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in tqdm(TASKS, desc="tasks"):
        train, _ = task(options.data, name)
        order = random.Random(SEED).sample(range(len(train)), len(train))
        validation, rows = train.select(order[:VALIDATION_ROWS]), train.select(order[VALIDATION_ROWS:])
        for label, size in SIZES.items():
            for seed in range(options.seeds):
                sample = training_rows(rows, size, seed)
                for kind, trial in trials.items():
                    values = accuracy.setdefault(kind, {}).setdefault(name, {}).setdefault(label, [])
                    values.append(100 * trial(sample, validation, seed))
    print(classifiers_table(accuracy))
    report.write(options.json, SEED, {"seeds": options.seeds, "accuracy": accuracy}, {})


if __name__ == "__main__":
    main()
