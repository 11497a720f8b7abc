"""Fit the regression of `toolkit/score/judgment.py` on human judgments, and measure it on held-out references.

The target is the mean over the annotators of a pair; copies of the reference are left out, and no reference is split
between folds. Features and penalty were chosen by cross-validation on four fifths of the references. The correlation on
the last fifth, with a regression fitted on the others, does not depend on that choice; the correlations of the ten
folds over all references do a little.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sacrebleu

from toolkit.evaluate.judged import GRAMMATICAL, _JudgedText, read_judged
from toolkit.score.judgment import Regression, scorable
from toolkit.score.judgment_features import SIGNS, STARTER, features
from toolkit.score.semantic import semantic_signature
from toolkit.starters import starter
from toolkit.system.contents import hash_file
from toolkit.system.extras import require

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FOLDS, SEED = 10, 0
PENALTY = 300.0  # ours: from 30 to 1000 Spearman's rho changes by 0.002
SIMILARITY, GRAMMATICALITY = "similarity", "grammaticality"
TARGETS = (SIMILARITY, GRAMMATICALITY)


class _JudgedPairs(NamedTuple):
    """References and candidates with their human scores.

    Attributes:
        references: (pairs,) texts.
        candidates: (pairs,) texts.
        systems: (pairs,) the systems that produced the candidate.
        scores: (pairs,) mean human scores in [0, 100].
        groups: (pairs,) numbers of the references.
        values: (pairs, features), see `toolkit.score.judgment_features`.
    """

    references: list[str]
    candidates: list[str]
    systems: list[set[str]]
    scores: np.ndarray
    groups: np.ndarray
    values: np.ndarray


def read_judgments(folder: Path, target: str = SIMILARITY) -> _JudgedPairs:
    """The judged pairs that can be scored, without copies of the reference.

    Args:
        folder: With ref.tsv.gz and candidates.tsv.gz, as ParaBank's authors published them.
        target: "similarity" to the reference, or "grammaticality".

    Raises:
        ValueError: A file is missing or damaged, or there is no such pair.
    """
    references, texts = read_judged(folder)
    pairs = [(references[t.id], t) for t in texts if _mean_score(t, target) is not None and t.text != references[t.id]]
    pairs = [(reference, t) for reference, t in pairs if scorable(reference) and scorable(t.text)]
    if not pairs:
        raise ValueError(f"wanted judged pairs in {folder}, got none that can be scored")
    reference_texts, candidate_texts = [reference for reference, _ in pairs], [t.text for _, t in pairs]
    scores, groups = np.array([_mean_score(t, target) for _, t in pairs]), np.array([int(t.id) for _, t in pairs])
    return _JudgedPairs(
        reference_texts,
        candidate_texts,
        [t.systems for _, t in pairs],
        scores,
        groups,
        features(reference_texts, candidate_texts),
    )


def _mean_score(text: _JudgedText, target: str) -> float | None:
    """The mean of a text's judgments, in [0, 100]; None if nobody gave one."""
    if target == SIMILARITY:
        return float(np.mean(text.scores)) if text.scores else None
    return float(np.mean(text.grammaticality)) * 100 / GRAMMATICAL


def fit(values: np.ndarray, scores: np.ndarray, groups: np.ndarray, penalty: float = PENALTY) -> Regression:
    """Ridge regression on standardised features.

    Args:
        values: (pairs, features).
        scores: (pairs,) in [0, 100].
        groups: (pairs,) numbers of the references; all references have the same weight, however many pairs they have.
        penalty: Weight of the squared norm of the coefficients, >= 0.

    Returns:
        The regression; each of its weights has the sign of `SIGNS` or is 0.
    """
    mean, deviation = values.mean(0), values.std(0) + 1e-9
    signs = np.array(list(SIGNS.values()))
    _, number, count = np.unique(groups, return_inverse=True, return_counts=True)
    sample_weight = len(groups) / len(count) / count[number]
    ridge = require("sklearn.linear_model").Ridge(alpha=penalty, positive=True)
    ridge.fit((values - mean) / deviation * signs, scores, sample_weight=sample_weight)
    weights = ridge.coef_ * signs / deviation
    return Regression(weights, float(ridge.intercept_ - mean @ weights))


def _out_of_fold(judged: _JudgedPairs) -> tuple[np.ndarray, list[np.ndarray]]:
    """(pairs,) predictions of regressions that were fitted without the pair's reference; the indices of each fold."""
    splits = require("sklearn.model_selection").GroupKFold(FOLDS, shuffle=True, random_state=SEED)
    folds = list(splits.split(judged.values, groups=judged.groups))
    predictions = np.zeros(len(judged.scores))
    for training, fold in folds:
        regression = fit(judged.values[training], judged.scores[training], judged.groups[training])
        predictions[fold] = regression.predict(judged.values[fold])
    return predictions, [fold for _, fold in folds]


def last_fifth(references: list[str]) -> np.ndarray:
    """(pairs,) whether the reference is in the fifth on which nothing was chosen."""
    return np.array([int(hashlib.sha256(r.encode()).hexdigest(), 16) % 5 == 0 for r in references])


