"""The leaderboard: encoders on benchmarks that people know, and paraphrasers by blind readings."""

from __future__ import annotations

from statistics import fmean

from research.reports.figures import experiment, number, table

TASKS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICK-R")
# Spearman x 100, published in embeddings-benchmark/results (revision f60985c7 of the encoder, mteb 1.34.26)
PUBLISHED = {
    "static-retrieval-mrl-en-v1, as published": (60.4289, 72.5735, 69.6221, 80.066, 72.8136, 74.0221, 64.738),
}
READINGS = {  # of the sets of texts, the newest first
    "blind_reading_fifth": "set 5, the newest",
    "blind_reading_fourth": "set 4",
    "blind_reading_third": "set 3",
    "blind_reading_second": "set 2",
    "blind_reading": "set 1",
}


def _encoders() -> dict[str, dict]:
    """The measured encoders."""
    return experiment("encoder_suite")["results"]["encoders"]


def leaderboard_similarity() -> str:
    """MTEB's English similarity tasks, the best mean first."""
    lines = []
    for name, encoder in _encoders().items():
        values = [encoder["figures"][task]["value"] for task in TASKS]
        lines.append((fmean(values), [name, *map(number, [*values, fmean(values)]), number(encoder["dimensions"], 0)]))
    lines += [(fmean(v), [f"*{name}*", *map(number, [*v, fmean(v)]), ""]) for name, v in PUBLISHED.items()]
    head = ["encoder", *TASKS, "mean", "dimensions"]
    return table(head, [line for _, line in sorted(lines, key=lambda line: -line[0])])


def leaderboard_pairs() -> str:
    """Paraphrase identification by the cosine, the best mean of the average precisions first."""
    encoders = _encoders()
    sources = list(next(iter(encoders.values()))["pairs"])
    columns = [(source, measure) for source in sources for measure in ("average precision", "accuracy")]
    head = ["encoder", *(f"{source}, {measure}" for source, measure in columns)]
    lines = []
    for name, encoder in encoders.items():
        cells = [number(encoder["pairs"][source][measure]) for source, measure in columns]
        lines.append((fmean(encoder["pairs"][source]["average precision"] for source in sources), [name, *cells]))
    return table(head, [line for _, line in sorted(lines, key=lambda line: -line[0])])


def leaderboard_paraphrasus() -> str:
    """The error rates of PARAPHRASUS at one threshold of the cosine, the lowest mean first."""
    encoders = _encoders()
    groups = next(iter(encoders.values()))["paraphrasus"]
    names = [f"{group} {name}" for group, sets in groups.items() for name in sets]
    head = ["encoder", "threshold", *names, "mean of groups"]
    lines = []
    for name, encoder in encoders.items():
        errors = encoder["paraphrasus"]
        means = [fmean(sets.values()) for sets in errors.values()]
        cells = [number(value) for sets in errors.values() for value in sets.values()]
        lines.append((fmean(means), [name, number(encoder["threshold"], 2), *cells, number(fmean(means))]))
    return table(head, [line for _, line in sorted(lines, key=lambda line: line[0])])


def leaderboard_paraphrasers() -> str:
    """The share of texts whose first output is usable, the best of each set of texts that was read blind first."""
    lines = []
    for file, texts in READINGS.items():
        read = []
        for system, kinds in experiment(file)["results"]["table"].items():
            whole = kinds["all"]
            low, high = (number(100 * bound, 0) for bound in whole["interval"])
            shares = [number(100 * whole[key] / whole["texts"], 0) for key in ("usable", "outputs")]
            cells = [system, texts, str(whole["texts"]), shares[0], f"{low} to {high}", shares[1]]
            read.append((whole["usable"] / whole["texts"], cells))
        lines += [line for _, line in sorted(read, key=lambda line: -line[0])]
    head = ["system", "texts", "their number", "% with a usable first output", "interval", "% with an output"]
    return table(head, lines)


MADE = (leaderboard_similarity, leaderboard_pairs, leaderboard_paraphrasus, leaderboard_paraphrasers)
