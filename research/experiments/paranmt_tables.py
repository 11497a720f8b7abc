r"""Compare source corpora and filters by the encoders trained on them: ParaNMT-50M's tables 4 and 5 in miniature.

    python -m research.experiments.paranmt_tables --data DIR \
        --work DIR [--references 3000] [--filtered 10000] [--seeds 0 1 2] \
        --json research/experiments/results/paranmt_tables.json

`corpora.py` describes the layout of the --data folder; translations are written to --work and reused; other numbers
of references want another --work. Both tables
train encoders from scratch for 5 epochs and report Pearson's r on STS Benchmark's development set, and on STS 2012 to
2015; no reference is a sentence of any of these. LSTM, the third model of both tables, is left out unless --models
names it, because it takes a hundred times as long.

- sources (table 4): the same number of pairs of each corpus. The starter was trained on Tatoeba's training part but not
  on the other corpora; the paper's translator was trained on all its corpora. Pairs of any length are used.
- filters (table 5): Tatoeba's pairs in deciles by each measure, two neighbouring deciles together, and samples of the
  same size from all deciles ("all", one sample for each seed). Copies of the reference, compared without case and
  punctuation, are left out before the pairs are ranked: the starter has memorised many references, and such pairs are
  useless for training. The best fifth is chosen by the result that is reported, as in the paper, so it is biased
  upwards.

"untrained" are the results of an encoder with its initial random weights on the same vocabulary.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

import torch

from research.experiments import corpora
from research.experiments.sts_table import KINDS, PARTS, Judge, line, over_seeds, summary
from research.reports import report
from toolkit.data.rows import Row
from toolkit.data.shards import read_shard, write_shard
from toolkit.encoder.modules import sentence_transformer
from toolkit.evaluate.profile import LENGTH_SIGNATURE, VOCABULARY_SIGNATURE, profile
from toolkit.package.parquet import finished_shards
from toolkit.score.overlap import without_punctuation
from toolkit.select.corpus import choose
from toolkit.select.deciles import DECILES, MEASURES, DecileSettings, refuse_by_deciles
from toolkit.system.processes import processes
from toolkit.train.encoder import EncoderTraining, new_encoder
from toolkit.train.encoder_pairs import TextPair, number_pairs

FILTERED = "tatoeba"  # ours: the only corpus that the starter translates well, like CzEng in the paper
EVERY = ",".join(map(str, range(1, DECILES + 1)))
POOLED = 2  # ours: number of neighbouring deciles in a training set, because one decile has too few pairs
NO_LIMIT = 10_000  # ours: tokens of a sentence; section 5.3 has no limit
PAPER_SOURCES = {  # ParaNMT-50M, table 4: Pearson x 100 on STS 2017, trained on 100K pairs
    "Common Crawl": {"WORD": 80.9, "TRIGRAM": 80.2, "LSTM": 79.1},
    "CzEng 1.6": {"WORD": 83.6, "TRIGRAM": 81.5, "LSTM": 82.5},
    "Europarl": {"WORD": 78.9, "TRIGRAM": 78.0, "LSTM": 80.4},
    "News Commentary": {"WORD": 80.2, "TRIGRAM": 78.2, "LSTM": 80.5},
}
PAPER_FILTERS = {  # ParaNMT-50M, table 5: the best decile's mean over WORD, TRIGRAM and LSTM
    "trigram_overlap": 83.1,
    "translation_score": 83.2,
    "semantic": 83.3,
}
DEV = "benchmark dev"


@dataclass(frozen=True)
class Translated:
    """A pair that is no copy, and its paraphrase score."""

    pair: TextPair
    score: float


def translate(data: Path, work: Path, name: str, count: int) -> Path:
    """Run ParaNMT on `count` references of a corpus unless that has been done; return the folder of its shards."""
    corpora.check_references(work, name, data, count)
    bitext = work / f"{name}.tsv"
    shards = work / f"{name}-paranmt.shards"
    if not (work / f"{name}-paranmt").is_dir():
        pairs = corpora.references(data, name, corpora.sts_sentences(data))[:count]
        corpora.write_tsv(bitext, pairs)
        corpora.make("paranmt", bitext, work)
    return shards


def rows_of(shards: Path) -> Iterator[Row]:
    """The rows of a finished run, in their order."""
    return (row for shard in finished_shards(shards) for row in read_shard(shard))


def translated(rows: Sequence[Row]) -> list[Translated]:
    """The pairs of a run, without copies of references."""
    paraphrases = [(row, candidate) for row in rows for candidate in row.paraphrases if not copied(row, candidate.text)]
    return [Translated(TextPair(row.id, row.reference, c.text), c.scores.semantic or 0.0) for row, c in paraphrases]


def copied(row: Row, text: str) -> bool:
    """Whether a text equals the row's reference except for case and punctuation."""
    return without_punctuation(row.reference) == without_punctuation(text)


