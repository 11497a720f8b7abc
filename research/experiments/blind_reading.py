r"""How many first paraphrases are usable, by readers who do not know which system an output is of.

    python -m research.experiments.blind_reading paraphrase --json FILE > SHEET  # the outputs of all systems
    python -m research.experiments.blind_reading augment --data DIR --json FILE > SHEET  # new rows of `toolkit.augment`
    python -m research.experiments.blind_reading rate --json FILE --ratings READER ...  # the letters, and the table

Every system paraphrases the texts of the set report, or of --set (`evaluation_texts.py`), on which nothing was chosen;
its first output counts. The sheet has the distinct pairs of text and output in random order, without the systems'
names, and is read twice: u (usable: the same meaning, correct English that a person could write, and another wording),
t (trivial: only contractions, articles, spelling or marks differ) or w (wrong in meaning or grammar). Systems:

- starter: `starter/paraphraser` by beam search, the default where no translators are installed.
- round trip: the most probable translation of the most probable translation, by starter/en-pt and starter/pt-en.
- pivot, dual score: many candidates by way of Portuguese, ranked by the dual score alone.
- pivot, judge: the default with a language model, without its floor on `usable`, which follows from the scores.
- pivot, judge without a language model: the same without one.

`augment` takes ROWS random training rows of each of TREC, SST-2 and CR (`augmentation_data.py`; DIR holds
classification/), augments them with the defaults of `toolkit.augment`, and lists the new texts of the first ones in
random order, NEW of each task at most.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from research.experiments.augmentation_data import task
from research.experiments.evaluation_texts import Text, evaluation_texts
from research.experiments.first_paraphrases import agreement
from research.reports import report
from toolkit.augmentation.augment import augment
from toolkit.paraphraser.paraphraser import MIN_USABLE, Paraphraser, defaults

STARTER = "starter"
GREEDY, DUAL = "round trip", "pivot, dual score"
JUDGE, CHEAP_JUDGE = "pivot, judge", "pivot, judge without a language model"
SYSTEMS = (STARTER, GREEDY, DUAL, JUDGE, CHEAP_JUDGE)
CHANGES: dict[str, dict[str, Any]] = {  # of the settings of the pivot
    GREEDY: {"pivots": 1, "pivot_beam": 1, "greedy_pivots": 0, "method": "beam", "rank_by": "forward", "pool": 0},
    DUAL: {"rank_by": "dual"},
}
AUGMENT, AUGMENTED, ROWS, NEW = "augment", ("TREC", "SST-2", "CR"), 170, 100
REPORTED = ("report", "report_second", "report_third", "report_fourth", "report_fifth")  # nothing was chosen on them
SEED = 11  # of the order in which outputs are read
THRESHOLDS = (0.0, 0.4, 0.5, MIN_USABLE, 0.7, 0.75, 0.8, 0.85)


def first_outputs(texts: list[Text], systems: Sequence[str]) -> list[dict[str, Any]]:
    """The first output of each system for each text, with its probability of being usable where it has one."""
    outputs: list[dict[str, Any]] = []
    for system in systems:
        paraphraser = Paraphraser("starter/paraphraser" if system == STARTER else "best")
        if system != STARTER:
            usual = paraphraser.settings if system == JUDGE else defaults("en", measures=True, pivot=True, reads=False)
            paraphraser.settings = replace(usual, min_usable=None, **CHANGES.get(system, {}))
        if system == CHEAP_JUDGE:
            paraphraser.critic, paraphraser.rewriters = None, paraphraser.rewriters[:1]
        outputs += outputs_of(system, paraphraser, texts)
    return outputs


def augmented(data: Path) -> list[dict[str, Any]]:
    """New rows of some tasks, in the form of outputs: the task is the kind."""
    lines: list[dict[str, Any]] = []
    for name in AUGMENTED:
        train, _ = task(data, name)
        rows = train.shuffle(seed=SEED).select(range(ROWS))
        grown = augment(rows, "text", progress=False)
        new = grown.select(range(ROWS, min(len(grown), ROWS + NEW)))
        print(f"{name}: {len(grown) - ROWS} new rows of {ROWS}", file=sys.stderr)
        lines += [
            {"system": AUGMENT, "kind": name, "text": rows[row["augmented_from"]]["text"], "output": row["text"]}
            | {"usable": None}
            for row in new
        ]
    return lines


def outputs_of(system: str, paraphraser: Paraphraser, texts: list[Text]) -> list[dict[str, Any]]:
    """The first output of a paraphraser for each text."""
    lines = []
    candidate_lists = paraphraser.candidates([text.text for text in texts], n=1, seed=0, progress=False)
    for text, candidates in zip(texts, candidate_lists, strict=True):
        first = next((c for c in candidates if c.rank == 0), None)
        line: dict[str, Any] = {"system": system, "kind": text.kind, "text": text.text, "output": first and first.text}
        lines.append(line | {"usable": first and first.scores.usable})
    return lines


def sheet(outputs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The different pairs of text and output in random order, without the names of systems."""
    pairs = sorted({(line["text"], line["output"]) for line in outputs if line["output"] is not None})
    random.Random(SEED).shuffle(pairs)
    return pairs


