"""What annotators said of each parabank, and how far they agree."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

import numpy as np

from toolkit.annotation._answers import (
    ANSWERS,
    KEY,
    Answers,
    answer_files,
    check_sheet,
    open_sheet,
    read_answers,
    read_items,
    read_table,
)
from toolkit.annotation.make import EMPTY
from toolkit.annotation.sheets import PARABANK, Sheet
from toolkit.evaluate.judged import (
    COPIES,
    GRAMMATICAL,
    IDENTICAL,
    REFERENCES,
    Judgment,
    attentive,
    by_system,
    judged_texts,
    released_judgments,
)
from toolkit.evaluate.lengths import LENGTHS
from toolkit.evaluate.tables import table
from toolkit.system.extras import require


def summarise(folder: Path) -> dict:
    """Summarise a sheet, or the judgments that ParaBank's authors released.

    Args:
        folder: The folder of a sheet with answers, or that of ref.tsv.gz and candidates.tsv.gz.

    Returns:
        The `sheet`, the `_annotators`, the figures of each of the `systems`, and the `agreement` on each question.

    Raises:
        ValueError: The folder is neither; a file is damaged; an answer is wrong; or there are no answers.
    """
    if (folder / REFERENCES).is_file():
        return _summarise_judgments(released_judgments(folder))
    record, sheet = open_sheet(folder)
    items = read_items(folder)
    item_ids = [item.item for item in items]
    for file in answer_files(folder).values():
        check_sheet(file, record["id"], items)
    submitted_answers = {name: read_answers(file, sheet, item_ids) for name, file in answer_files(folder).items()}
    answers = {
        name: {
            item: item_answers
            for item, item_answers in answers_by_item.items()
            if item_answers.keys() >= set(sheet.required)
        }
        for name, answers_by_item in submitted_answers.items()
    }
    if not any(answers.values()):
        raise ValueError(f"wanted answers in {folder / ANSWERS}, got none: serve the sheet, or fill in its items.csv")
    key = _read_key(folder)
    if sheet is PARABANK:
        all_texts = {(key[item.item][0]["id"], item.paraphrase) for item in items}
        judgments = list(_build_judgments(folder, answers, key))
        figures = _summarise_judgments(judgments, record["judgments"], len(all_texts))
    else:
        figures = _summarise_levels(sheet, answers, key, record["sampled"])
    for name, answers_by_item in submitted_answers.items():
        annotator_figures = figures["annotators"].setdefault(name, {"judgments": 0})
        annotator_figures["incomplete"] = len(answers_by_item) - len(answers[name])
    return figures


def _read_key(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The lines of the key by item."""
    lines_by_item = defaultdict(list)
    for line in read_table(folder / KEY, ("item", "system", "id", "length", "range", "trigram_overlap")):
        lines_by_item[line["item"]].append(line)
    return dict(lines_by_item)


def _build_judgments(
    folder: Path, answers: Mapping[str, Mapping[str, Answers]], key: Mapping[str, list[dict[str, str]]]
) -> Iterable[Judgment]:
    """The answers to ParaBank's sheet as judgments."""
    texts = {item.item: item.paraphrase for item in read_items(folder)}
    for annotator, answers_by_item in answers.items():
        for item, ratings in answers_by_item.items():
            first = key[item][0]
            yield Judgment(
                annotator=annotator,
                id=first["id"],
                text=texts[item],
                systems=tuple(line["system"] for line in key[item]),
                score=ratings["similarity"],
                grammaticality=0 if ratings["nonsensical"] else 1 if ratings["ungrammatical"] else GRAMMATICAL,
                length=int(first["length"]) if first["length"] else None,
            )


