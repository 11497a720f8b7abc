r"""What sampling and constraints cost a translator: ParaZh-22M's reason to prefer beam search (section 2.4).

    python -m research.experiments.decoding_bleu --data DIR --json research/experiments/results/decoding_bleu.json

Every way of decoding makes one translation of each sentence of a test part of Tatoeba, whose sentences no translator
was trained on: the best of beam 15; a sample of the 10 most probable tokens; a sample with random words of the
reference forbidden (ParaBank 2, each word with probability 1/2); the best in both directions of 30 such samples; and
the best of beam 12 with a random word of the reference forbidden. Samples and words are drawn anew with each seed. BLEU
is of characters for Chinese; p is that of sacrebleu's paired bootstrap against beam search, with the first seed.

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz and cmn-eng.test.tsv.gz. German and English are translated by the
starters; --zh FOLDER FOLDER are translators from English to Chinese and from Chinese to English.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from research.benchmarks.data import TATOEBA, fields
from research.reports import report
from research.reports.figures import number, table
from toolkit.bitext.words import plain_word_spans
from toolkit.data.rows import Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import constrain_rows
from toolkit.generate.sample import sample_rows
from toolkit.generate.translate import translate_rows
from toolkit.score.dual import dual_rows
from toolkit.translator.load import Translator, load_translator

BEAM, PARABANK_BEAM = 15, 12  # ParaZh-22M, section 2.4; of the builders of ParaNMT and ParaBank
TOP_K, RATE = 10, 0.5  # ParaBank 2, section 3.3; ours, docs/results/parabanks.md
SETS, SAMPLES = 5, 6  # ours: a fifth of ParaBank 2's samples
RESAMPLED = 1000
ROWS, TOKENS = 600, 4096  # ours: batch sizes
BASE = "beam search"
Way = Callable[[list[Row], Translator, Translator, int], list[Row]]


def sampled(sets: int, samples: int, rate: float) -> Way:
    """A way that draws samples; the first of them is taken, or the best in both directions of several."""

    def draw(rows: list[Row], forward: Translator, backward: Translator, seed: int) -> list[Row]:
        rows_with_samples = sample_rows(rows, forward, sets, samples, TOP_K, rate, ROWS, seed)
        return list(rows_with_samples if sets * samples == 1 else dual_rows(rows_with_samples, backward, TOKENS))

    return draw


def one_forbidden(rows: list[Row], forward: Translator, backward: Translator, seed: int) -> list[Row]:
    """Beam search with a random word of the reference forbidden."""

    def systems(row: Row) -> list[tuple[str | None, ConstraintSet]]:
        words = sorted({row.reference[a:b] for a, b in plain_word_spans(row.reference)})
        negatives = random.Random(f"{seed} {row.id}").sample(words, min(1, len(words)))
        return [(None, ConstraintSet(negative=tuple(negatives)))]

    return list(constrain_rows(rows, forward, systems, PARABANK_BEAM, ROWS, "beam", 1))


WAYS: dict[str, Way] = {
    BASE: lambda rows, forward, backward, seed: list(translate_rows(rows, forward, BEAM, ROWS)),
    "one sample": sampled(1, 1, 0.0),
    "one sample, random words forbidden": sampled(1, 1, RATE),
    "the best of 30 such samples": sampled(SETS, SAMPLES, RATE),
    "beam search, one word forbidden": one_forbidden,
}


def best_text(row: Row) -> str:
    """The best finished candidate of a row, or else none."""
    candidates = [candidate for candidate in row.candidates if candidate.reason is None]
    if not candidates:
        return ""
    return max(
        candidates, key=lambda candidate: -math.inf if candidate.scores.dual is None else candidate.scores.dual
    ).text


def measure_ways(
    pairs: Sequence[tuple[str, str]], forward: Translator, backward: Translator, lang: str, seeds: Sequence[int]
) -> dict[str, Any]:
    """BLEU of every way with each seed, and how probable its difference to beam search is by chance."""
    references = [reference for _, reference in pairs]
    metric = metric_of(lang)
    rows = [Row(f"line-{n}", "line", source, None, text, lang, "") for n, (source, text) in enumerate(pairs)]
    results: dict[str, Any] = {}
    base: list[str] = []
    for name, way in WAYS.items():
        texts_by_seed = []
        for seed in seeds[:1] if name == BASE else seeds:
            fresh = [replace(row, candidates=[]) for row in rows]
            texts_by_seed.append([best_text(row) for row in way(fresh, forward, backward, seed)])
        base = base or texts_by_seed[0]
        values = [metric.corpus_score(texts, [references]).score for texts in texts_by_seed]
        results[name] = {
            "bleu": values,
            "mean": statistics.fmean(values),
            "empty": sum(not text for text in texts_by_seed[0]),
            "p": None if name == BASE else chance_of(texts_by_seed[0], base, references, lang),
        }
        print(name, results[name], flush=True)
    return {"sentences": len(pairs), "signature": str(metric.get_signature()), "ways": results}


def chance_of(texts: list[str], base: list[str], references: list[str], lang: str) -> float:
    """The p-value of the difference in BLEU to beam search, by sacrebleu's paired bootstrap."""
    systems: list[tuple[str, Sequence[str]]] = [(BASE, base), ("other", texts)]
    test = PairedTest(systems, {"BLEU": metric_of(lang)}, [references], "bs", RESAMPLED)
    result: Any = test()[1]["BLEU"][1]
    return float(result.p_value)


def metric_of(lang: str) -> BLEU:
    """BLEU, of characters for Chinese."""
    return BLEU(tokenize="zh" if lang == "zh" else "13a")


def markdown(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [[name, *(number(figures["ways"][name]["mean"]) for figures in results.values())] for name in WAYS]
    return table(["BLEU", *results], lines)


def main() -> None:
    """Decode, print the table, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--zh", nargs=2, metavar="FOLDER", help="translators: English to Chinese, Chinese to English")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    german = list(fields(options.data / TATOEBA.format("test")))
    works = {
        "German to English": (
            [(foreign, english) for foreign, english, *_ in german],
            "starter/de-en",
            "starter/en-de",
            "en",
        ),
        "English to German": (
            [(english, foreign) for foreign, english, *_ in german],
            "starter/en-de",
            "starter/de-en",
            "de",
        ),
    }
    if options.zh:
        chinese = fields(options.data / TATOEBA.format("test").replace("deu", "cmn"))
        works["English to Chinese"] = ([(english, foreign) for foreign, english, *_ in chinese], *options.zh, "zh")
    results: dict[str, Any] = {}
    for name, (pairs, forward, backward, lang) in works.items():
        print(name)
        translators = load_translator(forward, "float32"), load_translator(backward, "float32")
        results[name] = measure_ways(pairs, *translators, lang, options.seeds)
        report.write(options.json, min(options.seeds), results, {})
    print(markdown(results))


if __name__ == "__main__":
    main()
