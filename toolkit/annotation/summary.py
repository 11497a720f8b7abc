"""What annotators said of each parabank, and how far they agree."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

import numpy as np

from toolkit.annotation.answers import (
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
        The `sheet`, the `annotators`, the figures of each of the `systems`, and the `agreement` on each question.

    Raises:
        ValueError: The folder is neither; a file is damaged; an answer is wrong; or there are no answers.
    """
    if (folder / REFERENCES).is_file():
        return _summarise_judgments(released_judgments(folder))
    record, sheet = open_sheet(folder)
    shown = read_items(folder)
    items = [item.item for item in shown]
    for file in answer_files(folder).values():
        check_sheet(file, record["id"], shown)
    given = {name: read_answers(file, sheet, items) for name, file in answer_files(folder).items()}
    answers = {
        name: {item: one for item, one in own.items() if one.keys() >= set(sheet.required)}
        for name, own in given.items()
    }
    if not any(answers.values()):
        raise ValueError(f"wanted answers in {folder / ANSWERS}, got none: serve the sheet, or fill in its items.csv")
    key = _read_key(folder)
    if sheet is PARABANK:
        figures = _summarise_judgments(list(_judgments_of(folder, answers, key)), record["judgments"])
    else:
        figures = _summarise_levels(sheet, answers, key, record["sampled"])
    for name, own in given.items():
        own_figures = figures["annotators"].setdefault(name, {"judgments": 0})
        own_figures["incomplete"] = len(own) - len(answers[name])
    return figures


