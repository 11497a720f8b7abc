"""Read labelled or scored pairs of sentences from a file, and measure a classifier on them.

MRPC is a TSV file with a header; LCQMC, AFQMC and STS-B have none, so their columns are numbers; PAWS-X has the default
names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from toolkit.bitext.csv_records import csv_records
from toolkit.bitext.text_file import text_lines
from toolkit.evaluate.sts import HIGHEST, agreement
from toolkit.package.pair_columns import check_texts, number_of, pair_columns
from toolkit.package.read import say_once
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


def read_task(path: str | Path, columns: Sequence[str] = NAMED, scored: bool = False) -> list[LabelledPair]:
    """Read the labelled pairs of a file.

    Args:
        path: A TSV file, in which quotes have no special meaning; or, with the suffix .csv and no tab in the first
            line, a CSV file with any delimiter; UTF-8.
        columns: Columns of the two sentences and of the label, which is 0 or 1: names in the first line, or numbers
            from 0 if there is no header. In place of the default names, other usual ones are understood
            (`toolkit.package.pair_columns`).
        scored: Whether the label is a score from 0 to 5 instead (STS-B).

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, has no such column, another label, a line that is too short or has other columns
            than the header, no line at all, or numbers in place of sentences.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"wanted a file of labelled pairs, got {path}: check the path")
    if len(columns) != len(NAMED):
        raise ValueError(f"wanted the columns of two sentences and a label, got {', '.join(columns)}: name three")
    pairs = list(_labelled_pairs(_split_lines(text_lines(str(path)), Path(path)), columns, path, scored))
    if not pairs:
        raise ValueError(f"wanted labelled pairs, got none in {path}: give another file")
    for side, column in enumerate(columns[:2]):
        check_texts(pa.array([pair[side] for pair in pairs], pa.string()), f"column {column}", path)
    return pairs


def _split_lines(file: Iterator[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each record, with the number of its last line; the TSV files of STS-B have the suffix .csv."""
    first = next(file, "")
    all_lines = itertools.chain([first] if first else [], file)
    if path.suffix == ".csv" and "\t" not in first:
        return csv_records(all_lines, path)
    return ((number, line.split("\t")) for number, line in enumerate(all_lines, 1))


def _labelled_pairs(
    lines: Iterator[tuple[int, list[str]]], columns: Sequence[str], path: str | Path, scored: bool
) -> Iterator[LabelledPair]:
    """One pair per line; see `read_task`.

    Raises:
        ValueError: A column is missing, or a line is too short or has another label, or other columns than the header.
    """
    is_numbered = all(column.isdecimal() for column in columns)
    header = [str(i) for i in range(1 + max(map(int, columns)))] if is_numbered else next(lines, (0, []))[1]
    if list(columns) == list(NAMED) and not scored and not set(columns) <= set(header):
        columns = _usual_columns(header, path) or columns
    missing_columns = [column for column in columns if column not in header]
    if missing_columns:
        raise ValueError(f"wanted columns {', '.join(columns)}, got {', '.join(header) or 'none'} in {path}: name them")
    positions = [header.index(column) for column in columns]
    expected = f"score from 0 to {HIGHEST:g}" if scored else "label 0 or 1"
    for number, line in lines:
        if not is_numbered and len(line) > len(header):
            raise ValueError(f"wanted {len(header)} columns, got {len(line)} in line {number} of {path}: correct it")
        label = None if len(line) <= max(positions) else _parse_label(line[positions[2]], scored)
        if label is None:
            raise ValueError(f"wanted two sentences and a {expected}, got {line!r:.100} in line {number} of {path}")
        yield LabelledPair(line[positions[0]], line[positions[1]], label)


def _usual_columns(header: Sequence[str], path: str | Path) -> list[str] | None:
    """The columns of the two sentences and of the label by their usual names; None if one of them is not there."""
    columns = pair_columns(header, path)
    if columns is None or columns.label is None:
        return None
    say_once(str(path), f"sentences are {columns.reference!r} and {columns.paraphrase!r}; label is {columns.label!r}")
    return [columns.reference, columns.paraphrase, columns.label]


def _parse_label(text: str, scored: bool) -> float | None:
    """A label, 0 or 1, or a score from 0 to 5; None if the text is neither.

    >>> _parse_label("1", False), _parse_label("3.25", True), _parse_label("6", True), _parse_label("3.25", False)
    (1, 3.25, None, None)
    """
    if not scored:
        return int(text) if text in ("0", "1") else None
    score = number_of(text)
    return score if 0 <= score <= HIGHEST else None


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
