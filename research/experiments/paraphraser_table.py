"""Which corpus makes the better paraphraser: ParaMac's tables 1, 2, 4, 6 and 7 with one small model.

    python -m research.experiments.paraphraser_table --data DIR --work build/paraphraser-table \
        --json research/experiments/results/paraphraser_table.json

DIR holds what `corpora.py` reads and paraphrase/{paranet,quora,captions,two-references}. With the folder of
`sts_table.py` as --work the corpora are not built again. One model (`base` of `paraphraser_runs.py`) is trained on
--pairs pairs of ParaNMT, ParaBank, ParaBank 2 and ParaNet, with each of --seeds, and tested on --texts inputs of each
test: of beam 12 the five best outputs that are no copy of the input, without guards and other filters. Texts and
references are lower-cased, because ParaNet is. As in the paper, the output with the highest iBLEU (alpha 0.8) of the
five counts; the first output stands beside it. The tables:

- 1: the tests without further training; with a copy of the input, and translation there and back by the starters.
- 2 and 4: after fine-tuning on pairs of the test's domain (of Multi30k for MSCOCO), beginning with the base model,
  ParaBank 2's and ParaNet's.
- 6: more pairs of ParaNet, and of ParaBank 2. 7: more epochs on a part of the pairs of ParaNet.

--corpora chooses among the corpora; for one of the same references the others are built, too, because only references
that all have are used. With --paranet FOLDER, a ParaNet that was built here, its pairs are a corpus more,
"ParaNet, ours".

The work goes on where it was interrupted; other --pairs want another --work. --tables chooses. The seeds can be run at
the same time, each by a command of its own, once the base model is there; a last command with all of them then writes
the JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from research.experiments.paraphraser_data import DOMAINS, TESTS, test_set
from research.experiments.paraphraser_runs import CORPORA, OURS, TRANSLATOR, adapted, base, corpora, corpus_model, slug
from research.reports import report
from research.reports.figures_paraphrasers import TESTED, tested_table
from toolkit.evaluate.paraphraser import CHOICES, Paraphrased, evaluate
from toolkit.evaluate.tables import mean_and_deviation
from toolkit.paraphraser.baselines import BEAM, round_trip
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.system.whole_files import write_whole
from toolkit.translator.load import load_translator

N = 5  # outputs of which the best counts
SUPERVISED = {"QQP": (500, 10_000), "MSCOCO": (500, 10_000)}  # table 2: pairs of the domain
LOW_RESOURCE = {"KQA Pro": (100, 500, 1000)}  # table 4
ADAPTED = ("ParaBank 2", "ParaNet", OURS)  # what fine-tuned models begin with, beside the base model
SIZES = (0.25, 0.5, 1.0)  # table 6: parts of the pairs; the paper's are 25k, 50k, 75k and 100k
EPOCHS, EPOCH_PART = (1, 5, 10, 20), 0.25  # table 7: the paper's are 5 to 25 on 10k of 80k pairs
PAPER = {  # ParaMac, tables 1, 2, 4, 6 and 7: iBLEU, BLEU, ROUGE-1 and ROUGE-2; ParaMod is T5-base trained on ParaNet
    "1": {"QQP": {"ParaMod": (14.57, 27.45, 60.05, 39.32)}, "MSCOCO": {"ParaMod": (11.34, 20.31, 52.93, 29.11)}},
    "2": {
        "QQP": {"ParaMod, 500": (20.21, 36.26, 67.23, 47.5), "ParaMod, 10,000": (28.36, 44.77, 73.25, 55.92)},
        "MSCOCO": {"ParaMod, 500": (14.32, 27.95, 63.58, 38.59), "ParaMod, 10,000": (19.0, 31.93, 66.2, 42.27)},
    },
    "4": {
        "KQA Pro": {
            "T5-base, 100": (6.61, 17.13, 41.91, 28.86),
            "ParaMod, 100": (16.67, 31.33, 66.72, 46.02),
            "T5-base, 500": (8.69, 20.46, 44.18, 31.32),
            "ParaMod, 500": (17.44, 33.75, 68.31, 47.82),
            "T5-base, 1,000": (17.31, 34.62, 63.26, 46.23),
            "ParaMod, 1,000": (19.52, 36.54, 69.98, 49.91),
        }
    },
    "6": {
        "QQP": {
            "none": (8.72, 16.23, 50.43, 31.43),
            "25,000": (13.3, 25.76, 57.47, 37.57),
            "50,000": (13.41, 26.01, 57.78, 37.84),
            "75,000": (13.62, 26.57, 58.77, 38.5),
            "100,000": (14.57, 27.45, 60.05, 39.32),
        }
    },
    "7": {
        "QQP": {
            "0 epochs": (8.72, 16.23, 50.43, 31.43),
            "5 epochs": (14.57, 27.45, 60.05, 39.32),
            "10 epochs": (12.59, 26.23, 58.79, 38.16),
            "15 epochs": (12.05, 26.22, 59.09, 38.11),
            "20 epochs": (11.34, 26.08, 59.62, 38.27),
            "25 epochs": (11.07, 26.02, 59.73, 38.23),
        }
    },
}

Outputs = Callable[[Sequence[str]], list[list[str]]]
Figures = dict[str, dict[str, float]]  # of the first and of the best output


class Experiment:
    """The folders, the tests and the options of a run of this experiment; figures are kept in the work folder."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.data, self.work, self.pairs, self.seeds = options.data, options.work, options.pairs, options.seeds
        self.texts, self.corpora = options.texts, [*options.corpora, *[OURS] * (options.paranet is not None)]
        self.counts = options.counts or [round(part * self.pairs) for part in SIZES]

    def figures(self, system: str, test: str, outputs: Callable[[], Outputs]) -> Figures:
        """The figures of a system on a test, which are measured once.

        Args:
            system: Its name, with its seed.
            test: One of TESTS.
            outputs: Loads the system.
        """
        file = self.work / "figures" / f"{slug(system)}.{slug(test)}.{self.texts}.json"
        if not file.exists():
            items = test_set(self.data, test, self.texts)
            paraphrases = outputs()([item.text for item in items])
            results = evaluate([lower_case(item, texts) for item, texts in zip(items, paraphrases, strict=True)])
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps({"figures": results, "outputs": paraphrases[:10]}, ensure_ascii=False) + "\n")
            print(system, test, {name: round(results["best"][name], 2) for name in TESTED}, flush=True)
        return json.loads(file.read_text(encoding="utf-8"))["figures"]

    def over_seeds(self, system: str, test: str, model: Callable[[int], Path]) -> dict[str, Any]:
        """Mean and standard deviation over the seeds of the figures of a trained model."""
        runs = [self.figures(f"{system} {seed}", test, partial(of_model, model, seed)) for seed in self.seeds]
        return {
            choice: {name: mean_and_deviation([run[choice][name] for run in runs]) for name in TESTED}
            for choice in CHOICES
        }

    def baselines(self, test: str) -> dict[str, Any]:
        """A copy of the input, translation there and back, and the base model, which has learnt no paraphrases."""
        systems: dict[str, Callable[[], Outputs]] = {
            "copy of the input": lambda: copies,
            "round trip": of_round_trip,
            "no corpus": lambda: of_model(lambda _: base(self.data, self.work), 0),
        }
        return {
            name: {c: {f: mean_and_deviation([figures[c][f]]) for f in TESTED} for c in CHOICES}
            for name, system in systems.items()
            for figures in [self.figures(name, test, system)]
        }

    def table_1(self) -> dict[str, Any]:
        """Each corpus on each test."""
        return {
            test: self.baselines(test)
            | {
                corpus: self.over_seeds(f"{corpus} {self.pairs}", test, partial(self.shared_model, corpus))
                for corpus in self.corpora
            }
            for test in TESTS
        }

    def shared_model(self, corpus: str, seed: int) -> Path:
        """The model of a corpus that the tables 1, 2 and 4 have in common."""
        return corpus_model(self.work, self.data, corpus, self.pairs, seed)

    def fine_tuned(self, domains: Mapping[str, Sequence[int]]) -> dict[str, Any]:
        """Tables 2 and 4: each number of pairs of each domain, from each beginning."""
        return {
            test: self.baselines(test)
            | {
                f"{begun or 'no corpus'}, {count:,} pairs of {DOMAINS[test]}": self.over_seeds(
                    f"{begun or 'base'} {self.pairs} {test} {count}", test, partial(self.tune, begun, test, count)
                )
                for count in counts
                for begun in (None, *(corpus for corpus in ADAPTED if corpus in self.corpora))
            }
            for test, counts in domains.items()
        }

    def tune(self, begun: str | None, test: str, count: int, seed: int) -> Path:
        """A model that is fine-tuned on pairs of a test's domain."""
        folder = self.shared_model(begun, seed) if begun else base(self.data, self.work)
        name = f"{begun} {self.pairs}" if begun else "base"
        return adapted(self.work, self.data, name, folder, test, count, seed)

    def table_6(self) -> dict[str, Any]:
        """More pairs."""
        return {
            "QQP": self.baselines("QQP")
            | {
                f"{corpus}, {count:,} pairs": self.over_seeds(
                    f"{corpus} {count}", "QQP", partial(corpus_model, self.work, self.data, corpus, count)
                )
                for corpus in ("ParaBank 2", "ParaNet")
                if corpus in self.corpora
                for count in self.counts
            }
        }

    def table_7(self) -> dict[str, Any]:
        """More epochs."""
        count = round(EPOCH_PART * self.pairs)
        return {
            "QQP": self.baselines("QQP")
            | {
                f"ParaNet, {count:,} pairs, {epochs} epoch{'s' * (epochs > 1)}": self.over_seeds(
                    f"ParaNet {count} epochs {epochs}",
                    "QQP",
                    partial(corpus_model, self.work, self.data, "ParaNet", count, epochs=epochs),
                )
                for epochs in EPOCHS
            }
        }


