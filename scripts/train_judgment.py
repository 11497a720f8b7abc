r"""Fit the regression that `toolkit/score/judgment.json` is, and say how well it does on references it has not seen.

    python scripts/train_judgment.py --judgments DIR [--output FILE] [--encoder MODEL]
    python scripts/train_judgment.py --judgments DIR --target grammaticality --output FILE

DIR holds ref.tsv.gz and candidates.tsv.gz as ParaBank's authors published them. The target is the mean over the workers
of a pair; copies of the reference are left out. Grammaticality is measured to show that these features do not predict
it: no file of it ships. References are never split. Features and penalty were chosen by
cross-validation on four fifths of the references: the figure of the last fifth, fitted on the others, is untouched by
that choice, the ten folds over all references are not quite. What is written is fitted on all references.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sacrebleu
import sklearn
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

from toolkit.command import run_script
from toolkit.encoder.load import load_encoder
from toolkit.evaluate.judged import GRAMMATICAL, JudgedText, read_judged
from toolkit.outputs import check_output_file
from toolkit.score.judgment import SHIPPED, Regression, scorable
from toolkit.score.judgment_features import SIGNS, STARTER, features
from toolkit.score.semantic import semantic_signature
from toolkit.settings import check_among
from toolkit.shards import write_whole
from toolkit.starters import starter

PROGRAM = "train_judgment.py"
FOLDS, SEED = 10, 0
PENALTY = 300.0  # ours: from 30 to 1000 Spearman's rho changes by 0.002
TARGETS = ("similarity", "grammaticality")


@dataclass(frozen=True)
class JudgmentSettings:
    """What it is fitted on and where it goes.

    Attributes:
        judgments: Folder with ref.tsv.gz and candidates.tsv.gz.
        target: "similarity" to the reference, or "grammaticality", which wants an output.
        output: The file to write; of similarity the one that ships unless given.
        encoder: A sentence encoder, a Hub id or a folder, whose cosine alone is measured beside the regression.
    """

    judgments: str
    target: str = TARGETS[0]
    output: str | None = None
    encoder: str | None = None

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            ValueError: The target is unknown, or what ships would be written with another target.
        """
        check_among(self, "target", TARGETS)
        if self.output is None and self.target != TARGETS[0]:
            raise ValueError(f"wanted --output with --target {self.target}, got none: name a file of its own")


class Judged(NamedTuple):
    """Pairs of texts with their systems, (pairs,) mean scores and reference numbers, (pairs, features)."""

    references: list[str]
    candidates: list[str]
    systems: list[set[str]]
    scores: np.ndarray
    groups: np.ndarray
    values: np.ndarray


def read_judgments(folder: Path, target: str = TARGETS[0]) -> Judged:
    """The judged pairs that can be scored, copies of the reference left out.

    Raises:
        ValueError: A file is missing or damaged, or there is no such pair.
    """
    references, texts = read_judged(folder)
    kept = [(references[t.id], t) for t in texts if score_of(t, target) is not None and t.text != references[t.id]]
    kept = [(reference, t) for reference, t in kept if scorable(reference) and scorable(t.text)]
    if not kept:
        raise ValueError(f"wanted judged pairs in {folder}, got none that can be scored")
    ones, others = [reference for reference, _ in kept], [t.text for _, t in kept]
    scores, groups = np.array([score_of(t, target) for _, t in kept]), np.array([int(t.id) for _, t in kept])
    return Judged(ones, others, [t.systems for _, t in kept], scores, groups, features(ones, others))


def score_of(text: JudgedText, target: str) -> float | None:
    """The mean of a text's judgments, in [0, 100]; None if nobody gave one."""
    if target == TARGETS[0]:
        return float(np.mean(text.scores)) if text.scores else None
    return float(np.mean(text.grammaticality)) * 100 / GRAMMATICAL


def fit(values: np.ndarray, scores: np.ndarray, groups: np.ndarray, penalty: float = PENALTY) -> Regression:
    """Ridge regression on standardised features, weights bound to `SIGNS`; each reference counts the same."""
    mean, deviation = values.mean(0), values.std(0) + 1e-9
    signs = np.array(list(SIGNS.values()))
    _, number, count = np.unique(groups, return_inverse=True, return_counts=True)
    shares = len(groups) / len(count) / count[number]
    ridge = Ridge(alpha=penalty, positive=True)
    ridge.fit((values - mean) / deviation * signs, scores, sample_weight=shares)
    weights = ridge.coef_ * signs / deviation
    return Regression(weights, float(ridge.intercept_ - mean @ weights))


def out_of_fold(j: Judged) -> tuple[np.ndarray, list[np.ndarray]]:
    """(pairs,) predictions of regressions that have not seen the reference, and the indices of each fold."""
    cuts = list(GroupKFold(FOLDS, shuffle=True, random_state=SEED).split(j.values, groups=j.groups))
    found = np.zeros(len(j.scores))
    for rest, fold in cuts:
        found[fold] = fit(j.values[rest], j.scores[rest], j.groups[rest]).predict(j.values[fold])
    return found, [fold for _, fold in cuts]


def last_fifth(references: list[str]) -> np.ndarray:
    """(pairs,) whether the reference is of the fifth on which nothing was chosen."""
    return np.array([int(hashlib.sha256(r.encode()).hexdigest(), 16) % 5 == 0 for r in references])