def _summarise_judgments(
    judgments: Sequence[Judgment], judgments_per_text: int = PARABANK.judgments, all_texts: int | None = None
) -> dict:
    """The figures of judgments as ParaBank's tables 4 and 5 have them; inattentive annotators are left out.

    Args:
        judgments: All judgments, with those of the controls.
        judgments_per_text: The judgments that each text should have.
        all_texts: The number of distinct texts, if some have no judgment.

    Returns:
        Of each system what `by_system` returns, and `score_error`, the standard error of the score over references;
        with references sampled by length also `lengths`, the score of each, and `average`, their mean if there are all.
        `too_few` is the number of texts with fewer judgments than wanted.

    Source: ParaBank, sections 5.3 and 5.5.
    """
    usable_judgments, exclusion_reasons = attentive(judgments)
    texts = judged_texts(usable_judgments)
    all_texts = all_texts or len(judged_texts(judgments))
    systems = by_system(texts)
    system_figures: dict[str, dict] = {name: dict(figures) for name, figures in systems.items()}
    for name, figures in system_figures.items():
        system_texts = [text for text in texts if name in text.systems and text.scores]
        references = defaultdict(list)
        for text in system_texts:
            references[text.id].append(fmean(text.scores))
        if len(references) > 1:
            figures["score_error"] = stdev(map(fmean, references.values())) / math.sqrt(len(references))
        by_length = {n: [fmean(text.scores) for text in system_texts if text.length == n] for n in LENGTHS}
        if any(by_length.values()):
            figures["lengths"] = {n: fmean(scores) for n, scores in by_length.items() if scores}
            if all(by_length.values()):
                figures["average"] = fmean(figures["lengths"].values())
    scores = [
        (judgment.annotator, (judgment.id, judgment.text), judgment.score)
        for judgment in usable_judgments
        if judgment.score is not None
    ]
    grammaticality = [
        (judgment.annotator, (judgment.id, judgment.text), judgment.grammaticality) for judgment in usable_judgments
    ]
    return {
        "sheet": PARABANK.name,
        "annotators": _annotators(judgments, exclusion_reasons),
        "judgments": len(usable_judgments),
        "texts": all_texts,
        "too_few": all_texts - sum(len(text.grammaticality) >= judgments_per_text for text in texts),
        "wanted": judgments_per_text,
        "systems": system_figures,
        "agreement": {
            "similarity": _alpha(scores, "interval"),
            "grammaticality": _alpha(grammaticality, "ordinal"),
        },
    }


def _annotators(judgments: Iterable[Judgment], left_out: Mapping[str, str]) -> dict[str, dict]:
    """The judgments, controls and failed controls of each annotator, and why one was left out."""
    counts_by_annotator: dict[str, dict] = {}
    for judgment in judgments:
        counts = counts_by_annotator.setdefault(judgment.annotator, {"judgments": 0, "controls": 0, "failed": 0})
        counts["judgments"] += 1
        counts["controls"] += COPIES in judgment.systems
        counts["failed"] += COPIES in judgment.systems and judgment.score != IDENTICAL
    return {name: counts | {"left_out": left_out.get(name)} for name, counts in counts_by_annotator.items()}


def _summarise_levels(
    sheet: Sheet,
    answers: Mapping[str, Mapping[str, Answers]],
    key: Mapping[str, list[dict[str, str]]],
    sampled: Mapping[str, Mapping[str, int]],
) -> dict:
    """The figures of answers in levels, as table 3 of ParaNMT-50M and table 5 of ParaZh-22M have them.

    Returns:
        Of each system and range of the score: `pairs` in the whole parabank, `judged` pairs, the mean and deviation of
        their `trigram_overlap`, and of each question `ratings`, the number of each level; `at_least`, the percentage of
        pairs whose mean rating is at least a level; `mean` and `deviation` of these means.

    Source: ParaNMT-50M, section 3.2; ParaZh-22M, section 3.2: "the final score is the average of their ratings".
    """
    answers_by_item = defaultdict(list)
    for annotator_answers in answers.values():
        for item, item_answers in annotator_answers.items():
            answers_by_item[item].append(item_answers)
    groups = defaultdict(list)
    for item, lines in key.items():
        if item in answers_by_item:
            groups[lines[0]["system"], lines[0]["range"] or "all"].append(item)
    systems: dict[str, dict] = {}
    for name, ranges in sampled.items():
        for label, pairs in ((label, pairs) for label, pairs in ranges.items() if label != EMPTY):
            items = groups[name, label]
            overlaps = [float(key[item][0]["trigram_overlap"]) for item in items]
            questions = {
                question.name: _levels(
                    [[item_answers[question.name] for item_answers in answers_by_item[item]] for item in items],
                    sorted(question.levels),
                )
                for question in sheet.questions
            }
            figures = {
                "pairs": pairs,
                "judged": len(items),
                "trigram_overlap": _spread(overlaps),
                "questions": questions,
            }
            systems.setdefault(name, {})[label] = figures
    judgments = [
        (name, item, item_answers)
        for name, annotator_answers in answers.items()
        for item, item_answers in annotator_answers.items()
    ]
    return {
        "sheet": sheet.name,
        "annotators": {name: {"judgments": len(annotator_answers)} for name, annotator_answers in answers.items()},
        "judgments": len(judgments),
        "systems": systems,
        "agreement": {
            question.name: _alpha(
                [(name, item, item_answers[question.name]) for name, item, item_answers in judgments], "ordinal"
            )
            for question in sheet.questions
        },
    }


