"""Predict how similar in meaning people would judge a candidate and its reference: a regression on human judgments.

The prediction is a weighted sum of cheap features (`judgment_features.py`), for English only. The weights are in
`judgment.json`, together with a record of the data that they were fitted on; `parabank train judgment` writes it.

Spearman's rho of predictions and judgments is 0.53 on references that were not fitted on (mean of ten folds, standard
deviation 0.07), 0.46 on the fifth of the references on which no choice was made, and 0.36 among the candidates of one
reference. The paper reports 0.53 on CzEng without saying how the references were split. The predictions are shrunk
towards the mean: they serve to sort candidates, and are no measurement of a single one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np

from toolkit.data.rows import Row
from toolkit.score.judgment_features import SIGNS, _sentence_of, features

SHIPPED = Path(__file__).with_name("judgment.json")
# ParaBank, section 5.1, leaves out references of over 100 "tokens post-BPE". Ours: words and marks of either side,
# because pieces are of one translator's vocabulary, and a prediction should not depend on who translated.
MAX_WORDS_AND_MARKS = 100
COPY = 100.0  # ParaBank, section 5.3: a copy of the reference is expected to receive a perfect score
CHUNK = 1000  # ours: rows that are scored at a time


@dataclass(frozen=True)
class Regression:
    """A weighted sum of the features.

    Attributes:
        weights: (features,) points of human score per unit of a feature, in the order of `SIGNS`.
        intercept: The score of a pair whose features are all 0.
    """

    weights: np.ndarray
    intercept: float

    def predict(self, values: np.ndarray) -> np.ndarray:
        """(pairs,) human scores in [0, 100] of (pairs, features)."""
        return np.clip((values * self.weights).sum(1) + self.intercept, 0, 100)


@cache
def _read_regression(path: Path = SHIPPED) -> Regression:
    """The regression in a file that `parabank train judgment` wrote.

    Raises:
        ValueError: It is no such file, or has other features than `judgment_features.py`.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        weights, intercept = record["weights"], float(record["intercept"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"wanted a regression by parabank train judgment, got {path} ({error!r})") from error
    if list(weights) != list(SIGNS):
        raise ValueError(f"wanted weights of {', '.join(SIGNS)}, got {', '.join(weights)} in {path}; train it again")
    return Regression(np.array(list(weights.values()), dtype=np.float64), intercept)


def scorable(text: str) -> bool:
    """Whether a text has a word, and no more than `MAX_WORDS_AND_MARKS` words and marks."""
    sentence = _sentence_of(text)
    return bool(sentence.words) and len(sentence.tokens) <= MAX_WORDS_AND_MARKS


def predict(references: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """Predict the human score of semantic similarity of each pair.

    >>> reference = "He did not see the two dogs."
    >>> kept, changed = predict([reference] * 2, ["He didn't see the two dogs.", "She saw three cats?"])
    >>> kept > 80 > 50 > changed
    True

    Args:
        references: English sentences.
        candidates: As many, the candidate of each reference.

    Returns:
        For each pair a number in [0, 100], which does not depend on the other pairs: 100 for a copy of the reference,
        and nan where a side has no word or more than `MAX_WORDS_AND_MARKS` words and marks.

    Raises:
        ValueError: There are not as many references as candidates.

    Source: ParaBank (Hu et al. 2019a), section 5.1.
    """
    if len(references) != len(candidates):
        raise ValueError(f"wanted one reference for each candidate, got {len(references)} for {len(candidates)}")
    pairs = [(a.strip(), b.strip()) for a, b in zip(references, candidates, strict=True)]
    scores = [COPY if scorable(a) and scorable(b) else math.nan for a, b in pairs]
    unequal_indices = [i for i, (a, b) in enumerate(pairs) if a != b and not math.isnan(scores[i])]
    predictions = _read_regression().predict(
        features([pairs[i][0] for i in unequal_indices], [pairs[i][1] for i in unequal_indices])
    )
    for i, score in zip(unequal_indices, predictions.tolist(), strict=True):
        scores[i] = score
    return scores


def judgment_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Fill `judgment` of every candidate without a reason; it stays None where `predict` gives nan.

    Args:
        rows: Rows of English references; `CHUNK` of them are held at a time.

    Source: ParaBank (Hu et al. 2019a), section 5.1.
    """
    stream = iter(rows)
    while chunk := list(islice(stream, CHUNK)):
        pairs = [(row.reference, c) for row in chunk for c in row.candidates if c.reason is None]
        scores = predict([reference for reference, _ in pairs], [c.text for _, c in pairs])
        for (_, candidate), score in zip(pairs, scores, strict=True):
            candidate.scores.judgment = None if math.isnan(score) else score
        yield from chunk
