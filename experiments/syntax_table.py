"""Syntactic control as by SCPN (ParaNMT-50M, section 6): does a paraphraser write the form that it is asked for?

    python scripts/train_paraphraser.py --pairs PAIRS.tsv --base_model starter/paraphraser --direction to_reference \
        --syntax link-grammar --max_steps 400 --output_dir build/syntax
    python -m experiments.syntax_table --data DIR --model build/syntax --json experiments/results/syntax_table.json

PAIRS.tsv is what the recipe of the starter paraphraser makes (`starter_paraphraser.py`, step "pairs"). DIR holds
bitext/tatoeba/deu-eng.test.tsv.gz (German TAB English), held out from all training. Every sentence is paraphrased once
without a template and once with each of TEMPLATES; the best output by forward score counts. Measured are how many
outputs have the form by link-grammar, which also parsed the training text, and their cosine with the sentence.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.data import TATOEBA, fields
from reports import report
from reports.figures_paraphrasers import obeyed_table
from toolkit.evaluate.parsers import open_parser
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.syntax import templates
from toolkit.score.semantic import pair_cosines

PARSER = "link-grammar"
TEMPLATES = (  # frequent ones of the training text; link-grammar's trees are flat
    "(S (NP) (VP))",
    "(S (VP))",
    "(S (S))",
    "(S (PP) (S))",
    "(S (SBAR) (S))",
    "(S (S) (S))",
)
FEWEST = 6  # words of a sentence; shorter ones have one form
SHOWN = 12  # sentences in the report


def sentences(data: Path, count: int, seed: int) -> list[str]:
    """Held-out English sentences."""
    found = {english for _, english in fields(data / TATOEBA.format("test")) if len(english.split()) >= FEWEST}
    return random.Random(seed).sample(sorted(found), min(count, len(found)))


def asked_for(
    paraphraser: Paraphraser, texts: Sequence[str], template: str | None, seed: int
) -> tuple[dict[str, Any], list[str]]:
    """The figures of the outputs for one template, and the outputs, "" where there is none."""
    said = paraphraser.paraphrase(texts, n=1, seed=seed, template=template, progress=False)
    outputs = [one[0] if one else "" for one in said]
    pairs = [(text, output) for text, output in zip(texts, outputs, strict=True) if output]
    forms = templates([output for _, output in pairs], *open_parser(PARSER))
    assert paraphraser.encoder is not None
    return {
        "answered": 100 * len(pairs) / len(texts),
        "forms": {one: 100 * fmean(form == one for form in forms) for one in TEMPLATES},
        "cosine": fmean(pair_cosines(pairs, paraphraser.encoder)),
    }, outputs


def main() -> None:
    """Paraphrase, measure, print the table and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    texts, paraphraser = sentences(options.data, options.texts, options.seed), Paraphraser(options.model)
    found: dict[str, Any] = {}
    outputs: dict[str, list[str]] = {}
    for template in (None, *TEMPLATES):
        name = template or "none"
        found[name], outputs[name] = asked_for(paraphraser, texts, template, options.seed)
    print(obeyed_table(found))
    examples = {text: {name: outputs[name][n] for name in outputs} for n, text in enumerate(texts[:SHOWN])}
    report.write(options.json, options.seed, {"asked_for": found, "texts": len(texts), "examples": examples}, {})


if __name__ == "__main__":
    main()
