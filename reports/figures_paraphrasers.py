"""Figures of paraphrasers and of their guards: each function makes a table."""

from __future__ import annotations

from reports.figures import experiment, number, table


def guards() -> str:
    """What guards and floors of the cosine refuse, by human score."""
    found = experiment("guards")["results"]
    lines = []
    for name, figures in found["refused_by"].items():
        low, high = figures["difference"]
        lines.append(
            [
                name,
                number(figures["refused"], 0),
                number(figures["share"]),
                number(figures["score_refused"]),
                number(figures["score_kept"]),
                f"{number(low)} to {number(high)}",
                number(figures["good_refused"]),
            ]
        )
    head = ["refused by", "texts", "% of all", "mean score", "mean score of the rest", "difference"]
    below = f"{number(found['of']['texts'], 0)} texts. Cosine: `{found['of']['signature']}`."
    return table([*head, "% of the good ones"], lines, below)


MADE = (guards,)
