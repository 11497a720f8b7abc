"""ParaBank's tables 6 and 7: a monolingual rewriter and a translator under the same constraint systems.

    python -m research.experiments.rewriter_table --data DIR --rewriters starter/paraphraser \
        --json research/experiments/results/rewriter_table.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz (German TAB English, held out from the starters' training). The translator
reads the German source, a rewriter reads the reference, and both write English under the five systems of table 6. A
system is measured on the references for which all have an output. Semantic similarity is the predicted judgment (0 to
100, toolkit/score/judgment.py) instead of people's, and the cosine by all-MiniLM-L6-v2; lexical diversity is BLEU
without the length penalty, as in the paper. Table 7 is the rewriter's outputs for a few references under all systems
without PPDB, equal ones merged.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from builders.parabank import Lexicon, ParaBank, parabank
from research.experiments import systems
from research.experiments.parabank_runs import in_shards
from research.experiments.parabank_tables import pair_scores
from research.experiments.systems import Texts
from research.experiments.table_quality import Encoder, held_out
from research.reports import report
from research.reports.figures_paraphrasers import rewriter_table
from toolkit.bitext.idf import read_idf
from toolkit.bitext.words import read_words
from toolkit.data.rows import Row
from toolkit.starters import idf_file, shown_name, words_file
from toolkit.translator.load import Translator, load_translator

BILINGUAL = "starter/de-en"
SYSTEMS = (17, 21, 28, 31, 34)  # section 6
ALL = "1-34"  # table 7: "the same set of lexical constraints described in Tab. 3"
# ParaBank, table 6: semantic similarity (people, 0 to 100) and modified BLEU, each bilingual and monolingual
PAPER = {
    17: (76.79, 74.56, 27.20, 33.04),
    21: (66.48, 63.35, 14.28, 24.82),
    28: (81.91, 86.25, 33.90, 44.36),
    31: (80.64, 83.09, 33.48, 43.80),
    34: (80.04, 84.47, 30.20, 39.81),
}
SHOWN = 5  # references of table 7


def outputs(rows: list[Row], model: Translator, numbers: str) -> list[Row]:
    """The rows with the outputs of some systems of table 3."""
    lexicon = Lexicon(read_idf(idf_file(BILINGUAL)), known_words=read_words(words_file(BILINGUAL)))
    return in_shards(rows, partial(parabank, forward=model, lexicon=lexicon, settings=ParaBank(systems=numbers)))


def monolingual(rows: list[Row]) -> list[Row]:
    """The rows with the reference as source."""
    return [replace(row, source=row.reference, source_lang=row.lang) for row in rows]


def figures_by_system(rows: list[Row], rows_by_model: dict[str, list[Row]], encoder: Encoder) -> dict[str, Any]:
    """By system of table 6 the figures of every model, on the references for which all models have an output."""
    texts: dict[int, dict[str, Texts]] = {
        number: {
            name: systems.system_texts(rows_of_model, str(number)) for name, rows_of_model in rows_by_model.items()
        }
        for number in SYSTEMS
    }
    references = {row.id: row.reference for row in rows}
    pairs = {
        (references[i], text)
        for models in texts.values()
        for texts_by_id in models.values()
        for i, text in texts_by_id.items()
    }
    scores = pair_scores(pairs, encoder)
    results: dict[str, Any] = {}
    for number, models in texts.items():
        shared = systems.common_rows(models.values())
        results[str(number)] = {
            name: {
                "own": len(texts_by_id),
                "paper": PAPER[number][0 if name == BILINGUAL else 1 :: 2],
                **figures(references, systems.select_rows(texts_by_id, shared), scores),
            }
            for name, texts_by_id in models.items()
        }
    return results


def figures(references: dict[str, str], texts: Texts, scores: dict[tuple[str, str], tuple[float, float]]) -> dict:
    """Modified BLEU, predicted judgment and cosine with standard deviations over the references."""
    judged = [scores[references[i], text] for i, text in texts.items()]
    cosines, judgments = [c for c, _ in judged], [j for _, j in judged if j == j]  # NaN: a text without words
    return {
        "references": len(texts),
        "bleu": 100 - systems.compare(references, texts)["one_minus_bleu"],
        "judgment": [fmean(judgments), stdev(judgments)],
        "cosine": [fmean(cosines), stdev(cosines)],
        "copies": 100 * fmean(references[i].lower() == text.lower() for i, text in texts.items()),
    }


def merged(rows: list[Row], model: Translator) -> list[dict[str, Any]]:
    """Table 7: for each reference the different outputs of all systems, those of most systems first."""
    lines = []
    for row in outputs(monolingual(rows), model, ALL):
        candidates = [candidate for candidate in row.candidates if candidate.reason is None]
        systems_by_text = {
            c.text: sorted({int(o.recipe) for o in c.origins if o.recipe and not o.unmet}) for c in candidates
        }
        texts = sorted(
            (text for text, of in systems_by_text.items() if of), key=lambda text: -len(systems_by_text[text])
        )
        lines.append({"reference": row.reference, "outputs": {text: systems_by_text[text] for text in texts}})
    return lines


def main() -> None:
    """Decode, measure, print the tables and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument(
        "--rewriters", nargs="+", default=["starter/paraphraser"], help="paraphrasers: folders, starters"
    )
    parser.add_argument("--references", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = held_out(options.data, "test", options.references, options.seed)
    numbers = ",".join(map(str, SYSTEMS))
    rows_by_model = {BILINGUAL: outputs(rows, load_translator(BILINGUAL), numbers)}
    examples: dict[str, Any] = {}
    for name in options.rewriters:
        rewriter = load_translator(name, source_lang="en", lang="en")
        rows_by_model[shown_name(name)] = outputs(monolingual(rows), rewriter, numbers)
        examples[shown_name(name)] = merged(rows[:SHOWN], rewriter)
    results = figures_by_system(rows, rows_by_model, Encoder())
    print(rewriter_table(results))
    for name, items in examples.items():
        for item in items:
            print(f"\n{name}: {item['reference']}")
            for text, of in item["outputs"].items():
                print(f"  {text}   ({', '.join(map(str, of))})")
    report.write(options.json, options.seed, {"table_6": results, "table_7": examples}, {})


if __name__ == "__main__":
    main()
