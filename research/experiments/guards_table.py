r"""What guards and a floor of the semantic score refuse, by human judgments of ParaBank's and ParaNMT's outputs.

    python -m research.experiments.guards_table --judgments DIR --json research/experiments/results/guards.json

DIR holds ref.tsv.gz and candidates.tsv.gz as ParaBank's authors published them: outputs of 36 systems for 299
references, with human scores of similarity in [0, 100]. Equal texts of a reference are one text, whose score is the
mean over its annotators; copies of the reference are left out. For every guard, and for every floor of the cosine by
--encoder, the mean score of what it refuses stands beside that of what it keeps. The interval of their difference is of
2.5 to 97.5 % over references drawn with replacement. `good refused` is the share of the texts with a score of at least
80 that it refuses. --show N prints N refused texts of each guard, those with the best scores.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from research.reports import report
from research.reports.figures_paraphrasers import refused_table
from toolkit.encoder.load import load_encoder
from toolkit.evaluate.judged import read_judged
from toolkit.score.guards import GUARDS, broken_guard
from toolkit.score.semantic import pair_cosines, semantic_signature

GOOD = 80  # ours: of 100
FLOORS = (0.5, 0.6, 0.7, 0.8, 0.9)
DRAWS, SEED = 1000, 0
LANG = "en"

Judged = tuple[str, str, str, float]  # id and text of a reference, an output, its mean human score


def judged_outputs(folder: Path) -> list[Judged]:
    """The distinct outputs that have a score and are no copy of their reference.

    Raises:
        ValueError: There is none, or a file is missing or damaged.
    """
    references, texts = read_judged(folder)
    outputs = [
        (text.id, references[text.id], text.text, fmean(text.scores))
        for text in texts
        if text.scores and text.text != references[text.id]
    ]
    if not outputs:
        raise ValueError(f"wanted outputs with scores that are no copies, got none in {folder}: give all judgments")
    return outputs


def breaks(output: Judged, guards: Sequence[str]) -> bool:
    """Whether an output breaks one of these guards."""
    return broken_guard(output[1], output[2], LANG, guards) is not None


def compare(texts: list[Judged], refuses: Callable[[Judged], bool]) -> dict[str, Any]:
    """The human scores of what is refused and of what is kept; None where there is nothing."""
    refused_scores: list[float] = []
    kept_scores: list[float] = []
    by_reference: dict[str, tuple[list[float], list[float]]] = {}
    for output in texts:
        side = refuses(output)
        (refused_scores if side else kept_scores).append(output[3])
        by_reference.setdefault(output[0], ([], []))[side].append(output[3])
    good = [score >= GOOD for score in refused_scores]
    return {
        "refused": len(refused_scores),
        "share": 100 * len(refused_scores) / len(texts),
        "score_refused": fmean(refused_scores) if refused_scores else None,
        "score_kept": fmean(kept_scores) if kept_scores else None,
        "difference": interval(list(by_reference.values())),
        "good_refused": 100 * sum(good) / max(1, sum(output[3] >= GOOD for output in texts)),
    }


def interval(by_reference: list[tuple[list[float], list[float]]]) -> list[float]:
    """2.5 and 97.5 % of the difference of the means, kept less refused, over references drawn with replacement."""
    chance, differences = random.Random(SEED), []
    for _ in range(DRAWS):
        sample = chance.choices(by_reference, k=len(by_reference))
        kept_scores, refused_scores = ([score for scores in sample for score in scores[side]] for side in (0, 1))
        if kept_scores and refused_scores:
            differences.append(fmean(kept_scores) - fmean(refused_scores))
    differences.sort()
    return [differences[len(differences) // 40], differences[-1 - len(differences) // 40]] if differences else []


def main() -> None:
    """Read the judgments, ask the guards, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=Path, required=True)
    parser.add_argument("--encoder", default="starter/encoder", help="a sentence encoder, for the floors")
    parser.add_argument("--show", type=int, default=0, metavar="N")
    parser.add_argument("--json")
    options = parser.parse_args()
    texts = judged_outputs(options.judgments)
    encoder = load_encoder(options.encoder)
    semantic = dict(zip(texts, pair_cosines([(output[1], output[2]) for output in texts], encoder), strict=True))
    results = {guard: compare(texts, partial(breaks, guards=(guard,))) for guard in ("mark", *GUARDS)}
    results["all guards"] = compare(texts, partial(breaks, guards=GUARDS))
    for floor in FLOORS:
        below = {output for output in texts if semantic[output] < floor}
        results[f"cosine below {floor}"] = compare(texts, below.__contains__)
    print(refused_table(results))
    for guard in ("mark", *GUARDS) if options.show else ():
        broken = [output for output in texts if breaks(output, (guard,))]
        print(f"\n{guard}")
        for output in sorted(broken, key=lambda text: -text[3])[: options.show]:
            print(f"  {output[3]:5.1f}  {output[1]}  ->  {output[2]}")
    record = {"texts": len(texts), "good": GOOD, "signature": semantic_signature(encoder, options.encoder)}
    report.write(options.json, SEED, {"of": record, "refused_by": results}, {})


if __name__ == "__main__":
    main()
