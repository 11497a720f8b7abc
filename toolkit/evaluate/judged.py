"""People's judgments of paraphrases: similarity to the reference and grammaticality, by annotator, text and system.

The judgments are those that ParaBank's authors released, or those of a sheet of `toolkit.annotation`.

Source: ParaBank (Hu et al. 2019a), sections 5.3 and 5.5.
"""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from toolkit.bitext.text_file import read_text
from toolkit.system.extras import require

GRAMMATICAL = 2  # in the terms of the file: 0 nonsensical, 1 meaningful but ungrammatical, 2 meaningful and grammatical
COPIES = "copies of the reference"  # the controls: an attentive annotator gives them `IDENTICAL`
NAMES = {"0": COPIES, "35": "ParaNMT"}  # by number in the file; all other numbers are ParaBank's systems
REFERENCES, CANDIDATES = "ref.tsv.gz", "candidates.tsv.gz"
COLUMNS = {
    REFERENCES: ("ref_id", "ref_sent"),
    CANDIDATES: ("worker_id_anon", "ref_id", "ref_len", "sys_id", "candidate", "human_score", "gm"),
}
IDENTICAL = 100.0  # ParaBank, section 5.3: "expect it to receive a perfect score"
MOST_FAILED = 0.1  # ParaBank, section 5.3: workers who fail "more than 10% of all times are disqualified"
LEAST_JUDGMENTS = 25  # ParaBank, section 5.3: "44 workers who contributed at least 25 judgments"

# ParaBank, table 5, Czech-English: percentage of texts that all annotators found grammatical and meaningful
PAPER_GRAMMATICAL = {
    "ParaNMT": 73.25,
    "ParaBank 17": 76.50,
    "ParaBank 21": 65.50,
    "ParaBank 28": 81.75,
    "ParaBank 31": 74.00,
    "ParaBank 34": 82.50,
}


@dataclass(frozen=True)
class Judgment:
    """What one annotator said of one text.

    Attributes:
        annotator: The annotator's name or number.
        id: The id of the reference.
        text: The text, without leading and trailing white space.
        systems: The names of the systems that produced it.
        score: The similarity to the reference in [0, 100], if the annotator gave one.
        grammaticality: 0, 1 or 2 (`GRAMMATICAL`).
        length: The length of the reference, 5, 10, 20 or 40, if references were sampled by length.
    """

    annotator: str
    id: str
    text: str
    systems: tuple[str, ...]
    score: float | None
    grammaticality: int
    length: int | None = None


@dataclass
class _JudgedText:
    """An output of one or several systems for a reference, with its human judgments.

    Attributes:
        id: The id of the reference.
        text: The output, without leading and trailing white space.
        systems: The names of the systems that produced it, such as "ParaBank 17".
        scores: The similarity to the reference in [0, 100], from each annotator who gave a score.
        grammaticality: 0, 1 or 2 (`GRAMMATICAL`), from each annotator.
        length: The length of the reference, 5, 10, 20 or 40, if references were sampled by length.
    """

    id: str
    text: str
    systems: set[str] = field(default_factory=set)
    scores: list[float] = field(default_factory=list)
    grammaticality: list[int] = field(default_factory=list)
    length: int | None = None

    @property
    def grammatical(self) -> bool:
        """Whether no annotator found the text ungrammatical or nonsensical.

        Source: ParaBank, section 5.5: "when at least one independent annotator flags it as so".
        """
        return min(self.grammaticality) == GRAMMATICAL


def _system_name(number: str) -> str:
    """The name of the system that has a number in the file.

    >>> _system_name("17"), _system_name("35")
    ('ParaBank 17', 'ParaNMT')
    """
    return NAMES.get(number, f"ParaBank {number}")


def read_judged(folder: Path) -> tuple[dict[str, str], list[_JudgedText]]:
    """Read the references by id, and every judged text; equal texts of one reference are merged.

    Args:
        folder: The folder of ref.tsv.gz and candidates.tsv.gz as the authors released them: TSV with quoted fields and
            doubled inner quotes.

    Raises:
        ValueError: A file is missing or damaged or lacks a column, or a judgment is no number.
    """
    return _released_references(folder), judged_texts(released_judgments(folder))


def _released_references(folder: Path) -> dict[str, str]:
    """Read the references that the authors released, by id; see `read_judged`."""
    return {record["ref_id"]: record["ref_sent"].strip() for record in _records(folder / REFERENCES)}


def released_judgments(folder: Path) -> list[Judgment]:
    """Read the judgments that the authors released, in their order; see `read_judged`."""
    candidates = _records(folder / CANDIDATES)
    try:
        judgments = [
            Judgment(
                annotator=record["worker_id_anon"],
                id=record["ref_id"],
                text=record["candidate"].strip(),
                systems=tuple(map(_system_name, record["sys_id"].split())),
                score=float(record["human_score"]) if record["human_score"] else None,
                grammaticality=int(record["gm"]),
                length=int(record["ref_len"]),
            )
            for record in candidates
        ]
        if unusable_ids := [
            judgment.id for judgment in judgments if judgment.score is not None and not math.isfinite(judgment.score)
        ]:
            raise ValueError(f"a score of reference {unusable_ids[0]} is not finite")
        return judgments
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"wanted judgments as numbers, got {folder / CANDIDATES} with another ({error}): fetch it again"
        ) from error


