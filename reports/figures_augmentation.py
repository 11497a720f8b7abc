"""Figures of augmentation: does it help, and how fast is it? Each function makes a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from scipy.stats import t

from reports.figures import benchmark, experiment, machine, number, table

NONE, OVERSAMPLED = "none", "oversampling"  # arms
MEAN = "mean"  # the task that stands for all
LEVEL = 0.05  # of a p-value that is marked
PAPER_TRANSLATION = {  # BLEU by corpus of the paraphraser, ParaZh (Hao et al. 2022), table 9, Chinese to Thai
    "6 layers": {"none": 7.15, "paraphrases by PKU's corpus": 6.35, "paraphrases by ParaZh-22M": 7.75},
    "12 layers": {"none": 10.65, "paraphrases by PKU's corpus": 7.31, "paraphrases by ParaZh-22M": 14.74},
}
LABELLED = ("EDA", "WordNet", "round trip", "starter", "ParaNMT", "ParaBank", "ParaBank 2", "ParaNet")  # arms
PIVOT_STUDIES = {  # results, and the classifier that they are of
    "augmentation_pivot": "embeddings",
    "augmentation_pivot_checked": "embeddings, checked labels",
    "augmentation_pivot_words": "words",
}
ENGINES = {
    "ours": "ours",
    "ours_few": "ours, 6 samples of a row",
    "ours_two_processes": "ours, two processes of one thread",
    "parrot": "Parrot's loop",
    "nlpaug_back_translation": "nlpaug, back-translation",
    "nlpaug_back_translation_beam": "the same with beam 5",
    "textattack": "TextAttack, back-translation",
    "nlpaug_contextual": "nlpaug, words by a masked model",
}


def cell(figures: dict, others: Sequence[str] = (NONE,)) -> str:
    """Mean, deviation, and the differences to other arms, with a star if chance alone seldom gives it."""
    said = f"{number(figures['mean'])} ± {number(figures['deviation'])}"
    against = [figures[f"against_{other}"] for other in others if f"against_{other}" in figures]
    if len(against) < len(others):
        return said
    differences = (f"{one['difference']:+.1f}{'*' if one['p'] < LEVEL else ''}" for one in against)
    return f"{said} ({', '.join(differences)})"


def accuracy_table(name: str, others: Sequence[str] = (NONE,)) -> str:
    """A line for each size and arm, a column for each task and their mean, with differences to other arms."""
    found = experiment(name)["results"]
    accuracy = found["accuracy"]
    lines = [
        [size, arm, *(cell(accuracy[task][arm][size], others) for task in accuracy)]
        for size in accuracy[MEAN][NONE]
        for arm in accuracy[MEAN]
    ]
    below = f"{found['seeds']} seeds, at most {found['copies']} new texts of a row. Star: p < {LEVEL}."
    return table(["rows of a class", "arm", *accuracy], lines, below)


def augmentation_embeddings() -> str:
    """Accuracy of a logistic regression on frozen embeddings, by arm, task and size."""
    return accuracy_table("augmentation_table")


def augmentation_words() -> str:
    """Accuracy of a logistic regression on weighted words, by arm, task and size."""
    return accuracy_table("augmentation_words")


def augmentation_checked() -> str:
    """Accuracy of a logistic regression on frozen embeddings where the labels of new texts are checked."""
    return accuracy_table("augmentation_checked", (NONE, OVERSAMPLED))


def augmentation_pivot() -> str:
    """Accuracy with paraphrases by two translators, of three classifiers, by arm and task."""
    lines = []
    for name, classifier in PIVOT_STUDIES.items():
        accuracy = experiment(name)["results"]["accuracy"]
        lines += [[classifier, arm, *(cell(accuracy[task][arm]["16"]) for task in accuracy)] for arm in accuracy[MEAN]]
    found = experiment(next(iter(PIVOT_STUDIES)))["results"]
    below = f"{found['seeds']} seeds, at most {found['copies']} new texts of a row. Star: p < {LEVEL}."
    return table(["classifier", "arm", *found["accuracy"]], lines, below)


def augmentation_256() -> str:
    """Accuracy of a logistic regression on frozen embeddings with 256 rows of a class, by arm and task."""
    return accuracy_table("augmentation_256", (NONE, OVERSAMPLED))


def augmentation_finetuned() -> str:
    """Accuracy of a fine-tuned encoder, by arm and task."""
    return accuracy_table("augmentation_finetuned")


def augmentation_finetuned_seeds() -> str:
    """Accuracy of a fine-tuned encoder in fewer arms, with twice as many seeds."""
    return accuracy_table("augmentation_finetuned_seeds")


def augmentation_new_seeds() -> str:
    """The same arms on the ten seeds of the second study that did not choose its arms.

    The records hold means and deviations of the first ten seeds and of all twenty, with the same seeds first. So the
    mean of the other ten is known to a few hundredths, and so are, from the sums of squares, the deviation and the
    p-value of their difference to none.
    """
    first, both = (experiment(name)["results"] for name in ("augmentation_finetuned", "augmentation_finetuned_seeds"))
    tasks, n = list(both["accuracy"]), first["seeds"]
    arms = [arm for arm in both["accuracy"][MEAN] if arm in first["accuracy"][MEAN]]
    lines = []
    for arm in arms:
        cells = []
        for task in tasks:
            chosen, all_seeds = (record["accuracy"][task][arm]["16"] for record in (first, both))
            mean = 2 * all_seeds["mean"] - chosen["mean"]
            cells.append(number(mean) + ("" if arm == NONE else f" ({_on_new_seeds(chosen, all_seeds, n)})"))
        lines.append([arm, *cells])
    below = f"{both['seeds'] - n} seeds; in brackets the difference to none and the p-value of its paired t-test."
    return table(["arm, 16 rows of a class", *tasks], lines, below)


def more_copies() -> str:
    """The mean accuracy of 16 rows of a class by the number of new texts of a row."""
    means = experiment("augmentation_settings")["results"]["accuracy"][MEAN]
    arms = {2: "starter", 4: "4 copies", 8: "8 copies"}
    return ", ".join(f"{number(means[arm]['16']['mean'])} with {copies}" for copies, arm in arms.items())


def paranet_gain() -> str:
    """The mean gain of the paraphraser of ParaNet's pairs, and its p-value corrected for the number of arms."""
    gain = experiment("augmentation_finetuned")["results"]["accuracy"][MEAN]["ParaNet"]["16"][f"against_{NONE}"]
    return f"{gain['difference']:+.1f}, p {number(gain['p'])}"


