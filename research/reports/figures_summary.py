"""Short tables of the summary of the results; the pages beside it have the long ones."""

from __future__ import annotations

from research.reports.figures import benchmark, beside, experiment, number, starter, table
from research.reports.figures_augmentation import MEAN, NONE, cell
from research.reports.figures_encoders import models, over_years
from toolkit.evaluate.tables import with_spread

CORPORA = ("ParaNMT", "ParaBank", "ParaBank 2, rank 1", "ParaBank 2, rank 1 / rank 5")
GUARDS = ("negation", "number", "name", "person", "all guards", "cosine below 0.7")
TRAINED_ON = {"augmentation_table": "frozen embeddings", "augmentation_words": "words"}


def summary_encoders() -> str:
    """The encoders on the STS Benchmark."""
    lines = []
    for name, result in models().items():
        dev = with_spread(result["pearson"]["benchmark dev"]["values"], 1)
        pairs = number(result["pairs"], 0) if result["pairs"] else "-"
        lines.append([name, pairs, beside(dev, result.get("paper", [None] * 5)[4])])
    return table(["encoder", "training pairs", "STS Benchmark, Pearson x 100 (paper)"], lines)


def summary_corpora() -> str:
    """The corpora by the encoder that they train."""
    corpora = experiment("sts_corpora")["results"]["corpora"]
    lines = [
        [
            name,
            number(corpora[name]["pairs"], 0),
            with_spread(corpora[name]["pearson"]["benchmark dev"]["values"], 1),
            with_spread(over_years(corpora[name]), 1),
        ]
        for name in CORPORA
    ]
    return table(["corpus", "pairs", "STS Benchmark, Pearson x 100", "STS 2012-2015, mean"], lines)


def summary_guards() -> str:
    """What each guard refuses of the outputs that people judged."""
    refused_by = experiment("guards")["results"]["refused_by"]
    columns = ("share", "score_refused", "score_kept")
    lines = [[name, *(number(refused_by[name][column]) for column in columns)] for name in GUARDS]
    return table(["refused by", "% of all", "mean score of the refused", "mean score of the rest"], lines)


def summary_augmentation() -> str:
    """Mean accuracy over four tasks with and without new texts, for two classifiers."""
    lines = []
    for name, classifier in TRAINED_ON.items():
        means = experiment(name)["results"]["accuracy"][MEAN]
        lines += [[classifier, arm, *(cell(means[arm][size]) for size in means[NONE])] for arm in means]
    sizes = experiment("augmentation_table")["results"]["accuracy"][MEAN][NONE]
    return table(["classifier on", "new texts", *(f"{size} rows of a class" for size in sizes)], lines)


def command_costs() -> str:
    """What a user's commands cost on two cores: speed, memory and disk, from the benchmarks of each."""
    stages, keep = benchmark("pipeline")["results"]["stages"], benchmark("keep")["results"]
    training, cleaning = starter("encoder", "training.json"), benchmark("cleaning")["results"]
    augment = benchmark("augment")["results"]["starter"]["ours"]
    disk = number((keep["kept"]["all"]["shards"] + keep["published"]) / 1e3)
    pivot = benchmark("pivot")["results"]["engines"]["judge with a language model"]["sentences_per_second"]
    lines = [
        [
            "`parabank build parabank2`, starters",
            f"{number(stages['sentences_per_second'])} sentences/s",
            f"{number(stages['peak_megabytes'], 0)} MB",
            f"{disk} kB for each reference",
        ],
        ["`parabank clean`", f"{number(cleaning['ours_2']['lines_per_second'], 0)} lines/s", "", ""],
        [
            "`parabank train encoder`",
            f"{number(training['pairs'], 0)} pairs in {number(training['seconds'], 0)} s",
            "",
            "",
        ],
        [
            "`toolkit.augment`, starter, two copies",
            f"{number(augment['rows_per_second'], 0)} rows/s",
            f"{number(augment['peak_megabytes'], 0)} MB",
            "",
        ],
        [
            "`toolkit.Paraphraser()`, two translators and judge",
            f"{number(pivot)} sentences/s",
            "",
            "",
        ],
    ]
    below = (
        "Measured in separate runs on two CPU cores, the encoder on one ([performance](docs/guides/performance.md))."
    )
    return table(["command", "time", "memory", "disk"], lines, below)


MADE = (command_costs, summary_encoders, summary_corpora, summary_guards, summary_augmentation)
