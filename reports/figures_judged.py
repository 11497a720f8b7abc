"""Figures of what people said of ParaBank's released outputs: each function makes a table or a figure."""

from __future__ import annotations

from reports.figures import beside, experiment, number, table
from toolkit.evaluate.judged import PAPER_GRAMMATICAL
from toolkit.evaluate.systems import PAPER_ORACLES_AGAINST, PAPER_ORACLES_JUDGED


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


MADE = (grammatical, grammaticality_rho, oracles)