def new_seeds_gain() -> str:
    """The mean gain of the paraphraser of a ParaNMT parabank on the seeds that did not choose the arms."""
    chosen, all_seeds = (
        experiment(name)["results"]["accuracy"][MEAN]["ParaNMT"]["16"]
        for name in ("augmentation_finetuned", "augmentation_finetuned_seeds")
    )
    return _on_new_seeds(chosen, all_seeds, experiment("augmentation_finetuned")["results"]["seeds"])


def _on_new_seeds(chosen: dict, all_seeds: dict, n: int) -> str:
    """The difference to none on the last n of 2n seeds, from those of the first n and of all."""
    one, two = (figures[f"against_{NONE}"] for figures in (chosen, all_seeds))
    mean = 2 * two["difference"] - one["difference"]
    squares = sum(
        sign * ((seeds - 1) * figures["deviation"] ** 2 + seeds * figures["difference"] ** 2)
        for sign, seeds, figures in ((1, 2 * n, two), (-1, n, one))
    )
    deviation = math.sqrt((squares - n * mean**2) / (n - 1))
    p = 2 * t.sf(abs(mean) / (deviation / math.sqrt(n)), n - 1)
    return f"{mean:+.1f}, p {number(p, 2)}"


def low_resource_translation() -> str:
    """BLEU and chrF of translators of few pairs, with and without paraphrases of their sources."""
    found = experiment("low_resource_translation")["results"]
    lines = [
        [
            arm,
            f"{pairs:,}",
            number(found["unseen_words"][arm], 2),
            *(cell(found[metric][arm]) for metric in found["signatures"]),
        ]
        for arm, pairs in found["pairs"].items()
    ]
    lines += [
        [f"*the paper, {model}: {arm}*", "", "", f"*{bleu}*", ""]
        for model, arms in PAPER_TRANSLATION.items()
        for arm, bleu in arms.items()
    ]
    signatures = "; ".join(found["signatures"].values())
    below = f"{found['seeds']} seeds, {found['steps']:,} steps, {found['test_pairs']:,} test pairs. {signatures}."
    return table(
        ["paraphrases", "pairs", "unseen words, %", *found["signatures"]], lines, f"{below} Star: p < {LEVEL}."
    )


