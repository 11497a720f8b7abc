"""Does augmentation help a task? The same classifier with and without it, over sizes and seeds, and the answer."""

from __future__ import annotations

import hashlib
import io
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from datasets import Dataset, concatenate_datasets
from tqdm import tqdm

from toolkit.study._labels import check_labels, tell_unknown_classes
from toolkit.study.row_sample import _distinct_sizes, _row_sample, _RowSample, few_of_each
from toolkit.study.significance import _Comparison, compare
from toolkit.study.trials import Trial
from toolkit.system.extras import require
from toolkit.system.settings import check_record
from toolkit.system.whole_files import write_whole

NONE, OVERSAMPLED = "none", "oversampled"
RESULTS = "results.jsonl"  # in the folder of a study: one result a line
ROWS = "rows.json"  # in the folder of a study: of which rows the results are
COLOURS = ("#5b5d66", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by all eyes
SPREAD = 0.02  # ours: arms stand so far apart on the logarithmic axis that their bars do not cover each other

Arm = Callable[[Dataset, int], Dataset]  # training rows and a seed -> what is trained on


@dataclass(frozen=True)
class Study:
    """The results of a study.

    Attributes:
        results: By arm and size, the accuracy of each seed, in percent.
        baseline: The arm that others are compared with.
        samples: By size, the rows that were trained on, where they were counted.
        test_rows: The number of the rows of the test, where it is known.
    """

    results: dict[tuple[str, int], list[float]]
    baseline: str = NONE
    samples: Mapping[int, _RowSample] = field(default_factory=dict)
    test_rows: int | None = None

    @property
    def arms(self) -> list[str]:
        """The names of the arms, in order."""
        return list(dict.fromkeys(arm for arm, _ in self.results))

    @property
    def sizes(self) -> list[int]:
        """The sizes, in order; 0, which is all rows, is last."""
        return sorted({size for _, size in self.results}, key=lambda size: size or math.inf)

    def name_of(self, size: int) -> str:
        """A size by the numbers of its rows, where they were counted."""
        return self.samples[size].name if size in self.samples else str(size or "all")

    def comparisons(self, baseline: str | None = None) -> dict[tuple[str, int], _Comparison]:
        """Each arm against the baseline at each size, corrected for the number of all that are tested."""
        other = baseline or self.baseline
        keys = [(arm, size) for arm in self.arms if arm != other for size in self.sizes]
        pairs = [(self.results[arm, size], self.results[other, size]) for arm, size in keys]
        untested = [n for n, (_, size) in enumerate(keys) if size in self.samples and self.samples[size].same]
        row = 100 / self.test_rows if self.test_rows else 0.0
        return dict(zip(keys, compare(pairs, row, untested), strict=True))

    def __str__(self) -> str:
        """A table of means and deviations, and of each arm what can be said."""
        width = max(map(len, self.arms))
        head = " " * width + "".join(f"{self.name_of(size):>14}" for size in self.sizes)
        lines = ["accuracy in percent, mean (standard deviation), by training rows of each class", head]
        for arm in self.arms:
            cells = (self.results[arm, size] for size in self.sizes)
            lines.append(
                f"{arm:<{width}}" + "".join(f"{f'{np.mean(s):.1f} ({np.std(s, ddof=1):.1f})':>14}" for s in cells)
            )
        lines += filter(None, (self._note(size) for size in self.sizes))
        lines.append(f"does it help, against {self.baseline!r}?")
        for (arm, size), comparison in self.comparisons().items():
            p = "" if comparison.p is None else f" (p {comparison.p:.3f})"
            lines.append(f"  {arm}, {self.name_of(size)}: {comparison.verdict}{p}")
        return "\n".join(lines)

    def _note(self, size: int) -> str | None:
        """What the name of a size leaves open."""
        sample = self.samples.get(size)
        if sample is None or (sample.fewest == sample.most and not sample.same):
            return None
        if sample.same:
            return (
                f"{sample.name}: all seeds trained on the same rows, {sample.fewest:,} to {sample.most:,} of a class; "
                "their deviation says nothing about other rows, so nothing is tested"
            )
        return f"{sample.name}: {sample.most:,} rows of each class, all of a smaller class; {sample.total:,} in all"

    def plot(self, path: str | Path) -> None:
        """Draw the learning curves: mean accuracy by size, with the deviation over the seeds, as a PNG."""
        figure = require("matplotlib.figure").Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot()
        sizes = np.arange(len(self.sizes))
        for n, arm in enumerate(self.arms):
            means = [np.mean(self.results[arm, size]) for size in self.sizes]
            spread = [np.std(self.results[arm, size], ddof=1) for size in self.sizes]
            positions = sizes + SPREAD * (n - (len(self.arms) - 1) / 2) * 2
            axes.errorbar(
                positions, means, spread, label=arm, color=COLOURS[n % len(COLOURS)], marker="o", capsize=3, lw=1.6
            )
        axes.set_xticks(sizes, [self.name_of(size) for size in self.sizes])
        axes.set_xlabel("training rows of each class")
        axes.set_ylabel("accuracy in percent, mean and deviation")
        axes.grid(axis="y", color="#e4e6ec")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=150)
        write_whole(Path(path), image.getvalue())