def _levels(ratings: Sequence[Sequence[float]], levels: Sequence[int]) -> dict:
    """The figures of the ratings of each pair on one question, see `_summarise_levels`."""
    means = [fmean(pair_ratings) for pair_ratings in ratings]
    counts = Counter(int(rating) for pair_ratings in ratings for rating in pair_ratings)
    at_least = {n: 100 * fmean(mean >= n for mean in means) for n in levels[1:]} if means else {}
    return {"ratings": {n: counts[n] for n in levels}, "at_least": at_least, **_spread(means)}


def _spread(values: Sequence[float]) -> dict[str, float]:
    """The mean and the sample standard deviation of values, as far as there are any."""
    mean = {"mean": fmean(values)} if values else {}
    return mean | ({"deviation": stdev(values)} if len(values) > 1 else {})


def _alpha(ratings: Iterable[tuple[str, object, float]], level: Literal["nominal", "ordinal", "interval"]) -> dict:
    """Krippendorff's alpha of ratings: 1 for full agreement, 0 for chance.

    >>> same = [("anna", 1, 3.0), ("ben", 1, 3.0), ("anna", 2, 1.0), ("ben", 2, 1.0)]
    >>> _alpha(same, "ordinal")
    {'alpha': 1.0, 'level': 'ordinal', 'texts': 2}

    Args:
        ratings: Of each rating the annotator, the text and the value. Of several of one annotator and text the last.
        level: How values are compared: "nominal", "ordinal" or "interval".

    Returns:
        `_alpha`, None if no text has two ratings or all ratings are equal; the `level`; and the number of `texts` that
        have at least two ratings.
    """
    krippendorff = require("krippendorff")
    last = {(annotator, text): rating for annotator, text, rating in ratings}
    rows = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in last))}
    columns = {text: number for number, text in enumerate(dict.fromkeys(text for _, text in last))}
    values = np.full((len(rows), len(columns)), np.nan)
    for (annotator, text), rating in last.items():
        values[rows[annotator], columns[text]] = rating
    shared = values[:, (~np.isnan(values)).sum(axis=0) > 1]
    has_variation = len(np.unique(shared[~np.isnan(shared)])) > 1
    coefficient = round(float(krippendorff.alpha(shared, level_of_measurement=level)), 6) if has_variation else None
    return {"alpha": coefficient, "level": level, "texts": shared.shape[1]}


def markdown(figures: dict) -> str:
    """The figures as Markdown tables."""
    tables = _judged_tables(figures) if figures["sheet"] == PARABANK.name else _level_tables(figures)
    rows = [
        [
            name,
            "-" if agreement["alpha"] is None else f"{agreement['alpha']:.3f}",
            agreement["level"],
            f"{agreement['texts']:,}",
        ]
        for name, agreement in figures["agreement"].items()
    ]
    head = ["agreement", "Krippendorff's alpha", "level", "texts with two judgments"]
    return "\n\n".join([*tables, table(head, rows)])