def without_copies(shards: Path) -> Path:
    """Copy a run's finished shards to another folder, where copies of references have no rank; return the folder."""
    folder = shards.with_name(f"{shards.name.removesuffix('.shards')}-differing.shards")
    folder.mkdir(exist_ok=True)
    for record in ("settings.json", "inputs.json"):
        shutil.copy(shards / record, folder / record)
    for shard in finished_shards(shards):
        if not (folder / shard.name).exists():
            write_shard(folder / shard.name, map(refuse_copies, read_shard(shard)))
    return folder


def refuse_copies(row: Row) -> Row:
    """Give the paraphrases that copy the reference a reason instead of a rank; return the row."""
    for candidate in row.paraphrases:
        if copied(row, candidate.text):
            candidate.rank, candidate.reason = None, "copy"
    return row


def chosen(shards: Path, settings: DecileSettings) -> list[TextPair]:
    """The pairs of a run that a selection keeps."""
    rule = partial(refuse_by_deciles, settings=settings)
    folder = choose(finished_shards(shards), settings, rule, processes())
    rows = [row for shard in finished_shards(folder) for row in read_shard(shard)]
    return [pair.pair for pair in translated(rows)]


def statistics_of(rows: Sequence[Row], pairs: Sequence[Translated]) -> dict:
    """The columns of table 1 that need no parser, and the number of references that the run has copied."""
    with_paraphrase = [row for row in rows if row.paraphrases]
    return {
        "references": len(with_paraphrase),
        "copies": len(with_paraphrase) - len(pairs),
        "paraphrase_score_mean": fmean(pair.score for pair in pairs),
        **profile([row.reference for row in with_paraphrase]),
    }


def table_sources(options: argparse.Namespace, judge: Judge, base: EncoderTraining) -> dict:
    """Table 4: the same number of pairs from every corpus, the first of a random order."""
    counts = {name: options.references for name in options.sources} | {FILTERED: options.filtered}
    runs = {n: list(rows_of(translate(options.data, options.work, n, counts[n]))) for n in options.sources}
    rows = {name: run[: options.references] for name, run in runs.items()}
    pairs = {name: translated(run) for name, run in rows.items()}
    size, figures = min(map(len, pairs.values())), {}
    for name, corpus_pairs in pairs.items():
        figures[name] = {"statistics": statistics_of(rows[name], corpus_pairs), "models": {}}
        for model in options.models:
            settings = replace(base, parts=PARTS[model], max_tokens=NO_LIMIT)
            same = [pair.pair for pair in corpus_pairs[:size]]
            scores = over_seeds(same, options.seeds, settings, judge)
            scores["untrained"] = untrained([same] * len(options.seeds), settings, options.seeds, judge)
            figures[name]["models"][model] = scores
            show(f"{name}, {model}", scores)
    return {"pairs": size, "corpora": figures, "paper": PAPER_SOURCES}


def fifths() -> list[str]:
    """The pairs of neighbouring deciles, lowest scores first.

    >>> fifths()[0], fifths()[-1]
    ('1,2', '9,10')
    """
    return [",".join(map(str, range(n, n + POOLED))) for n in range(1, DECILES + 1, POOLED)]


