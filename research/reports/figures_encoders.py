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

STARTS = ("random", "vectors")  # of `encoder_pairs.py`: what words begin with
YEARS = ("2012", "2013", "2014", "2015")
ERRORS = 2  # ours: standard errors by which a rank is called better than another corpus


def sts_line(name: str, result: dict) -> list[str]:
    """A model of ParaNMT's tables 8 and 9."""
    pearson, paper = result["pearson"], result.get("paper", [None] * 5)
    years = " / ".join(number(pearson[year]["mean"]) for year in YEARS)
    printed = " / ".join(number(value) for value in paper[:4])
    dev = beside(with_spread(pearson["benchmark dev"]["values"], 1), paper[4])
    training = [number(result["pairs"], 0), number(fmean(result["seconds"]), 0)] if result["pairs"] else ["", ""]
    return [name, training[0], dev, years + (f" ({printed})" if paper[0] else ""), training[1]]


def models() -> dict[str, dict]:
    """ParaNMT's tables 8 and 9; the recurrent model was measured with the mega-batches."""
    results = dict(experiment("sts_models")["results"]["models"])
    paper = [*PAPER_STS["LSTM, 300"][: len(YEARS)], *PAPER_BENCHMARK["LSTM, 300"]]
    lstm = experiment("sts_mega_batch")["results"]["mega_batch"]["LSTM, M = 40"] | {"paper": paper}
    return dict([*list(results.items())[:2], ("LSTM", lstm), *list(results.items())[2:]])


def sts_models() -> str:
    """ParaNMT's tables 8 and 9, and a transformer of today."""
    similarity = ["STS Benchmark dev (paper: test)", "STS 2012 / 2013 / 2014 / 2015 (paper)"]
    head = ["encoder", "training pairs", *similarity, "seconds of training"]
    return table(head, [sts_line(name, result) for name, result in models().items()])


def sts_gap() -> str:
    """By how much the models stay below the paper, over the years."""
    return ranges(
        paper - result["pearson"][year]["mean"]
        for result in models().values()
        for year, paper in zip(YEARS, result.get("paper", ()), strict=False)
    )


def over_years(result: dict) -> list[float]:
    """For each seed the mean over the years."""
    return [fmean(values) for values in zip(*(result["pearson"][year]["values"] for year in YEARS), strict=True)]


def sts_corpora() -> str:
    """ParaBank 2's table 3 in miniature."""
    dev = ["STS Benchmark dev, Pearson", "STS Benchmark dev, Spearman"]
    head = ["WORD trained on", "pairs", *dev, "STS 2012-2015, mean Pearson", "paper: STS 2016, Pearson"]
    lines = []
    for name, result in experiment("sts_corpora")["results"]["corpora"].items():
        dev, spearman = result["pearson"]["benchmark dev"], result["spearman"]["benchmark dev"]
        years = with_spread(over_years(result), 1)
        cells = [with_spread(dev["values"], 1), number(spearman["mean"]), years, f"({number(PAPER_2016[name][0])})"]
        lines.append([name, number(result["pairs"], 0), *cells])
    return table(head, lines)


def sts_guards() -> str:
    """Each corpus and each model without and with guards on the pairs, and models on a random part of the pairs."""
    variants = {"corpora": ("", "_guards"), "models": ("", "_guards", "_sampled")}
    lines = []
    for kind, names in variants.items():
        results = [experiment(f"sts_{kind}{name}")["results"][kind] for name in names]
        for name, whole in results[0].items():
            if whole["pairs"]:
                encoders = [result[name] for result in results]
                pairs = " / ".join(number(encoder["pairs"], 0) for encoder in encoders)
                dev = [with_spread(encoder["pearson"]["benchmark dev"]["values"], 1) for encoder in encoders]
                years = [with_spread(over_years(encoder), 1) for encoder in encoders]
                blank = [""] * (3 - len(encoders))
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
    values = {name: seeds(result) for name, result in experiment("sts_corpora")["results"]["corpora"].items()}

    def above(rank: int) -> bool:
        ours = values[f"ParaBank 2, rank {rank}"]
        return all(
            fmean(ours) - fmean(theirs) > ERRORS * (variance(ours) / len(ours) + variance(theirs) / len(theirs)) ** 0.5
            for theirs in (values["ParaNMT"], values["ParaBank"])
        )

    ranks = [str(rank) for rank in range(1, corpus.RANKS + 1) if above(rank)]
    return " and ".join([", ".join(ranks[:-1]), ranks[-1]]) if len(ranks) > 1 else "".join(ranks) or "none"


def ranks_above_on_dev() -> str:
    """The same on STS Benchmark's development set."""
    return ranks_above(lambda result: result["pearson"]["benchmark dev"]["values"])


def ranks_above_over_years() -> str:
    """The same over the years."""
    return ranks_above(over_years)


