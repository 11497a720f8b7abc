"""Does augmentation help a task? The same classifier with and without it, over sizes and seeds, and the answer."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from datasets import Dataset, concatenate_datasets
from tqdm import tqdm

from toolkit.augmentation.paired import Comparison, compare
from toolkit.augmentation.trials import Trial
from toolkit.shards import write_whole

NONE, OVERSAMPLED = "none", "oversampled"
RESULTS = "results.jsonl"  # in the folder of a study: one result a line

Arm = Callable[[Dataset, int], Dataset]  # training rows and a seed -> what is trained on


@dataclass(frozen=True)
class Study:
    """The results of a study.

    Attributes:
        results: By arm and size, the accuracy of each seed, in percent.
        baseline: The arm that others are compared with.
    """

    results: dict[tuple[str, int], list[float]]
    baseline: str = NONE

    @property
    def arms(self) -> list[str]:
        """The names of the arms, in order."""
        return list(dict.fromkeys(arm for arm, _ in self.results))

    @property
    def sizes(self) -> list[int]:
        """The sizes, in order."""
        return sorted({size for _, size in self.results})

    def comparisons(self, baseline: str | None = None) -> dict[tuple[str, int], Comparison]:
        """Each arm against the baseline at each size, corrected for the number of all of them."""
        other = baseline or self.baseline
        keys = [(arm, size) for arm in self.arms if arm != other for size in self.sizes]
        pairs = [(self.results[arm, size], self.results[other, size]) for arm, size in keys]
        return dict(zip(keys, compare(pairs), strict=True))

    def __str__(self) -> str:
        """A table of means and deviations, and of each arm what can be said."""
        width = max(map(len, self.arms))
        head = " " * width + "".join(f"{size or 'all':>14}" for size in self.sizes)
        lines = ["accuracy in percent, mean (standard deviation), by rows of each class", head]
        for arm in self.arms:
            cells = (self.results[arm, size] for size in self.sizes)
            lines.append(
                f"{arm:<{width}}" + "".join(f"{f'{np.mean(s):.1f} ({np.std(s, ddof=1):.1f})':>14}" for s in cells)
            )
        lines.append(f"does it help, against {self.baseline!r}?")
        for (arm, size), one in self.comparisons().items():
            lines.append(f"  {arm}, {size or 'all'}: {one.verdict} (p {one.p:.3f})")
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw the learning curves: mean accuracy by size, with the deviation over the seeds, as a PNG."""
        from toolkit.augmentation.curves import draw_curves

        draw_curves(self, Path(path))


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
        sizes: Training rows of each class, all of a smaller class; 0 takes all rows.
        seeds: How often each is trained: with other rows, and another seed for the augmentation and the classifier.
        output_dir: Keeps finished results, so that a study that was ended goes on from there.
        progress: Whether a bar is shown.

    Raises:
        ValueError: There are fewer than two seeds.
    """
    if seeds < 2:
        raise ValueError(f"wanted two seeds or more, got {seeds}: one says nothing about chance")
    every = {NONE: lambda rows, _: rows} | dict(arms)
    done = Kept(None if output_dir is None else Path(output_dir) / RESULTS)
    found: dict[tuple[str, int], list[float]] = {}
    with tqdm(total=len(sizes) * seeds * len(every), desc="training", unit="run", disable=not progress) as bar:
        for size in dict.fromkeys(sizes):
            for seed in range(seeds):
                rows: Dataset | None = None
                for name, arm in every.items():
                    key = f"{name}|{size}|{seed}"
                    if key not in done.results:
                        rows = few_of_each(train, label, size, seed) if rows is None else rows
                        done.keep(key, 100 * trial(arm(rows, seed), test, seed))
                    found.setdefault((name, size), []).append(done.results[key])
                    bar.update()
    order = {name: n for n, name in enumerate(every)}
    return Study(dict(sorted(found.items(), key=lambda item: (order[item[0][0]], item[0][1]))))


class Kept:
    """Results by key, in a file of lines if there is one."""

    def __init__(self, file: Path | None) -> None:
        self.file, self.results = file, dict[str, float]()
        if file is not None and file.exists():
            lines = file.read_text().splitlines(keepends=True)
            for line in (whole := [line for line in lines if line.endswith("}\n")]):
                self.results |= json.loads(line)
            if whole != lines:  # the last was cut
                write_whole(file, "".join(whole))

    def keep(self, key: str, result: float) -> None:
        """Keep a result."""
        self.results[key] = result
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as lines:
                lines.write(json.dumps({key: result}) + "\n")


def few_of_each(rows: Dataset, label: str, size: int, seed: int) -> Dataset:
    """As many random rows of each class, all of a class that has fewer; all rows if `size` is 0."""
    if not size:
        return rows
    of_class = defaultdict(list)
    for number, one in enumerate(rows[label]):
        of_class[one].append(number)
    chance, chosen = random.Random(seed), list[int]()
    for _, numbers in sorted(of_class.items(), key=lambda item: str(item[0])):
        chosen += chance.sample(numbers, min(size, len(numbers)))
    chance.shuffle(chosen)
    return rows.select(chosen)


def oversampled(copies: int) -> Arm:
    """The control of an augmentation: every row once more for each copy, and no new text."""

    def arm(rows: Dataset, seed: int) -> Dataset:
        return concatenate_datasets([rows] * (1 + copies))

    return arm
