r"""Fit the judge of paraphrases on outputs that were read, and state how well it tells others.

    python -m experiments.judge_fit --ratings experiments/results/judge_ratings.json \
        --judge toolkit/score/judge.json --json experiments/results/judge_fit.json

The ratings are those of `judge_pool.py`: candidates with their scores, and letters of readers. A candidate is usable
if its readers agree that it is; one that is trivial counts as not usable. A judge is the mean of a logistic regression
and of boosted trees. Predictions for the figures are those of ten
folds, none of which has a text both to fit on and to predict. The file of the judge is fitted on all of them.
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
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from reports import report
from toolkit.rows import Scores
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
from toolkit.shards import write_whole

FOLDS = 10
THRESHOLDS = tuple(n / 20 for n in range(0, 19))
PENALTY = 1.0  # scikit-learn's default, of the squared weights
TREES, RATE = 150, 0.04
DECIMALS = 6


def examples(texts: list[dict[str, Any]], features: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The features of the candidates that were read, whether they are usable, and the number of the text of each."""
    values, usable, groups = [], [], []
    for number, text in enumerate(texts):
        for candidate in text["candidates"]:
            row = feature_values(text["text"], candidate["text"], Scores(**candidate["scores"]), features)
            if "ratings" in candidate and None not in row:
                values.append(row)
                usable.append(all(letter == "u" for letter in candidate["ratings"]))
                groups.append(number)
    return np.array(values, float), np.array(usable), np.array(groups)


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


def fitted(texts: list[dict[str, Any]], features: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of a judge with some features, and the figures of its predictions for texts of other folds."""
    values, usable, groups = examples(texts, features)
    folds = GroupKFold(min(FOLDS, len(set(groups))))
    predicted = np.mean(
        [
            cross_val_predict(model, values, usable, groups=groups, cv=folds, method="predict_proba")[:, 1]
            for model in (regression(), boosting())
        ],
        axis=0,
    )
    scaler, model = regression().fit(values, usable)
    boosted = boosting().fit(values, usable)
    judge = {
        "features": list(features),
        "means": scaler.mean_.tolist(),
        "scales": scaler.scale_.tolist(),
        "weights": model.coef_[0].tolist(),
        "intercept": float(model.intercept_[0]),
        "prior": float(np.log(usable.mean() / (1 - usable.mean()))),
        "trees": [nodes(tree.tree_) for (tree,) in boosted.estimators_],
    }
    figures = {
        "candidates": len(usable),
        "usable": int(usable.sum()),
        "auc": float(roc_auc_score(usable, predicted)),
        "auc_of_each": {
            name: float(roc_auc_score(usable, column)) for name, column in zip(features, values.T, strict=True)
        },
        "calibration": calibration(predicted, usable),
        "first_outputs": first_outputs(predicted, usable, groups),
    }
    return judge, figures


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
        judges[name], figures[name] = fitted(texts, features)
        print(name, {key: figures[name][key] for key in ("candidates", "usable", "auc")})
    write_whole(options.judge, json.dumps({"judges": judges, "figures": figures}, indent=1) + "\n")
    report.write(options.json, 0, figures, {})


if __name__ == "__main__":
    main()
