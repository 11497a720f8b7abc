"""Figures of sentence encoders, pair classifiers and the lexicon: each function makes a table or a figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from statistics import fmean, stdev, variance

from scipy.stats import t as student

from research.reports.figures import benchmark, beside, experiment, number, ranges, starter, table
from toolkit.evaluate import corpus
from toolkit.evaluate.embeddings import PAPER_2016, PAPER_BENCHMARK, PAPER_STS
from toolkit.evaluate.simlex import PAPER as PAPER_SIMLEX
from toolkit.evaluate.tables import with_spread
from toolkit.evaluate.transfer import PAPER_TRANSFER
from toolkit.starters import STARTERS

YEARS = ("2012", "2013", "2014", "2015")
ERRORS = 2  # ours: standard errors by which a rank is called better than another corpus


def sts_line(name: str, found: dict) -> list[str]:
    """A model of ParaNMT's tables 8 and 9."""
    pearson, paper = found["pearson"], found.get("paper", [None] * 5)
    years = " / ".join(number(pearson[year]["mean"]) for year in YEARS)
    printed = " / ".join(number(one) for one in paper[:4])
    dev = beside(with_spread(pearson["benchmark dev"]["values"], 1), paper[4])
    trained = [number(found["pairs"], 0), number(fmean(found["seconds"]), 0)] if found["pairs"] else ["", ""]
    return [name, trained[0], dev, years + (f" ({printed})" if paper[0] else ""), trained[1]]


def models() -> dict[str, dict]:
    """ParaNMT's tables 8 and 9; the recurrent model was measured with the mega-batches."""
    found = dict(experiment("sts_models")["results"]["models"])
    paper = [*PAPER_STS["LSTM, 300"][: len(YEARS)], *PAPER_BENCHMARK["LSTM, 300"]]
    lstm = experiment("sts_mega_batch")["results"]["mega_batch"]["LSTM, M = 40"] | {"paper": paper}
    return dict([*list(found.items())[:2], ("LSTM", lstm), *list(found.items())[2:]])


def sts_models() -> str:
    """ParaNMT's tables 8 and 9, and a transformer of today."""
    similarity = ["STS Benchmark dev (paper: test)", "STS 2012 / 2013 / 2014 / 2015 (paper)"]
    head = ["encoder", "training pairs", *similarity, "seconds of training"]
    return table(head, [sts_line(name, found) for name, found in models().items()])


def sts_gap() -> str:
    """By how much the models stay below the paper, over the years."""
    return ranges(
        paper - found["pearson"][year]["mean"]
        for found in models().values()
        for year, paper in zip(YEARS, found.get("paper", ()), strict=False)
    )


def over_years(found: dict) -> list[float]:
    """For each seed the mean over the years."""
    return [fmean(values) for values in zip(*(found["pearson"][year]["values"] for year in YEARS), strict=True)]


def sts_corpora() -> str:
    """ParaBank 2's table 3 in miniature."""
    dev = ["STS Benchmark dev, Pearson", "STS Benchmark dev, Spearman"]
    head = ["WORD trained on", "pairs", *dev, "STS 2012-2015, mean Pearson", "paper: STS 2016, Pearson"]
    lines = []
    for name, found in experiment("sts_corpora")["results"]["corpora"].items():
        dev, spearman = found["pearson"]["benchmark dev"], found["spearman"]["benchmark dev"]
        years = with_spread(over_years(found), 1)
        measured = [with_spread(dev["values"], 1), number(spearman["mean"]), years, f"({number(PAPER_2016[name][0])})"]
        lines.append([name, number(found["pairs"], 0), *measured])
    return table(head, lines)


