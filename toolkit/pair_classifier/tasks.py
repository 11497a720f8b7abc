"""Read labelled or scored pairs of sentences from a file, and measure a classifier on them.

MRPC is a TSV file with a header; LCQMC, AFQMC and STS-B have none, so their columns are numbers; PAWS-X has the default
names.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from toolkit.evaluate.sts import agreement
from toolkit.package.read import read_labelled
from toolkit.pair_classifier.pairs import LabelledPair
from toolkit.pair_classifier.settings import NAMED
from toolkit.system.extras import naming_extra

with naming_extra():
    import scipy
    import sklearn
    from sklearn.metrics import accuracy_score, f1_score

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

MRPC = ["#1 String", "#2 String", "Quality"]
NUMBERED = ["0", "1", "2"]  # LCQMC, AFQMC: no header
STS_BENCHMARK = ["5", "6", "4"]  # GLUE's STS-B as its authors released it: no header
SIGNATURE = f"accuracy, F1|positive:1|decision:argmax|sklearn:{sklearn.__version__}|v:1.0.0"
SCORES_SIGNATURE = f"Pearson, Spearman|x100|scipy:{scipy.__version__}|v:1.0.0"


def read_task(source: str | Path, columns: Sequence[str] = NAMED, scored: bool = False) -> list[LabelledPair]:
    """Read the labelled pairs of a file or a data set.

    Args:
        source: A file or a data set, as `toolkit.package.read.read_labelled` reads it; a file with another suffix is a
            TSV file, in which quotes have no special meaning.
        columns: Columns of the two sentences and of the label, which is 0 or 1: names, or numbers from 0 if a file has
            no names. In place of the default names, other usual ones are understood (`toolkit.package.pair_columns`).
        scored: Whether the label is a score from 0 to 5 instead (STS-B).

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, has no such column, another label, a line that is too short or has other columns
            than the first, no line at all, or numbers in place of sentences.
    """
    if len(columns) != len(NAMED):
        raise ValueError(f"wanted the columns of two sentences and a label, got {', '.join(columns)}: name three")
    names = None if list(columns) == list(NAMED) else columns
    number = float if scored else int
    pairs = [
        LabelledPair(first, second, number(label))
        for table in read_labelled(source, names, scored)
        for first, second, label in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]
    if not pairs:
        raise ValueError(f"wanted labelled pairs, got none in {source}: give another file")
    return pairs


def predict(classifier: CrossEncoder, pairs: Sequence[LabelledPair], batch_size: int = 64) -> list[int]:
    """Predict the label of each pair, 1 or 0.

    Args:
        classifier: A cross-encoder with two outputs (`toolkit.train.pair_classifier`).
        pairs: The pairs; their labels are not used.
        batch_size: Pairs of a batch; pairs are sorted by length.
    """
    texts = [(pair.sentence1, pair.sentence2) for pair in pairs]
    return classifier.predict(texts, batch_size=batch_size, show_progress_bar=False).argmax(1).tolist()


def predict_scores(classifier: CrossEncoder, pairs: Sequence[LabelledPair], batch_size: int = 64) -> list[float]:
    """Predict the score of each pair, about 0 to 5, with a cross-encoder with one output; see `predict`."""
    texts = [(pair.sentence1, pair.sentence2) for pair in pairs]
    identity = torch.nn.Identity()
    scores = classifier.predict(texts, batch_size=batch_size, show_progress_bar=False, activation_fn=identity)
    return scores.tolist()


def score_figures(scores: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Correlation of predicted scores with human scores.

    >>> score_figures([1.0, 3.0, 5.0], [0.1, 0.2, 0.6])
    {'pearson': 94.491, 'spearman': 100.0, 'pairs': 3}

    Returns:
        `pearson` and `spearman`, correlations x 100, and the number of `pairs`.

    Raises:
        ValueError: The scores are all equal.

    Source: ParaBank 2 (Hu et al. 2019b), table 4: "Spearman correlations are reported for STS-B".
    """
    pearson, spearman = agreement(np.array(predicted), np.array(scores), "the task")
    return {"pearson": round(pearson, 3), "spearman": round(spearman, 3), "pairs": len(scores)}


def figures(labels: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Accuracy, and F1 of label 1.

    >>> figures([1, 1, 1, 0], [1, 1, 0, 1])
    {'accuracy': 50.0, 'f1': 66.667, 'pairs': 4}

    Args:
        labels: Human labels, 1 or 0.
        predicted: Labels that a classifier predicts.

    Returns:
        `accuracy` and `f1` in per cent, and the number of `pairs`.

    Source: ParaBank 2 (Hu et al. 2019b), table 4, which has F1 for MRPC.
    """
    accuracy = 100 * float(accuracy_score(labels, predicted))
    f1 = 100 * float(f1_score(labels, predicted, zero_division=0))
    return {"accuracy": round(accuracy, 3), "f1": round(f1, 3), "pairs": len(labels)}
