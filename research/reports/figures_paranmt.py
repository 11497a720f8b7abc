"""Figures of ParaNMT-50M's tables 4 and 5 in miniature: each function makes a table or a figure."""

from __future__ import annotations

from statistics import fmean

from research.reports.figures import experiment, number, table
from toolkit.evaluate.tables import with_spread

DEV = "benchmark dev"
YEARS = ("2012", "2013", "2014", "2015")
NAMES = {
    "trigram_overlap": "trigram overlap",
    "translation_score": "translation score",
    "semantic": "paraphrase score",
}


def dev(result: dict) -> str:
    """Pearson's r on STS Benchmark dev, and what the first weights gave."""
    before = number(result["untrained"]["pearson"][DEV]["mean"])
    return f"{with_spread(result['pearson'][DEV]['values'], 1)} ({before})"


def years(result: dict) -> str:
    """The mean over STS 2012 to 2015."""
    return number(fmean(result["pearson"][year]["mean"] for year in YEARS))


def averages(models: list[dict]) -> str:
    """The mean over models of Pearson's r on STS Benchmark dev, with its spread over seeds."""
    seeds = zip(*(model["pearson"][DEV]["values"] for model in models), strict=True)
    return with_spread([fmean(values) for values in seeds], 1)


def source_corpora() -> str:
    """Table 4: as many pairs of each corpus."""
    results = experiment("paranmt_tables")["results"]["sources"]
    statistics = ["mean length", "vocabulary entropy", "mean paraphrase score", "copies of the reference"]
    encoders = [f"{name}: STS Benchmark dev (random weights), STS 2012-2015" for name in ("WORD", "TRIGRAM")]
    head = [f"{results['pairs']:,} pairs of each corpus", *statistics, *encoders]
    subtitles = experiment("subtitle_parabanks")["results"]["english"]
    lines = []
    for name, corpus in (results["corpora"] | {"subtitles (from Chinese)": subtitles}).items():
        s, models = corpus["statistics"], corpus["models"]
        copies = number(100 * s["copies"] / s["references"], 0) + " %"
        like = [
            number(s["length_mean"]),
            number(s["vocabulary_entropy"]),
            number(s["paraphrase_score_mean"], 2),
            copies,
        ]
        scores = [f"{dev(models[model])}, {years(models[model])}" for model in ("WORD", "TRIGRAM")]
        lines.append([name, *like, *scores])
    return table(head, lines)


def filters() -> str:
    """Table 5: every fifth by each measure, the mean of the models."""
    results = experiment("paranmt_tables")["results"]["filters"]
    fifths = list(next(iter(results["parts"].values())))
    head = ["deciles, 1 is the lowest", *(fifth.replace(",", " and ") for fifth in fifths), "paper: best decile"]
    lines = [
        [name, *(averages(list(results["parts"][key][f].values())) for f in fifths), number(results["paper"][key])]
        for key, name in NAMES.items()
    ]
    every = list(results["all"].values())
    before = averages([model["untrained"] for model in every])
    return table(
        head, lines, f"The same number of pairs from all deciles: {averages(every)}. Random weights: {before}."
    )


MADE = (source_corpora, filters)