def beside_paper(tests: dict[str, Any], paper: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any]:
    """A table with the paper's lines below ours; the paper has neither the first output nor BLEU with the input."""
    lines = {
        test: {
            f"the paper: {system}": {"best": {name: (mean, None) for name, mean in zip(TESTED, figures, strict=False)}}
            for system, figures in systems.items()
        }
        for test, systems in paper.items()
    }
    return {test: systems | lines.get(test, {}) for test, systems in tests.items()}


def lower_case(item: Paraphrased, outputs: Sequence[str]) -> Paraphrased:
    """A test's item with a system's outputs, in lower case."""
    references = tuple(map(str.lower, item.references))
    return Paraphrased(item.text.lower(), references, tuple(map(str.lower, outputs)))


def of_model(model: Callable[[int], Path], seed: int) -> Outputs:
    """The five best of a beam, without guards, by a model that is trained first unless it is there."""
    settings = Paraphrasing(n=N, method="beam", beam=BEAM, rank_by="forward", guards=(), min_semantic=None, pool=1)
    paraphraser = Paraphraser(str(model(seed)), lang="en", settings=settings)
    return lambda texts: paraphraser.paraphrase(texts, progress=False)


def of_round_trip() -> Outputs:
    """Translation into German and back by the starters."""
    there, back = load_translator("starter/en-de"), load_translator("starter/de-en")
    return lambda texts: round_trip(texts, there, back, N)


