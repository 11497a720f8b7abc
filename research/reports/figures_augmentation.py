"""Figures of augmentation: does it help, and how fast is it? Each function makes a table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from research.reports.figures import benchmark, by_processor, experiment, measured, number, table

NONE, OVERSAMPLED = "none", "oversampling"  # arms
MEAN = "mean"  # the task that stands for all
LEVEL = 0.05  # of a p-value that is marked
PAPER_TRANSLATION = {  # BLEU by corpus of the paraphraser, ParaZh (Hao et al. 2022), table 9, Chinese to Thai
    "6 layers": {"none": 7.15, "paraphrases by PKU's corpus": 6.35, "paraphrases by ParaZh-22M": 7.75},
    "12 layers": {"none": 10.65, "paraphrases by PKU's corpus": 7.31, "paraphrases by ParaZh-22M": 14.74},
}
LABELLED = ("EDA", "WordNet", "round trip", "starter")  # arms
CLASSIFIERS = {"": "embeddings", "_checked": "embeddings, checked labels", "_words": "words"}  # by the end of a name
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


def cell(figures: dict, baselines: Sequence[str] = (NONE,)) -> str:
    """Mean, deviation, and the differences to other arms, with a star if chance alone seldom gives it."""
    text = f"{number(figures['mean'])} ± {number(figures['deviation'])}"
    against = [figures[f"against_{baseline}"] for baseline in baselines if f"against_{baseline}" in figures]
    if len(against) < len(baselines):
        return text
    differences = (f"{comparison['difference']:+.1f}{'*' if comparison['p'] < LEVEL else ''}" for comparison in against)
    return f"{text} ({', '.join(differences)})"


def accuracy_table(name: str, baselines: Sequence[str] = (NONE,)) -> str:
    """A line for each size and arm, a column for each task and their mean, with differences to other arms."""
    results = experiment(name)["results"]
    accuracy = results["accuracy"]
    lines = [
        [size, arm, *(cell(accuracy[task][arm][size], baselines) for task in accuracy)]
        for size in accuracy[MEAN][NONE]
        for arm in accuracy[MEAN]
    ]
    below = f"{results['seeds']} seeds, at most {results['copies']} new texts of a row. Star: p < {LEVEL}."
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
    return classifiers_and_arms("augmentation_pivot")


def augmentation_pivot_written() -> str:
    """Accuracy of a classifier on words with paraphrases by the present version and with written ones."""
    return accuracy_table("augmentation_pivot_written", (NONE, OVERSAMPLED))


def augmentation_written() -> str:
    """The same with paraphrases that were written."""
    return classifiers_and_arms("augmentation_written")


def augmentation_people() -> str:
    """Accuracy with paraphrases by people, by classifier, arm and task."""
    results = experiment("augmentation_people")["results"]
    lines = []
    for classifier, accuracy in results["accuracy"].items():
        for arm in accuracy[MEAN]:
            cells = [cell(accuracy[task][arm]["16"], (NONE, OVERSAMPLED)) for task in accuracy]
            lines.append([classifier, arm, *cells])
    tasks = list(results["accuracy"]["words"])
    below = f"{results['seeds']} seeds, at most {results['copies']} new texts of a row. Star: p < {LEVEL}."
    return table(["classifier", "arm", *tasks], lines, below)


def augmentation_five() -> str:
    """Accuracy on SST-5, of both classifiers, by arm."""
    records = {kind: experiment(f"augmentation_five_{kind}")["results"] for kind in ("embeddings", "words")}
    accuracy = {kind: record["accuracy"]["SST-5"] for kind, record in records.items()}
    lines = [[arm, *(cell(arms[arm]["16"]) for arms in accuracy.values())] for arm in accuracy["embeddings"]]
    below = f"{records['words']['seeds']} seeds, 16 rows of a class. Star: p < {LEVEL}."
    return table(["arm", *accuracy], lines, below)


def augmentation_written_seeds() -> str:
    """The same of the classifier on words, with more seeds."""
    return accuracy_table("augmentation_written_words_seeds", (NONE, OVERSAMPLED))


def classifiers_and_arms(name: str) -> str:
    """A line for each classifier and arm, with 16 rows of a class."""
    lines = []
    for end, classifier in CLASSIFIERS.items():
        accuracy = experiment(name + end)["results"]["accuracy"]
        lines += [[classifier, arm, *(cell(accuracy[task][arm]["16"]) for task in accuracy)] for arm in accuracy[MEAN]]
    results = experiment(name)["results"]
    below = f"{results['seeds']} seeds, at most {results['copies']} new texts of a row. Star: p < {LEVEL}."
    return table(["classifier", "arm", *results["accuracy"]], lines, below)


def augmentation_copies() -> str:
    """Accuracy with other numbers of new texts of a row."""
    return accuracy_table("augmentation_copies")


def more_copies() -> str:
    """The mean accuracy by the number of new texts of a row, of 64 rows of a class and of 16."""
    means = experiment("augmentation_copies")["results"]["accuracy"][MEAN]
    arms = {1: "1 copy", 2: "starter", 4: "4 copies", 8: "8 copies"}
    parts = (
        ", ".join(f"{number(means[arm][rows]['mean'])} with {copies}" for copies, arm in arms.items())
        for rows in ("64", "16")
    )
    return "; with 16 rows no difference beyond chance, ".join(parts)


def low_resource_translation() -> str:
    """BLEU and chrF of translators of few pairs, with and without paraphrases of their sources."""
    results = experiment("low_resource_translation")["results"]
    lines = [
        [
            arm,
            f"{pairs:,}",
            number(results["unseen_words"][arm], 2),
            *(cell(results[metric][arm]) for metric in results["signatures"]),
        ]
        for arm, pairs in results["pairs"].items()
    ]
    lines += [
        [f"*the paper, {model}: {arm}*", "", "", f"*{bleu}*", ""]
        for model, arms in PAPER_TRANSLATION.items()
        for arm, bleu in arms.items()
    ]
    signatures = "; ".join(results["signatures"].values())
    below = f"{results['seeds']} seeds, {results['steps']:,} steps, {results['test_pairs']:,} test pairs. {signatures}."
    return table(
        ["paraphrases", "pairs", "unseen words, %", *results["signatures"]], lines, f"{below} Star: p < {LEVEL}."
    )


def augmentation_speed() -> str:
    """Rows per second of every engine, usable new rows where judges said which are, and the ratios."""
    reports, lines = by_processor("augment"), []
    for ending, record in reports:
        for size, results in record["results"].items():
            for engine, label in ENGINES.items():
                if engine not in results:
                    continue
                figures = results[engine]
                ratio = record["ratios"].get(engine if size == "starter" else f"{engine}_{size}")
                usable = figures.get("usable_share")
                lines.append(
                    [
                        *(size + ending, label, number(figures["rows_per_second"]), number(ratio)),
                        *(number(figures["new_rows_of_a_row"], 2), number(figures["peak_megabytes"], 0)),
                        *(number(usable and 100 * usable, 0), number(figures.get("usable_per_second"))),
                    ]
                )
    head = ["models", "engine", "rows/s", "ours is faster by", "new rows of a row", "peak MB"]
    return table([*head, "% of them usable", "usable new rows/s"], lines, measured(reports))


def augmentation_usable() -> str:
    """Usable new rows per second of ours over the best peer's, by default, with few samples, in two processes."""
    default, few_samples, two_processes = (
        " and ".join(
            number(benchmark(report)["ratios"][f"{prefix}usable_best_peer"]) for report in ("augment", "augment_avx2")
        )
        for prefix in ("", "few_", "two_processes_")
    )
    return (
        f"{default} times as many as the best peer (with bfloat16, AVX2 alone), {few_samples} times with 6 samples, "
        f"{two_processes} times in two processes"
    )


