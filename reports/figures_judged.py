"""Figures of what people said of ParaBank's released outputs: each function makes a table or a figure."""

from __future__ import annotations

from reports.figures import beside, experiment, number, table
from toolkit.evaluate.judged import PAPER_GRAMMATICAL
from toolkit.evaluate.systems import (
    PAPER_JUDGED,
    PAPER_JUDGED_BY_LENGTH,
    PAPER_ORACLES_AGAINST,
    PAPER_ORACLES_JUDGED,
)


def grammatical() -> str:
    """ParaBank, table 5, in a line: the released judgments, in brackets what is in print."""
    found = experiment("judged")["results"]["systems"]
    return ", ".join(
        f"{name.removeprefix('ParaBank ')} {beside(number(found[name]['grammatical']), paper)}"
        for name, paper in PAPER_GRAMMATICAL.items()
    )


def grammaticality_rho() -> str:
    """How well the regression on the features of the predicted judgment predicts grammaticality."""
    figures = experiment("grammaticality_regression")["made_by"]["figures"]
    agreement = experiment("judged")["results"]["split_half_spearman"]["grammaticality"]
    return (
        f"{number(figures['spearman'], 2)} ± {number(figures['spearman_deviation_of_folds'], 2)} "
        f"(two halves of the annotators agree by {number(agreement, 2)})"
    )


def oracles() -> str:
    """ParaBank 2's oracle systems, picked among ParaBank's."""
    found = experiment("judged")["results"]["oracles"]["against"]
    head = ["oracle (paper)", "human score", "% grammatical", "1-BLEU against the reference", "intersection/union"]
    lines = []
    for name, figures in found.items():
        score, grammar = PAPER_ORACLES_JUDGED[f"ParaBank 2, {name}"]
        bleu, shared, _, _ = PAPER_ORACLES_AGAINST[f"ParaBank 2, {name}"]
        ours = (figures[key] for key in ("score", "grammatical", "one_minus_bleu", "intersection_over_union"))
        papers = (score, grammar, bleu, shared)
        lines.append([name, *(beside(number(one), paper) for one, paper in zip(ours, papers, strict=True))])
    return table(head, lines)


def human_scores() -> str:
    """ParaBank, table 4, top, Czech-English: the released judgments, in brackets what is in print."""
    found = experiment("judged")["results"]["summary"]["systems"]
    lengths = [5, 10, 20, 40]
    lines = []
    for name, papers in PAPER_JUDGED_BY_LENGTH.items():
        own = found[name]
        cells = [beside(number(own["lengths"][str(n)]), papers[n]) for n in lengths]
        average = f"{number(own['average'])} ± {number(own['score_error'])} ({number(PAPER_JUDGED[name])})"
        lines.append([name, *cells, average])
    return table(["system", *(f"{n} words" for n in lengths), "average"], lines)


def human_scores_gap() -> str:
    """The greatest difference of an average to the paper's, in points."""
    found = experiment("judged")["results"]["summary"]["systems"]
    return number(max(abs(found[name]["average"] - paper) for name, paper in PAPER_JUDGED.items()))


def human_agreement() -> str:
    """Krippendorff's alpha of the released judgments: similarity and grammaticality."""
    found = experiment("judged")["results"]["summary"]["agreement"]
    return " and ".join(number(found[name]["alpha"], 2) for name in ("similarity", "grammaticality"))


def people_left_out() -> str:
    """Annotators of the released judgments whom the paper's rules leave out, and all."""
    found = experiment("judged")["results"]["summary"]
    return f"{len(found['left_out'])} of {found['annotators']}"


MADE = (grammatical, grammaticality_rho, human_agreement, human_scores, human_scores_gap, oracles, people_left_out)
