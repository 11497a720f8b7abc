"""Figures of augmentation: does it help, and how fast is it? Each function makes a table."""

from __future__ import annotations

from reports.figures import benchmark, experiment, machine, number, table

NONE, MEAN = "none", "mean"  # an arm, and the task that stands for all
LEVEL = 0.05  # of a p-value that is marked
LABELLED = ("EDA", "WordNet", "round trip", "starter", "ParaNMT", "ParaBank", "ParaBank 2", "ParaNet")  # arms
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


def cell(figures: dict) -> str:
    """Mean, deviation, and the difference to no augmentation, with a star if chance alone seldom gives it."""
    said = f"{number(figures['mean'])} ± {number(figures['deviation'])}"
    against = figures.get(f"against_{NONE}")
    if against is None:
        return said
    star = "*" if against["p"] < LEVEL else ""
    return f"{said} ({against['difference']:+.1f}{star})"


def accuracy_table(name: str) -> str:
    """A line for each size and arm, a column for each task and their mean."""
    found = experiment(name)["results"]
    accuracy = found["accuracy"]
    lines = [
        [size, arm, *(cell(accuracy[task][arm][size]) for task in accuracy)]
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


MADE = (
    augmentation_embeddings,
    augmentation_words,
    augmentation_settings,
    augmentation_speed,
    augmentation_fastest,
    augmentation_memory,
    augmentation_labels,
    augmentation_floors,
)
