r"""Which floor on the forward score the starter paraphraser has, by two readers who do not know what an output is of.

    python -m research.experiments.first_paraphrases paraphrase --json FILE  # the outputs and the sheet to read
    python -m research.experiments.first_paraphrases rate --json FILE --ratings READER READER

The starter paraphrases each text of the sets settings and settings_report (`evaluation_texts.py`) twice, without a
floor: once by beam search (one output is asked for) and once by samples (three are asked for; the first counts).
`paraphrase` prints the distinct pairs of text and output in random order. Each file of --ratings holds a line for each
of them: its number, and u (usable: the same meaning, correct English, and another wording), t (trivial: only
contractions, articles or marks differ) or w (wrong in meaning or grammar).

The floor was to be the one at which, on the set settings, usable outputs exceed the others by most: an output is given
where it is more probably usable than not. This rule was written down before any output was read. The set
settings_report chose nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from research.experiments.evaluation_texts import evaluation_texts
from research.reports import report
from toolkit.paraphraser.paraphraser import Paraphraser

SETS = ("settings", "settings_report")
SYSTEMS: dict[str, dict[str, Any]] = {"beam": {"n": 1, "method": "beam"}, "samples": {"n": 3, "method": "sample"}}
FLOORS = (-math.inf, *(-n / 20 for n in range(20, 1, -1)))  # -1 to -0.1 in steps of 0.05
SEED = 41  # of the order in which outputs are read


def first_outputs(paraphraser: Paraphraser) -> list[dict[str, Any]]:
    """The first paraphrase of each text by each system, with its forward log-likelihood per token."""
    outputs = []
    texts = evaluation_texts(*SETS)
    for system, changes in SYSTEMS.items():
        paraphraser.settings = replace(paraphraser.settings, min_forward=None, **changes)
        for text, candidates in zip(texts, paraphraser.candidates([t.text for t in texts], seed=0), strict=True):
            first = next((c for c in candidates if c.rank == 0), None)
            output: dict[str, Any] = {"output": None, "forward": None}
            if first is not None:
                output = {"output": first.text, "forward": first.scores.translation_score}
            outputs.append({"set": text.set, "kind": text.kind, "system": system, "text": text.text} | output)
    return outputs


def sheet(outputs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The different pairs of text and output in random order, without the names of sets and systems."""
    pairs = sorted({(output["text"], output["output"]) for output in outputs if output["output"] is not None})
    random.Random(SEED).shuffle(pairs)
    return pairs


def read_ratings(path: Path, count: int) -> list[str]:
    """The letter of each line of the sheet.

    Raises:
        ValueError: A number is missing or comes twice, or a letter is none of u, t and w.
    """
    letters = dict(line.split()[:2] for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    if set(letters) != {str(n) for n in range(count)} or not set(letters.values()) <= set("utw"):
        raise ValueError(f"wanted a rating u, t or w for each of the lines 0 to {count - 1}, got others in {path}")
    return [letters[str(n)] for n in range(count)]


def figures(outputs: list[dict[str, Any]], readers: int) -> dict[str, Any]:
    """By set and system: how many texts have an output at each floor, and how it was rated, as a mean over readers."""
    tables: dict[str, Any] = {}
    for name in SETS:
        for system in (*SYSTEMS, "both"):
            lines = [x for x in outputs if x["set"] == name and system in (x["system"], "both")]
            table = tables.setdefault(name, {}).setdefault(system, {})
            for floor in FLOORS:
                above = [x for x in lines if x["output"] is not None and x["forward"] >= floor]
                letters = Counter(letter for x in above for letter in x["ratings"])
                table["none" if floor == -math.inf else f"{floor:g}"] = {
                    "texts": len(lines), "outputs": len(above), **{k: letters[k] / readers for k in "utw"}
                }  # fmt: skip
    return tables


def best_floor(table: dict[str, dict[str, float]]) -> str:
    """The floor at which usable outputs exceed the others by most; of equal ones the lowest."""
    return max(table, key=lambda floor: 2 * table[floor]["u"] - table[floor]["outputs"])


def agreement(ratings: list[list[str]]) -> dict[str, float]:
    """How often two readers agree whether an output is usable, and Cohen's kappa of it."""
    usable = [[letter == "u" for letter in reader] for reader in ratings]
    same = sum(a == b for a, b in zip(*usable, strict=True)) / len(usable[0])
    shares = [sum(reader) / len(reader) for reader in usable]
    by_chance = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return {"pairs": len(usable[0]), "agree": same, "kappa": (same - by_chance) / (1 - by_chance)}


def main() -> None:
    """Write the outputs and print the sheet, or add its ratings and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("paraphrase", "rate"))
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--ratings", type=Path, nargs=2, help="of both readers")
    options = parser.parse_args()
    if options.step == "paraphrase":
        outputs = first_outputs(Paraphraser("starter/paraphraser"))
        report.write(options.json, 0, {"outputs": outputs}, {})
        for number, (text, output) in enumerate(sheet(outputs)):
            print(f"{number}\t{text}\t{output}")
        return
    outputs = json.loads(options.json.read_text(encoding="utf-8"))["results"]["outputs"]
    pairs = sheet(outputs)
    ratings = [read_ratings(path, len(pairs)) for path in options.ratings]
    letters = dict(zip(pairs, zip(*ratings, strict=True), strict=True))
    for output in outputs:
        output["ratings"] = list(letters.get((output["text"], output["output"]), ()))
    tables = figures(outputs, len(ratings))
    results = {"outputs": outputs, "agreement": agreement(ratings), "figures": tables}
    report.write(options.json, 0, results | {"floor": best_floor(tables["settings"]["both"])}, {})


if __name__ == "__main__":
    main()