def augmentation_fastest() -> str:
    """How many times as fast ours is as nlpaug's masked model, for both sizes of models."""
    ratios = benchmark("augment")["ratios"]
    default, few_samples = (
        " and ".join(number(ratios[f"{prefix}nlpaug_contextual{size}"]) for size in ("", "_base"))
        for prefix in ("", "few_")
    )
    return f"{default} times as fast (starter and base), with 6 samples {few_samples} times"


def augmentation_memory() -> str:
    """The peak memory of few and of many rows."""
    peaks = benchmark("augment_memory")["results"]["starter"]["memory"]
    return " and ".join(f"{number(peak, 0)} MB for {int(rows.split()[0]):,} rows" for rows, peak in peaks.items())


def augmentation_labels() -> str:
    """How often new texts keep the label, by arm and task."""
    results = experiment("augmentation_labels")["results"]
    arms = [arm for arm in LABELLED if all(arm in figures["arms"] for figures in results.values())]
    lines = [[arm, *(label_accuracy(figures["arms"][arm]) for figures in results.values())] for arm in arms]
    return table(["arm", *results], lines)


def augmentation_floors() -> str:
    """The same of ours by floors of the cosine, with the share of the new texts that are left."""
    results = experiment("augmentation_labels")["results"]
    floors = list(next(iter(results.values()))["floors"])
    counts = {task: figures["floors"][floors[0]]["texts"] for task, figures in results.items()}
    lines = [
        [
            floor,
            *(
                f"{label_accuracy(figures['floors'][floor])}, "
                f"{number(100 * figures['floors'][floor]['texts'] / counts[task], 0)} %"
                for task, figures in results.items()
            ),
        ]
        for floor in floors
    ]
    return table(["floor", *results], lines)


def label_accuracy(figures: dict) -> str:
    """What is labelled right of the texts and of the new texts, with the difference."""
    before, after = figures["before"], figures["after"]
    return f"{number(before)} to {number(after)} ({after - before:+.1f})"


def study_classifiers() -> str:
    """The classifiers that a study may train, on validation rows of four tasks."""
    results = experiment("study_classifiers")["results"]
    return classifiers_table(results["accuracy"], f"{results['seeds']} seeds.")


def classifiers_table(accuracy: dict[str, dict[str, dict[str, list[float]]]], below: str = "") -> str:
    """A line for each classifier, with the mean over the tasks for each number of rows (`study_classifiers.py`)."""
    sizes = list(dict.fromkeys(size for of_task in accuracy.values() for scores in of_task.values() for size in scores))
    lines = []
    for kind, of_task in accuracy.items():
        means = [fmean(fmean(scores[size]) for scores in of_task.values()) for size in sizes]
        lines.append([kind, *map(number, means), number(fmean(means))])
    return table(["classifier", *sizes, "mean"], lines, below)


MADE = (
    augmentation_embeddings,
    augmentation_words,
    augmentation_checked,
    augmentation_people,
    augmentation_five,
    augmentation_pivot,
    augmentation_pivot_written,
    augmentation_written,
    augmentation_written_seeds,
    augmentation_copies,
    more_copies,
    low_resource_translation,
    augmentation_speed,
    augmentation_fastest,
    augmentation_usable,
    augmentation_memory,
    augmentation_labels,
    augmentation_floors,
    study_classifiers,
)