def mega_batches() -> str:
    """ParaNMT's table 6: Pearson x 100 on STS Benchmark dev (the paper), and the mean over the years."""
    lines: dict[str, list[str]] = {}
    reports = (experiment(name)["results"].get("mega_batch", {}) for name in ("sts_mega_batch", "encoder_combinations"))
    for name, result in (item for report in reports for item in report.items()):
        model = name.split(",")[0]
        label = f"{model}, {result['pairs']:,} pairs, {len(result['seeds'])} seed{'s' * (len(result['seeds']) > 1)}"
        dev = with_spread(result["pearson"]["benchmark dev"]["values"], 1)
        lines.setdefault(label, []).append(f"{beside(dev, result.get('paper'))}; {with_spread(over_years(result), 1)}")
    return table(["encoder", "M = 1", "M = 20", "M = 40"], [[label, *cells] for label, cells in lines.items()])


def encoder_combinations() -> str:
    """ParaNMT's tables 8 and 9: WORD and TRIGRAM, their sum and their concatenation, on human pairs."""
    cells: dict[str, dict[str, str]] = {}
    for name, result in experiment("encoder_combinations")["results"]["combined"].items():
        model, _, combination, start = name.split(", ")
        label = f"{model}, {combination}" if "+" in model else model
        cells.setdefault(label, {})[start] = _dev_and_years(result)
    head = ["encoder", "words begin with random vectors: STS Benchmark dev; 2012-2015", "with word2vec's: the same"]
    return table(head, [[label, *(of_start.get(start, "") for start in STARTS)] for label, of_start in cells.items()])


def learning_curve() -> str:
    """ParaNMT-50M, section 5.4: encoders over the number of human pairs (`research/experiments/encoder_pairs.py`)."""
    results = experiment("encoder_pairs")["results"]["pairs"]
    lines = [
        [number(count, 0), *(_dev_and_years(results[f"{model}, {count}"]) for model in ("WORD", "TRIGRAM"))]
        for count in _counts()
    ]
    return table(["pairs", "WORD: STS Benchmark dev; 2012-2015", "TRIGRAM: the same"], lines)


def doubling() -> str:
    """What twice as many pairs bring on average on STS Benchmark dev, with the range over the doublings."""
    results = experiment("encoder_pairs")["results"]["pairs"]
    parts = []
    for model in ("WORD", "TRIGRAM"):
        means = [results[f"{model}, {count}"]["pearson"]["benchmark dev"]["mean"] for count in _counts()]
        gains = [after - before for before, after in pairwise(means)]
        parts.append(f"{model} {number(fmean(gains))} points ({ranges(gains, 1)})")
    return " and ".join(parts)


def _counts() -> list[int]:
    """The numbers of pairs that both encoders were trained on."""
    names = experiment("encoder_pairs")["results"]["pairs"]
    return sorted({int(name.split(", ")[1]) for name in names if name.startswith("TRIGRAM")})


def _dev_and_years(result: dict) -> str:
    """Pearson x 100 on STS Benchmark dev, and the mean over the years."""
    return f"{with_spread(result['pearson']['benchmark dev']['values'], 1)}; {with_spread(over_years(result), 1)}"


def hard_negatives() -> str:
    """Encoders without and with hard negatives."""
    results = experiment("hard_negatives")["results"]
    lines = []
    for loss in ("margin", "ranking"):
        for name, result in results[loss].items():
            mined = results["mined"].get(name)
            label = "without" if mined is None else f"relative margin {float(name):g}"
            triplets = "" if mined is None else number(mined["triplets"], 0)
            dev = [with_spread(result[kind]["benchmark dev"]["values"], 2) for kind in ("pearson", "spearman")]
            seeds = " / ".join(number(value, 2) for value in result["pearson"]["benchmark dev"]["values"])
            years = with_spread(over_years(result), 1)
            lines.append([f"{loss}, {label}", number(result["pairs"], 0), triplets, *dev, seeds, years])
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
            name: result["pearson"]["benchmark dev"]["values"]
            for name, result in experiment("hard_negatives")["results"][loss].items()
        }
        without = values.pop("without")
        gains = {name: [b - a for a, b in zip(without, seeds, strict=True)] for name, seeds in values.items()}
        name = max(gains, key=lambda name: fmean(gains[name]))
        low, high, mean = min(gains[name]), max(gains[name]), fmean(gains[name])
        kind = "help" if low > 0 else "hurt" if high < 0 else "help some seeds only"
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
    return {arm: result for run in runs for arm, result in experiment(run)["results"]["static"].items()}