def _records(path: Path) -> list[dict[str, str]]:
    """Read the records of a gzipped TSV file with a header.

    Raises:
        ValueError: The file does not exist, is damaged, or lacks a column.
    """
    if not path.is_file():
        raise ValueError(f"wanted the authors' judgments, got {path.parent} without {path.name}: check the folder")
    try:
        rows = list(csv.DictReader(io.StringIO(read_text(str(path)), newline=""), delimiter="\t"))
    except csv.Error as error:
        raise ValueError(f"wanted a table, got {path} ({error}): fetch it again") from None
    if wide_rows := [number for number, row in enumerate(rows, 2) if None in row]:
        raise ValueError(
            f"wanted as many columns as in the first line, got more in row {wide_rows[0]} of {path}: correct it"
        )
    missing_columns = [name for name in COLUMNS[path.name] if not rows or not isinstance(rows[0].get(name), str)]
    if missing_columns:
        raise ValueError(
            f"wanted the columns {', '.join(COLUMNS[path.name])}, got {path} without {', '.join(missing_columns)}"
        )
    return rows


def judged_texts(judgments: Iterable[Judgment]) -> list[_JudgedText]:
    """The distinct texts of each reference, each with all its judgments."""
    texts: dict[tuple[str, str], _JudgedText] = {}
    for judgment in judgments:
        judged_text = texts.setdefault(
            (judgment.id, judgment.text), _JudgedText(judgment.id, judgment.text, length=judgment.length)
        )
        judged_text.systems.update(judgment.systems)
        judged_text.grammaticality.append(judgment.grammaticality)
        if judgment.score is not None:
            judged_text.scores.append(judgment.score)
    return list(texts.values())


def attentive(judgments: Sequence[Judgment]) -> tuple[list[Judgment], dict[str, str]]:
    """Leave out the annotators who did not attend, or who gave few judgments.

    >>> from itertools import repeat
    >>> copy = Judgment("anna", "1", "Go!", (COPIES,), 100.0, 2)
    >>> few = Judgment("ben", "1", "Go!", (COPIES,), 100.0, 2)
    >>> kept, left_out = attentive([*repeat(copy, 25), few])
    >>> len(kept), left_out
    (25, {'ben': '1 judgments, fewer than 25'})

    Args:
        judgments: All judgments, with those of the controls (`COPIES`).

    Returns:
        The judgments of the others, in their order; and the reason for each annotator who was left out, by name.

    Source: ParaBank, section 5.3 (`MOST_FAILED`, `LEAST_JUDGMENTS`).
    """
    judgments_by_annotator: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        judgments_by_annotator.setdefault(judgment.annotator, []).append(judgment)
    left_out = {}
    for name, annotator_judgments in judgments_by_annotator.items():
        controls = [judgment for judgment in annotator_judgments if COPIES in judgment.systems]
        failures = sum(control.score != IDENTICAL for control in controls)
        if failures > MOST_FAILED * len(controls):
            left_out[name] = f"{failures} of {len(controls)} controls failed, more than {MOST_FAILED:.0%}"
        elif len(annotator_judgments) < LEAST_JUDGMENTS:
            left_out[name] = f"{len(annotator_judgments)} judgments, fewer than {LEAST_JUDGMENTS}"
    return [judgment for judgment in judgments if judgment.annotator not in left_out], left_out


def by_system(texts: Iterable[_JudgedText]) -> dict[str, dict[str, float]]:
    """The human judgments of each system, averaged over its texts.

    >>> good = _JudgedText("a", "Go!", {"ParaNMT"}, scores=[80, 90], grammaticality=[2, 2])
    >>> bad = _JudgedText("b", "Him go.", {"ParaNMT"}, scores=[], grammaticality=[2, 1])
    >>> by_system([good, bad])
    {'ParaNMT': {'texts': 2, 'grammatical': 50.0, 'grammaticality': 1.75, 'score': 85.0}}

    Returns:
        By name, sorted: the number of `texts`; `grammatical`, the percentage that no annotator flagged;
        `grammaticality`, the mean in [0, 2] over texts of the mean over annotators; `score`, the mean
        similarity to the reference in [0, 100], computed likewise over the texts with a score.

    Source: ParaBank, sections 5.3 (`score`) and 5.5 (`grammatical`); `grammaticality` is ours.
    """
    texts_by_system: dict[str, list[_JudgedText]] = {}
    for text in texts:
        for name in text.systems:
            texts_by_system.setdefault(name, []).append(text)
    return {name: figures(texts_by_system[name]) for name in sorted(texts_by_system, key=_table_position)}


def _table_position(name: str) -> tuple[bool, int, str]:
    """The sort key of a system in a table: ParaBank's systems come last, by number."""
    number = name.removeprefix("ParaBank ")
    return number.isdigit(), int(number) if number.isdigit() else 0, name


def figures(texts: list[_JudgedText]) -> dict[str, float]:
    """The figures of one system, see `by_system`; without `score` if no text has one."""
    scores = [fmean(text.scores) for text in texts if text.scores]
    return {
        "texts": len(texts),
        "grammatical": 100 * fmean(text.grammatical for text in texts),
        "grammaticality": fmean(fmean(text.grammaticality) for text in texts),
        **({"score": fmean(scores)} if scores else {}),
    }


def split_half(texts: Iterable[_JudgedText], judgments: Callable[[_JudgedText], Sequence[float]], seed: int) -> float:
    """Spearman's correlation between the means of two random halves of each text's annotators.

    This agreement between annotators is the upper limit for predictions from the text alone.

    Args:
        texts: The judged texts; texts with a single judgment are skipped.
        judgments: Gives the judgments of a text that are compared.
        seed: The seed of the random halves.
    """
    random_generator, halves = random.Random(seed), []
    for values in map(judgments, texts):
        if len(values) > 1:
            shuffled = random_generator.sample(list(values), len(values))
            half = len(values) // 2
            halves.append((fmean(shuffled[:half]), fmean(shuffled[half:])))
    return float(require("scipy.stats").spearmanr(*zip(*halves, strict=True)).statistic)
