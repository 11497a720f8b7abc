"""Figures of ParaNet: its speed, and what its authors' outputs say of ours. Each function makes a table or a figure."""

from __future__ import annotations

from research.reports.figures import benchmark, by_processor, experiment, measured, number, table

ENGINES = {  # of `research/benchmarks/bench_paranet.py`
    "ours": "ours",
    "one_by_one": "one text at a time",
    "ours_processes": "ours, two processes of one thread",
    "one_by_one_processes": "one text at a time, two processes of one thread",
    "ours_int8": "ours, int8",
    "without_context": "ours, references without context (less work)",
}
STAGES = ("keywords by p(S | k)", "infilling", "semantic score", "fluency")


def paranet_speed() -> str:
    """Pairs per second of all engines, and the share of each stage; other kinds of processors are last."""
    reports = by_processor("paranet")
    lines = [
        [name + ending, number(engines[key]["pairs_per_second"], 2), number(engines[key]["peak_megabytes"], 0)]
        + [f"{number(100 * engines[key]['shares'][stage], 1)} %" for stage in STAGES]
        for ending, record in reports
        for engines in [record["results"]["engines"]]
        for key, name in ENGINES.items()
        if key in engines
    ]
    head = ["", "pairs/s", "MB", *(stage.replace("|", "given") for stage in STAGES)]
    return table(head, lines, measured(reports))


def paranet_ratio() -> str:
    """Ours over one text at a time."""
    return number(benchmark("paranet")["ratios"]["one_by_one"])


def paranet_ratio_processes() -> str:
    """The same, both in processes of one thread."""
    return number(benchmark("paranet")["ratios"]["one_by_one_processes"])


def paranet_memory() -> str:
    """The peak memory of the largest step by the number of sentences."""
    results = benchmark("paranet_memory")["results"]["memory"]["sentences"]
    peaks = {count: max(step["peak_megabytes"] for step in steps.values()) for count, steps in results.items()}
    return ", ".join(f"{number(peak, 0)} MB for {number(int(count), 0)}" for count, peak in peaks.items())


def paranet_keywords() -> str:
    """Precision, recall and F1 of the keywords."""
    results = experiment("paranet_yardstick")["results"]["keywords"]
    names = {"precision": "precision", "recall": "recall", "F1": "f1"}
    return ", ".join(f"{name} {number(results[key])} %" for name, key in names.items())


def paranet_infilling() -> str:
    """How many of the authors' outputs say their keywords, and how many our rule puts together again."""
    results = experiment("paranet_yardstick")["results"]["infilling"]
    shares = {key: f"{number(results[key])} %" for key in ("says_all", "same", "reordered")}
    return (
        f"{shares['says_all']} say all keywords; of these our rule puts {shares['same']} together again, and "
        f"{shares['reordered']} have them in another order than the sentence"
    )


def paranet_choice() -> str:
    """In how many rows our sum puts their choice above the five candidates that they released."""
    results = experiment("paranet_yardstick")["results"]["choice"]
    shares = results["y_above_the_five"]
    names = list(shares["distance"])
    lines = [
        [name, *(f"{number(shares[jaccard][name])} %" for jaccard in ("distance", "similarity"))] for name in names
    ]
    return table(
        ["their choice is above all five by", "Jaccard distance (ours)", "Jaccard similarity (as printed)"], lines
    )


def paranet_semantic() -> str:
    """The correlation of the semantic scores."""
    return number(experiment("paranet_yardstick")["results"]["choice"]["spearman_semantic"], 2)


def paranet_among() -> str:
    """In how many rows their choice is one of the five."""
    return number(experiment("paranet_yardstick")["results"]["choice"]["y_among_the_five"])


def paranet_errors() -> str:
    """Appendix B's errors of the paraphrases before and after the guards, in % of the paraphrases."""
    results = experiment("paranet_errors")["results"]
    lines = []
    for name in ("before the guards", "after the guards"):
        figures = results[name]
        shares = [f"{number(100 * count / figures['paraphrases'])} %" for count in figures["errors"].values()]
        lines.append([name, number(figures["paraphrases"], 0), *shares])
    head = ["", "paraphrases", "negation", "number", "name", "antonym", "noun missing", "hyphen split"]
    return table(head, lines)


MADE = (
    paranet_errors,
    paranet_speed,
    paranet_ratio_processes,
    paranet_ratio,
    paranet_memory,
    paranet_keywords,
    paranet_infilling,
    paranet_choice,
    paranet_semantic,
    paranet_among,
)
