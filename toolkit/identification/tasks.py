"""Labelled pairs of sentences in a file, and how well a classifier tells which are paraphrases.

MRPC is a TSV file with a header; LCQMC and AFQMC have none, so their columns are numbers; PAWS-X has the default names.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sklearn
from sklearn.metrics import accuracy_score, f1_score

from toolkit.identification.pairs import LabelledPair
from toolkit.identification.settings import NAMED

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

MRPC = ["#1 String", "#2 String", "Quality"]
NUMBERED = ["0", "1", "2"]  # LCQMC, AFQMC: no header
SIGNATURE = f"accuracy, F1|positive:1|decision:argmax|sklearn:{sklearn.__version__}|v:1.0.0"


def read_task(path: str | Path, columns: Sequence[str] = NAMED) -> list[LabelledPair]:
    """The labelled pairs of a file.

    Args:
        path: A TSV file, in which quotes mean nothing, or with the suffix .csv a CSV file; UTF-8.
        columns: Of the two sentences and of the label, which is 0 or 1: their names in the first line, or numbers from
            0 if there is no such line.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, has no such column, another label, a line that is too short, or no line at all.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"wanted a file of labelled pairs, got {path}: check the path")
    if len(columns) != len(NAMED):
        raise ValueError(f"wanted the columns of two sentences and a label, got {', '.join(columns)}: name three")
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        try:
            pairs = list(labelled(csv_lines(file, Path(path)), columns, path))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"wanted labelled pairs in UTF-8, got {path}, which is not ({error}): convert it"
            ) from None
        except csv.Error as error:
            raise ValueError(f"wanted a CSV file, got {path}, which is damaged ({error}): write it again") from None
    if not pairs:
        raise ValueError(f"wanted labelled pairs, got none in {path}: give another file")
    return pairs


def csv_lines(file: Iterator[str], path: Path) -> Iterator[list[str]]:
    """The fields of each line."""
    if path.suffix == ".csv":
        return iter(csv.reader(file))
    return (line.rstrip("\r\n").split("\t") for line in file)


def labelled(lines: Iterator[list[str]], columns: Sequence[str], path: str | Path) -> Iterator[LabelledPair]:
    """A pair of each line.

    Raises:
        ValueError: As `read_task`.
    """
    numbered = all(column.isdecimal() for column in columns)
    header = [str(i) for i in range(1 + max(map(int, columns)))] if numbered else next(lines, [])
    missing = [column for column in columns if column not in header]
    if missing:
        raise ValueError(f"wanted columns {', '.join(columns)}, got {', '.join(header) or 'none'} in {path}: name them")
    places = [header.index(column) for column in columns]
    for number, line in enumerate(lines, 1 if numbered else 2):
        if len(line) <= max(places) or line[places[2]] not in ("0", "1"):
            raise ValueError(f"wanted two sentences and a label 0 or 1, got {line!r:.100} in line {number} of {path}")
        yield LabelledPair(line[places[0]], line[places[1]], int(line[places[2]]))


def predict(identifier: CrossEncoder, pairs: Sequence[LabelledPair], batch_size: int = 64) -> list[int]:
    """The label that a classifier gives each pair: 1 or 0.

    Args:
        identifier: A cross-encoder with two outputs (`toolkit.identification.training`).
        pairs: Their own labels are not looked at.
        batch_size: Pairs that are read at a time; they are sorted by length.
    """
    texts = [(pair.sentence1, pair.sentence2) for pair in pairs]
    return identifier.predict(texts, batch_size=batch_size, show_progress_bar=False).argmax(1).tolist()


def figures(labels: Sequence[int], predicted: Sequence[int]) -> dict[str, float]:
    """How many labels are right, and F1 of label 1.

    >>> figures([1, 1, 1, 0], [1, 1, 0, 1])
    {'accuracy': 50.0, 'f1': 66.667, 'pairs': 4}

    Args:
        labels: What people said: 1 or 0.
        predicted: As many, what a classifier says.

    Returns:
        `accuracy` and `f1` in per cent, and the number of `pairs`.

    Source: ParaBank 2 (Hu et al. 2019b), table 4, which has F1 for MRPC.
    """
    accuracy = 100 * float(accuracy_score(labels, predicted))
    f1 = 100 * float(f1_score(labels, predicted, zero_division=0))
    return {"accuracy": round(accuracy, 3), "f1": round(f1, 3), "pairs": len(labels)}
