"""The pictures of a data set's card: its funnel, the histograms of its scores, its lengths, and how diverse it is."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.evaluate.corpus import PAPER_BY_RANK
from toolkit.package._histograms import BINS
from toolkit.system.whole_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

ASSETS = "assets"  # in a data set's folder
BLUE, GREY, ORANGE, INK = "#0b6e99", "#b8c0c8", "#c45500", "#30363c"
DPI = 130
SHOWN = {  # how a picture names the scores
    "usable": "probability of being usable",
    "dual": "dual score, nats per token",
    "dual_per_token": "both scores per token, nats",
    "translation_score": "translation score, nats per token",
    "semantic": "semantic score",
    "edit_ratio": "edit ratio",
    "trigram_overlap": "overlap of word trigrams",
    "intersection_over_union": "intersection over union of pieces",
    "judgment": "predicted human judgment",
    "fluency": "fluency, nats per token",
    "given_reference": "after its reference, less a repetition, nats per token",
    "after_reference": "after its reference, nats per token",
    "relative_fluency": "fluency less that of the reference",
    "entailment": "probability of entailment, lesser direction",
    "parapluie": "ParaPLUIE, nats",
    "rubric": "grade of a language model",
    "diversity": "diversity of words and their order",
}
TRANSLATED = "translated_references"  # of statistics: the sources are translations of the references
READ = {True: "lines of the bitext", False: "sentences of the text"}  # whether the data set has sources of a bitext
OTHERS = {
    "not_chosen": "not chosen",
    "held_out": "equal to a reference of a held-out split",
    "repeated": "equal to a better pair",
}


def _draw_pictures(statistics: dict, folder: Path) -> list[str]:
    """Draw the pictures of a card.

    Args:
        statistics: What `toolkit.package.statistics.measure` returned.
        folder: The folder of the data set; the pictures are PNG files in its folder `ASSETS`.

    Returns:
        The names of the pictures, without suffix; none where matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        print("the card has no pictures, which the package matplotlib draws: pip install '.[plots]' in the checkout")
        return []
    pictures: dict[str, Callable[[dict], Figure]] = {"funnel": _funnel, "scores": _scores, "lengths": _lengths}
    if _most_paraphrases(statistics) > 1:
        pictures["diversity"] = _diversity
    if not statistics["scores"]:
        del pictures["scores"]
    for name, draw in pictures.items():
        png = io.BytesIO()
        draw(statistics).savefig(png, format="png", dpi=DPI, metadata={"Software": None}, facecolor="white")
        write_whole(folder / ASSETS / f"{name}.png", png.getvalue())
    return list(pictures)


def _panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, some in a row."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    figure = Figure(figsize=(9, height * rows), layout="constrained")
    axes = [figure.add_subplot(rows, min(columns, count), number + 1) for number in range(count)]
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8, colors=INK)
    return figure, axes


def _funnel(statistics: dict) -> Figure:
    """Bars: from what was read to references, and from candidates to paraphrases, with what was refused."""
    from matplotlib.figure import Figure

    inputs, outcomes, total = statistics["inputs"], statistics["candidates"], statistics["total"]
    other_outcomes = {label: outcomes[key] for key, label in OTHERS.items() if outcomes.get(key)}
    unit = READ[bool(statistics["source_languages"]) and TRANSLATED not in statistics]
    lines = {unit: inputs["lines"], **_most_first(inputs["refused"])}
    lines |= {"became references": total["references"]}
    candidates = {"candidates": total["candidates"], **_most_first(outcomes["refused"] | other_outcomes)}
    candidates |= {"became paraphrases": total["pairs"]}
    heights = [len(lines), len(candidates)]
    figure = Figure(figsize=(9, 0.24 * sum(heights) + 1.3), layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=heights)
    for position, (title, counts) in enumerate(((unit.split()[0].capitalize(), lines), ("Candidates", candidates))):
        axes = figure.add_subplot(grid[position, 0])
        names, numbers = list(counts), list(counts.values())
        colours = [BLUE if number in (0, len(names) - 1) else GREY for number in range(len(names))]
        bars = axes.barh(names, numbers, color=colours)
        axes.bar_label(bars, labels=[f"{number:,}" for number in numbers], padding=3, color=INK, fontsize=8)
        axes.set_xlim(0, 1.15 * max(numbers))
        axes.set_title(f"{title}: blue came in and was kept, grey was refused", fontsize=9, loc="left")
        axes.invert_yaxis()
        _count_on(axes.xaxis)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, colors=INK)
    return figure


