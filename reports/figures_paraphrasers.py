"""Figures of paraphrasers and of their guards: each function makes a table."""

from __future__ import annotations

from reports.figures import experiment, number, table


def guards() -> str:
    """What guards and floors of the cosine refuse, by human score."""
    found = experiment("guards")["results"]
    below = f"{number(found['of']['texts'], 0)} texts. Cosine: `{found['of']['signature']}`."
    return refused_table(found["refused_by"], below)


def refused_table(refused_by: dict[str, dict], below: str = "") -> str:
    """A line for each guard or floor, with what it refuses beside what it keeps (`experiments/guards_table.py`)."""
    columns = [("refused", 0), *((name, 1) for name in ("share", "score_refused", "score_kept"))]
    lines = [
        [
            name,
            *(number(figures[column], places) for column, places in columns),
            " to ".join(number(bound) for bound in figures["difference"]),
            number(figures["good_refused"]),
        ]
        for name, figures in refused_by.items()
    ]
    head = ["refused by", "texts", "% of all", "mean score", "mean score of the rest", "difference"]
    return table([*head, "% of the good ones"], lines, below)


MADE = (guards,)
