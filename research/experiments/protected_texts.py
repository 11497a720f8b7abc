"""How many texts with addresses, placeholders, units, code and emoji get a paraphrase that has these letter for letter.

    python -m research.experiments.protected_texts --json research/experiments/results/protected_texts.json

Three ways are compared on the texts of protected_texts.tsv (class and text): refusing what lost a piece ("refused"),
requiring the pieces of the decoder as they stand ("required"), and the way of `Paraphraser` ("protected"): pieces are
cut off or masked, and put back. The outputs are in the result, to be read.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from research.reports import report
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.protect import CLASSES, kept_pieces

TEXTS = Path(__file__).with_name("protected_texts.tsv")
WAYS = ("refused", "required", "protected")
SEED = 0  # of the draws of `Paraphraser`
PATTERN = r"ART\.\d\d/\w"  # of the class "pattern"


def read_texts() -> list[tuple[str, str]]:
    """The class and the text of each line."""
    return [tuple(line.split("\t")) for line in TEXTS.read_text(encoding="utf-8").splitlines()]  # type: ignore[misc]


def measure(paraphraser: Paraphraser, way: str) -> dict[str, Any]:
    """How many texts of each class have an output in one way, how many outputs have all pieces, and the outputs."""
    rows = read_texts()
    texts = [text for _, text in rows]
    pieces = [[piece.text for piece in kept_pieces(text, CLASSES, [PATTERN])] for text in texts]
    ways: dict[str, dict[str, Any]] = {
        "refused": {"protect": ()},
        "required": {"protect": (), "require": pieces},
        "protected": {"protect": CLASSES, "protect_patterns": [PATTERN]},
    }
    outputs = [
        next(iter(paraphrases), None) for paraphrases in paraphraser.paraphrase(texts, n=1, progress=False, **ways[way])
    ]
    lines = list(zip(rows, pieces, outputs, strict=True))
    identical = [
        output is not None and all(output.count(piece) == text.count(piece) for piece in text_pieces)
        for (_, text), text_pieces, output in lines
    ]
    return {
        "found": Counter(kind for (kind, _), _, output in lines if output is not None),
        "identical": Counter(kind for ((kind, _), _, _), same in zip(lines, identical, strict=True) if same),
        "outputs": outputs,
    }


def main() -> None:
    """Measure one model after the other, and write the result after each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["starter/paraphraser", "best"])
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    results: dict[str, Any] = {"texts": Counter(kind for kind, _ in read_texts()), "models": {}}
    for name in options.models:
        paraphraser = Paraphraser(name)
        figures = results["models"][name] = {}
        for way in WAYS:
            figures[way] = measure(paraphraser, way)
            report.write(options.json, SEED, results, {})


if __name__ == "__main__":
    main()
