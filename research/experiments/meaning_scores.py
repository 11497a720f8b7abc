r"""How well scores of meaning agree with people: on ParaBank's released judgments, and on outputs that were read.

    python -m research.experiments.meaning_scores --judgments DIR --sick DIR --base_model all-MiniLM-L6-v2 \
        --ratings research/experiments/results/judge_ratings.json --work build/meaning-scores \
        --json research/experiments/results/meaning_scores.json

`judgments` are of the fifth of ParaBank's references on which nothing was chosen (toolkit/evaluate/judgment_fit.py):
Spearman's correlation of each score with the mean human score of similarity, over all pairs and, as a mean, within the
candidates of a reference. `readings` are those of --texts texts of judge_ratings.json's latest set, drawn by chance:
the area under the curve by which a score tells usable outputs from others, and that of the fitted judge in folds with
and without the score as a further feature. Intervals are of 1,000 draws of references or texts.

--sick holds SICK_train.txt, on whose labels of entailment a cross-encoder is trained that begins with --base_model: a
small model of entailment, because none can be fetched here. --nli takes another one instead. ParaPLUIE and the rubric
ask --asked. Scores that are in --work already are not measured again, so other models want another --work;
`milliseconds` are of --cost pairs by each score alone, on --threads threads.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from research.experiments.judge_fit import LATEST, boosting, examples, fit, regression
from research.experiments.work_record import check_work
from research.reports import report
from toolkit.data.rows import Candidate, Row
from toolkit.encoder.load import load_embedder
from toolkit.evaluate.judgment_fit import last_fifth, read_judgments
from toolkit.pair_classifier.classifier import fit as train_classifier
from toolkit.pair_classifier.classifier import new_classifier
from toolkit.pair_classifier.pairs import LabelledPair
from toolkit.pair_classifier.settings import PairClassifierSettings
from toolkit.score.critic import critic_rows, load_critic
from toolkit.score.entailment import entailment_rows, load_nli
from toolkit.score.judge import BACK_FEATURES, CRITIC_FEATURES, FEATURES
from toolkit.score.judgment import judgment_rows
from toolkit.score.parapluie import parapluie_rows
from toolkit.score.rubric import rubric_rows
from toolkit.score.semantic import semantic_rows
from toolkit.starters import shown_name
from toolkit.system.whole_files import write_whole

DRAWS, SEED, FOLDS = 1000, 0, 5
BATCH_TOKENS, BATCH_TEXTS = 8192, 64
SICK = "SICK_train.txt"
PIECE = 20  # texts that are measured before the scores are kept
Stage = Callable[[Iterable[Row]], Iterator[Row]]
COSINE, LIKELIHOOD, REGRESSION = "cosine of MiniLM", "likelihood given the text", "regression on judgments"
SCORES = {  # by the name in the table: the field or property of `Scores`
    COSINE: "semantic",
    REGRESSION: "judgment",
    LIKELIHOOD: "given_reference",
    "entailment, lesser direction": "entailment",
    "entailed by the text": "entailed",
    "ParaPLUIE": "parapluie",
    "rubric": "rubric",
}


def rows_of_judgments(folder: Path) -> tuple[list[Row], dict[str, list[float]]]:
    """The held-out references with their judged candidates, and the human scores of these by id of the row."""
    judged = read_judgments(folder)
    rows: dict[str, Row] = {}
    scores: dict[str, list[float]] = {}
    for number in np.flatnonzero(last_fifth(judged.references)):
        name = f"judged-{judged.groups[number]}"
        row = rows.setdefault(name, Row(name, "judged", None, None, judged.references[number], "en", "test"))
        row.candidates.append(Candidate(judged.candidates[number], "beam"))
        scores.setdefault(name, []).append(float(judged.scores[number]))
    return list(rows.values()), scores


def rows_of_readings(texts: Sequence[dict[str, Any]], count: int) -> tuple[list[Row], list[dict[str, Any]]]:
    """So many texts by chance with the candidates that were read, and these texts as the file has them."""
    read = [text for text in texts if text["set"] == LATEST]
    numbers = sorted(np.random.default_rng(SEED).permutation(len(read))[:count].tolist())
    sample = [read[n] | {"candidates": [c for c in read[n]["candidates"] if "ratings" in c]} for n in numbers]
    rows = [
        Row(f"read-{n}", "read", None, None, text["text"], "en", "test",
            candidates=[Candidate(c["text"], "beam") for c in text["candidates"]])
        for n, text in zip(numbers, sample, strict=True)
    ]  # fmt: skip
    return rows, sample


def nli_model(sick: Path, base_model: str, folder: Path) -> str:
    """The folder of a cross-encoder that says whether a sentence follows from another, trained unless it is there."""
    if not (folder / "model").exists():
        with (sick / SICK).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        pairs = [
            LabelledPair(
                line["sentence_A"], line["sentence_B"], int(line["entailment_judgment"].strip() == "ENTAILMENT")
            )
            for line in lines
        ]
        settings = PairClassifierSettings(base_model=base_model, output_dir=str(folder), task=str(sick), max_length=256)
        classifier = new_classifier(base_model, settings.max_length, settings.seed)
        train_classifier(classifier, pairs, folder / "checkpoints", settings)
        classifier.save_pretrained(str(folder / "model"))
    return str(folder / "model")


def stages(options: argparse.Namespace, nli: str) -> dict[str, Callable[[], Stage]]:
    """What loads each stage, by the field that it fills first."""

    def semantic() -> Stage:
        encoder = load_embedder(options.base_model)
        return lambda rows: semantic_rows(rows, encoder, BATCH_TEXTS)

    def likelihood() -> Stage:
        critic = load_critic(options.critic, "float32", "cpu")
        return lambda rows: critic_rows(rows, critic, BATCH_TOKENS, relative_fluency=False)

    def entailment() -> Stage:
        model = load_nli(nli)
        return lambda rows: entailment_rows(rows, model, BATCH_TEXTS)

    def chat_stage(stage: Any) -> Stage:
        model = load_critic(options.asked, "float32", "cpu")
        return lambda rows: stage(rows, model, BATCH_TOKENS)

    return {
        "semantic": semantic,
        "judgment": lambda: judgment_rows,
        "given_reference": likelihood,
        "parapluie": lambda: chat_stage(parapluie_rows),
        "rubric": lambda: chat_stage(rubric_rows),
        "entailed": entailment,
    }


def measure(rows: Sequence[Row], load: Callable[[], Stage], field: str, file: Path) -> None:
    """Fill a score of all candidates, of which those of earlier calls are in a file."""
    values_by_id = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    missing = [row for row in rows if row.id not in values_by_id]
    stage = load() if missing else None
    names = ("entailed", "entails") if field == "entailed" else (field,)
    for begin in range(0, len(missing), PIECE):
        assert stage is not None
        for row in stage(missing[begin : begin + PIECE]):
            values_by_id[row.id] = [{name: getattr(c.scores, name) for name in names} for c in row.candidates]
        write_whole(file, json.dumps(values_by_id))
        print(f"{field}: {begin + PIECE} of {len(missing)} texts", flush=True)
    for row in rows:
        for candidate, values in zip(row.candidates, values_by_id[row.id], strict=True):
            for name, value in values.items():
                setattr(candidate.scores, name, value)


def interval(figure: Callable[[np.ndarray], float], groups: np.ndarray) -> list[float]:
    """The 2.5th and 97.5th percentile of a figure over draws of groups, with repetitions."""
    generator, distinct = np.random.default_rng(SEED), np.unique(groups)
    places = {group: np.flatnonzero(groups == group) for group in distinct}
    figures = [
        figure(np.concatenate([places[group] for group in generator.choice(distinct, len(distinct))]))
        for _ in range(DRAWS)
    ]
    return np.round(np.percentile(figures, [2.5, 97.5]), 4).tolist()


def within(scores: np.ndarray, human: np.ndarray, groups: np.ndarray) -> float:
    """The mean correlation within the candidates of a reference, of those where both differ."""
    correlations = []
    for group in np.unique(groups):
        first, second = scores[groups == group], human[groups == group]
        if len(set(first)) > 1 and len(set(second)) > 1:
            correlations.append(spearmanr(first, second).statistic)
    return float(np.mean(correlations))


def against_judgments(rows: Sequence[Row], human_scores: dict[str, list[float]]) -> dict[str, dict[str, Any]]:
    """The correlation of each score with people's."""
    human = np.array([score for row in rows for score in human_scores[row.id]])
    groups = np.array([n for n, row in enumerate(rows) for _ in row.candidates])
    figures = {}
    for name, field in SCORES.items():
        scores = np.array([getattr(c.scores, field) for row in rows for c in row.candidates], float)

        def rho(places: np.ndarray, scores: np.ndarray = scores) -> float:
            return float(spearmanr(scores[places], human[places]).statistic)

        figures[name] = {
            "spearman": round(rho(np.arange(len(human))), 4),
            "interval": interval(rho, groups),
            "within references": round(within(scores, human, groups), 4),
        }
    return figures