def sts_guards() -> str:
    """Each corpus and each model without and with guards on the pairs, and models on a random part of the pairs."""
    variants = {"corpora": ("", "_guards"), "models": ("", "_guards", "_sampled")}
    lines = []
    for kind, names in variants.items():
        results = [experiment(f"sts_{kind}{name}")["results"][kind] for name in names]
        for name, whole in results[0].items():
            if whole["pairs"]:
                found = [one[name] for one in results]
                pairs = " / ".join(number(one["pairs"], 0) for one in found)
                dev = [with_spread(one["pearson"]["benchmark dev"]["values"], 1) for one in found]
                years = [with_spread(over_years(one), 1) for one in found]
                blank = [""] * (3 - len(found))
                label = f"WORD, {name}" if kind == "corpora" else f"{name}, all pairs"
                lines.append([label, pairs, *dev, *blank, *years, *blank])
    columns = ["with", "fewer at random"]
    dev = ["STS Benchmark dev, Pearson, without guards", *columns]
    years = ["STS 2012-2015, mean Pearson, without guards", *columns]
    return table(["encoder, trained on", "pairs, without guards / with / fewer at random", *dev, *years], lines)


def ranks_above(seeds: Callable[[dict], list[float]]) -> str:
    """ParaBank 2's ranks that are above both ParaNMT and ParaBank by more than `ERRORS` standard errors.

    Args:
        seeds: A measure of a corpus, a value for each seed.
    """
    found = {name: seeds(one) for name, one in experiment("sts_corpora")["results"]["corpora"].items()}

    def above(rank: int) -> bool:
        ours = found[f"ParaBank 2, rank {rank}"]
        return all(
            fmean(ours) - fmean(theirs) > ERRORS * (variance(ours) / len(ours) + variance(theirs) / len(theirs)) ** 0.5
            for theirs in (found["ParaNMT"], found["ParaBank"])
        )

    ranks = [str(rank) for rank in range(1, corpus.RANKS + 1) if above(rank)]
    return " and ".join([", ".join(ranks[:-1]), ranks[-1]]) if len(ranks) > 1 else "".join(ranks) or "none"


def ranks_above_on_dev() -> str:
    """The same on STS Benchmark's development set."""
    return ranks_above(lambda found: found["pearson"]["benchmark dev"]["values"])


def ranks_above_over_years() -> str:
    """The same over the years."""
    return ranks_above(over_years)


def mega_batches() -> str:
    """ParaNMT's table 6: Pearson x 100 on STS Benchmark dev (the paper), and the mean over the years."""
    lines: dict[str, list[str]] = {}
    for name, found in experiment("sts_mega_batch")["results"]["mega_batch"].items():
        model = name.split(",")[0]
        label = f"{model}, {found['pairs']:,} pairs, {len(found['seeds'])} seed{'s' * (len(found['seeds']) > 1)}"
        dev = with_spread(found["pearson"]["benchmark dev"]["values"], 1)
        lines.setdefault(label, []).append(f"{beside(dev, found['paper'])}; {with_spread(over_years(found), 1)}")
    return table(["encoder", "M = 1", "M = 20", "M = 40"], [[label, *cells] for label, cells in lines.items()])


def learning_curve() -> str:
    """ParaNMT-50M, section 5.4: encoders over the number of human pairs (`research/experiments/encoder_pairs.py`)."""
    found = experiment("encoder_pairs")["results"]["pairs"]
    lines = [
        [number(count, 0), *(_dev_and_years(found[f"{model}, {count}"]) for model in ("WORD", "TRIGRAM"))]
        for count in _counts()
    ]
    return table(["pairs", "WORD: STS Benchmark dev; 2012-2015", "TRIGRAM: the same"], lines)


def doubling() -> str:
    """What twice as many pairs bring on average on STS Benchmark dev, with the range over the doublings."""
    found = experiment("encoder_pairs")["results"]["pairs"]
    said = []
    for model in ("WORD", "TRIGRAM"):
        means = [found[f"{model}, {count}"]["pearson"]["benchmark dev"]["mean"] for count in _counts()]
        gains = [after - before for before, after in pairwise(means)]
        said.append(f"{model} {number(fmean(gains))} points ({ranges(gains, 1)})")
    return " and ".join(said)


