"""Do scores of word pairs rank them as people do? Spearman's rho on SimLex-999 (Hill et al. 2015).

SimLex-999 asks for similarity, not for association: "coast" and "shore" are alike, "clothes" and "closet" are not.

Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1, table 13.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from scipy.stats import spearmanr

if TYPE_CHECKING:
    pass

HEADER = ("word1", "word2", "SimLex999")
UNSEEN = 0.0  # ParaNMT-50M, A.1: "assigning a similarity of 0 to unseen word pairs"
# ParaNMT-50M, table 13: rho x 100
PAPER = {
    "PPDB L": 37.97,
    "PPDB XL": 52.32,
    "PPDB XXL": 60.44,
    "PPDB XXXL": 61.47,
    "cross-sentence PMI": 52.12,
    "adjusted PMI": 61.59,
}
SIMLEX_SIGNATURE = f"Spearman|x100|SimLex-999|ties:average|orders:mean|unseen:{UNSEEN:g}|case:lc|v:1.0.0"

WordScores = Mapping[tuple[str, str], float] | Callable[[str, str], float | None]


class WordPair(NamedTuple):
    """Two lower-cased words and how similar people find them, in [0, 10]."""

    one: str
    other: str
    similarity: float


class Correlation(NamedTuple):
    """Spearman's rho x 100, the number of word pairs, and of those that had no score."""

    rho: float
    pairs: int
    unseen: int


def read_simlex(path: Path) -> list[WordPair]:
    """The word pairs of SimLex-999.txt.

    Raises:
        ValueError: There is no such file, or it is not SimLex-999.
    """
    if not path.is_file():
        raise ValueError(f"wanted SimLex-999.txt, got {path}, which is no file: fetch it from fh295.github.io/simlex")
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        records = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        pairs = [read_pair(record, number, path) for number, record in enumerate(records, 2)]
    if not pairs:
        raise ValueError(f"wanted SimLex-999.txt, got {path}, which has no word pair: fetch the file again")
    return pairs


def read_pair(record: dict[str, str | None], number: int, path: Path) -> WordPair:
    """The word pair of a line of SimLex-999.txt.

    Raises:
        ValueError: It is none.
    """
    one, other, similarity = (record.get(name) or "" for name in HEADER)
    try:
        return WordPair(one.lower(), other.lower(), float(similarity))
    except ValueError:
        raise ValueError(
            f"wanted lines with {', '.join(HEADER)}, as in SimLex-999.txt, got none in line {number} of {path}: "
            "fetch the file again"
        ) from None


def pair_score(scores: WordScores, one: str, other: str) -> float | None:
    """The score of two words; the mean of both orders where both have one; None where neither has.

    >>> pair_score({("old", "aged"): 1.0, ("aged", "old"): 2.0}, "old", "aged")
    1.5

    Source: ParaNMT-50M, appendix A.1, footnote 10.
    """
    look_up = scores if callable(scores) else lambda *words: scores.get(words)
    found = [look_up(one, other), look_up(other, one)]
    known = [score for score in found if score is not None]
    return fmean(known) if known else None


def correlation(pairs: Sequence[WordPair], scores: WordScores) -> Correlation:
    """How well scores of word pairs rank them.

    >>> pairs = [WordPair("old", "new", 1.6), WordPair("smart", "bright", 7.0), WordPair("coast", "shore", 8.8)]
    >>> correlation(pairs, {("shore", "coast"): 3.0, ("smart", "bright"): 1.0})
    Correlation(rho=100.0, pairs=3, unseen=1)

    Args:
        pairs: From `read_simlex`.
        scores: By a pair of lower-cased words, or a function of two that returns None for what it does not know;
            the more alike, the higher. `UNSEEN` stands for what has no score.

    Raises:
        ValueError: A score is no finite number, or all are the same, so that there is no rank.
    """
    found = [pair_score(scores, pair.one, pair.other) for pair in pairs]
    values = [UNSEEN if score is None else score for score in found]
    if not all(map(math.isfinite, values)):
        raise ValueError("wanted finite scores, got an infinite one or none: return None for an unseen pair")
    unseen = sum(score is None for score in found)
    if len(set(values)) < 2:
        raise ValueError(
            f"wanted scores that tell word pairs apart, got one value for all {len(values)} of which {unseen} are "
            "unseen: count on more text"
        )
    rho = float(spearmanr(values, [pair.similarity for pair in pairs]).statistic)
    return Correlation(100 * rho, len(pairs), unseen)
