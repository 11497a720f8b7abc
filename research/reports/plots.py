"""Plots of the documents, from the results of benchmarks and experiments: `python -m research.reports.plots`.

It writes PNG files to docs/plots/.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from research.reports.figures import ROOT, benchmark, experiment
from research.reports.figures_decoding import ENGINES, key_of

FOLDER = ROOT / "docs" / "plots"
OURS, PEERS, INK = "#0b6e99", "#b8c0c8", "#30363c"
PANELS = {"opus20k": "OPUS-MT size (6+6 layers of 512)", "starter": "starter (4+2 layers of 256)"}


def decoding() -> Figure:
    """Bars: sampled tokens per second of each engine, for two sizes of the model."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    for place, (size, title) in enumerate(PANELS.items()):
        results = benchmark(f"decoding_{size}")["results"][size]
        rates = {name: results[key_of(name)]["tokens_per_second"] for name in ENGINES if key_of(name) in results}
        names = [ENGINES[name].replace("`", "") for name in rates]
        axes = figure.add_subplot(1, 2, place + 1)
        colors = [OURS if name.startswith("ours") else PEERS for name in rates]
        bars = axes.barh(names, list(rates.values()), color=colors)
        axes.bar_label(bars, labels=[f"{rate:,.0f}" for rate in rates.values()], padding=3, color=INK, fontsize=8)
        axes.set_title(title, fontsize=9, color=INK)
        axes.set_xlim(0, 1.18 * max(rates.values()))
        axes.invert_yaxis()
        bare(axes)
        axes.set_xlabel("sampled tokens per second, 2 CPU cores", fontsize=8, color=INK)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def scores() -> Figure:
    """A histogram: the dual scores of all candidates of a small parabank, and of its paraphrases."""
    result = experiment("score_histogram")["results"]
    bins, threshold = result["dual"], result["settings"]["max_dual_nll"]
    width = bins[0]["below"] - bins[0]["least"]
    middles = [interval["least"] + width / 2 for interval in bins]
    figure = Figure(figsize=(6.5, 3), layout="constrained")
    axes = figure.add_subplot()
    for name, color in (("candidates", PEERS), ("paraphrases", OURS)):
        axes.bar(middles, [interval[name] for interval in bins], width=0.92 * width, color=color, label=name)
    axes.axvline(threshold, color=INK, linestyle="--", linewidth=1)
    axes.annotate(f"threshold {threshold:g}", (threshold, 1), (4, -10), ("data", "axes fraction"), "offset points",
                  fontsize=8, color=INK)  # fmt: skip
    axes.set_xlabel("nats per token, forward + backward (less: more likely); the last bar is all above", fontsize=8)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False, fontsize=8)
    bare(axes)
    return figure


def bare(axes: Axes) -> None:
    """Remove the frame's upper and right line."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=8, colors=INK)


PLOTS: dict[str, Callable[[], Figure]] = {"decoding": decoding, "scores": scores}


def main() -> None:
    """Draw every plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output_dir", type=Path, default=FOLDER, help="where they go (default docs/plots)")
    folder = parser.parse_args().output_dir
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PLOTS.items():
        draw().savefig(folder / f"{name}.png", dpi=160, metadata={"Software": None})
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main()