def _counts() -> list[int]:
    """The numbers of pairs that both encoders were trained on."""
    names = experiment("encoder_pairs")["results"]["pairs"]
    return sorted({int(name.split(", ")[1]) for name in names if name.startswith("TRIGRAM")})


def _dev_and_years(found: dict) -> str:
    """Pearson x 100 on STS Benchmark dev, and the mean over the years."""
    return f"{with_spread(found['pearson']['benchmark dev']['values'], 1)}; {with_spread(over_years(found), 1)}"


def hard_negatives() -> str:
    """Encoders without and with hard negatives."""
    found = experiment("hard_negatives")["results"]
    lines = []
    for loss in ("margin", "ranking"):
        for name, one in found[loss].items():
            mined = found["mined"].get(name)
            label = "without" if mined is None else f"relative margin {float(name):g}"
            triplets = "" if mined is None else number(mined["triplets"], 0)
            dev = [with_spread(one[kind]["benchmark dev"]["values"], 2) for kind in ("pearson", "spearman")]
            seeds = " / ".join(number(value, 2) for value in one["pearson"]["benchmark dev"]["values"])
            years = with_spread(over_years(one), 1)
            lines.append([f"{loss}, {label}", number(one["pairs"], 0), triplets, *dev, seeds, years])
    dev = ["STS Benchmark dev, Pearson", "Spearman", "Pearson of each seed"]
    return table(["loss, negatives", "pairs", "triplets", *dev, "STS 2012-2015, mean Pearson"], lines)


def mining_speed() -> str:
    """Seconds, memory and linked negatives of our mining and of the library's, in words."""
    results = benchmark("negatives")["results"]
    ours, library = results["ours"], results["mine_hard_negatives"]
    return (
        f"ours {number(min(ours['seconds']), 1)} s and {number(min(ours['peak_megabytes']), 0)} MB for "
        f"{number(results['pairs'], 0)} pairs, the library's {number(min(library['seconds']), 1)} s and "
        f"{number(min(library['peak_megabytes']), 0)} MB; {number(100 * library['linked'])} % of its negatives are "
        f"linked to their anchors by common references, of ours {number(100 * ours['linked'])} %"
    )


def hard_negatives_gain() -> str:
    """Whether hard negatives help each loss on the benchmark's development set, at the better margin, in words."""
    parts = []
    for loss in ("margin", "ranking"):
        values = {
            name: one["pearson"]["benchmark dev"]["values"]
            for name, one in experiment("hard_negatives")["results"][loss].items()
        }
        without = values.pop("without")
        gains = {name: [b - a for a, b in zip(without, seeds, strict=True)] for name, seeds in values.items()}
        name = max(gains, key=lambda name: fmean(gains[name]))
        least, most, mean = min(gains[name]), max(gains[name]), fmean(gains[name])
        kind = "help" if least > 0 else "hurt" if most < 0 else "help some seeds only"
        parts.append(f"with the {loss} loss they {kind} ({mean:+.2f} points on average)")
    return " and ".join(parts)


STATIC = {
    "alone": "static, pairs alone",
    "alike": "static, pairs alone, all pieces alike",
    "untrained": "the starter encoder's vectors of the pieces, weighted, untrained",
    "starter": "static, taught by the starter encoder",
    "both": "static, the vectors of the lines *alone* and *taught* beside each other",
    "minilm": "static, taught by all-MiniLM-L6-v2",
}


def static_arms() -> dict[str, dict]:
    """The static encoders of all runs, by who taught them."""
    runs = ("static_encoder", "static_encoder_alone", "static_encoder_weights", "static_encoder_both")
    return {arm: found for run in runs for arm, found in experiment(run)["results"]["static"].items()}


