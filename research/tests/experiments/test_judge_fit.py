"""The trees of the judge as scikit-learn has them."""

import numpy as np
import pytest

from research.experiments.judge_fit import boosting, nodes
from toolkit.data.rows import Candidate, Scores
from toolkit.score.judge import Judge


def test_the_judge_reads_trees_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 2))
    usable = values[:, 0] * values[:, 1] + 0.3 * rng.normal(size=400) > 0
    model = boosting().fit(values, usable)
    trees = tuple(nodes(tree.tree_) for (tree,) in model.estimators_)
    prior = float(np.log(usable.mean() / (1 - usable.mean())))
    judge = Judge(("semantic", "edit_ratio"), (0.0, 0.0), (1.0, 1.0), (0.0, 0.0), 0.0, prior, trees)
    expected = model.predict_proba(values[:50])[:, 1]
    for (semantic, ratio), probability in zip(values[:50].tolist(), expected, strict=True):
        scores = Scores(semantic=semantic, edit_ratio=ratio)
        result = judge.probability("A text.", Candidate("Another.", "beam", scores=scores))
        assert result == pytest.approx((0.5 + probability) / 2, abs=1e-4)
