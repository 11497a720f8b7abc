r"""Do hard negatives help an encoder? The same pairs without and with them, three seeds, on STS.

    python -m research.experiments.hard_negatives --data DIR --work DIR \
        --json research/experiments/results/hard_negatives.json

DIR of --data holds paraphrase/quora/train.txt.gz and train_2.txt.gz, sts/2012 to sts/2015, sts/benchmark and
paraphrase/captions/multi30k-5-english.train.tsv.gz. The pairs are questions of Quora and captions of the same image
(the first two of each); pairs with a sentence of the STS sets are left out. TRIGRAM is trained with both losses of the
toolkit, and with the negatives that `parabank mine negatives --encoder starter/encoder` finds at two margins. Every
encoder of a loss has the same pairs and the same seeds: what differs is the negative of the anchors.
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import torch

from research.experiments.corpora import write_tsv
from research.experiments.starter_encoder import evaluation_keys, without
from research.experiments.sts_table import Judge, line, over_seeds
from research.experiments.work_record import check_work
from research.reports import report
from toolkit.bitext.text_file import read_text
from toolkit.encoder.load import load_encoder
from toolkit.encoder.settings import EncoderTraining
from toolkit.train.encoder_pairs import read_pairs
from toolkit.train.hard_negatives import mine_negatives
from toolkit.train.hard_negatives_settings import NegativesSettings

ENCODER = "starter/encoder"
MARGINS = (0.05, 0.3)  # the command's, and one that keeps away from what may be a paraphrase
LOSSES = ("margin", "ranking")


def natural_pairs(data: Path) -> Iterator[tuple[str, str]]:
    """Pairs of questions, and of the first two captions of each image."""
    questions = (data / "paraphrase/quora" / name for name in ("train.txt.gz", "train_2.txt.gz"))
    sides = [read_text(str(path)).splitlines() for path in questions]
    yield from ((first.strip(), second.strip()) for first, second in zip(*sides, strict=True))
    captions = data / "paraphrase/captions/multi30k-5-english.train.tsv.gz"
    with gzip.open(captions, "rt", encoding="utf-8") as lines:
        for text in lines:
            first, second, *_ = text.rstrip("\n").split("\t")
            yield first, second


def written_pairs(data: Path, work: Path, count: int) -> Path:
    """A file of a random part of the pairs without sentences of STS; its name says how many it may have."""
    path = work / f"natural-{count}.tsv"
    if not path.exists():
        pairs = [pair for pair in without(natural_pairs(data), evaluation_keys(data)) if "\t" not in "".join(pair)]
        numbers = sorted(random.Random(0).sample(range(len(pairs)), min(count, len(pairs))))
        write_tsv(path, [pairs[number] for number in numbers])
    return path


def mined(pairs: Path, relative_margin: float) -> tuple[dict[tuple[str, str], list[str]], dict]:
    """The negative of each pair that has one, and how many and how fast they were found."""
    output = pairs.with_name(f"{pairs.stem}-{relative_margin}.parquet")
    settings = NegativesSettings(
        parabank=str(pairs), encoder=ENCODER, output=str(output), relative_margin=relative_margin
    )
    began = time.perf_counter()
    counts = mine_negatives(settings, load_encoder(ENCODER), output)
    record = asdict(counts) | {"seconds": round(time.perf_counter() - began, 1)}
    columns = (column.to_pylist() for column in pq.read_table(output).columns)
    return {(anchor, positive): [negative] for anchor, positive, negative in zip(*columns, strict=True)}, record


def main() -> None:
    """Write the pairs, search the negatives, train, print the table, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    check_work(options.work, "pairs of people", {"data": options.data})
    path, judge = written_pairs(options.data, options.work, options.pairs), Judge(options.data)
    pairs = list(read_pairs([str(path)]))
    negatives = {str(margin): mined(path, margin) for margin in MARGINS}
    results: dict[str, dict] = {"mined": {margin: record for margin, (_, record) in negatives.items()}}
    for loss in LOSSES:
        settings = EncoderTraining(pairs=[], output_dir="", parts=["trigram"], loss=loss)
        results[loss] = {}
        for name in ("without", *negatives):
            by_pair = negatives[name][0] if name in negatives else {}
            training_pairs = [
                pair._replace(negatives=tuple(by_pair.get((pair.anchor, pair.positive), ()))) for pair in pairs
            ]
            results[loss][name] = over_seeds(training_pairs, options.seeds, settings, judge)
            line(f"{loss}, {name}", results[loss][name])
            report.write(options.json, min(options.seeds), results, {})


if __name__ == "__main__":
    main()
