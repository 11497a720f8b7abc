r"""Which source corpus and which filter give the best training pairs: ParaNMT-50M's tables 4 and 5 in miniature.

    python -m experiments.paranmt_tables --data DIR --work DIR [--references 3000] [--filtered 10000] [--seeds 0 1 2] \
        --json experiments/results/paranmt_tables.json

DIR of --data is laid out as `sts_corpora.py` says; what is translated goes to --work, if it is not there yet. Both
tables train encoders from scratch for 5 epochs and report Pearson's r on STS Benchmark's development set, STS 2012 to
2015 beside it; no reference is a sentence of any of these. LSTM, the third model of both tables, is left out unless
--models names it: it takes a hundred times as long.

- sources (table 4): as many pairs of each corpus. The starter has read Tatoeba's training part, and neither of the
  others; the paper's translator had read all of its corpora. No length is refused.
- filters (table 5): Tatoeba's pairs in deciles by each measure, two neighbouring deciles together, and samples of all
  deciles that are as large ("all", one sample for each seed). Texts that are equal to their references but for case and
  punctuation are left out before the pairs are ranked: the starter has learnt many references by heart, and those
  pairs teach nothing. The best fifth is chosen by what it is reported on, as in the paper: it is biased upwards.

"untrained" is what the first, random weights of an encoder give on the same vocabulary.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import torch

from experiments import sts_corpora
from experiments.sts_table import KINDS, PARTS, Judge, line, over_seeds, summary
from reports import report
from toolkit.encoder.modules import sentence_transformer
from toolkit.encoder.pairs import TextPair, number_pairs
from toolkit.encoder.training import EncoderTraining, new_encoder
from toolkit.evaluate.profile import LENGTH_SIGNATURE, VOCABULARY_SIGNATURE, profile
from toolkit.package.parquet import finished_shards
from toolkit.rows import Row
from toolkit.score.overlap import without_punctuation
from toolkit.select.corpus import choose_shards, chosen_folder, write_thresholds
from toolkit.select.deciles import DECILES, MEASURES, DecileSettings
from toolkit.shards import read_shard, write_shard

FILTERED = "tatoeba"  # ours: the only corpus that the starter translates well, as CzEng is for the paper
EVERY = ",".join(map(str, range(1, DECILES + 1)))
POOLED = 2  # ours: neighbouring deciles that are trained on together, because a decile of so few pairs teaches little
NO_LIMIT = 10_000  # ours: tokens of a sentence; section 5.3 refuses none
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
    """A pair that teaches something, and its paraphrase score."""

    pair: TextPair
    score: float


def translate(data: Path, work: Path, name: str, count: int) -> Path:
    """The finished shards of a ParaNMT run on so many references of a corpus."""
    bitext = work / f"{name}.tsv"
    shards = work / f"{name}-paranmt.shards"
    if not (work / f"{name}-paranmt").is_dir():
        work.mkdir(parents=True, exist_ok=True)
        pairs = sts_corpora.references(data, name, sts_corpora.sts_sentences(data))[:count]
        sts_corpora.write_bitext(bitext, pairs)
        sts_corpora.make("paranmt", bitext, work)
    return shards


def rows_of(shards: Path) -> Iterator[Row]:
    """The rows of a finished run, in their order."""
    return (row for shard in finished_shards(shards) for row in read_shard(shard))


def translated(rows: Sequence[Row]) -> list[Translated]:
    """What a run says, without copies of references."""
    found = [(row, candidate) for row in rows for candidate in row.paraphrases if not copied(row, candidate.text)]
    return [Translated(TextPair(row.id, row.reference, c.text), c.scores.semantic or 0.0) for row, c in found]


def copied(row: Row, text: str) -> bool:
    """Whether a text is the row's reference but for case and punctuation."""
    return without_punctuation(row.reference) == without_punctuation(text)


def without_copies(shards: Path) -> Path:
    """A run's finished shards in a folder of their own, in which copies of references have no rank."""
    folder = shards.with_name(f"{shards.name.removesuffix('.shards')}-differing.shards")
    folder.mkdir(exist_ok=True)
    for record in ("settings.json", "inputs.json"):
        shutil.copy(shards / record, folder / record)
    for shard in finished_shards(shards):
        if not (folder / shard.name).exists():
            write_shard(folder / shard.name, map(refuse_copies, read_shard(shard)))
    return folder


def refuse_copies(row: Row) -> Row:
    """A row whose copies of the reference have a reason instead of a rank."""
    for candidate in row.paraphrases:
        if copied(row, candidate.text):
            candidate.rank, candidate.reason = None, "copy"
    return row


def chosen(shards: Path, settings: DecileSettings) -> list[TextPair]:
    """The pairs that a choice leaves of a run."""
    folder, every = chosen_folder(shards, settings), finished_shards(shards)
    write_thresholds(every, settings, folder)
    kept = [row for shard in choose_shards(every, settings, folder) for row in read_shard(shard)]
    return [one.pair for one in translated(kept)]


def statistics_of(rows: Sequence[Row], pairs: Sequence[Translated]) -> dict:
    """Table 1's columns that need no parser, and how many references a run has copied."""
    said = [row for row in rows if row.paraphrases]
    return {
        "references": len(said),
        "copies": len(said) - len(pairs),
        "paraphrase_score_mean": fmean(one.score for one in pairs),
        **profile([row.reference for row in said]),
    }


