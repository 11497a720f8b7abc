"""Figures of the choices over a corpus."""

from __future__ import annotations

from research.reports.figures import benchmark, machine, number, table

CHOICES = {  # of `research/benchmarks/bench_selection.py`
    "duplicates": "of equal pairs the best",
    "best_per_reference": "and the best of each reference",
    "best_pairs": "of equal pairs the best, and the better half",
}


def selection_speed() -> str:
    """Seconds and peak memory of every choice, ours and of polars."""
    record = benchmark("selection")
    sizes = sorted((key for key in record["results"] if key.isdigit()), key=int)
    lines = []
    for size in sizes:
        for key, name in CHOICES.items():
            toolkit, polars = (record["results"][size][key][engine] for engine in ("ours", "polars"))
            figures = (f(engine) for engine in (toolkit, polars) for f in (seconds, megabytes))
            lines.append([number(int(size), 0), name, *figures])
    head = ["pairs", "choice", "ours: s", "MB", "polars: s", "MB"]
    return table(head, lines, machine(record))


def seconds(figures: dict) -> str:
    """The seconds of the fastest round."""
    return number(min(figures["seconds"]))


def megabytes(figures: dict) -> str:
    """The peak memory."""
    return number(figures["peak_megabytes"], 0)


def selection_disk() -> str:
    """The size of the corpus on the disk, and what the largest choice writes."""
    results = benchmark("selection")["results"]
    largest = results[max((key for key in results if key.isdigit()), key=int)]
    size = max(largest[key]["ours"]["written_megabytes"] for key in CHOICES)
    return f"{number(largest['corpus_megabytes']['run'], 0)} MB, and {number(size, 0)} MB"


MADE = (selection_speed, selection_disk)
