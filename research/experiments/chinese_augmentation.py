r"""Does a Chinese paraphraser of our own help three tasks of CLUE? ParaZh's tables 6 to 8 in miniature.

    python -m research.experiments.chinese_augmentation --data DIR --work DIR \
        --json research/experiments/results/chinese_augmentation.json

DIR holds classification/fewclue (tnews, ocnli and csl); --work is that of `subtitle_parabanks.py`, whose Chinese
parabank trains the paraphraser (from translation to reference, as in the paper's section 4.1, beginning with the
English-Chinese translator) and the encoder. Of each class 16 training rows are drawn, ten times; the test is FewCLUE's
public one. The classifier is a logistic regression on frozen embeddings: the paper fine-tunes a pretrained transformer
on all rows, which was not available here, so the accuracies cannot be compared with its tables, only the arms with each
other.

- none: the rows alone. oversampling: each row as often as the paraphrased arm can have it, but no new text.
- paraphrased: a paraphrase of each row at most; of a pair S1 + S2 of the paper, one of each sentence; of csl those that
  say all keywords.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

import toolkit
from research.reports import report
from toolkit.encoder.load import load_encoder
from toolkit.encoder.settings import EncoderTraining
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.study.row_sample import few_of_each
from toolkit.study.study import Arm, oversampled, study
from toolkit.study.trials import on_embeddings
from toolkit.train.encoder import train as train_encoder
from toolkit.train.paraphraser import train as train_paraphraser

NUMBER, SIZE = "number", 16
TASKS: dict[str, dict[str, Any]] = {  # columns of the classifier, and those that are paraphrased
    "tnews": {"columns": ["sentence"], "varied": ["sentence"]},
    "ocnli": {"columns": ["sentence1", "sentence2"], "varied": ["sentence1", "sentence2"]},
    "csl": {"columns": ["abst", "keywords"], "varied": ["abst"], "keep": "keyword"},
}
PAPER = {  # tables 6 to 8, BERT-base fine-tuned on all rows: accuracy without and with paraphrases; CMNLI for OCNLI
    "tnews": [56.09, 57.19],
    "ocnli": [79.47, 80.27],
    "csl": [79.63, 80.90],
}


def rows(file: Path) -> Dataset:
    """The rows of a file of FewCLUE, numbered; the keywords of csl also as one text."""
    records = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        fields = {name: row[name] for name in ("sentence", "sentence1", "sentence2", "abst", "keyword") if name in row}
        fields |= {"keywords": " ".join(row["keyword"])} if "keyword" in row else {}
        records.append(fields | {"label": str(row["label"]), NUMBER: number})
    return Dataset.from_list(records)


def paraphrased(train: Dataset, task: dict[str, Any], paraphraser: Paraphraser) -> tuple[Arm, dict[str, int]]:
    """The arm with paraphrases, which are made once for all rows; and how many rows have how many."""
    keep = task.get("keep")
    grown = toolkit.augment(train, task["varied"], keep=keep, paraphraser=paraphraser, label="label", progress=False)
    new: dict[int, list[dict]] = {}
    for row in grown.select(range(len(train), len(grown))).select_columns(train.column_names).to_list():
        new.setdefault(row[NUMBER], []).append(row)

    def arm(sample: Dataset, seed: int) -> Dataset:
        paraphrases = [row for number in sample[NUMBER] for row in new.get(number, [])]
        return Dataset.from_list([*sample.to_list(), *paraphrases], features=sample.features)

    return arm, {"rows": len(train), "with_paraphrases": len(new), "new_rows": len(grown) - len(train)}


def models(work: Path, threads: int) -> tuple[Path, Path]:
    """The paraphraser and the encoder, which are trained on the Chinese parabank unless they are there."""
    paraphraser, encoder, pairs = work / "paraphraser", work / "encoder", [str(work / "parazh")]
    train_paraphraser(
        ParaphraserTraining(
            pairs=pairs,
            output_dir=str(paraphraser),
            base_model=str(work / "en-zh" / "model"),
            lang="zh",
            direction="to_reference",  # section 4.1
            epochs=3,
            held_out=0,
            threads=threads,
        )
    )
    train_encoder(EncoderTraining(pairs=pairs, output_dir=str(encoder), threads=threads))
    return paraphraser, encoder


def examples(train: Dataset, column: str, paraphraser: Paraphraser, count: int = 8) -> list[list[str]]:
    """Some texts with their best paraphrase, if there is one."""
    texts: Sequence[str] = train[column][:count]
    return [[text, *outputs] for text, outputs in zip(texts, paraphraser.paraphrase(list(texts), 1), strict=True)]


def main() -> None:
    """Train, study the tasks, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model_folder, encoder_folder = models(options.work, options.threads)
    paraphraser, encoder = Paraphraser(str(model_folder), "zh", str(encoder_folder)), load_encoder(str(encoder_folder))
    results: dict[str, Any] = {}
    for name, task in TASKS.items():
        folder = options.data / "classification" / "fewclue" / name
        train, test = rows(folder / "train_few_all.json"), rows(folder / "test_public.json")
        arm, counts = paraphrased(train, task, paraphraser)
        arms = {"oversampling": oversampled(len(task["varied"])), "paraphrased": arm}
        trial = on_embeddings(encoder, task["columns"], "label")
        outcome = study(train, test, "label", trial, arms, [SIZE], options.seeds)
        print(name, counts, outcome, sep="\n", flush=True)
        compared = {arm: comparison._asdict() for (arm, _), comparison in outcome.comparisons().items()}
        accuracy = {arm: values for (arm, _), values in outcome.results.items()}
        results[name] = counts | {
            "test_rows": len(test),
            "training_rows": len(few_of_each(train, "label", SIZE, 0)),
            "accuracy": accuracy,
            "against_none": compared,
            "paper": PAPER[name],
            "examples": examples(train, task["varied"][0], paraphraser),
        }
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
