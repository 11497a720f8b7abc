r"""Build a Chinese and an English parabank of the same subtitles, and measure both: ParaZh's table 3 in miniature.

    python -m research.experiments.subtitle_parabanks --data DIR --work DIR [--only text en-zh zh-en ...] \
        --json research/experiments/results/subtitle_parabanks.json

DIR holds bitext/tvsub (TV subtitles, for research only: nothing that is trained on them may be published) and sts/. The
steps come in this order; what a step has finished is kept in --work, and an interrupted one goes on:

- text: the subtitles are cleaned as in ParaZh, section 2.2, and 600,000 random pairs are set apart for the translators;
  both parabanks are made from other pairs, which is ours: the paper translates its training text.
- en-zh, zh-en: translators of the starters' size, 5.6 million parameters. They can be trained at the same time.
- growth: a tenth of the Chinese parabank, to compare its time and memory with those of the whole.
- parazh: a Chinese parabank by `builders/parazh.py` with the paper's settings. Lines with texts of the STS sets below
  are left out.
- paranmt: an English parabank of a part of the same lines by `builders/paranmt.py`.
- chinese: encoders trained on the Chinese pairs, with characters or with jieba's words as words.
- english: WORD and TRIGRAM trained on as many English pairs as `paranmt_tables` takes of each of its corpora, and on
  all of them.

BLEU is measured on the validation file of the subtitles, whose English is tokenised and lower-cased: it is
detokenised for the translator that reads it, and BLEU of English is of lower-cased text.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import yaml
from sacrebleu.metrics import BLEU
from sacremoses import MosesDetokenizer

from research.experiments.corpora import write_tsv
from research.experiments.paranmt_tables import NO_LIMIT, statistics_of, translated, untrained
from research.experiments.sts_table import PARTS, Judge, over_seeds
from research.experiments.work_record import check_work
from research.reports import report
from toolkit.bitext.read import read_bitext
from toolkit.clean.clean_file import CleanFile, clean_file
from toolkit.clean.rules import CleanSettings, clean
from toolkit.data.rows import Row
from toolkit.data.shards import read_shard
from toolkit.encoder.settings import EncoderTraining
from toolkit.evaluate import sts
from toolkit.evaluate.embeddings import CHINESE, IDENTIFICATION
from toolkit.evaluate.ibleu import bleu_tokenizer
from toolkit.evaluate.translation import BEAM, translate
from toolkit.package.parquet import finished_shards
from toolkit.run.workspace import RECORD
from toolkit.system.whole_files import write_whole
from toolkit.train.encoder_pairs import TextPair
from toolkit.train.translator import train
from toolkit.translator.load import load_translator
from toolkit.translator.settings import TrainingSettings

SEED = 0
TRAINED = 600_000  # ours: pairs of the translators
LINES = {"parazh": 51_000, "paranmt": 4_000}  # ours: of each parabank
FEW = 5_100  # ours: lines of a second Chinese run, which shows what grows with the number of lines
PARAZH_CLEANING: dict[str, Any] = {"half_width": True, "simplified": True}  # section 2.2
WHOLE_CORPUS: dict[str, Any] = {"max_english": 0.6, "most_frequent": True}  # sections 2.2 and 2.4
# ours: a training shorter than an epoch needs neither dropout nor several segmentations of a sentence
TRAINING: dict[str, Any] = {
    "alpha": None, "dropout": 0.0, "max_steps": 1450, "cooldown_steps": 800, "warmup_steps": 150, "batch_tokens": 3072,
    "save_every": 200, "average": 4,
}  # fmt: skip
STEPS = ("text", "en-zh", "zh-en", "growth", "parazh", "paranmt", "chinese", "english")
REFERENCES, SMALL = (
    3000,
    2064,
)  # of each corpus in research/experiments/results/paranmt_tables.json: references and pairs
TVSUB = Path("bitext", "tvsub")


def text(options: argparse.Namespace) -> None:
    """Clean the subtitles; write the pairs of the translators and those of the parabanks, English TAB Chinese."""
    output = options.work / "clean.parquet"
    if not output.exists():
        clean_file(
            CleanFile(
                bitext=[str(options.data / TVSUB / "zho-eng.train.episode-zho-eng.tsv.zst")],
                source_lang="en",
                lang="zh",
                source_column="2",
                reference_column="1",
                output=str(output),
                **PARAZH_CLEANING,
                **WHOLE_CORPUS,
            )
        )
    table = pq.read_table(output)
    order = np.random.default_rng(SEED).permutation(len(table))
    for name, numbers in (("train", order[:TRAINED]), ("parabank", order[TRAINED : TRAINED + 220_000])):
        rows = table.take(pa.array(np.sort(numbers))).select(["source", "reference"]).to_pylist()
        write_tsv(options.work / f"{name}.tsv", (tuple(row.values()) for row in rows))


def train_translator(options: argparse.Namespace, direction: str) -> dict:
    """Train the translator of a direction unless that has been done; its record and its BLEU."""
    folder, (source_lang, lang) = options.work / direction, direction.split("-")
    columns: dict[str, Any] = {} if direction == "en-zh" else {"source_column": "1", "reference_column": "0"}
    if not (folder / "model" / RECORD).exists():
        bitext = [str(options.work / "train.tsv")]
        train(TrainingSettings(bitext, str(folder), source_lang, lang, **columns, **TRAINING))
    record = json.loads((folder / "model" / RECORD).read_text(encoding="utf-8"))
    progress = {name: record["progress"][name] for name in ("epoch", "step", "tokens", "seconds")}
    of_training = {name: record[name] for name in ("parameters", "pairs", "held_out_nats_per_token")}
    return of_training | progress | {"bleu": bleu_of(options, direction)}


def bleu_of(options: argparse.Namespace, direction: str) -> dict[str, Any]:
    """BLEU on the validation file, with its signature."""
    pairs = list(read_bitext([str(options.data / TVSUB / "zho-eng.validation.tsv.gz")]))
    # the same normal form as the training text; no pair is left out
    keep = CleanSettings(
        deduplicate=False, drop_same_text=False, min_script_share=0.0, half_width=True, simplified=True
    )
    clean_pairs = list(clean(pairs, keep, "zh", "en", Counter()))
    chinese = [pair.source for pair in clean_pairs]
    english = [MosesDetokenizer("en").detokenize(pair.reference.split()) for pair in clean_pairs]
    sources, references = (english, chinese) if direction == "en-zh" else (chinese, english)
    lang = direction.split("-")[1]
    metric = BLEU(tokenize=bleu_tokenizer(lang), lowercase=lang == "en")
    outputs = translate(load_translator(str(options.work / direction / "model")), sources)
    score = metric.corpus_score(outputs, [references]).score
    return {"value": score, "signature": f"{metric.get_signature()}|beam:{BEAM}", "pairs": len(references)}


def parabank(options: argparse.Namespace, builder: str, additions: dict[str, Any], lines: int | None = None) -> dict:
    """Build a parabank unless that has been done; the figures of its card, and if it was never interrupted its cost.

    The cost is how long it took, the number of processes, and the peak memory.

    Args:
        options: Of the command.
        builder: Its name.
        additions: Its settings, beside those that both parabanks share.
        lines: How many it reads; None is those of `LINES`, for the parabank itself.
    """
    name = f"{builder}-{lines}" if lines else builder
    folder, run, clock, config = (options.work / f"{name}{end}" for end in ("", ".shards", ".seconds", ".yaml"))
    if not (folder / "statistics.json").exists():
        is_new = not run.exists()
        settings = {
            "bitext": [str(options.work / "parabank.tsv")],
            "output_dir": str(folder),
            "limit": lines or LINES[builder],
            "shard_rows": 500,
            "threads": 1,
            "validation_share": 0.0,
            "test_share": 0.0,
            **PARAZH_CLEANING,
            **additions,
        }
        write_whole(config, yaml.safe_dump(settings))
        began = time.perf_counter()
        command = [sys.executable, "-m", "builders", "build", builder, "--config", str(config)]
        subprocess.run([*command, "--processes", str(options.processes)], check=True)
        cost = {"seconds": time.perf_counter() - began, "processes": options.processes}
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest process so far
        if is_new:
            write_whole(clock, json.dumps(cost | {"peak_megabytes": peak}))
    statistics = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
    names = ("inputs", "total", "lengths", "candidates", "copies", "diversity", "paraphrase_scores")
    contamination = json.loads((folder / "contamination.json").read_text(encoding="utf-8"))
    shards = finished_shards(run)
    size = sum(shard.stat().st_size for shard in shards) / statistics["total"]["references"]
    figures = {"contamination": contamination, "bytes_per_reference": size}
    cost = json.loads(clock.read_text(encoding="utf-8")) if clock.exists() else {}
    return {key: statistics[key] for key in names} | figures | cost


def build_chinese(options: argparse.Namespace, lines: int | None = None) -> dict:
    """The Chinese parabank, with the paper's settings."""
    sets = [str(options.data / CHINESE / "*.txt"), *(str(options.data / path) for path in IDENTIFICATION.values())]
    models = {"forward": str(options.work / "en-zh" / "model"), "backward": str(options.work / "zh-en" / "model")}
    return parabank(options, "parazh", {"source_lang": "en", "lang": "zh", "decontaminate": sets} | models, lines)