def _rho(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rank correlation."""
    return float(require("scipy.stats").spearmanr(first, second).statistic)


def _within_references(predictions: np.ndarray, judged: _JudgedPairs) -> float:
    """Mean rank correlation among the candidates of one reference.

    Only references with at least five candidates count, and only where neither the human nor the predicted scores are
    all equal.
    """
    members = [np.flatnonzero(judged.groups == group) for group in np.unique(judged.groups)]
    members = [m for m in members if len(m) >= 5 and np.ptp(judged.scores[m]) > 0 and np.ptp(predictions[m]) > 0]
    return float(np.mean([_rho(predictions[m], judged.scores[m]) for m in members]))


def _system_means(predictions: np.ndarray, judged: _JudgedPairs) -> tuple[list[float], list[float]]:
    """For each system the mean prediction and the mean human score of its candidates."""
    systems = sorted(set().union(*judged.systems))
    rows = [[system in systems_of_pair for systems_of_pair in judged.systems] for system in systems]
    return [float(predictions[row].mean()) for row in rows], [float(judged.scores[row].mean()) for row in rows]


def fit_figures(judged: _JudgedPairs) -> dict[str, float | list[float]]:
    """The correlations of the regression and, for comparison, of sentence BLEU and of the length ratio alone."""
    predictions, folds = _out_of_fold(judged)
    test = last_fifth(judged.references)
    test_predictions = fit(judged.values[~test], judged.scores[~test], judged.groups[~test]).predict(
        judged.values[test]
    )
    texts = zip(judged.references, judged.candidates, strict=True)
    bleu = np.array([sacrebleu.sentence_bleu(candidate, [reference]).score for reference, candidate in texts])
    length = -judged.values[:, list(SIGNS).index("length_difference")]
    rhos = [_rho(predictions[fold], judged.scores[fold]) for fold in folds]
    pearsonr = require("scipy.stats").pearsonr
    linear = [float(pearsonr(predictions[fold], judged.scores[fold]).statistic) for fold in folds]
    figures: dict[str, float | list[float]] = {
        "pairs": len(predictions),
        "references": len(np.unique(judged.groups)),
        "spearman_by_fold": rhos,
        "pearson_by_fold": linear,
        "spearman": float(np.mean(rhos)),
        "spearman_deviation_of_folds": float(np.std(rhos, ddof=1)),
        "pearson": float(np.mean(linear)),
        "pearson_deviation_of_folds": float(np.std(linear, ddof=1)),
        "spearman_within_references": _within_references(predictions, judged),
        "spearman_bleu_alone": float(np.mean([_rho(bleu[fold], judged.scores[fold]) for fold in folds])),
        "spearman_length_alone": float(np.mean([_rho(length[fold], judged.scores[fold]) for fold in folds])),
        "spearman_last_fifth": _rho(test_predictions, judged.scores[test]),
        "spearman_last_fifth_bleu_alone": _rho(bleu[test], judged.scores[test]),
        "pearson_of_system_means": float(pearsonr(*_system_means(predictions, judged)).statistic),
    }
    return {name: np.round(figure, 4).tolist() for name, figure in figures.items()}


def cosine_figures(judged: _JudgedPairs, encoder: SentenceTransformer, name: str) -> dict[str, float | str]:
    """The correlation of an encoder's cosine alone on the last fifth.

    Args:
        judged: The pairs.
        encoder: A sentence encoder.
        name: Its name, for the signature.
    """
    test = last_fifth(judged.references)
    reference_vectors, candidate_vectors = (
        encoder.encode([text for text, is_test in zip(texts, test, strict=True) if is_test], normalize_embeddings=True)
        for texts in (judged.references, judged.candidates)
    )
    correlation = _rho((reference_vectors * candidate_vectors).sum(1), judged.scores[test])
    return {"encoder": semantic_signature(encoder, name), "spearman_last_fifth_cosine_alone": round(correlation, 4)}


def regression_record(regression: Regression, figures: dict[str, Any], target: str = SIMILARITY) -> dict:
    """The content of the file of a regression: weights by feature, intercept, and how they were made."""
    flags = "" if target == SIMILARITY else f" --target {target} --output FILE"
    made_by = {
        "command": f"parabank train judgment --judgments DIR{flags}",
        "text": "human judgments of ParaBank (Hu et al. 2019a): fitted on all references, measured on held-out ones",
        "folds": FOLDS,
        "seed": SEED,
        "penalty": PENALTY,
        "versions": {"numpy": np.__version__, "scikit-learn": require("sklearn").__version__},
        "starter": {STARTER: hash_file(starter(STARTER) / "model.safetensors")},
        "figures": figures,
    }
    weights = dict(zip(SIGNS, regression.weights.tolist(), strict=True))
    return {"weights": weights, "intercept": regression.intercept, "made_by": made_by}


def is_regression_record(path: Path) -> bool:
    """Whether a file has the keys of `regression_record`."""
    try:
        return {"weights", "intercept", "made_by"} <= set(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return False