def read_letters(paths: list[Path], pairs: list[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """The letters of each pair of the sheet, by each reader who read it.

    Raises:
        ValueError: A letter is none of u, t and w, or nobody read a pair.
    """
    letters: dict[tuple[str, str], list[str]] = {pair: [] for pair in pairs}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            number, letter = line.split()[:2]
            letters[pairs[int(number)]].append(letter)
    missing = sum(not letters_of_pair for letters_of_pair in letters.values())
    if missing or {letter for letters_of_pair in letters.values() for letter in letters_of_pair} - set("utw"):
        raise ValueError(f"wanted u, t or w for each of {len(pairs)} lines of the sheet, got {missing} without")
    return letters


def table(outputs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By system, and for all kinds and each: how its first outputs were rated, as a mean over readers."""
    systems = dict.fromkeys(line["system"] for line in outputs)
    kinds = ("all", *dict.fromkeys(line["kind"] for line in outputs))
    return {
        system: {
            kind: counts([x for x in outputs if x["system"] == system and kind in (x["kind"], "all")]) for kind in kinds
        }
        for system in systems
    }


def counts(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Texts, outputs, and their ratings as a mean over the readers of each; the interval of the usable share."""
    answers = [line for line in lines if line["output"] is not None]
    sums = {letter: sum(line["ratings"].count(letter) / len(line["ratings"]) for line in answers) for letter in "utw"}
    interval = binomtest(round(sums["u"]), len(lines)).proportion_ci(0.95, "wilson")
    return {
        "texts": len(lines), "outputs": len(answers), "usable": sums["u"], "trivial": sums["t"], "wrong": sums["w"],
        "interval": [interval.low, interval.high],
    }  # fmt: skip


def curve(outputs: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    """By threshold of `usable`: for how many texts a system gives an output, and how many of these are usable."""
    lines = [line for line in outputs if line["system"] == system]
    points = []
    for threshold in THRESHOLDS:
        answers = [line for line in lines if line["output"] is not None and (line["usable"] or 0) >= threshold]
        usable = counts(answers)["usable"] if answers else 0.0
        points.append(
            {"threshold": threshold, "texts": len(answers) / len(lines), "usable": usable / max(1, len(answers))}
        )
    return points


def main() -> None:
    """Write the outputs and print the sheet, or add its ratings and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("paraphrase", "augment", "rate"))
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--ratings", type=Path, nargs="+", help="of each reader, of the sheet or of a part of it")
    parser.add_argument("--data", type=Path, help="of augment")
    parser.add_argument("--set", choices=REPORTED, default="report", help="of texts")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument(
        "--others", type=Path, nargs="*", default=[], help="outputs of other versions, in the same form"
    )
    options = parser.parse_args()
    if options.step in ("paraphrase", "augment"):
        paraphrases = options.step == "paraphrase"
        texts = evaluation_texts(options.set)
        outputs = first_outputs(texts, options.systems) if paraphrases else augmented(options.data)
        for path in options.others:
            outputs += json.loads(path.read_text(encoding="utf-8"))["results"]["outputs"]
        report.write(options.json, 0, {"outputs": outputs}, {})
        for number, (text, output) in enumerate(sheet(outputs)):
            print(f"{number}\t{text}\t{output}")
        return
    outputs = json.loads(options.json.read_text(encoding="utf-8"))["results"]["outputs"]
    letters = read_letters(options.ratings, sheet(outputs))
    for line in outputs:
        line["ratings"] = letters.get((line["text"], line["output"]), [])
    twice = [letters_of_pair for letters_of_pair in letters.values() if len(letters_of_pair) == 2]
    reader_agreement = agreement([[letters_of_pair[n] for letters_of_pair in twice] for n in (0, 1)])
    results: dict[str, Any] = {"outputs": outputs, "agreement": reader_agreement, "table": table(outputs)}
    if any(line["system"] == JUDGE for line in outputs):
        results["curve"] = curve(outputs, JUDGE)
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