def study(
    train: Dataset,
    test: Dataset,
    label: str,
    trial: Trial,
    arms: Mapping[str, Arm],
    sizes: Sequence[int] = (16, 64, 256),
    seeds: int = 10,
    output_dir: str | Path | None = None,
    progress: bool = True,
) -> Study:
    """Train a classifier without augmentation and in several arms, on the same rows with the same seeds.

    Args:
        train: The rows of which training rows are drawn.
        test: The rows on which all are tested.
        label: The column of the classes.
        trial: Trains and tests (`trials.py`).
        arms: By name, what makes more training rows of some. The arm "none" is always there.
        sizes: Training rows of each class, all of a smaller class; 0 takes all rows, and so does a size that no class
            exceeds.
        seeds: How often each is trained: with other rows, and another seed for the augmentation and the classifier.
        output_dir: Keeps finished results, so that a study that was ended goes on from there. The rows must be the same
            then; that the classifier and the arms are the same, the caller must see to.
        progress: Whether a bar is shown.

    Raises:
        ValueError: There are fewer than two seeds, a label is refused (`check_labels`), or the folder holds a study of
            other rows.
    """
    if seeds < 2:
        raise ValueError(f"wanted two seeds or more, got {seeds}: one says nothing about chance")
    check_labels(train, test, label)
    all_arms = {NONE: lambda rows, _: rows} | dict(arms)
    labels = list(train[label])
    distinct = _distinct_sizes(labels, sizes)
    if progress and (absent_sizes := [size for size in sizes if size and size not in distinct]):
        size_list = ", ".join(map(str, absent_sizes))
        print(
            f"size {size_list}: no class has more rows, so all {len(train):,} rows are taken instead", file=sys.stderr
        )
    if progress:
        tell_unknown_classes(labels, list(test[label]))
    if output_dir is not None:
        record = {"label": label, "train": _content_hash(train), "test": _content_hash(test)}
        check_record(Path(output_dir) / ROWS, record, free=set())
    result_store = _Kept(None if output_dir is None else Path(output_dir) / RESULTS)
    accuracies: dict[tuple[str, int], list[float]] = {}
    with tqdm(total=len(distinct) * seeds * len(all_arms), desc="training", unit="run", disable=not progress) as bar:
        for size in distinct:
            for seed in range(seeds):
                rows: Dataset | None = None
                for name, arm in all_arms.items():
                    key = f"{name}|{size}|{seed}"
                    if key not in result_store.results:
                        rows = few_of_each(train, label, size, seed) if rows is None else rows
                        result_store.keep(key, 100 * trial(arm(rows, seed), test, seed))
                    accuracies.setdefault((name, size), []).append(result_store.results[key])
                    bar.update()
    order = {name: n for n, name in enumerate(all_arms)}
    results = dict(sorted(accuracies.items(), key=lambda item: (order[item[0][0]], item[0][1] or math.inf)))
    return Study(results, NONE, {size: _row_sample(labels, size, seeds) for size in distinct}, len(test))


def _content_hash(rows: Dataset) -> str:
    """A hash of the names and values of all columns."""
    digest = hashlib.sha256()
    for column in rows.column_names:
        digest.update(repr((column, list(rows[column]))).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class _Kept:
    """Results by key, in a file of lines if there is one."""

    def __init__(self, file: Path | None) -> None:
        self.file, self.results = file, dict[str, float]()
        if file is not None and file.exists():
            lines = file.read_text().splitlines(keepends=True)
            for line in (complete_lines := [line for line in lines if line.endswith("}\n")]):
                self.results |= json.loads(line)
            if complete_lines != lines:  # the last was cut
                write_whole(file, "".join(complete_lines))

    def keep(self, key: str, result: float) -> None:
        """Keep a result."""
        self.results[key] = result
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as lines:
                lines.write(json.dumps({key: result}) + "\n")


def oversampled(copies: int) -> Arm:
    """The control of an augmentation: every row once more for each copy, and no new text."""

    def arm(rows: Dataset, seed: int) -> Dataset:
        return concatenate_datasets([rows] * (1 + copies))

    return arm