def augmentation_settings() -> str:
    """Accuracy with other settings of our arm."""
    return accuracy_table("augmentation_settings")


def augmentation_speed() -> str:
    """Rows per second of every engine, and the ratios."""
    record = benchmark("augment")
    lines = []
    for size, found in record["results"].items():
        for engine, label in ENGINES.items():
            if engine not in found:
                continue
            ratio = record["ratios"].get(engine if size == "starter" else f"{engine}_{size}")
            figures = found[engine]
            memory = number(figures["peak_megabytes"], 0)
            new = number(figures["new_rows_of_a_row"], 2)
            lines.append([size, label, number(figures["rows_per_second"]), number(ratio), new, memory])
    head = ["models", "engine", "rows/s", "ours is faster by", "new rows of a row", "peak MB"]
    return table(head, lines, machine(record))


def augmentation_fastest() -> str:
    """How many times as fast ours is as nlpaug's masked model, for both sizes of models."""
    ratios = benchmark("augment")["ratios"]
    default, few = (
        " and ".join(number(ratios[f"{prefix}nlpaug_contextual{size}"]) for size in ("", "_base"))
        for prefix in ("", "few_")
    )
    return f"{default} times as fast (starter and base), with 6 samples {few} times"


def augmentation_memory() -> str:
    """The peak memory of few and of many rows."""
    found = benchmark("augment_memory")["results"]["starter"]["memory"]
    return " and ".join(f"{number(peak, 0)} MB for {int(rows.split()[0]):,} rows" for rows, peak in found.items())


def augmentation_labels() -> str:
    """How often new texts keep the label, by arm and task."""
    found = experiment("augmentation_labels")["results"]
    arms = [arm for arm in LABELLED if all(arm in one["arms"] for one in found.values())]
    lines = [[arm, *(kept(one["arms"][arm]) for one in found.values())] for arm in arms]
    return table(["arm", *found], lines)


def augmentation_floors() -> str:
    """The same of ours by floors of the cosine, with the share of the new texts that are left."""
    found = experiment("augmentation_labels")["results"]
    floors = list(next(iter(found.values()))["floors"])
    all_of_them = {task: one["floors"][floors[0]]["texts"] for task, one in found.items()}
    lines = [
        [
            floor,
            *(
                f"{kept(one['floors'][floor])}, {number(100 * one['floors'][floor]['texts'] / all_of_them[task], 0)} %"
                for task, one in found.items()
            ),
        ]
        for floor in floors
    ]
    return table(["floor", *found], lines)


def kept(figures: dict) -> str:
    """What is labelled right of the texts and of the new texts, with the difference."""
    before, after = figures["before"], figures["after"]
    return f"{number(before)} to {number(after)} ({after - before:+.1f})"


def study_classifiers() -> str:
    """The classifiers that a study may train, on validation rows of four tasks."""
    found = experiment("study_classifiers")["results"]
    return classifiers_table(found["accuracy"], f"{found['seeds']} seeds.")


def classifiers_table(accuracy: dict[str, dict[str, dict[str, list[float]]]], below: str = "") -> str:
    """A line for each classifier, with the mean over the tasks for each number of rows (`study_classifiers.py`)."""
    sizes = list(dict.fromkeys(size for of_task in accuracy.values() for some in of_task.values() for size in some))
    lines = []
    for kind, of_task in accuracy.items():
        means = [fmean(fmean(some[size]) for some in of_task.values()) for size in sizes]
        lines.append([kind, *map(number, means), number(fmean(means))])
    return table(["classifier", *sizes, "mean"], lines, below)


MADE = (
    augmentation_embeddings,
    augmentation_words,
    augmentation_checked,
    augmentation_pivot,
    augmentation_256,
    augmentation_finetuned,
    augmentation_finetuned_seeds,
    augmentation_new_seeds,
    more_copies,
    new_seeds_gain,
    paranet_gain,
    augmentation_settings,
    low_resource_translation,
    augmentation_speed,
    augmentation_fastest,
    augmentation_memory,
    augmentation_labels,
    augmentation_floors,
    study_classifiers,
)