def _read_key(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The lines of the key by item."""
    found = defaultdict(list)
    for line in read_table(folder / KEY, ("item", "system", "id", "length", "range", "trigram_overlap")):
        found[line["item"]].append(line)
    return dict(found)


def _judgments_of(
    folder: Path, answers: Mapping[str, Mapping[str, Answers]], key: Mapping[str, list[dict[str, str]]]
) -> Iterable[Judgment]:
    """The answers to ParaBank's sheet as judgments."""
    texts = {item.item: item.paraphrase for item in read_items(folder)}
    for annotator, own in answers.items():
        for item, given in own.items():
            first = key[item][0]
            yield Judgment(
                annotator=annotator,
                id=first["id"],
                text=texts[item],
                systems=tuple(line["system"] for line in key[item]),
                score=given["similarity"],
                grammaticality=0 if given["nonsensical"] else 1 if given["ungrammatical"] else GRAMMATICAL,
                length=int(first["length"]) if first["length"] else None,
            )


def _summarise_judgments(judgments: Sequence[Judgment], wanted: int = PARABANK.judgments) -> dict:
    """The figures of judgments as ParaBank's tables 4 and 5 have them; inattentive annotators are left out.

    Args:
        judgments: All judgments, with those of the controls.
        wanted: The judgments that each text should have.

    Returns:
        Of each system what `by_system` returns, and `score_error`, the standard error of the score over references;
        with references sampled by length also `lengths`, the score of each, and `average`, their mean if there are all.
        `too_few` is the number of texts with fewer judgments than wanted.

    Source: ParaBank, sections 5.3 and 5.5.
    """
    kept, left_out = attentive(judgments)
    texts = judged_texts(kept)
    systems = by_system(texts)
    found: dict[str, dict] = {name: dict(figures) for name, figures in systems.items()}
    for name, figures in found.items():
        own = [text for text in texts if name in text.systems and text.scores]
        references = defaultdict(list)
        for text in own:
            references[text.id].append(fmean(text.scores))
        if len(references) > 1:
            figures["score_error"] = stdev(map(fmean, references.values())) / math.sqrt(len(references))
        by_length = {n: [fmean(text.scores) for text in own if text.length == n] for n in LENGTHS}
        if any(by_length.values()):
            figures["lengths"] = {n: fmean(scores) for n, scores in by_length.items() if scores}
            if all(by_length.values()):
                figures["average"] = fmean(figures["lengths"].values())
    scores = [(one.annotator, (one.id, one.text), one.score) for one in kept if one.score is not None]
    grammaticality = [(one.annotator, (one.id, one.text), one.grammaticality) for one in kept]
    return {
        "sheet": PARABANK.name,
        "annotators": annotators(judgments, left_out),
        "judgments": len(kept),
        "texts": len(texts),
        "too_few": sum(len(text.grammaticality) < wanted for text in texts),
        "wanted": wanted,
        "systems": found,
        "agreement": {
            "similarity": alpha(scores, "interval"),
            "grammaticality": alpha(grammaticality, "ordinal"),
        },
    }


def annotators(judgments: Iterable[Judgment], left_out: Mapping[str, str]) -> dict[str, dict]:
    """The judgments, controls and failed controls of each annotator, and why one was left out."""
    found: dict[str, dict] = {}
    for one in judgments:
        own = found.setdefault(one.annotator, {"judgments": 0, "controls": 0, "failed": 0})
        own["judgments"] += 1
        own["controls"] += COPIES in one.systems
        own["failed"] += COPIES in one.systems and one.score != IDENTICAL
    return {name: own | {"left_out": left_out.get(name)} for name, own in found.items()}


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
    of_item = defaultdict(list)
    for own in answers.values():
        for item, given in own.items():
            of_item[item].append(given)
    groups = defaultdict(list)
    for item, lines in key.items():
        if item in of_item:
            groups[lines[0]["system"], lines[0]["range"] or "all"].append(item)
    systems: dict[str, dict] = {}
    for name, ranges in sampled.items():
        for label, pairs in ((label, pairs) for label, pairs in ranges.items() if label != EMPTY):
            items = groups[name, label]
            overlaps = [float(key[item][0]["trigram_overlap"]) for item in items]
            questions = {
                one.name: _levels([[given[one.name] for given in of_item[item]] for item in items], sorted(one.levels))
                for one in sheet.questions
            }
            figures = {
                "pairs": pairs,
                "judged": len(items),
                "trigram_overlap": spread(overlaps),
                "questions": questions,
            }
            systems.setdefault(name, {})[label] = figures
    everything = [(name, item, given) for name, own in answers.items() for item, given in own.items()]
    return {
        "sheet": sheet.name,
        "annotators": {name: {"judgments": len(own)} for name, own in answers.items()},
        "judgments": len(everything),
        "systems": systems,
        "agreement": {
            question.name: alpha([(name, item, given[question.name]) for name, item, given in everything], "ordinal")
            for question in sheet.questions
        },
    }


def _levels(ratings: Sequence[Sequence[float]], known: Sequence[int]) -> dict:
    """The figures of the ratings of each pair on one question, see `_summarise_levels`."""
    means = [fmean(own) for own in ratings]
    counts = Counter(int(rating) for own in ratings for rating in own)
    at_least = {n: 100 * fmean(mean >= n for mean in means) for n in known[1:]} if means else {}
    return {"ratings": {n: counts[n] for n in known}, "at_least": at_least, **spread(means)}


def spread(values: Sequence[float]) -> dict[str, float]:
    """The mean and the sample standard deviation of values, as far as there are any."""
    mean = {"mean": fmean(values)} if values else {}
    return mean | ({"deviation": stdev(values)} if len(values) > 1 else {})


def alpha(ratings: Iterable[tuple[str, object, float]], level: Literal["nominal", "ordinal", "interval"]) -> dict:
    """Krippendorff's alpha of ratings: 1 for full agreement, 0 for chance.

    >>> same = [("anna", 1, 3.0), ("ben", 1, 3.0), ("anna", 2, 1.0), ("ben", 2, 1.0)]
    >>> alpha(same, "ordinal")
    {'alpha': 1.0, 'level': 'ordinal', 'texts': 2}

    Args:
        ratings: Of each rating the annotator, the text and the value. Of several of one annotator and text the last.
        level: How values are compared: "nominal", "ordinal" or "interval".

    Returns:
        `alpha`, None if no text has two ratings or all ratings are equal; the `level`; and the number of `texts` that
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
    known = len(np.unique(shared[~np.isnan(shared)])) > 1
    found = round(float(krippendorff.alpha(shared, level_of_measurement=level)), 6) if known else None
    return {"alpha": found, "level": level, "texts": shared.shape[1]}


def markdown(figures: dict) -> str:
    """The figures as Markdown tables."""
    tables = _judged_tables(figures) if figures["sheet"] == PARABANK.name else _level_tables(figures)
    agreement = [
        [name, "-" if one["alpha"] is None else f"{one['alpha']:.3f}", one["level"], f"{one['texts']:,}"]
        for name, one in figures["agreement"].items()
    ]
    head = ["agreement", "Krippendorff's alpha", "level", "texts with two judgments"]
    return "\n\n".join([*tables, table(head, agreement)])


def _judged_tables(figures: dict) -> list[str]:
    """The tables of ParaBank's sheet: systems, and annotators; and a line if texts have too few judgments."""
    lengths = [n for n in LENGTHS if any(n in one.get("lengths", {}) for one in figures["systems"].values())]
    lines = []
    for name, one in figures["systems"].items():
        error = f" ± {one['score_error']:.1f}" if "score_error" in one else ""
        of_length = [f"{one['lengths'][n]:.1f}" if n in one.get("lengths", {}) else "-" for n in lengths]
        score = f"{one['score']:.1f}{error}" if "score" in one else "-"
        average = [f"{one['average']:.1f}" if "average" in one else "-"] if lengths else []
        lines.append([name, f"{one['texts']:,}", score, *of_length, *average, f"{one['grammatical']:.1f}"])
    of_lengths = [*(f"{n} words" for n in lengths), "mean of lengths"] if lengths else []
    head = ["system", "texts", "similarity", *of_lengths, "% grammatical"]
    people = [
        [
            name,
            f"{one['judgments']:,}",
            str(one.get("incomplete", 0)),
            f"{one.get('failed', 0)} of {one.get('controls', 0)}",
            one.get("left_out") or "",
        ]
        for name, one in figures["annotators"].items()
    ]
    tables = [
        table(head, lines),
        table(["annotator", "judgments", "incomplete", "controls failed", "left out"], people),
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
        for label, one in ranges.items():
            overlap = one["trigram_overlap"]
            counts = [_rating_cell(q, n) for q in one["questions"].values() for n in (1, 2, 3)]
            shown = f"{overlap['mean']:.2f} ± {overlap.get('deviation', 0):.2f}" if overlap else "-"
            lines.append([label, f"{one['pairs']:,}", f"{one['judged']:,}", shown, *counts])
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
        found = [whole[name]["questions"][question] for name, question in pairs]
        lines = [[f"{'=' if n == 5 else '>='} {n}, %", *(_level_cell(one, n) for one in found)] for n in (5, 4, 3, 2)]
        lines.append(
            ["mean", *(f"{q['mean']:.2f} ± {q.get('deviation', 0):.2f}" if "mean" in q else "-" for q in found)]
        )
        tables.append(table(["", *(f"{question}, {name}" for name, question in pairs)], lines))
    people = [
        [name, f"{one['judgments']:,}", str(one.get("incomplete", 0))] for name, one in figures["annotators"].items()
    ]
    return [*tables, table(["annotator", "judgments", "incomplete"], people)]


def _rating_cell(question: dict, level: int) -> str:
    """The percentage of ratings that are a level."""
    given = sum(question["ratings"].values())
    return f"{100 * question['ratings'][level] / given:.1f}" if given else "-"


def _level_cell(question: dict, level: int) -> str:
    """The percentage of pairs that have a level."""
    return f"{question['at_least'][level]:.1f}" if question["at_least"] else "-"