def static_encoders() -> str:
    """Static encoders beside the starter encoder, by who taught them."""
    results = experiment("static_encoder")["results"]
    static = static_arms()
    sizes = next(iter(static.values()))["beginnings"]
    lines = []
    for arm, label in STATIC.items():
        if found := static.get(arm):
            cells = [found["pearson"][name]["values"] for name in ("benchmark dev", "benchmark train")]
            beginnings = " / ".join(number(one["mean"]) for one in found["beginnings"].values())
            seeds = len(cells[0])
            years = with_spread(found["years"]["values"], 1)
            megabytes = number(found["bytes"] / 1e6)
            lines.append(
                [
                    f"{label} ({seeds} seed{'s' * (seeds > 1)})",
                    *(with_spread(c, 1) for c in cells),
                    years,
                    beginnings,
                    megabytes,
                ]
            )
    scores = results["encoders"]["starter/encoder"]
    size = (STARTERS / "encoder" / "model.safetensors").stat().st_size
    years = number(fmean(scores[year][0] for year in YEARS))
    lines.append(
        [
            "the starter encoder",
            *(number(scores[f"benchmark {part}"][0]) for part in ("dev", "train")),
            years,
            "",
            number(size / 1e6),
        ]
    )
    head = [
        "encoder",
        "STS Benchmark dev",
        "train (tuned on)",
        "STS 2012-2015, mean",
        f"dev, first {' / '.join(sizes)}",
    ]
    return table([*head, "MB"], lines)


def static_speeds() -> str:
    """Sentences a second of a static encoder, the starter and a transformer."""
    speed = experiment("static_encoder_speed")["results"]["speed"]
    names = {"static": "a static encoder", "starter/encoder": "the starter encoder", "minilm": "all-MiniLM-L6-v2"}
    lines = [[label, number(speed[name]["median"], 0), ranges(speed[name]["values"])] for name, label in names.items()]
    return table(["encoder, one thread", "sentences per second of processor time, median", "of the rounds"], lines)


def static_gain() -> str:
    """By how much static encoders are above the starter encoder, on benchmark dev and over the years, in points."""
    results = experiment("static_encoder")["results"]
    scores, static, parts = results["encoders"]["starter/encoder"], static_arms(), []
    arms = {"untrained": "its vectors weighted", "starter": "taught by it", "alone": "trained on the pairs alone"}
    arms["both"] = "the last two beside each other"
    for arm, label in arms.items():
        found = static[arm]
        dev = found["pearson"]["benchmark dev"]["mean"] - scores["benchmark dev"][0]
        years = found["years"]["mean"] - fmean(scores[year][0] for year in YEARS)
        parts.append(f"{label} {dev:+.1f} and {years:+.1f}")
    return "; ".join(parts)


def transfer() -> str:
    """ParaNMT's table 14: the starter encoder beside the paper's model of the same parts."""
    names = ("MR", "CR", "SUBJ", "MPQA", "SST (dev)", "TREC (10 folds)", "MRPC", "MRPC F1", "SICK-R", "SICK-E")
    figures = starter("encoder", "measured.json")["evaluation"]["figures"]
    ours = ["the starter encoder", *(number(figures[name]["value"]) for name in names)]
    paper = ["*WORD + TRIGRAM, table 14*", *(f"*{number(value)}*" for value in PAPER_TRANSFER["WORD + TRIGRAM, 300"])]
    return table(["encoder", *names], [ours, paper])


def encoder_pairs() -> str:
    """What the starter encoder was trained on, and how long that took."""
    record = starter("encoder", "training.json")
    return f"{record['pairs']:,} pairs, mostly round trips through Portuguese, in {number(record['seconds'], 0)} s"


def encoder_dev() -> str:
    """The starter encoder on STS Benchmark's development set."""
    return number(starter("encoder", "measured.json")["evaluation"]["figures"]["STS Benchmark dev"]["value"])


def start(name: str) -> str:
    """What a classifier of the experiment starts from, in words."""
    return name.replace("all are", "no classifier: all pairs are").replace("fresh", "random weights")


def identification() -> str:
    """ParaBank 2's table 4."""
    return _pair_classifiers("identification")