def rho(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation."""
    return float(spearmanr(one, other).statistic)


def within_references(found: np.ndarray, j: Judged) -> float:
    """Mean rank correlation among the candidates of one reference, of those with five that people tell apart."""
    members = [np.flatnonzero(j.groups == group) for group in np.unique(j.groups)]
    told_apart = [m for m in members if len(m) >= 5 and np.ptp(j.scores[m]) > 0 and np.ptp(found[m]) > 0]
    return float(np.mean([rho(found[m], j.scores[m]) for m in told_apart]))


def system_means(found: np.ndarray, j: Judged) -> tuple[list[float], list[float]]:
    """For each system the mean prediction and the mean human score of its candidates."""
    rows = [[s in of_pair for of_pair in j.systems] for s in sorted(set().union(*j.systems))]
    return [float(found[of].mean()) for of in rows], [float(j.scores[of].mean()) for of in rows]


def measured(j: Judged) -> dict[str, float | list[float]]:
    """The figures of the regression and, for comparison, of sentence BLEU and of the length ratio alone."""
    found, cuts = out_of_fold(j)
    test = last_fifth(j.references)
    held_out = fit(j.values[~test], j.scores[~test], j.groups[~test]).predict(j.values[test])
    bleu = [sacrebleu.sentence_bleu(b, [a]).score for a, b in zip(j.references, j.candidates, strict=True)]
    overlap, length = np.array(bleu), -j.values[:, list(SIGNS).index("length_difference")]
    rhos = [rho(found[fold], j.scores[fold]) for fold in cuts]
    linear = [float(pearsonr(found[fold], j.scores[fold]).statistic) for fold in cuts]
    figures: dict[str, float | list[float]] = {
        "pairs": len(found),
        "references": len(np.unique(j.groups)),
        "spearman_by_fold": rhos,
        "pearson_by_fold": linear,
        "spearman": float(np.mean(rhos)),
        "spearman_deviation_of_folds": float(np.std(rhos, ddof=1)),
        "pearson": float(np.mean(linear)),
        "pearson_deviation_of_folds": float(np.std(linear, ddof=1)),
        "spearman_within_references": within_references(found, j),
        "spearman_bleu_alone": float(np.mean([rho(overlap[fold], j.scores[fold]) for fold in cuts])),
        "spearman_length_alone": float(np.mean([rho(length[fold], j.scores[fold]) for fold in cuts])),
        "spearman_last_fifth": rho(held_out, j.scores[test]),
        "spearman_last_fifth_bleu_alone": rho(overlap[test], j.scores[test]),
        "pearson_of_system_means": float(pearsonr(*system_means(found, j)).statistic),
    }
    return {name: np.round(figure, 4).tolist() for name, figure in figures.items()}


def cosine_figures(j: Judged, name: str) -> dict[str, float | str]:
    """How well an encoder's cosine alone does on the last fifth."""
    test, encoder = last_fifth(j.references), load_encoder(name)
    one, other = (
        encoder.encode([text for text, chosen in zip(texts, test, strict=True) if chosen], normalize_embeddings=True)
        for texts in (j.references, j.candidates)
    )
    found = rho((one * other).sum(1), j.scores[test])
    return {"encoder": semantic_signature(encoder, name), "spearman_last_fifth_cosine_alone": round(found, 4)}


def record_of(regression: Regression, figures: dict[str, Any], target: str = TARGETS[0]) -> dict:
    """What is written: the weights by name, the intercept, and what they were made by."""
    flags = "" if target == TARGETS[0] else f" --target {target} --output FILE"
    made_by = {
        "command": f"python scripts/train_judgment.py --judgments DIR{flags}",
        "text": "human judgments of ParaBank (Hu et al. 2019a): fitted on all references, measured on held-out ones",
        "folds": FOLDS,
        "seed": SEED,
        "penalty": PENALTY,
        "versions": {"numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "starter": {STARTER: hashlib.sha256((starter(STARTER) / "model.safetensors").read_bytes()).hexdigest()},
        "figures": figures,
    }
    weights = dict(zip(SIGNS, regression.weights.tolist(), strict=True))
    return {"weights": weights, "intercept": regression.intercept, "made_by": made_by}


def is_record(path: Path) -> bool:
    """Whether a file is one that this command wrote."""
    try:
        return {"weights", "intercept", "made_by"} <= set(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return False


def main(arguments: list[str]) -> int:
    """Parse the command line, measure, fit on everything, write, and say in one line what went wrong."""
    return run_script(PROGRAM, __doc__ or "", JudgmentSettings, work, arguments)


def work(s: JudgmentSettings) -> None:
    """Measure, fit and write."""
    output = Path(s.output or SHIPPED)
    check_output_file(output, [s.judgments], is_record)
    judged = read_judgments(Path(s.judgments), s.target)
    figures: dict[str, Any] = dict(measured(judged))
    figures |= cosine_figures(judged, s.encoder) if s.encoder else {}
    regression = fit(judged.values, judged.scores, judged.groups)
    print(*(f"{name:32}{figure}" for name, figure in figures.items()), sep="\n")
    write_whole(output, json.dumps(record_of(regression, figures, s.target), indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
