r"""Outputs for people to read, from which a judge of paraphrases is fitted.

    python -m research.experiments.judge_pool pool --sets settings judge --json POOL  # candidates with scores
    python -m research.experiments.judge_pool default --sets judge_second --json POOL  # `Paraphraser()`
    python -m research.experiments.judge_pool sheet --json POOL --each 8 > SHEET  # some of each text, to be read
    python -m research.experiments.judge_pool rate --json POOL --each 8 --ratings READER ...  # letters join the pool

`pool` gives each text (`evaluation_texts.py`) the candidates of a round trip through Portuguese and those of the
starter paraphraser, by beam and by samples; candidates that a guard or a rule refuses are left out. `default` gives
those that the judge of the day judged. A sheet holds, of each text, the best by dual score (by the judge, of `default`)
and others at random, in random order. Letters are those of `first_paraphrases.py`: u
(usable), t (trivial), w (wrong).
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from research.experiments.evaluation_texts import evaluation_texts
from research.reports import report
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.encoder.load import load_encoder
from toolkit.generate.pivot import PivotDecoding, pivot_rows
from toolkit.generate.sample import sample_rows
from toolkit.generate.translate import translate_rows
from toolkit.paraphraser.english import correct_english, refuse_english
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.score.dual import dual_rows, forward_rows
from toolkit.score.edit_ratio import edit_rows
from toolkit.score.guards import GUARDS, guard_rows
from toolkit.score.overlap import overlap_rows
from toolkit.score.semantic import semantic_rows
from toolkit.select.filter import refuse_repeats
from toolkit.translator.load import load_translator

SEED = 7
BEST, BEST_JUDGED = 3, 4  # of a text's outputs on a sheet, those of the best dual score, or of the judge's best
LEAST_USABLE = 0.03  # of a judged output: what is below needs no reader
WORST_DUAL = -3.0  # nats per token, forward plus backward: what is worse needs no reader


def pool(sets: list[str], seed: int = 0) -> list[dict[str, Any]]:
    """The texts with all their candidates that are not refused, each with its scores."""
    texts = evaluation_texts(*sets)
    rows = [Row(f"{t.kind}-{n}", t.set, t.text, "en", t.text, "en", "") for n, t in enumerate(texts)]
    forward, backward = load_translator("starter/en-pt"), load_translator("starter/pt-en")
    starter = load_translator("starter/paraphraser")
    for row, sample, beam in zip(
        pivot_rows(rows, forward, backward, "pt", PivotDecoding(seed=seed), {}),
        sample_rows([copy(row) for row in rows], starter, 4, 5, 10, 0.15, 2400, seed, 0.1, "words"),
        translate_rows([copy(row) for row in rows], starter, 6, 2400, 6),
        strict=True,
    ):
        known = {c.text for c in row.candidates}
        row.candidates += [c for c in (*sample.candidates, *beam.candidates) if c.text not in known]
    refused = refuse_english(guard_rows(refuse_repeats(correct_english(rows)), GUARDS), False)
    scored = dual_rows(forward_rows(refused, backward, 8192), forward, 8192)
    rows_with_overlap = edit_rows(overlap_rows(scored, backward.target))
    encoded = semantic_rows(rows_with_overlap, load_encoder("starter/encoder", torch.device("cpu")), 64)
    return [
        {"set": row.origin, "kind": row.id.split("-")[0], "text": row.reference, "pivot": row.source,
         "candidates": [described(c) for c in row.candidates if c.reason is None]}
        for row in encoded
    ]  # fmt: skip


def default_pool(sets: list[str]) -> list[dict[str, Any]]:
    """The texts with the candidates that the default paraphraser judges."""
    texts, paraphraser = evaluation_texts(*sets), Paraphraser()
    paraphraser.settings = replace(paraphraser.settings, min_usable=None)
    candidate_lists = paraphraser.candidates([text.text for text in texts], progress=False)
    return [
        {"set": t.set, "kind": t.kind, "text": t.text,
         "candidates": [described(c) for c in candidates if c.scores.usable is not None]}
        for t, candidates in zip(texts, candidate_lists, strict=True)
    ]  # fmt: skip


def copy(row: Row) -> Row:
    """A row of the same text."""
    return replace(row, source=row.reference, source_lang=row.lang, candidates=[])


def described(candidate: Candidate) -> dict[str, Any]:
    """A candidate's text, method and scores."""
    scores = {name: value for name, value in asdict(candidate.scores).items() if value is not None}
    return {"text": candidate.text, "method": candidate.method, "draws": candidate.draws, "scores": scores}


def dual(candidate: dict[str, Any]) -> float:
    """Forward plus backward log-likelihood, each per token."""
    score = Scores(**candidate["scores"]).dual
    assert score is not None
    return score


def sheet(texts: list[dict[str, Any]], each: int) -> list[tuple[int, int]]:
    """Numbers of texts and candidates to read, in random order: of each text the best and others at random."""
    chance = random.Random(SEED)
    places = []
    for n, text in enumerate(texts):
        judged = all("usable" in candidate["scores"] for candidate in text["candidates"])
        values = [c["scores"]["usable"] if judged else dual(c) for c in text["candidates"]]
        best, floor = (BEST_JUDGED, LEAST_USABLE) if judged else (BEST, WORST_DUAL)
        order = sorted(range(len(values)), key=lambda i: -values[i])
        rest = [i for i in order[best:] if values[i] >= floor]
        places += [(n, i) for i in order[:best] + chance.sample(rest, min(len(rest), each - best))]
    chance.shuffle(places)
    return places


def main() -> None:
    """Make a pool, print a sheet, or add ratings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("pool", "default", "sheet", "rate"))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--each", type=int, default=8, help="outputs of a text on the sheet")
    parser.add_argument("--ratings", type=Path, nargs="+", help="of each reader")
    options = parser.parse_args()
    if options.step in ("pool", "default"):
        make = pool if options.step == "pool" else default_pool
        report.write(options.json, 0, {"texts": make(options.sets)}, {})
        return
    texts = json.loads(options.json.read_text(encoding="utf-8"))["results"]["texts"]
    places = sheet(texts, options.each)
    if options.step == "sheet":
        for number, (n, i) in enumerate(places):
            print(f"{number}\t{texts[n]['text']}\t{texts[n]['candidates'][i]['text']}")
        return
    for path in options.ratings:
        letters = dict(line.split()[:2] for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        for number, (n, i) in enumerate(places):
            if letter := letters.get(str(number)):
                texts[n]["candidates"][i].setdefault("ratings", []).append(letter)
    report.write(options.json, 0, {"texts": texts}, {})


if __name__ == "__main__":
    main()