def table_filters(options: argparse.Namespace, judge: Judge, base: EncoderTraining) -> dict:
    """Table 5: the results of each measure's fifths, the best of them, and those of samples from all deciles."""
    shards = without_copies(translate(options.data, options.work, FILTERED, options.filtered))
    parts: dict[str, dict] = {}
    for measure in PAPER_FILTERS:
        for deciles in fifths():
            pairs = chosen(shards, DecileSettings(measure, deciles))
            scores_by_model = {
                m: over_seeds(pairs, options.seeds, replace(base, parts=PARTS[m]), judge) for m in options.models
            }
            parts.setdefault(measure, {})[deciles] = scores_by_model
            for model, scores in scores_by_model.items():
                line(f"{measure} {deciles}, {model}", scores)
    size = min(
        scores["pairs"]
        for of in parts.values()
        for scores_by_model in of.values()
        for scores in scores_by_model.values()
    )
    samples = [chosen(shards, DecileSettings(next(iter(MEASURES)), EVERY, size, seed=seed)) for seed in options.seeds]
    all_deciles = {
        m: over_samples(samples, replace(base, parts=PARTS[m]), options.seeds, judge) for m in options.models
    }
    for model, scores in all_deciles.items():
        show(f"all deciles, {model}", scores)
    means = {
        measure: {deciles: mean_of(scores_by_model) for deciles, scores_by_model in of.items()}
        for measure, of in parts.items()
    }
    best = {measure: max(of, key=lambda deciles: of[deciles]) for measure, of in means.items()}
    return {
        "parts": parts,
        "all": all_deciles,
        "model_average": means,
        "model_average_all": mean_of(all_deciles),
        "best": {measure: {"deciles": deciles, DEV: means[measure][deciles]} for measure, deciles in best.items()},
        "paper": PAPER_FILTERS,
    }


def untrained(samples: Sequence[list[TextPair]], settings: EncoderTraining, seeds: Sequence[int], judge: Judge) -> dict:
    """The results of the initial weights on the vocabulary of each sample, with one seed for each."""
    results = []
    for pairs, seed in zip(samples, seeds, strict=True):
        texts = number_pairs(pairs, settings.max_tokens).texts
        results.append(judge.scores(sentence_transformer(new_encoder(replace(settings, seed=seed), texts))))
    return {
        kind: {name: summary([scores[name][place] for scores in results]) for name in results[0]}
        for place, kind in enumerate(KINDS)
    }


def over_samples(
    samples: Sequence[list[TextPair]], settings: EncoderTraining, seeds: Sequence[int], judge: Judge
) -> dict:
    """The results of samples of all deciles, with one seed for each."""
    runs = [over_seeds(pairs, [seed], settings, judge) for pairs, seed in zip(samples, seeds, strict=True)]
    results = runs[0] | {"seeds": list(seeds), "seconds": [run["seconds"][0] for run in runs]}
    for kind in KINDS:
        results[kind] = {name: summary([run[kind][name]["mean"] for run in runs]) for name in runs[0][kind]}
    return results | {"untrained": untrained(samples, settings, seeds, judge)}


def show(name: str, scores: dict) -> None:
    """Print the results of an encoder after and before training."""
    line(name, scores)
    line(f"{name}, untrained", scores | scores["untrained"])


def mean_of(models: dict[str, dict]) -> float:
    """The mean over models of Pearson's r on the development set."""
    return fmean(scores["pearson"][DEV]["mean"] for scores in models.values())


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sources", nargs="+", choices=corpora.SOURCES, default=list(corpora.SOURCES))
    parser.add_argument("--references", type=int, default=3_000, help="references of each corpus in table 4")
    parser.add_argument("--filtered", type=int, default=10_000, help="references of Tatoeba in table 5")
    parser.add_argument("--models", nargs="+", choices=["WORD", "TRIGRAM", "LSTM"], default=["WORD", "TRIGRAM"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    return parser.parse_args()


def main() -> None:
    """Translate what has not been translated, train, print, and write the JSON."""
    options = parsed()
    torch.set_num_threads(options.threads)
    judge, base = Judge(options.data), EncoderTraining(pairs=[], output_dir="")
    signatures = [LENGTH_SIGNATURE, VOCABULARY_SIGNATURE]
    results = {"sources": table_sources(options, judge, base), "filters": table_filters(options, judge, base)}
    best = {f"best fifth by {name}": round(fifth[DEV], 2) for name, fifth in results["filters"]["best"].items()}
    ratios = best | {"all deciles": round(results["filters"]["model_average_all"], 2)}
    report.write(options.json, options.seeds[0], results | {"signatures": signatures}, ratios)


if __name__ == "__main__":
    main()
