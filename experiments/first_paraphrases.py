r"""Whether the first paraphrase is usable, by a reader who does not see which settings it is of.

    python -m experiments.first_paraphrases say --json FILE            # the outputs; prints them in random order
    python -m experiments.first_paraphrases rate --json FILE --ratings RATINGS

The starter paraphraser says each sentence of `everyday_sentences.py` once with the former default (samples, no floor,
contractions count) and once with the present one, whose floor is left out: what a floor keeps follows from the score.
Equal outputs of a text are read once, without the names of the settings. RATINGS holds a letter for each line that
`say` printed: u (usable: the same meaning, correct English, and another wording), t (trivial: only contractions or
articles), w (wrong in meaning or grammar). The default floor refuses no usable output of
VALIDATION; the figures of REPORT had been seen when that rule was settled.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.everyday_sentences import REPORT, VALIDATION
from reports import report
from toolkit.paraphraser.paraphraser import Paraphraser

SETS = {"validation": VALIDATION, "report": REPORT}
SYSTEMS: dict[str, dict[str, Any]] = {
    "before": {"method": "sample", "allow_trivial": True},
    "now": {"method": "auto", "allow_trivial": False},
}
FLOORS = (-math.inf, -0.7, -0.6, -0.5, -0.45, -0.4, -0.35, -0.3, -0.25, -0.2)
SEED = 41  # of the order in which outputs are read
READER = (
    "One reader, who wrote the sentences and the settings. Read first, without the settings' names: samples, and a "
    "beam that still gave contractions; then 16 more outputs of the beam without these, known to be of it. "
    "The figures of both sets were seen before the floor was settled. 'before' has the present guards and articles."
)


def outputs_of(paraphraser: Paraphraser) -> list[dict[str, Any]]:
    """The first paraphrase of each text by each system, with its forward log-likelihood per token."""
    found = []
    for system, changes in SYSTEMS.items():
        paraphraser.settings = replace(paraphraser.settings, min_forward=None, **changes)
        for name, texts in SETS.items():
            for text, candidates in zip(texts, paraphraser.candidates(texts, n=1, seed=0), strict=True):
                first = next((c for c in candidates if c.rank == 0), None)
                score = None if first is None else first.scores.translation_score
                found.append({"set": name, "system": system, "text": text, "output": first and first.text}
                             | {"forward": score})  # fmt: skip
    return found


def sheet(outputs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The different pairs of text and output in random order, without the names of sets and systems."""
    pairs = sorted({(line["text"], line["output"]) for line in outputs if line["output"] is not None})
    random.Random(SEED).shuffle(pairs)
    return pairs


def figures(outputs: list[dict[str, Any]]) -> dict[str, Any]:
    """By set and system: how many outputs each floor keeps, and how many of them are usable."""
    found: dict[str, Any] = {}
    for name in SETS:
        for system in SYSTEMS:
            lines = [x for x in outputs if (x["set"], x["system"]) == (name, system) and x["output"] is not None]
            kept = {floor: [x for x in lines if x["forward"] >= floor] for floor in FLOORS}
            found.setdefault(name, {})[system] = {
                "none" if floor == -math.inf else str(floor): {"outputs": len(some)}
                | {rating: sum(x["rating"] == rating for x in some) for rating in "utw"}
                for floor, some in kept.items()
            }
    return found


def main() -> None:
    """Write the outputs and print the sheet, or add its ratings and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("say", "rate"))
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--ratings", type=Path, help="a file with a letter for each line of the sheet")
    options = parser.parse_args()
    if options.step == "say":
        outputs = outputs_of(Paraphraser())
        report.write(options.json, 0, {"outputs": outputs}, {})
        for number, (text, output) in enumerate(sheet(outputs)):
            print(f"{number}\t{text}\t{output}")
        return
    results = json.loads(options.json.read_text(encoding="utf-8"))["results"]
    letters = dict(zip(sheet(results["outputs"]), options.ratings.read_text(encoding="utf-8").split(), strict=True))
    for line in results["outputs"]:
        line["rating"] = letters.get((line["text"], line["output"]))
    results |= {"reader": READER}
    results |= {"rated": "u usable, t trivial, w wrong", "figures": figures(results["outputs"])}
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