def _judged_tables(figures: dict) -> list[str]:
    """The tables of ParaBank's sheet: systems, and annotators; and a line if texts have too few judgments."""
    lengths = [
        n
        for n in LENGTHS
        if any(n in system_figures.get("lengths", {}) for system_figures in figures["systems"].values())
    ]
    lines = []
    for name, system_figures in figures["systems"].items():
        error = f" ± {system_figures['score_error']:.1f}" if "score_error" in system_figures else ""
        length_scores = [
            f"{system_figures['lengths'][n]:.1f}" if n in system_figures.get("lengths", {}) else "-" for n in lengths
        ]
        score = f"{system_figures['score']:.1f}{error}" if "score" in system_figures else "-"
        average = [f"{system_figures['average']:.1f}" if "average" in system_figures else "-"] if lengths else []
        lines.append(
            [
                name,
                f"{system_figures['texts']:,}",
                score,
                *length_scores,
                *average,
                f"{system_figures['grammatical']:.1f}",
            ]
        )
    length_columns = [*(f"{n} words" for n in lengths), "mean of lengths"] if lengths else []
    head = ["system", "texts", "similarity", *length_columns, "% grammatical"]
    annotator_rows = [
        [
            name,
            f"{counts['judgments']:,}",
            str(counts.get("incomplete", 0)),
            f"{counts.get('failed', 0)} of {counts.get('controls', 0)}",
            counts.get("left_out") or "",
        ]
        for name, counts in figures["annotators"].items()
    ]
    tables = [
        table(head, lines),
        table(["annotator", "judgments", "incomplete", "controls failed", "left out"], annotator_rows),
    ]
    if figures["too_few"]:
        tables.append(
            f"{figures['too_few']:,} of {figures['texts']:,} texts have fewer than {figures['wanted']} judgments."
        )
    return tables


def _level_tables(figures: dict) -> list[str]:
    """The tables of a sheet of levels: one for each parabank with ranges, or one for all."""
    tables = []
    for name, ranges in figures["systems"].items():
        if list(ranges) == ["all"]:
            continue
        lines = []
        for label, range_figures in ranges.items():
            overlap = range_figures["trigram_overlap"]
            counts = [_rating_cell(q, n) for q in range_figures["questions"].values() for n in (1, 2, 3)]
            overlap_cell = f"{overlap['mean']:.2f} ± {overlap.get('deviation', 0):.2f}" if overlap else "-"
            lines.append([label, f"{range_figures['pairs']:,}", f"{range_figures['judged']:,}", overlap_cell, *counts])
        questions = next(iter(ranges.values()))["questions"]
        head = [
            f"score, {name}",
            "pairs",
            "judged",
            "trigram overlap",
            *(f"{q} {n}, %" for q in questions for n in (1, 2, 3)),
        ]
        tables.append(table(head, lines))
    whole = {name: ranges["all"] for name, ranges in figures["systems"].items() if list(ranges) == ["all"]}
    if whole:
        questions = next(iter(whole.values()))["questions"]
        pairs = [(name, question) for question in questions for name in whole]
        column_figures = [whole[name]["questions"][question] for name, question in pairs]
        lines = [
            [f"{'=' if n == 5 else '>='} {n}, %", *(_level_cell(q, n) for q in column_figures)] for n in (5, 4, 3, 2)
        ]
        lines.append(
            [
                "mean",
                *(f"{q['mean']:.2f} ± {q.get('deviation', 0):.2f}" if "mean" in q else "-" for q in column_figures),
            ]
        )
        tables.append(table(["", *(f"{question}, {name}" for name, question in pairs)], lines))
    annotator_rows = [
        [name, f"{annotator_figures['judgments']:,}", str(annotator_figures.get("incomplete", 0))]
        for name, annotator_figures in figures["annotators"].items()
    ]
    return [*tables, table(["annotator", "judgments", "incomplete"], annotator_rows)]


def _rating_cell(question: dict, level: int) -> str:
    """The percentage of ratings that are a level."""
    total = sum(question["ratings"].values())
    return f"{100 * question['ratings'][level] / total:.1f}" if total else "-"


def _level_cell(question: dict, level: int) -> str:
    """The percentage of pairs that have a level."""
    return f"{question['at_least'][level]:.1f}" if question["at_least"] else "-"
