"""How probably a reader would call an English candidate usable, by scores that it has.

Usable means: it says what its reference says, a person could have written it, and its wording differs in more than
contractions and articles. A judge is the mean of a logistic regression and of boosted trees (Friedman 2001): trees can
express that a score matters only where another one is low, and the regression still changes where they are constant. It
was fitted on outputs of several systems that were read without their names (`research/experiments/judge_fit.py`);
`judge.json` has its weights, its calibration and how well it tells outputs of other texts. There are three: one without
a language model, which tells least; one with what such a model says of the candidate after the reference (`critic.py`);
and one that also has what it says of the reference after the candidate.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from toolkit.data.rows import Candidate, Row, Scores
from toolkit.score._verb_forms import changes_aspect
from toolkit.score.names import FUNCTION_WORDS
from toolkit.score.word_changes import _word_changes

SHIPPED = Path(__file__).with_name("judge.json")
BOTH_WAYS, WITH_CRITIC, WITHOUT_CRITIC = "with a language model, both ways", "with a language model", "without"
SQUARED = "_squared"  # behind the name of a feature: its square, because what is too near or too far is less usable
FARTHEST = 6.0  # ours: deviations from the mean; what is farther, of texts longer than any that were read, says no more
TIMES = " times "  # between the names of two features: their product
CRITIC_FEATURES = (  # `relative_fluency` adds less than a hundredth of AUC for twice the time
    *("given_reference", "given_reference_squared", "after_reference"),
    *("changed_words", "after_changes", "unchanged_words"),
)
BACK_FEATURES = (  # one improbable direction is worse where the other is, too
    *("after_candidate", "after_candidate_total", "after_candidate_least"),
    *("after_candidate_squared", "after_candidate_total_squared", "after_candidate_least_squared"),
    *("after_candidate times after_reference", "after_candidate_least times changed_words"),
)
FEATURES = (
    *("forward", "backward", "semantic", "intersection_over_union", "edit_ratio"),
    *("new_words", "lost_words", "shorter_by", "no_new_word", "changed_aspect", "more_articles"),
    *("semantic_squared", "intersection_over_union_squared", "edit_ratio_squared", "lost_words_squared"),
    *("more_articles_squared", "edits", "deleted", "inserted", "rarest_new", "new", "more_frequent"),
)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
ARTICLES = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)


Node = float | list[Any]  # of a tree: a leaf's value, or a feature's number, a threshold, and the nodes on both sides


@dataclass(frozen=True)
class Judge:
    """A logistic regression and boosted trees.

    Attributes:
        features: Names of the scores that it weighs.
        means: Of each, on what it was fitted on; it is subtracted.
        scales: Standard deviations, likewise; it is divided by them.
        weights: Of each.
        intercept: The logit of a candidate with mean scores.
        prior: The logit that the values of the trees are added to.
        trees: The trees; without any the probability is that of the regression.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    prior: float = 0.0
    trees: tuple[Node, ...] = ()

    def probability(self, reference: str, candidate: Candidate) -> float | None:
        """Of a candidate, in [0, 1]; None where it lacks a score."""
        values = [
            value
            for value in feature_values(reference, candidate.text, candidate.scores, self.features)
            if value is not None
        ]
        if len(values) < len(self.features):
            return None
        logit = self.intercept
        for value, mean, scale, weight in zip(values, self.means, self.scales, self.weights, strict=True):
            logit += weight * max(-FARTHEST, min(FARTHEST, (value - mean) / scale))
        if not self.trees:
            return _logistic(logit)
        boosted = self.prior + sum(_leaf(tree, values) for tree in self.trees)
        return (_logistic(logit) + _logistic(boosted)) / 2


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-500.0, logit)))  # below that the exponential overflows


def _leaf(node: Node, values: Sequence[float]) -> float:
    """The value of the leaf that the features of a candidate lead to."""
    while isinstance(node, list):
        feature, threshold, low, high = node
        node = low if values[feature] <= threshold else high
    return node


