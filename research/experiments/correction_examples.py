"""What a paraphraser makes of sentences with errors and of unusual wording (ParaNMT-50M and ParaBank, section 6).

    python -m research.experiments.correction_examples --json research/experiments/results/correction_examples.json

Nothing is chosen afterwards: all sentences below are shown, with the best output, or none.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from research.reports import report
from research.reports.figures_paraphrasers import corrections_table
from toolkit.paraphraser.paraphraser import Paraphraser

EXAMPLES = {
    "grammar": (
        "He have two brother.",
        "Yesterday I go to the cinema with my friend.",
        "She don't like to dance.",
        "I am living here since three years.",
        "Can you tell me where is the station?",
        "There is many people in the street.",
        "He is more taller than his father.",
        "I look forward to meet you.",
        "The news are good.",
        "If I would have time, I would help you.",
    ),
    "wording": (
        "It is I who am at fault.",
        "Whither are you going?",
        "The book was by him not read.",
        "Gimme a sec, I'm gonna check it out.",
        "He kicked the bucket last night.",
        "Upon the table there lay a letter.",
        "That which you say is correct.",
        "The dog, it bit him.",
        "Methinks it will rain today.",
        "She is in possession of three cats.",
    ),
}


def main() -> None:
    """Paraphrase, print the tables and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--model", default="starter/paraphraser")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    paraphraser = Paraphraser(options.model)
    examples = {}
    for kind, texts in EXAMPLES.items():
        outputs = paraphraser.paraphrase(texts, n=1, seed=options.seed, progress=False)
        examples[kind] = {
            text: paraphrases[0] if paraphrases else None for text, paraphrases in zip(texts, outputs, strict=True)
        }
        print(f"{kind}\n\n{corrections_table(examples[kind])}\n")
    report.write(options.json, options.seed, {"model": options.model, "examples": examples}, {})


if __name__ == "__main__":
    main()