def copies(texts: Sequence[str]) -> list[list[str]]:
    """Each text itself."""
    return [[text] for text in texts]


def main() -> None:
    """Make the corpora, train, test, print the tables and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder of the corpora, the models and their figures")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=4000, help="of each corpus")
    parser.add_argument(
        "--counts", type=int, nargs="+", help="of table 6; a quarter, half and all of --pairs if not given"
    )
    parser.add_argument("--texts", type=int, default=500, help="inputs of each test")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--paranet", type=Path, metavar="FOLDER", help="a built ParaNet")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tables", nargs="+", choices=["1", "2", "4", "6", "7"], default=["1", "2", "4", "6", "7"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    experiment = Experiment(options)
    corpora(options.data, options.work, options.pairs, experiment.corpora, options.paranet)
    tables: dict[str, Callable[[], dict[str, Any]]] = {
        "1": experiment.table_1,
        "2": lambda: experiment.fine_tuned(SUPERVISED),
        "4": lambda: experiment.fine_tuned(LOW_RESOURCE),
        "6": experiment.table_6,
        "7": experiment.table_7,
    }
    results: dict[str, Any] = {"pairs": options.pairs, "texts": options.texts, "base": TRANSLATOR, "tables": {}}
    for name in options.tables:
        results["tables"][name] = beside_paper(tables[name](), PAPER[name])
        print(f"table {name}\n\n{tested_table(results['tables'][name])}\n")
    report.write(options.json, options.seeds, results, {})


if __name__ == "__main__":
    main()