def feature_values(reference: str, text: str, scores: Scores, features: Sequence[str]) -> list[float | None]:
    """The features of a candidate.

    Log-likelihoods are per token, in nats. Of the words that are no function words, `new_words` are those that the
    reference lacks and `lost_words` those that the candidate lacks, as a share of the reference's words; `shorter_by`
    is by how many more were lost than are new; `no_new_word` is 1 where none is new. `changed_aspect` is 1 where a verb
    became progressive or perfect or ceased to be (`verb_forms.py`); `more_articles` counts those that were added. The
    others compare words one after another (`word_changes.py`); `more_frequent` is the log-frequency of the new words
    less that of the lost ones.

    Args:
        reference: Its reference.
        text: The candidate's text.
        scores: Its scores.
        features: The names of those that are wanted, of `FEATURES`, `CRITIC_FEATURES` and `BACK_FEATURES`.
    """
    before, after = _content_words(reference), _content_words(text)
    new, lost = after - before, before - after
    count = max(1, len(WORD.findall(reference)))
    changes = _word_changes(reference, text)
    values: dict[str, float | None] = {
        "forward": scores.translation_score,
        "backward": scores.backward_score,
        "given_reference": scores.given_reference,
        "after_reference": scores.after_reference,
        "changed_words": scores.changed_words,
        "after_changes": scores.after_changes,
        "unchanged_words": scores.unchanged_words,
        "after_candidate": scores.after_candidate,
        "after_candidate_total": scores.after_candidate_total,
        "after_candidate_least": scores.after_candidate_least,
        "semantic": scores.semantic,
        "intersection_over_union": scores.intersection_over_union,
        "edit_ratio": scores.edit_ratio,
        "new_words": len(new) / count,
        "lost_words": len(lost) / count,
        "shorter_by": float(max(0, len(lost) - len(new))),
        "no_new_word": float(not new),
        "changed_aspect": float(changes_aspect(reference, text)),
        "more_articles": float(len(ARTICLES.findall(text)) - len(ARTICLES.findall(reference))),
        "edits": float(changes.edits),
        "deleted": float(changes.deleted),
        "inserted": float(changes.inserted),
        "rarest_new": changes.rarest_new,
        "new": changes.new,
        "more_frequent": changes.new - changes.lost,
    }
    return [_feature(values, name) for name in features]


def _feature(values: Mapping[str, float | None], name: str) -> float | None:
    """A value by its name, its square by that with `SQUARED`, or a product; None if a value is unknown."""
    if TIMES in name:
        first, second = (values[part] for part in name.split(TIMES))
        return None if first is None or second is None else first * second
    value = values[name.removesuffix(SQUARED)]
    return value**2 if value is not None and name.endswith(SQUARED) else value


def _content_words(text: str) -> set[str]:
    """The words of an English text in lower case, without function words.

    >>> sorted(_content_words("She lost her keys on the way home."))
    ['home', 'keys', 'lost', 'way']
    """
    return set(WORD.findall(text.lower())) - FUNCTION_WORDS


@cache
def read_judge(kind: str, path: Path = SHIPPED) -> Judge:
    """A judge.

    Args:
        kind: `BOTH_WAYS`, `WITH_CRITIC` or `WITHOUT_CRITIC`.
        path: Its file.

    Raises:
        ValueError: The file was not written by `research/experiments/judge_fit.py`.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))["judges"][kind]
        means, scales, weights = (tuple(map(float, record[name])) for name in ("means", "scales", "weights"))
        constants = float(record["intercept"]), float(record["prior"])
        return Judge(tuple(record["features"]), means, scales, weights, *constants, tuple(record["trees"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"wanted a judge by research/experiments/judge_fit.py, got {path} ({error!r})") from error


def judge_rows(rows: Iterable[Row], judge: Judge) -> Iterator[Row]:
    """Fill `usable` of every candidate without a reason that has all features of the judge.

    Args:
        rows: Rows of English references.
        judge: See `read_judge`.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.scores.usable = judge.probability(row.reference, candidate)
        yield row