def identification_of_few_rows() -> str:
    """The same with the first rows of the task alone."""
    return _pair_classifiers("identification_few")


def _pair_classifiers(experiment_name: str) -> str:
    """The table of an experiment of `identification_table.py`."""
    found = experiment(experiment_name)["results"]
    columns = [(part, measured) for part in ("val", "test") for measured in ("accuracy", "f1")]
    lines = [
        [start(name), *(with_spread([one[part][measured] for one in runs], 1) for part, measured in columns)]
        for name, runs in found["lines"].items()
    ]
    rows = found.get("rows")
    if rows is None:  # as in the paper
        lines += [[f"*{name} in the paper*", "", f"*{number(f1)}*", "", ""] for name, f1 in found["paper"].items()]
    seeds = f"{len(found['seeds'])} seed{'s' * (len(found['seeds']) > 1)}, {found['pairs']:,} pairs of identification"
    of_rows = "" if rows is None else f", {rows:,} rows of MRPC"
    return table(
        [f"starting point ({seeds}{of_rows})", "MRPC dev accuracy", "dev F1", "test accuracy", "test F1"], lines
    )


def identification_gains() -> str:
    """What identification brings on MRPC's test with few rows: mean differences and their 95 % intervals."""
    lines = experiment("identification_few")["results"]["lines"]
    said = []
    for measured, label in (("accuracy", "the accuracy"), ("f1", "F1")):
        runs = zip(lines["MiniLM"], lines["MiniLM + identification"], strict=True)
        gains = [after["test"][measured] - before["test"][measured] for before, after in runs]
        mean, half = fmean(gains), student.ppf(0.975, len(gains) - 1) * stdev(gains) / math.sqrt(len(gains))
        said.append(f"{label} by {number(mean)} points ({number(mean - half)} to {number(mean + half)})")
    return " and ".join(said)


def identified_f1() -> str:
    """F1 on MRPC's dev before and after paraphrase identification."""
    lines = experiment("identification")["results"]["lines"]
    return ", ".join(number(fmean(one["val"]["f1"] for one in lines[n])) for n in ("MiniLM", "MiniLM + identification"))


def identified_how() -> str:
    """The seeds and the sentence pairs of `identified_f1`."""
    results = experiment("identification")["results"]
    pairs = results["lines"]["MiniLM"][0]["val"]["pairs"]
    return f"{len(results['seeds'])} seed, {pairs:,} pairs of dev"


def mega_batch_word() -> str:
    """The mean Pearson correlation of WORD over STS 2012 to 2015, by the size of the mega-batch."""
    results = experiment("sts_mega_batch")["results"]["mega_batch"]
    return ", ".join(number(fmean(over_years(found))) for name, found in results.items() if name.startswith("WORD"))


def lexicon() -> str:
    """ParaNMT's table 13."""
    found = experiment("lexicon")
    lines = [
        [name, number(one["rho"]), f"{one['pairs'] - one['unseen']} of {one['pairs']}", number(PAPER_SIMLEX[name])]
        for name, one in found["simlex"].items()
    ]
    ours = f"ours, {found['counts']['kept']:,} sentence pairs"
    return table(["Spearman x 100", ours, "word pairs seen", "paper, 51M sentence pairs"], lines)


def simlex() -> str:
    """The same in a line."""
    found = experiment("lexicon")
    rhos = ", ".join(f"{name} {number(one['rho'])}" for name, one in found["simlex"].items())
    return f"{rhos} ({found['counts']['kept']:,} pairs)"


MADE = (
    learning_curve, doubling, sts_models, sts_gap, sts_corpora,
    ranks_above_on_dev, ranks_above_over_years, sts_guards, mega_batches, hard_negatives, hard_negatives_gain,
    mining_speed, static_encoders, static_gain, static_speeds, transfer, encoder_pairs, encoder_dev, identification,
    identification_of_few_rows, identification_gains, identified_f1, identified_how, lexicon, mega_batch_word, simlex,
)  # fmt: skip
