r"""ParaNet's keywords, infilling and scores against the outputs that its authors released.

    python -m research.experiments.paranet_yardstick --data DIR \
        --json research/experiments/results/paranet_yardstick.json

DIR holds paramac_run311.jsonl.gz: 80,000 sentences X with their keywords KW after a drop of 12 %, the five candidates
with the best semantic scores in `sem_rank`, and the chosen paraphrase Y. The run's weights are 4.5, 8.0 and 1.0.

- Keywords: ours of all rows before the drop against theirs after it, so that precision cannot reach 100 %.
- Infilling: whether Y says all keywords, and whether Y cut at its keywords and put together again by our rule is Y.
- Choice: in how many of `--rows` rows, drawn by chance, our sum puts Y above all of `sem_rank`: with each score alone,
  with the run's weights, and with weights of one over the standard deviations. Rows whose Y is one of the five are left
  out, and counted.
- Semantic score: Spearman's correlation of ours with the order of `sem_rank` within a row; equal texts are one text.

The released data has no other scores, so that fluency and diversity can only be compared by the choice.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from scipy.stats import spearmanr

from research.reports import report
from toolkit.data.rows import Candidate, Scores
from toolkit.encoder.load import load_encoder
from toolkit.generate.keywords import keywords
from toolkit.generate.sentinels import sentence_of
from toolkit.score.comprehensive import Weights, comprehensive, fitted_weights
from toolkit.score.diversity import JACCARD, diversity
from toolkit.score.fluency import fluencies, fluency_signature, load_fluency
from toolkit.score.semantic import pair_cosines, semantic_signature

FILE = "paramac_run311.jsonl.gz"
RUN_WEIGHTS = Weights(4.5, 8.0, 1.0)  # of the released run; the paper's are 4.0, 8.0 and 1.2
BATCH_TOKENS = 8192
SEED = 0
MOST_FREQUENT = 15
ARMS = {  # weights of the semantic score, the fluency and the diversity
    "semantic score alone": Weights(1, 0, 0),
    "fluency alone": Weights(0, 1, 0),
    "diversity alone": Weights(0, 0, 1),
    "the run's weights": RUN_WEIGHTS,
    "the paper's weights": Weights(),
}


def spaced(text: str) -> str:
    """A text in lower case with single spaces, without those beside marks: how it is compared."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(text.lower().split()))


def compare_keywords(rows: Sequence[dict]) -> dict[str, Any]:
    """Precision, recall and F1 of our keywords, and what differs most often."""
    shared = ours_only = theirs_only = 0
    more, less = Counter[str](), Counter[str]()
    for row in rows:
        ours, theirs = {spaced(keyword.text) for keyword in keywords(row["X"])}, set(map(spaced, row["KW"]))
        shared += len(ours & theirs)
        ours_only += len(ours - theirs)
        theirs_only += len(theirs - ours)
        more.update(ours - theirs)
        less.update(theirs - ours)
    precision, recall = shared / (shared + ours_only), shared / (shared + theirs_only)
    return {
        "rows": len(rows),
        "precision": 100 * precision,
        "recall": 100 * recall,
        "f1": 200 * precision * recall / (precision + recall),
        "ours_only": more.most_common(MOST_FREQUENT),
        "theirs_only": less.most_common(MOST_FREQUENT),
    }


def compare_infilling(rows: Sequence[dict]) -> dict[str, Any]:
    """How many Y say all their keywords, and how many our rule puts together again."""
    says = same = reordered = 0
    for row in rows:
        text, places = spaced(row["Y"]), []
        for keyword in map(spaced, row["KW"]):
            place = text.find(keyword)
            places.append((place, keyword))
        if any(place < 0 for place, _ in places):
            continue
        says += 1
        parts, words, end = [], [], 0
        in_x = [spaced(row["X"]).find(keyword) for _, keyword in sorted(places)]
        reordered += in_x != sorted(in_x)
        for place, keyword in sorted(places):
            if place >= end:
                parts.append(text[end:place].strip())
                words.append(keyword)
                end = place + len(keyword)
        same += spaced(sentence_of(words, [*parts, text[end:].strip()], "")) == text
    return {"rows": len(rows), "says_all": 100 * says / len(rows), "same": 100 * same / says,
            "reordered": 100 * reordered / says}  # fmt: skip


def compare_choice(rows: Sequence[dict], options: argparse.Namespace) -> dict[str, Any]:
    """In how many rows Y has a greater sum than each of `sem_rank`, and the correlation of the semantic scores."""
    encoder = load_encoder(options.encoder)
    model = load_fluency(options.fluency_model, "float32", torch.device("cpu"), "en")
    apart = [row for row in rows if spaced(row["Y"]) not in set(map(spaced, row["sem_rank"]))]
    texts = [[row["Y"], *dict.fromkeys(row["sem_rank"])] for row in rows]
    pairs = [(row["X"], text) for row, row_texts in zip(rows, texts, strict=True) for text in row_texts]
    semantic = dict(zip(pairs, pair_cosines(pairs, encoder), strict=True))
    outputs = [text for _, text in pairs]
    fluent = dict(zip(outputs, fluencies(outputs, model, BATCH_TOKENS), strict=True))
    shares: dict[str, dict[str, float]] = {}
    fitted: dict[str, Weights] = {}
    for jaccard in JACCARD:
        scored = [
            [
                Scores(semantic=semantic[x, text], fluency=fluent[text], diversity=diversity(x, text, jaccard))
                for text in (row["Y"], *row["sem_rank"])
            ]
            for row in apart
            for x in (row["X"],)
        ]
        every = [Candidate("", "infill", scores=scores) for row_scores in scored for scores in row_scores]
        fitted[jaccard] = fitted_weights(every)
        shares[jaccard] = {}
        for name, weights in (ARMS | {"fitted weights": fitted[jaccard]}).items():
            sums = [[comprehensive(scores, weights) for scores in row_scores] for row_scores in scored]
            shares[jaccard][name] = 100 * sum(row_sums[0] > max(row_sums[1:]) for row_sums in sums) / len(apart)
    correlations = []
    for row in rows:
        order = list(dict.fromkeys(row["sem_rank"]))
        ours = [semantic[row["X"], text] for text in order]
        if len(set(ours)) > 1:
            correlations.append(float(spearmanr(ours, range(len(ours), 0, -1)).statistic))
    return {
        "rows": len(rows),
        "y_among_the_five": 100 * (len(rows) - len(apart)) / len(rows),
        "y_above_the_five": shares,
        "fitted": {jaccard: list(weights) for jaccard, weights in fitted.items()},
        "spearman_semantic": fmean(correlations),
        "spearman_rows": len(correlations),
        "semantic": semantic_signature(encoder, options.encoder),
        "fluency": fluency_signature(model),
    }


def main() -> None:
    """Read the released outputs, compare, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=4000, help="rows for the choice (default 4000)")
    parser.add_argument("--encoder", default="starter/encoder", help="a sentence encoder for the semantic score")
    parser.add_argument("--fluency_model", default="starter/infiller", help="a causal language model or an infiller")
    parser.add_argument("--json")
    options = parser.parse_args()
    with gzip.open(options.data / FILE, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    sample = random.Random(SEED).sample(rows, min(options.rows, len(rows)))
    results = {
        "keywords": compare_keywords(rows),
        "infilling": compare_infilling(rows),
        "choice": compare_choice(sample, options),
    }
    print(json.dumps(results, indent=1))
    report.write(options.json, SEED, results, {})


if __name__ == "__main__":
    main()