def static_encoders() -> str:
    """Static encoders beside the starter encoder, by who taught them."""
    results = experiment("static_encoder")["results"]
    static = static_arms()
    sizes = next(iter(static.values()))["beginnings"]
    lines = []
    for arm, label in STATIC.items():
        if result := static.get(arm):
            cells = [result["pearson"][name]["values"] for name in ("benchmark dev", "benchmark train")]
            beginnings = " / ".join(number(beginning["mean"]) for beginning in result["beginnings"].values())
            seeds = len(cells[0])
            years = with_spread(result["years"]["values"], 1)
            megabytes = number(result["bytes"] / 1e6)
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
        result = static[arm]
        dev = result["pearson"]["benchmark dev"]["mean"] - scores["benchmark dev"][0]
        years = result["years"]["mean"] - fmean(scores[year][0] for year in YEARS)
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
    results = experiment(experiment_name)["results"]
    columns = [(part, measure) for part in ("val", "test") for measure in ("accuracy", "f1")]
    lines = [
        [start(name), *(with_spread([run[part][measure] for run in runs], 1) for part, measure in columns)]
        for name, runs in results["lines"].items()
    ]
    rows = results.get("rows")
    if rows is None:  # as in the paper
        lines += [[f"*{name} in the paper*", "", f"*{number(f1)}*", "", ""] for name, f1 in results["paper"].items()]
    seeds = (
        f"{len(results['seeds'])} seed{'s' * (len(results['seeds']) > 1)}, {results['pairs']:,} pairs of identification"
    )
    of_rows = "" if rows is None else f", {rows:,} rows of MRPC"
    return table(
        [f"starting point ({seeds}{of_rows})", "MRPC dev accuracy", "dev F1", "test accuracy", "test F1"], lines
    )


def identification_gains() -> str:
    """What identification brings with few rows of MRPC."""
    return _identification_gains("identification_few")


def _identification_gains(experiment_name: str) -> str:
    """What identification brings on MRPC's test: mean differences and their 95 % intervals over the seeds."""
    lines = experiment(experiment_name)["results"]["lines"]
    parts = []
    for measure, label in (("accuracy", "the accuracy"), ("f1", "F1")):
        runs = zip(lines["MiniLM"], lines["MiniLM + identification"], strict=True)
        gains = [after["test"][measure] - before["test"][measure] for before, after in runs]
        mean, half = fmean(gains), student.ppf(0.975, len(gains) - 1) * stdev(gains) / math.sqrt(len(gains))
        parts.append(f"{label} by {number(mean)} points ({number(mean - half)} to {number(mean + half)})")
    return " and ".join(parts)


def identification_of_all_rows() -> str:
    """ParaBank 2's table 4 with more seeds."""
    return _pair_classifiers("identification_seeds")


def identification_gains_of_all_rows() -> str:
    """What identification brings with all rows of MRPC."""
    return _identification_gains("identification_seeds")


def identified_f1() -> str:
    """F1 on MRPC's dev before and after paraphrase identification."""
    lines = experiment("identification")["results"]["lines"]
    return ", ".join(number(fmean(run["val"]["f1"] for run in lines[n])) for n in ("MiniLM", "MiniLM + identification"))


def identified_how() -> str:
    """The seeds and the sentence pairs of `identified_f1`."""
    results = experiment("identification")["results"]
    pairs = results["lines"]["MiniLM"][0]["val"]["pairs"]
    return f"{len(results['seeds'])} seed, {pairs:,} pairs of dev"


def mega_batch_word() -> str:
    """The mean Pearson correlation of WORD over STS 2012 to 2015, by the size of the mega-batch."""
    results = experiment("sts_mega_batch")["results"]["mega_batch"]
    return ", ".join(number(fmean(over_years(result))) for name, result in results.items() if name.startswith("WORD"))


def lexicon() -> str:
    """ParaNMT's table 13."""
    report = experiment("lexicon")
    lines = [
        [
            name,
            number(figures["rho"]),
            f"{figures['pairs'] - figures['unseen']} of {figures['pairs']}",
            number(PAPER_SIMLEX[name]),
        ]
        for name, figures in report["simlex"].items()
    ]
    ours = f"ours, {report['counts']['kept']:,} sentence pairs"
    return table(["Spearman x 100", ours, "word pairs seen", "paper, 51M sentence pairs"], lines)


def simlex() -> str:
    """The same in a line."""
    report = experiment("lexicon")
    rhos = ", ".join(f"{name} {number(figures['rho'])}" for name, figures in report["simlex"].items())
    return f"{rhos} ({report['counts']['kept']:,} pairs)"


MADE = (
    encoder_combinations, learning_curve, doubling, sts_models, sts_gap, sts_corpora, ranks_above_on_dev,
    ranks_above_over_years, sts_guards, mega_batches, hard_negatives, hard_negatives_gain, mining_speed,
    static_encoders, static_gain, static_speeds, transfer, encoder_pairs, encoder_dev, identification,
    identification_of_few_rows, identification_gains, identification_of_all_rows,
    identification_gains_of_all_rows, identified_f1, identified_how, lexicon, mega_batch_word, simlex,
)  # fmt: skip
