"""Spearman's correlation between scores of word pairs and the human scores of SimLex-999 (Hill et al. 2015).

SimLex-999 rates similarity, not association: "coast" and "shore" are similar, "clothes" and "closet" are not.

Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1, table 13.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from toolkit.bitext.text_file import text_lines
from toolkit.system.extras import require

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
    """Two lower-cased words and their human similarity score in [0, 10]."""

    word1: str
    word2: str
    similarity: float


class _Correlation(NamedTuple):
    """Spearman's rho x 100, the number of word pairs, and the number of pairs without a score."""

    rho: float
    pairs: int
    unseen: int


def read_simlex(path: Path) -> list[WordPair]:
    """Read the word pairs of SimLex-999.txt.

    Raises:
        ValueError: The file does not exist, or is not SimLex-999.
    """
    if not path.is_file():
        raise ValueError(f"wanted SimLex-999.txt, got {path}, which is no file: fetch it from fh295.github.io/simlex")
    records = csv.DictReader(text_lines(str(path)), delimiter="\t", quoting=csv.QUOTE_NONE)
    pairs = [_read_pair(record, number, path) for number, record in enumerate(records, 2)]
    if not pairs:
        raise ValueError(f"wanted SimLex-999.txt, got {path}, which has no word pair: fetch the file again")
    return pairs


def _read_pair(record: dict[str, str | None], number: int, path: Path) -> WordPair:
    """The word pair of one line of SimLex-999.txt.

    Raises:
        ValueError: The line has no word pair.
    """
    word1, word2, similarity = (record.get(name) or "" for name in HEADER)
    try:
        score = float(similarity)
        if not math.isfinite(score) or None in record:
            raise ValueError
        return WordPair(word1.lower(), word2.lower(), score)
    except ValueError:
        raise ValueError(
            f"wanted lines with {', '.join(HEADER)}, as in SimLex-999.txt, got none in line {number} of {path}: "
            "fetch the file again"
        ) from None


def _pair_score(scores: WordScores, word1: str, word2: str) -> float | None:
    """The score of two words: the mean over both orders that have a score; None if neither has one.

    >>> _pair_score({("old", "aged"): 1.0, ("aged", "old"): 2.0}, "old", "aged")
    1.5

    Source: ParaNMT-50M, appendix A.1, footnote 10.
    """
    look_up = scores if callable(scores) else lambda *words: scores.get(words)
    both_orders = [look_up(word1, word2), look_up(word2, word1)]
    known_scores = [score for score in both_orders if score is not None]
    return fmean(known_scores) if known_scores else None


def correlation(pairs: Sequence[WordPair], scores: WordScores) -> _Correlation:
    """Spearman's correlation between scores of word pairs and their human similarity.

    >>> pairs = [WordPair("old", "new", 1.6), WordPair("smart", "bright", 7.0), WordPair("coast", "shore", 8.8)]
    >>> correlation(pairs, {("shore", "coast"): 3.0, ("smart", "bright"): 1.0})
    _Correlation(rho=100.0, pairs=3, unseen=1)

    Args:
        pairs: From `read_simlex`.
        scores: A mapping from pairs of lower-cased words, or a function of two words that returns None for an unknown
            pair; more similar words have higher scores. Pairs without a score get `UNSEEN`.

    Raises:
        ValueError: A score is no finite number, or all scores are equal, so that there is no ranking.
    """
    pair_scores = [_pair_score(scores, pair.word1, pair.word2) for pair in pairs]
    values = [UNSEEN if score is None else score for score in pair_scores]
    if not all(map(math.isfinite, values)):
        raise ValueError("wanted finite scores, got an infinite one or none: return None for an unseen pair")
    unseen = sum(score is None for score in pair_scores)
    if len(set(values)) < 2:
        raise ValueError(
            f"wanted scores that tell word pairs apart, got one value for all {len(values)} of which {unseen} are "
            "unseen: count on more text"
        )
    rho = float(require("scipy.stats").spearmanr(values, [pair.similarity for pair in pairs]).statistic)
    return _Correlation(100 * rho, len(pairs), unseen)