def _count_on(axis: Axis) -> None:
    """Let an axis show whole numbers alone, so that no mark stands for another number than the one beside it."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter("{x:,.0f}")


def _most_first(counts: dict[str, int]) -> dict[str, int]:
    """Counts by name, the greatest first.

    >>> _most_first({"copy": 1, "dual": 3})
    {'dual': 3, 'copy': 1}
    """
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _label(score: str, statistics: dict) -> str:
    """How a score is named: without a source the forward score is that of the infilling."""
    infilled = score == "translation_score" and not statistics["source_languages"]
    return "likelihood of the infilling, nats per token" if infilled else SHOWN[score]


def _scores(statistics: dict) -> Figure:
    """Histograms of the pairs by each score that they have."""
    histograms = statistics["scores"]
    figure, axes = _panels(len(histograms), 2 if len(histograms) == 4 else 3, 2.1)
    for panel, (name, bins) in zip(axes, histograms.items(), strict=True):
        edges = [bins["least"] + bins["width"] * number for number in range(BINS)]
        panel.bar(edges, bins["pairs"], width=0.92 * bins["width"], align="edge", color=BLUE)
        panel.set_xlabel(_label(name, statistics), fontsize=8, color=INK)
        panel.set_ylabel("pairs", fontsize=8, color=INK)
        _count_on(panel.yaxis)
    return figure


def _lengths(statistics: dict) -> Figure:
    """The lengths of references and of paraphrases in words."""
    from matplotlib.ticker import MaxNLocator

    figure, (axes,) = _panels(1, 1, 2.4)
    for (name, counts), colour in zip(statistics["length_histograms"].items(), (GREY, BLUE), strict=True):
        total = max(sum(counts), 1)
        axes.step(range(len(counts)), [100 * count / total for count in counts], where="mid", color=colour, label=name)
    last = max(length for counts in statistics["length_histograms"].values() for length, n in enumerate(counts) if n)
    axes.set_xlim(0, last + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("words", fontsize=8, color=INK)
    axes.set_ylabel("% of the texts", fontsize=8, color=INK)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _diversity(statistics: dict) -> Figure:
    """How different the paraphrases of each rank are from their references, beside the figures of ParaBank 2."""
    ranks = statistics["diversity"]["by_rank"][: _most_paraphrases(statistics)]
    figure, axes = _panels(2, 2, 2.3)
    measures = (
        ("one_minus_bleu", "(1-BLEU) x 100", 0),
        ("intersection_over_union", "intersection over union x 100", 1),
    )
    for panel, (key, axis_label, position) in zip(axes, measures, strict=True):
        numbers = [line["rank"] for line in ranks]
        panel.bar(numbers, [line[key] for line in ranks], color=BLUE, label="this data set")
        paper = [(rank, PAPER_BY_RANK[rank][position]) for rank in numbers if rank in PAPER_BY_RANK]
        panel.plot(*zip(*paper, strict=True), "o", color=ORANGE, label="ParaBank 2, table 1 (other text)")
        panel.set_xticks(numbers)
        panel.set_xlabel("rank, counted from 1", fontsize=8, color=INK)
        panel.set_ylabel(axis_label, fontsize=8, color=INK)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    return figure


def _most_paraphrases(statistics: dict) -> int:
    """The most paraphrases of a reference; the measures of further ranks are those of its last one."""
    return max(map(int, statistics["paraphrases_per_reference"]))