def build_english(options: argparse.Namespace) -> dict:
    """The English parabank, with the paper's settings."""
    sets = [str(options.data / "sts" / "benchmark" / "*.csv"), str(options.data / "sts" / "20*" / "STS.input*.txt")]
    columns = {"source_column": "1", "reference_column": "0", "source_lang": "zh", "lang": "en"}
    model = {"forward": str(options.work / "zh-en" / "model"), "decontaminate": sets}
    return parabank(options, "paranmt", columns | model)


class ChineseJudge:
    """The Chinese similarity and identification sets, read once."""

    def __init__(self, data: Path) -> None:
        """Read the sets."""
        files = {f"Chinese STS-B {part}": data / CHINESE / f"sts-b-{part}.txt" for part in ("dev", "test")}
        self.sets = {name: sts.read_chinese(path) for name, path in files.items()}
        self.sets |= {name: sts.read_chinese_identification(data / path) for name, path in IDENTIFICATION.items()}

    def scores(self, encoder: Any) -> dict[str, tuple[float, float]]:
        """Pearson and Spearman x 100 of an encoder on each set."""
        return {name: sts.correlations(encoder, pairs) for name, pairs in self.sets.items()}


def rows_of(options: argparse.Namespace, name: str) -> list[Row]:
    """The rows of a parabank, without those that cleaning refused."""
    shards = finished_shards(options.work / f"{name}.shards")
    return [row for shard in shards for row in read_shard(shard) if row.reason is None]


