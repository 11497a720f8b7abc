"""The human judgments that ParaBank's authors released: what each system said, how like its reference, how grammatical.

Source: ParaBank (Hu et al. 2019a), sections 5.3 and 5.5.
"""

from __future__ import annotations

import csv
import gzip
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from scipy.stats import spearmanr

GRAMMATICAL = 2  # the file's own words: 0 nonsensical, 1 meaningful but ungrammatical, 2 meaningful and grammatical
NAMES = {"0": "copies of the reference", "35": "ParaNMT"}  # what the file numbers; all else is a system of ParaBank
REFERENCES, CANDIDATES = "ref.tsv.gz", "candidates.tsv.gz"
COLUMNS = {REFERENCES: ("ref_id", "ref_sent"), CANDIDATES: ("ref_id", "sys_id", "candidate", "human_score", "gm")}

# ParaBank, table 5, Czech-English: per cent of texts that all annotators found grammatical and meaningful
PAPER_GRAMMATICAL = {
    "ParaNMT": 73.25,
    "ParaBank 17": 76.50,
    "ParaBank 21": 65.50,
    "ParaBank 28": 81.75,
    "ParaBank 31": 74.00,
    "ParaBank 34": 82.50,
}


@dataclass
class JudgedText:
    """What one or more systems said for a reference, and what people said of it.

    Attributes:
        id: Of the reference.
        text: What the systems said, without white space around it.
        systems: Their names, such as "ParaBank 17".
        scores: How like the reference, in [0, 100], of each annotator who gave a score.
        grammaticality: 0, 1 or 2 (`GRAMMATICAL`), of each annotator.
    """

    id: str
    text: str
    systems: set[str] = field(default_factory=set)
    scores: list[float] = field(default_factory=list)
    grammaticality: list[int] = field(default_factory=list)

    @property
    def grammatical(self) -> bool:
        """Whether no annotator found it ungrammatical or nonsensical.

        Source: ParaBank, section 5.5: "when at least one independent annotator flags it as so".
        """
        return min(self.grammaticality) == GRAMMATICAL


def system_name(number: str) -> str:
    """What a number in the file stands for.

    >>> system_name("17"), system_name("35")
    ('ParaBank 17', 'ParaNMT')
    """
    return NAMES.get(number, f"ParaBank {number}")


def read_judged(folder: Path) -> tuple[dict[str, str], list[JudgedText]]:
    """The references by id, and every text that was judged; equal texts of one reference are one.

    Args:
        folder: With ref.tsv.gz and candidates.tsv.gz as the authors released them: TSV whose fields may stand in
            quotes, inner quotes doubled.

    Raises:
        ValueError: One is missing or damaged, has no such column, or a judgment is no number.
    """
    references = {r["ref_id"]: r["ref_sent"].strip() for r in records(folder / REFERENCES)}
    found = records(folder / CANDIDATES)
    try:
        return references, list(judged_texts(found))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"wanted judgments as numbers, got {folder / CANDIDATES} with another ({error}): fetch it again"
        ) from error


def records(path: Path) -> list[dict[str, str]]:
    """The records of a gzipped TSV file with a header.

    Raises:
        ValueError: There is no such file, it is damaged, or lacks a column.
    """
    if not path.is_file():
        raise ValueError(f"wanted the authors' judgments, got {path.parent} without {path.name}: check the folder")
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            found = list(csv.DictReader(lines, delimiter="\t"))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"wanted a gzipped table in UTF-8, got {path} ({error}): fetch it again") from None
    missing = [name for name in COLUMNS[path.name] if not found or not isinstance(found[0].get(name), str)]
    if missing:
        raise ValueError(f"wanted the columns {', '.join(COLUMNS[path.name])}, got {path} without {', '.join(missing)}")
    return found


def judged_texts(found: Iterable[dict[str, str]]) -> Iterable[JudgedText]:
    """Every text once, with all its judgments."""
    texts: dict[tuple[str, str], JudgedText] = {}
    for record in found:
        key = record["ref_id"], record["candidate"].strip()
        judged = texts.setdefault(key, JudgedText(*key))
        judged.systems.update(map(system_name, record["sys_id"].split()))
        judged.grammaticality.append(int(record["gm"]))
        if record["human_score"]:
            judged.scores.append(float(record["human_score"]))
    return texts.values()


def by_system(texts: Iterable[JudgedText]) -> dict[str, dict[str, float]]:
    """What people said of each system's texts.

    >>> good = JudgedText("a", "Go!", {"ParaNMT"}, scores=[80, 90], grammaticality=[2, 2])
    >>> bad = JudgedText("b", "Him go.", {"ParaNMT"}, scores=[], grammaticality=[2, 1])
    >>> by_system([good, bad])
    {'ParaNMT': {'texts': 2, 'grammatical': 50.0, 'grammaticality': 1.75, 'score': 85.0}}

    Returns:
        By name, sorted: the number of `texts`; `grammatical`, the per cent that nobody flagged; `grammaticality`, the
        mean in [0, 2] over texts of their annotators' mean; `score`, the same in [0, 100] of likeness to the reference,
        over the texts that have a score.

    Source: ParaBank, sections 5.3 (`score`) and 5.5 (`grammatical`); `grammaticality` is ours.
    """
    of_system: dict[str, list[JudgedText]] = {}
    for text in texts:
        for name in text.systems:
            of_system.setdefault(name, []).append(text)
    return {name: figures(of_system[name]) for name in sorted(of_system, key=place)}


def place(name: str) -> tuple[bool, int, str]:
    """Where a system stands in a table: ParaBank's by number, after all others."""
    number = name.removeprefix("ParaBank ")
    return number.isdigit(), int(number) if number.isdigit() else 0, name


def figures(texts: list[JudgedText]) -> dict[str, float]:
    """The figures of one system, see `by_system`; no `score` where no text has one."""
    scores = [fmean(text.scores) for text in texts if text.scores]
    return {
        "texts": len(texts),
        "grammatical": 100 * fmean(text.grammatical for text in texts),
        "grammaticality": fmean(fmean(text.grammaticality) for text in texts),
        **({"score": fmean(scores)} if scores else {}),
    }


def split_half(texts: Iterable[JudgedText], judgments: Callable[[JudgedText], Sequence[float]], seed: int) -> float:
    """Spearman's correlation between the means of two random halves of each text's annotators.

    What is predicted from the text alone can agree with people no better than they agree with one another.

    Args:
        texts: Those with one judgment are passed over.
        judgments: What to compare of a text.
        seed: Of the halves.
    """
    draw, halves = random.Random(seed), []
    for given in map(judgments, texts):
        if len(given) > 1:
            shuffled = draw.sample(list(given), len(given))
            half = len(given) // 2
            halves.append((fmean(shuffled[:half]), fmean(shuffled[half:])))
    return float(spearmanr(*zip(*halves, strict=True)).statistic)
