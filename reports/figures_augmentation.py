"""Figures of augmentation: does it help, and how fast is it? Each function makes a table."""

from __future__ import annotations

from reports.figures import benchmark, experiment, machine, number, table

NONE, CONTROL, MEAN = "none", "oversampling", "mean"
LEVEL = 0.05  # of a p-value that is marked
ENGINES = {
    "ours": "ours",
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


def accuracy_table(name: str, tasks: bool = True) -> str:
    """A line for each arm, a column for each task and size."""
    found = experiment(name)["results"]
    accuracy = found["accuracy"]
    shown = [task for task in accuracy if tasks or task == MEAN]
    head = [f"{task}, {size}" for task in shown for size in accuracy[task][NONE]]
    arms = list(accuracy[shown[0]])
    lines = [[arm, *(cell(one) for task in shown for one in accuracy[task][arm].values())] for arm in arms]
    return table(["arm", *head], lines, f"{found['seeds']} seeds, {found['copies']} copies.")


def augmentation_embeddings() -> str:
    """Accuracy of a logistic regression on frozen embeddings, by arm, task and size."""
    return accuracy_table("augmentation_table")


def augmentation_finetuned() -> str:
    """Accuracy of the fine-tuned encoder, by arm, task and size."""
    return accuracy_table("augmentation_finetuned")


def augmentation_settings() -> str:
    """Accuracy with other settings of our arm, the mean over the tasks."""
    return accuracy_table("augmentation_settings", tasks=False)


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


def augmentation_memory() -> str:
    """The peak memory of few and of many rows."""
    found = benchmark("augment")["results"]["starter"]["memory"]
    return " and ".join(f"{number(peak, 0)} MB for {int(rows.split()[0]):,} rows" for rows, peak in found.items())


def low_resource_translation() -> str:
    """BLEU and chrF of translators trained with and without paraphrases."""
    found = experiment("low_resource_translation")["results"]
    lines = []
    for arm, pairs in found["pairs"].items():
        cells = []
        for metric in found["signatures"]:
            one = found[metric][arm]
            star = "*" if one.get("p", 1) < LEVEL else ""
            more = f" ({one['difference']:+.2f}{star})" if "difference" in one else ""
            cells.append(f"{number(one['mean'], 2)} ± {number(one['deviation'], 2)}{more}")
        lines.append([arm, number(pairs, 0), *cells])
    below = f"{found['seeds']} seeds, {found['steps']} steps. {', '.join(found['signatures'].values())}."
    return table(["arm", "pairs", *found["signatures"]], lines, below)


MADE = (
    augmentation_embeddings,
    augmentation_finetuned,
    augmentation_settings,
    augmentation_speed,
    augmentation_memory,
    low_resource_translation,
)