def pairs_of(rows: Sequence[Row]) -> list[TextPair]:
    """The pairs of rows that are no copies."""
    return [pair.pair for pair in translated(rows)]


def encoders(
    pairs: list[TextPair], judge: Any, seeds: Sequence[int], architectures: dict[str, dict[str, Any]]
) -> dict[str, dict]:
    """The scores of encoders of some architectures over seeds, and those of their random weights."""
    results = {}
    for name, architecture in architectures.items():
        settings = replace(EncoderTraining(pairs=[], output_dir=""), max_tokens=NO_LIMIT, **architecture)
        results[name] = over_seeds(pairs, seeds, settings, judge)
        results[name]["untrained"] = untrained([pairs] * len(seeds), settings, seeds, judge)
        print(name, json.dumps(results[name]["spearman"]), flush=True)
    return results


def chinese_encoders(options: argparse.Namespace) -> dict:
    """Encoders on the Chinese parabank, whose Chinese words are characters or jieba's."""
    architectures = {
        f"{name}, {chinese}": {"parts": PARTS[name], "chinese": chinese}
        for name in ("WORD", "TRIGRAM", "WORD + TRIGRAM")
        for chinese in ("characters", "words")
    }
    return encoders(pairs_of(rows_of(options, "parazh")), ChineseJudge(options.data), options.seeds, architectures)


def english_encoders(options: argparse.Namespace) -> dict:
    """Encoders on the English parabank: on as many pairs as of each corpus of table 4, and on all."""
    rows, judge = rows_of(options, "paranmt"), Judge(options.data)
    sample = random.Random(SEED).sample(rows, REFERENCES)
    architectures = {name: {"parts": PARTS[name]} for name in ("WORD", "TRIGRAM")}
    return {
        "statistics": statistics_of(sample, translated(sample)),
        "models": encoders(pairs_of(sample)[:SMALL], judge, options.seeds, architectures),
        "all pairs": encoders(pairs_of(rows), judge, options.seeds, architectures),
    }


def main() -> None:
    """Take the steps, print what they measure, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2, help="of a builder, each with one thread")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    check_work(options.work, "subtitles", {"data": options.data})
    if "text" in options.only and not (options.work / "parabank.tsv").exists():
        text(options)
    work = {
        "en-zh": lambda: train_translator(options, "en-zh"),
        "zh-en": lambda: train_translator(options, "zh-en"),
        "growth": lambda: build_chinese(options, FEW),
        "parazh": lambda: build_chinese(options),
        "paranmt": lambda: build_english(options),
        "chinese": lambda: chinese_encoders(options),
        "english": lambda: english_encoders(options),
    }
    results: dict[str, Any] = {}
    for step in (step for step in work if step in options.only):
        results[step] = work[step]()
        report.write(options.json, min(options.seeds), results, {})


if __name__ == "__main__":
    main()
