"""ParaBank's tables 6 and 7: a monolingual rewriter and a translator under the same constraint systems.

    python -m research.experiments.rewriter_table --data DIR --work build/rewriter --rewriters starter/paraphraser \
        --json research/experiments/results/rewriter_table.json

DIR holds bitext/tatoeba/deu-eng.{train,test}.tsv.gz (German TAB English; the starters have not seen the test part). A
rewriter is trained here: ParaBank's evaluated systems translate --pairs_of references of the train part, and the
translator goes on to learn from every pair of reference and paraphrase, in that direction. The translator
reads the German source, a rewriter reads the reference, and both write English under the five systems of table 6. A
system is measured on the references for which all have an output. Semantic similarity is the predicted judgment (0 to
100, toolkit/score/judgment.py) instead of people's, and the cosine by all-MiniLM-L6-v2; lexical diversity is BLEU
without the length penalty, as in the paper. Table 7 is the rewriter's outputs for a few references under all systems
without PPDB, equal ones merged.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from builders.parabank import Lexicon, ParaBank, parabank
from research.experiments import corpora, systems
from research.experiments.parabank_runs import in_shards
from research.experiments.parabank_tables import pair_scores
from research.experiments.systems import Texts
from research.experiments.table_quality import Encoder, held_out
from research.experiments.work_record import check_work
from research.reports import report
from research.reports.figures_paraphrasers import TRAINED, rewriter_table
from toolkit.bitext.idf import read_idf
from toolkit.bitext.normalize import match_key
from toolkit.bitext.words import read_words
from toolkit.data.rows import Row
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.starters import idf_file, shown_name, words_file
from toolkit.train.paraphraser import train
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


def rewriter_of_parabank(data: Path, work: Path, count: int, threads: int) -> Path:
    """A model that goes on from the translator with the pairs of a ParaBank (section 6); made once.

    Args:
        data: The folder of the data.
        work: Holds the parabank and the model.
        count: References of the parabank; those of the test part are left out.
        threads: Of the training.
    """
    check_work(work, "a rewriter", {"data": data, "references": count}, {"models": [BILINGUAL]})
    test_keys = {match_key(row.reference) for row in held_out(data, "test", sys.maxsize, 0)}
    rows = [row for row in held_out(data, "train", count, 0) if match_key(row.reference) not in test_keys]
    bitext, parabank_folder = work / "bitext.tsv", work / "bitext-parabank"
    if not parabank_folder.is_dir():
        corpora.write_tsv(bitext, ((row.source or "", row.reference) for row in rows))
        corpora.make("parabank", bitext, work)
    return train(
        ParaphraserTraining(
            pairs=[str(parabank_folder)], output_dir=str(work / "rewriter"), base_model=BILINGUAL,
            direction="from_reference", epochs=3, batch_tokens=1024, learning_rate=5e-4, warmup_steps=100,
            max_tokens=80, held_out=0, save_every=10**6, threads=threads,
        )
    )  # fmt: skip


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
    parser.add_argument("--work", type=Path, help="folder of a rewriter that is trained on a ParaBank; else none is")
    parser.add_argument("--pairs_of", type=int, default=6000, help="references of the ParaBank of that rewriter")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--references", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = held_out(options.data, "test", options.references, options.seed)
    numbers = ",".join(map(str, SYSTEMS))
    rows_by_model = {BILINGUAL: outputs(rows, load_translator(BILINGUAL), numbers)}
    rewriters = {shown_name(name): name for name in options.rewriters}
    if options.work is not None:
        folder = rewriter_of_parabank(options.data, options.work, options.pairs_of, options.threads)
        rewriters[TRAINED] = str(folder)
    examples: dict[str, Any] = {}
    for name, model in rewriters.items():
        rewriter = load_translator(model, source_lang="en", lang="en")
        rows_by_model[name] = outputs(monolingual(rows), rewriter, numbers)
        examples[name] = merged(rows[:SHOWN], rewriter)
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
