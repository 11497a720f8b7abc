"""The learning curves of a study as a PNG."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.shards import write_whole

if TYPE_CHECKING:
    from toolkit.augmentation.study import Study

COLOURS = ("#5b5d66", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by all eyes
SPREAD = 0.02  # ours: arms stand so far apart on the logarithmic axis that their bars do not cover each other


def draw_curves(study: Study, path: Path) -> None:
    """Draw the mean accuracy of each arm by size, with its standard deviation over the seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    sizes = np.arange(len(study.sizes))
    for n, arm in enumerate(study.arms):
        means = [np.mean(study.results[arm, size]) for size in study.sizes]
        spread = [np.std(study.results[arm, size], ddof=1) for size in study.sizes]
        at = sizes + SPREAD * (n - (len(study.arms) - 1) / 2) * 2
        axes.errorbar(at, means, spread, label=arm, color=COLOURS[n % len(COLOURS)], marker="o", capsize=3, lw=1.6)
    axes.set_xticks(sizes, [study.name_of(size) for size in study.sizes])
    axes.set_xlabel("training rows of each class")
    axes.set_ylabel("accuracy in percent, mean and deviation")
    axes.grid(axis="y", color="#e4e6ec")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=150)
    write_whole(path, drawn.getvalue())