def table_sources(options: argparse.Namespace, judge: Judge, base: EncoderTraining) -> dict:
    """Table 4: every corpus gives as many pairs, the first in a random order."""
    counts = {name: options.references for name in options.sources} | {FILTERED: options.filtered}
    runs = {n: list(rows_of(translate(options.data, options.work, n, counts[n]))) for n in options.sources}
    rows = {name: run[: options.references] for name, run in runs.items()}
    pairs = {name: translated(run) for name, run in rows.items()}
    size, found = min(map(len, pairs.values())), {}
    for name, own in pairs.items():
        found[name] = {"statistics": statistics_of(rows[name], own), "models": {}}
        for model in options.models:
            settings = replace(base, parts=PARTS[model], max_tokens=NO_LIMIT)
            same = [one.pair for one in own[:size]]
            scores = over_seeds(same, options.seeds, settings, judge)
            scores["untrained"] = untrained([same] * len(options.seeds), settings, options.seeds, judge)
            found[name]["models"][model] = scores
            show(f"{name}, {model}", scores)
    return {"pairs": size, "corpora": found, "paper": PAPER_SOURCES}


def fifths() -> list[str]:
    """Neighbouring deciles, lowest scores first.

    >>> fifths()[0], fifths()[-1]
    ('1,2', '9,10')
    """
    return [",".join(map(str, range(n, n + POOLED))) for n in range(1, DECILES + 1, POOLED)]


def table_filters(options: argparse.Namespace, judge: Judge, base: EncoderTraining) -> dict:
    """Table 5: each measure's fifths, the best of them, and what as many pairs of all deciles give."""
    shards = without_copies(translate(options.data, options.work, FILTERED, options.filtered))
    parts: dict[str, dict] = {}
    for measure in PAPER_FILTERS:
        for deciles in fifths():
            pairs = chosen(shards, DecileSettings(measure, deciles))
            found = {m: over_seeds(pairs, options.seeds, replace(base, parts=PARTS[m]), judge) for m in options.models}
            parts.setdefault(measure, {})[deciles] = found
            for model, scores in found.items():
                line(f"{measure} {deciles}, {model}", scores)
    size = min(scores["pairs"] for of in parts.values() for found in of.values() for scores in found.values())
    samples = [chosen(shards, DecileSettings(next(iter(MEASURES)), EVERY, size, seed=seed)) for seed in options.seeds]
    by_chance = {m: chance_of(samples, replace(base, parts=PARTS[m]), options.seeds, judge) for m in options.models}
    for model, scores in by_chance.items():
        show(f"all deciles, {model}", scores)
    means = {measure: {deciles: mean_of(found) for deciles, found in of.items()} for measure, of in parts.items()}
    best = {measure: max(of, key=lambda deciles: of[deciles]) for measure, of in means.items()}
    return {
        "parts": parts,
        "all": by_chance,
        "model_average": means,
        "model_average_all": mean_of(by_chance),
        "best": {measure: {"deciles": deciles, DEV: means[measure][deciles]} for measure, deciles in best.items()},
        "paper": PAPER_FILTERS,
    }


def untrained(samples: Sequence[list[TextPair]], settings: EncoderTraining, seeds: Sequence[int], judge: Judge) -> dict:
    """What the first weights give on the vocabulary of each sample, one a seed, before any training."""
    found = []
    for pairs, seed in zip(samples, seeds, strict=True):
        texts = number_pairs(pairs, settings.max_tokens).texts
        found.append(judge.scores(sentence_transformer(new_encoder(replace(settings, seed=seed), texts))))
    return {
        kind: {name: summary([scores[name][place] for scores in found]) for name in found[0]}
        for place, kind in enumerate(KINDS)
    }


def chance_of(samples: Sequence[list[TextPair]], settings: EncoderTraining, seeds: Sequence[int], judge: Judge) -> dict:
    """What samples of all deciles give, other weights for each."""
    runs = [over_seeds(pairs, [seed], settings, judge) for pairs, seed in zip(samples, seeds, strict=True)]
    joined = runs[0] | {"seeds": list(seeds), "seconds": [run["seconds"][0] for run in runs]}
    for kind in KINDS:
        joined[kind] = {name: summary([run[kind][name]["mean"] for run in runs]) for name in runs[0][kind]}
    return joined | {"untrained": untrained(samples, settings, seeds, judge)}


def show(name: str, scores: dict) -> None:
    """Print what an encoder has learnt, and what it was before."""
    line(name, scores)
    line(f"{name}, untrained", scores | scores["untrained"])


def mean_of(models: dict[str, dict]) -> float:
    """The models' mean of Pearson's r on the development set."""
    return fmean(scores["pearson"][DEV]["mean"] for scores in models.values())


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sources", nargs="+", choices=sts_corpora.SOURCES, default=list(sts_corpora.SOURCES))
    parser.add_argument("--references", type=int, default=3_000, help="of each corpus, for the sources")
    parser.add_argument("--filtered", type=int, default=10_000, help="references of Tatoeba, for the filters")
    parser.add_argument("--models", nargs="+", choices=["WORD", "TRIGRAM", "LSTM"], default=["WORD", "TRIGRAM"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    return parser.parse_args()


def main() -> None:
    """Translate what is not translated yet, train, print, write."""
    options = parsed()
    torch.set_num_threads(options.threads)
    judge, base = Judge(options.data), EncoderTraining(pairs=[], output_dir="")
    signatures = [LENGTH_SIGNATURE, VOCABULARY_SIGNATURE]
    results = {"sources": table_sources(options, judge, base), "filters": table_filters(options, judge, base)}
    best = {f"best fifth by {name}": round(found[DEV], 2) for name, found in results["filters"]["best"].items()}
    ratios = best | {"all deciles": round(results["filters"]["model_average_all"], 2)}
    report.write(options.json, options.seeds[0], results | {"signatures": signatures}, ratios)


if __name__ == "__main__":
    main()