def against_readings(rows: Sequence[Row], texts: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """How well each score tells usable outputs, and what the judge gains by it."""
    values, usable, groups, _ = examples(list(texts), (*BACK_FEATURES, *CRITIC_FEATURES, *FEATURES))
    has_features = [
        len(examples([text | {"candidates": [c]}], (*BACK_FEATURES, *CRITIC_FEATURES, *FEATURES))[0]) == 1
        for text in texts
        for c in text["candidates"]
    ]
    columns = {
        name: np.array([getattr(c.scores, field) for row in rows for c in row.candidates], float)[has_features]
        for name, field in SCORES.items()
    }
    base = in_folds(values, usable, groups)

    def auc(places: np.ndarray, predicted: np.ndarray) -> float:
        return float(roc_auc_score(usable[places], predicted[places]))

    def figures_of(predicted: np.ndarray) -> dict[str, Any]:
        return {
            "auc": round(float(roc_auc_score(usable, predicted)), 4),
            "interval": interval(lambda places: auc(places, predicted), groups),
        }

    def gain(places: np.ndarray, more: np.ndarray) -> float:
        return auc(places, more) - auc(places, base)

    figures: dict[str, dict[str, Any]] = {"fitted judge": figures_of(base)}
    for name, column in columns.items():
        figures[name] = figures_of(column)
        if SCORES[name] not in (*FEATURES, *CRITIC_FEATURES):
            more = in_folds(np.column_stack([values, column]), usable, groups)
            figures[name] |= {
                "judge with it": round(float(roc_auc_score(usable, more)), 4),
                "judge gains": interval(partial(gain, more=more), groups),
            }
    return figures | {"outputs": {"count": len(usable), "usable": int(usable.sum())}}


def in_folds(values: np.ndarray, usable: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The predictions of judges that were fitted without the text of an output."""
    predicted, weights = np.zeros(len(usable)), np.ones(len(usable))
    for learned, test in GroupKFold(FOLDS).split(values, usable, groups):
        for model in (regression(), boosting()):
            fit(model, values[learned], usable[learned], weights[learned])
            predicted[test] += model.predict_proba(values[test])[:, 1] / 2
    return predicted


def milliseconds(rows: Sequence[Row], load: Callable[[], Stage], pairs: int) -> float:
    """Of a pair, by one stage, after it has measured a first text."""
    stage = load()
    list(stage(rows[:1]))
    sample, count = [], 0
    for row in rows[1:]:
        sample.append(row)
        count += len(row.candidates)
        if count >= pairs:
            break
    began = time.perf_counter()
    list(stage(sample))
    return round(1000 * (time.perf_counter() - began) / count, 2)


def main() -> None:
    """Measure, compare, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=Path, required=True)
    parser.add_argument("--ratings", type=Path, required=True)
    parser.add_argument("--base_model", required=True)
    parser.add_argument("--sick", type=Path)
    parser.add_argument("--nli")
    parser.add_argument("--asked", default="starter/smollm2")
    parser.add_argument("--critic", default="starter/rewriter")
    parser.add_argument("--texts", type=int, default=30)
    parser.add_argument("--cost", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not (options.nli or options.sick):
        parser.error("wanted --sick or --nli for the scores of entailment, got neither: give one")
    torch.set_num_threads(options.threads)
    inputs = {name: [getattr(options, name)] for name in ("base_model", "asked", "critic", "ratings")}
    inputs["entailment"] = [options.nli or options.sick / SICK]
    check_work(options.work, "scores of meaning", {"judgments": options.judgments}, inputs)
    nli = options.nli or nli_model(options.sick, options.base_model, options.work / "nli")
    judged_rows, human_scores = rows_of_judgments(options.judgments)
    texts = json.loads(options.ratings.read_text(encoding="utf-8"))["results"]["texts"]
    read_rows, read_texts = rows_of_readings(texts, options.texts)
    loads = stages(options, nli)
    with torch.inference_mode():
        for field, load in loads.items():
            measure([*judged_rows, *read_rows], load, field, options.work / f"{field}.json")
        if options.json is None:
            return
        results = {
            "judgments": against_judgments(judged_rows, human_scores)
            | {"pairs": {"count": sum(len(row.candidates) for row in judged_rows), "references": len(judged_rows)}},
            "readings": against_readings(read_rows, read_texts),
            "milliseconds": {field: milliseconds(judged_rows, load, options.cost) for field, load in loads.items()},
            "models": {"entailment": f"{shown_name(nli)}, which began with {shown_name(options.base_model)}",
                       "asked": options.asked, "critic": options.critic, "threads": options.threads},
        }  # fmt: skip
    print(json.dumps(results, indent=1))
    report.write(options.json, SEED, results, {})


if __name__ == "__main__":
    main()
