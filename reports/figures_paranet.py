"""Figures of ParaNet: its speed, and what its authors' outputs say of ours. Each function makes a table or a figure."""

from __future__ import annotations

from reports.figures import benchmark, experiment, machine, number, table

STAGES = ("keywords by p(S | k)", "infilling", "semantic score", "fluency")


def paranet_speed() -> str:
    """Pairs per second of both engines, and the share of each stage."""
    record = benchmark("paranet")
    found = record["results"]["engines"]
    lines = [
        [name, number(found[key]["pairs_per_second"], 2), number(found[key]["peak_megabytes"], 0)]
        + [f"{number(100 * found[key]['shares'][stage], 1)} %" for stage in STAGES]
        for name, key in (("ours", "ours"), ("one text at a time", "one_by_one"))
    ]
    head = ["", "pairs/s", "MB", *(stage.replace("|", "given") for stage in STAGES)]
    return table(head, lines, machine(record))


def paranet_ratio() -> str:
    """Ours over one text at a time."""
    return number(benchmark("paranet")["ratios"]["one_by_one"])


def paranet_memory() -> str:
    """The peak memory of the largest step with 1,000 and with 100,000 sentences, and their ratio."""
    record = benchmark("paranet")
    peaks = [
        max(step["peak_megabytes"] for step in steps.values())
        for steps in record["results"]["memory"]["sentences"].values()
    ]
    ratio = number(record["ratios"]["memory_growth"], 2)
    return f"{number(peaks[0], 0)} MB and {number(peaks[-1], 0)} MB, {ratio} times"


def paranet_keywords() -> str:
    """Precision, recall and F1 of the keywords."""
    found = experiment("paranet_yardstick")["results"]["keywords"]
    names = {"precision": "precision", "recall": "recall", "F1": "f1"}
    return ", ".join(f"{name} {number(found[key])} %" for name, key in names.items())


def paranet_infilling() -> str:
    """How many of the authors' outputs say their keywords, and how many our rule puts together again."""
    found = experiment("paranet_yardstick")["results"]["infilling"]
    shares = {key: f"{number(found[key])} %" for key in ("says_all", "same", "reordered")}
    return (
        f"{shares['says_all']} say all keywords; of these our rule puts {shares['same']} together again, and "
        f"{shares['reordered']} have them in another order than the sentence"
    )


def paranet_choice() -> str:
    """In how many rows our sum puts their choice above the five candidates that they released."""
    found = experiment("paranet_yardstick")["results"]["choice"]
    shares = found["y_above_the_five"]
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
        found = results[name]
        shares = [f"{number(100 * count / found['paraphrases'])} %" for count in found["errors"].values()]
        lines.append([name, number(found["paraphrases"], 0), *shares])
    head = ["", "paraphrases", "negation", "number", "name", "antonym", "noun missing", "hyphen split"]
    return table(head, lines)


MADE = (
    paranet_errors,
    paranet_speed,
    paranet_ratio,
    paranet_memory,
    paranet_keywords,
    paranet_infilling,
    paranet_choice,
    paranet_semantic,
    paranet_among,
)
