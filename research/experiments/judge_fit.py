r"""Fit the judge of paraphrases on outputs that were read, and state how well it tells others.

    python -m research.experiments.judge_fit --ratings research/experiments/results/judge_ratings.json \
        --judge toolkit/score/judge.json --json research/experiments/results/judge_fit.json

The ratings are those of `judge_pool.py`: candidates with their scores, and letters of readers. A candidate is usable
if its readers agree that it is; one that is trivial counts as not usable. A judge is the mean of a logistic regression
and of boosted trees. Readings of other sets than LATEST have the weight OLDER: their outputs are of earlier versions,
and fewer of them were called usable. The judge without a language model learns from these alone: nearly all outputs of
LATEST were chosen with one, so that more of them are usable than their other scores can say.

Predictions for the figures are those of FOLDS folds, none of which has a text both to fit on and to predict; `latest`
are the figures of that set alone. OLDER was chosen on the same readings, so these are a little too good.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from research.reports import report
from toolkit.data.rows import Scores
from toolkit.score.judge import (
    BACK_FEATURES,
    BOTH_WAYS,
    CRITIC_FEATURES,
    FEATURES,
    WITH_CRITIC,
    WITHOUT_CRITIC,
    Node,
    feature_values,
)
from toolkit.system.whole_files import write_whole

FOLDS = 5
THRESHOLDS = tuple(n / 20 for n in range(0, 19))
PENALTY = 1.0  # scikit-learn's default, of the squared weights
TREES, RATE = 150, 0.04
LATEST, OLDER = "judge_third", 0.3  # chosen by the log-likelihood of LATEST in ten folds among 0, 0.1, 0.3 and 1
DECIMALS = 6


def examples(
    texts: list[dict[str, Any]], features: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The candidates that were read.

    Args:
        texts: Texts with their candidates.
        features: Of the judge.

    Returns:
        Of each candidate its features, whether it is usable, the number of its text, and whether it is of LATEST.
    """
    values, usable, groups, latest = [], [], [], []
    numbers: dict[str, int] = {}
    for text in texts:
        number = numbers.setdefault(text["text"], len(numbers))
        for candidate in text["candidates"]:
            row = feature_values(text["text"], candidate["text"], Scores(**candidate["scores"]), features)
            if "ratings" in candidate and None not in row:
                values.append(row)
                usable.append(all(letter == "u" for letter in candidate["ratings"]))
                groups.append(number)
                latest.append(text["set"] == LATEST)
    return np.array(values, float), np.array(usable), np.array(groups), np.array(latest)


def regression() -> Pipeline:
    """A logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=1000))


def boosting() -> GradientBoostingClassifier:
    """Boosted trees; chosen by the AUC in folds, as the penalty was."""
    return GradientBoostingClassifier(
        n_estimators=TREES, learning_rate=RATE, max_leaf_nodes=8, max_depth=None, min_samples_leaf=30, random_state=0
    )


def nodes(tree: Any, number: int = 0) -> Node:
    """A tree of scikit-learn as the judge reads it: a leaf's value, or feature, threshold and the nodes below."""
    if tree.children_left[number] < 0:
        return round(float(tree.value[number, 0, 0]) * RATE, DECIMALS)
    left, right = (nodes(tree, sides[number]) for sides in (tree.children_left, tree.children_right))
    return [int(tree.feature[number]), round(float(tree.threshold[number]), DECIMALS), left, right]


def fit(model: Any, values: np.ndarray, usable: np.ndarray, weights: np.ndarray) -> Any:
    """Fit a classifier, or the last step of a pipeline, on weighted examples."""
    prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return model.fit(values, usable, **{f"{prefix}sample_weight": weights})


def fitted(texts: list[dict[str, Any]], features: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of a judge with some features, and the figures of its predictions for texts of other folds."""
    values, usable, groups, latest = examples(texts, features)
    weights = np.where(latest, 1.0, OLDER if latest.any() else 1.0)
    predicted = np.zeros(len(usable))
    for learned, test in GroupKFold(min(FOLDS, len(set(groups)))).split(values, usable, groups):
        for model in (regression(), boosting()):
            fit(model, values[learned], usable[learned], weights[learned])
            predicted[test] += model.predict_proba(values[test])[:, 1] / 2
    scaler, model = fit(regression(), values, usable, weights)
    boosted = fit(boosting(), values, usable, weights)
    share = np.average(usable, weights=weights)
    judge = {
        "features": list(features),
        "means": scaler.mean_.tolist(),
        "scales": scaler.scale_.tolist(),
        "weights": model.coef_[0].tolist(),
        "intercept": float(model.intercept_[0]),
        "prior": float(np.log(share / (1 - share))),
        "trees": [nodes(tree.tree_) for (tree,) in boosted.estimators_],
    }
    figures = figures_of(predicted, usable, groups)
    figures["auc_of_each"] = {
        name: float(roc_auc_score(usable, column)) for name, column in zip(features, values.T, strict=True)
    }
    if latest.any():
        figures["latest"] = figures_of(predicted[latest], usable[latest], groups[latest])
    return judge, figures


def figures_of(predicted: np.ndarray, usable: np.ndarray, groups: np.ndarray) -> dict[str, Any]:
    """How well predictions tell usable candidates from others."""
    return {
        "candidates": len(usable),
        "usable": int(usable.sum()),
        "auc": float(roc_auc_score(usable, predicted)),
        "calibration": calibration(predicted, usable),
        "first_outputs": first_outputs(predicted, usable, groups),
    }


def calibration(predicted: np.ndarray, usable: np.ndarray) -> list[dict[str, float]]:
    """In five groups of as many candidates: the mean prediction, and the share that is usable."""
    fifth = ((rankdata(predicted, "ordinal") - 1) * 5 // len(predicted)).astype(int)
    return [
        {"predicted": float(predicted[fifth == n].mean()), "usable": float(usable[fifth == n].mean())} for n in range(5)
    ]


def first_outputs(predicted: np.ndarray, usable: np.ndarray, groups: np.ndarray) -> list[dict[str, float]]:
    """By threshold: for how many texts the best candidate passes, and how many of these are usable."""
    best = np.array(
        [max(np.flatnonzero(groups == number), key=predicted.__getitem__) for number in sorted(set(groups))]
    )
    lines = []
    for threshold in THRESHOLDS:
        passing = best[predicted[best] >= threshold]
        if len(passing):
            lines.append(
                {"threshold": threshold, "texts": len(passing) / len(best), "usable": float(usable[passing].mean())}
            )
    return lines


def main() -> None:
    """Fit the judges and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=Path, required=True)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    texts = json.loads(options.ratings.read_text(encoding="utf-8"))["results"]["texts"]
    kinds = {
        BOTH_WAYS: (*BACK_FEATURES, *CRITIC_FEATURES, *FEATURES),
        WITH_CRITIC: (*CRITIC_FEATURES, *FEATURES),
        WITHOUT_CRITIC: FEATURES,
    }
    judges, figures = {}, {}
    for name, features in kinds.items():
        learned = [text for text in texts if name != WITHOUT_CRITIC or text["set"] != LATEST]
        judges[name], figures[name] = fitted(learned, features)
        print(name, {key: figures[name][key] for key in ("candidates", "usable", "auc")})
    write_whole(options.judge, json.dumps({"judges": judges, "figures": figures}, indent=1) + "\n")
    report.write(options.json, 0, figures, {})


if __name__ == "__main__":
    main()
