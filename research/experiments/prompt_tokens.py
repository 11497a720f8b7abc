"""How many tokens a language model reads and writes for a text, by which anybody can reckon what 1,000 texts cost.

    python -m research.experiments.prompt_tokens --json research/experiments/results/prompt_tokens.json

The texts are those of evaluation_texts.tsv. The prompt is "several", as a server gets it. A reply is taken to say as
many paraphrases as are asked for, each as long as its text: what models write is about as long. Tokens are those of
--tokenizer, which has about as many for English as those of larger models. PRICES are round figures, to be multiplied.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np

from research.reports import report
from toolkit.chat.settings import PromptedModel
from toolkit.data.rows import Row
from toolkit.generate.prompt import make_prompt
from toolkit.models.language_model import chat_ids, load_language_model
from toolkit.score import rubric

TEXTS = Path(__file__).with_name("evaluation_texts.tsv")
THOUSAND, MILLION = 1_000, 1_000_000
PRICES = {"input": 1.0, "output": 4.0}  # dollars for a million tokens


def main() -> None:
    """Count, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="starter/smollm2")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    tokenizer = load_language_model(options.tokenizer, "float32", "cpu").tokenizer
    with TEXTS.open(encoding="utf-8", newline="") as file:
        texts = [line[2] for line in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    prompt = make_prompt(PromptedModel(model="any"))
    rows = [Row(str(n), "texts", None, None, text, "en", "test") for n, text in enumerate(texts)]
    prompt_sizes = [len(chat_ids(prompt.messages(row), tokenizer)) for row in rows]
    replies = [json.dumps({"paraphrases": [text] * prompt.outputs}, ensure_ascii=False) for text in texts]
    reply_sizes = [len(tokenizer(reply)["input_ids"]) for reply in replies]
    grade_sizes = [len(chat_ids(rubric.question(row, row.reference), tokenizer)) for row in rows]
    results = {
        "texts": len(texts),
        "words": round(float(np.mean([len(text.split()) for text in texts])), 1),
        "paraphrases": prompt.outputs,
        "prompt_tokens": round(float(np.mean(prompt_sizes)), 1),
        "reply_tokens": round(float(np.mean(reply_sizes)), 1),
        "grade_tokens": round(float(np.mean(grade_sizes)), 1),
        "prices": PRICES,
        "dollars_per_thousand": round(
            THOUSAND / MILLION * (np.mean(prompt_sizes) * PRICES["input"] + np.mean(reply_sizes) * PRICES["output"]), 3
        ),
    }
    print(json.dumps(results, indent=1))
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
