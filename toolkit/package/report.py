"""A report to look at: one HTML page with a sample of a parabank, its losers, and sliders on its scores.

The page needs no network. Its counts under a slider are those of the whole parabank (`statistics.json`); its rows are a
sample of the references by hash of the id.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import jinja2
import pyarrow.parquet as pq

from toolkit.clean.rules import REASONS
from toolkit.data.database import database
from toolkit.data.rows import Candidate, Row, Scores, from_record, hints_of
from toolkit.data.shards import INPUTS
from toolkit.package._score_meanings import INFILLED, MEANINGS
from toolkit.package.build import STATISTICS
from toolkit.package.folder import AGAIN, _check_whole, files_of, is_parabank
from toolkit.package.keep import _place_of
from toolkit.package.parquet import finished_shards
from toolkit.package.plots import OTHERS, READ, TRANSLATED, _most_first
from toolkit.package.reasons import OF_CANDIDATES
from toolkit.package.templates import TEMPLATES
from toolkit.select.corpus import run_beside
from toolkit.system.outputs import MANIFEST, check_output_file
from toolkit.system.whole_files import read_record, write_whole
from toolkit.version import VERSION

ROWS = 5_000  # references of a page
LOSERS = 6  # ours: candidates that lost, of a reference
DIGITS = 6  # ours: of a score; a page shows three
LEFT_OUT = "equal to a better pair, or to a reference of a held-out split"
SCORED = tuple(hints_of(Scores))
AT_MOST = ("trigram_overlap", "intersection_over_union")  # scores of which less is stricter
MADE_BY = b"<footer><p>parabank-toolkit"  # in each page
FILES = ("page.css", "report.css", "report.js", "report.html")  # in cards/

SAMPLE_SQL = """
SELECT * FROM read_parquet($files) WHERE id IN (
    SELECT id FROM read_parquet($files) {where} ORDER BY md5_number_lower(id), id LIMIT $rows)
ORDER BY md5_number_lower(id), id
"""


def write_report(parabank: Path, output: Path, rows: int = ROWS) -> int:
    """Write the report of a packaged parabank.

    Args:
        parabank: The folder of the parabank. With the shards of its run beside it, the page shows what lost, too.
        output: The page.
        rows: References of the sample at most.

    Returns:
        The bytes of the page.

    Raises:
        ValueError: The folder is no parabank, or one of its files is damaged; `rows` is less than 1.
        OSError: The page cannot be written, or is a file that this function did not write.
    """
    check_output_file(output, [parabank], lambda page: MADE_BY in page.read_bytes())
    if rows < 1:
        raise ValueError(f"wanted at least 1 row, got {rows}: give a greater number")
    if not is_parabank(parabank):
        raise ValueError(f"wanted a packaged parabank, got {parabank} without {MANIFEST}: check the path")
    manifest, statistics = (read_record(parabank / name, AGAIN) for name in (MANIFEST, STATISTICS))
    _check_whole(parabank, "references")
    if "scores" not in statistics:
        raise ValueError(f"wanted a parabank with histograms, got {parabank} of an older toolkit: package it again")
    run = run_beside(parabank, manifest["settings"])
    shards = finished_shards(run) if (run / INPUTS).is_file() else []
    pair_files = files_of(parabank, "pairs")
    columns = pq.read_schema(pair_files[0]).names if pair_files else []
    sampled_rows = _sample_rows(parabank, shards, rows)
    page = _render_report(manifest, statistics, sampled_rows, bool(shards), parabank.as_posix(), columns)
    write_whole(output, page)
    return len(page.encode())


def _sample_rows(parabank: Path, shards: Sequence[Path], rows: int) -> list[Row]:
    """A sample of the references: published paraphrases have a rank, all others a reason.

    Args:
        parabank: The folder of the parabank.
        shards: The shards of its run; without them the rows have only paraphrases.
        rows: The most rows.
    """
    published = {
        row.id: row
        for row in (_published_row(record) for record in _records(files_of(parabank, "references"), rows, ""))
    }
    if not shards:
        return list(published.values())
    run_rows = [from_record(record) for record in _records(shards, rows, "WHERE reason IS NULL")]
    for row in run_rows:
        texts = {paraphrase.text for paraphrase in row.paraphrases}
        published_texts = (
            {paraphrase.text for paraphrase in published[row.id].paraphrases} if row.id in published else set()
        )
        for candidate in row.candidates:
            if candidate.text in texts - published_texts and candidate.rank is not None:
                candidate.rank, candidate.reason = None, LEFT_OUT
    return run_rows


def _records(files: Sequence[Path], rows: int, where: str) -> list[dict]:
    """The records of the files with the smallest hashes of their ids, in the order of these hashes."""
    with database() as connection:
        parameters = {"files": [str(file) for file in files], "rows": rows}
        result = connection.sql(SAMPLE_SQL.format(where=where), params=parameters)
        return result.to_arrow_table().to_pylist()


def _published_row(record: dict) -> Row:
    """The row of a record of config `references`."""
    candidates = [
        Candidate(
            paraphrase["text"],
            paraphrase["method"],
            rank=paraphrase["rank"],
            scores=Scores(**{name: paraphrase[name] for name in SCORED}),
        )
        for paraphrase in record["paraphrases"]
    ]
    fields = {name: record[name] for name in ("id", "origin", "source", "source_lang", "reference", "lang")}
    return Row(**fields, split="", candidates=candidates)


def _render_report(
    manifest: dict, statistics: dict, rows: Sequence[Row], losers: bool, path: str, columns: Sequence[str]
) -> str:
    """The page.

    Args:
        manifest: What parabank.json says.
        statistics: What statistics.json says.
        rows: The sample, with all candidates.
        losers: Whether the rows have candidates that lost.
        path: Where the parabank is, for the commands to copy.
        columns: The columns of its pairs, by which `load_dataset` can choose.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    style, own_style, script, text = ((TEMPLATES / name).read_text(encoding="utf-8") for name in FILES)
    scores = statistics["scores"]
    names = list(scores)
    meanings = MEANINGS if statistics["source_languages"] else MEANINGS | {"translation_score": INFILLED}
    data = {
        "path": path,
        "again": losers,
        "total": statistics["total"]["pairs"],
        "scores": {
            name: scores[name] | {"label": meanings[name][0], "meaning": meanings[name][1], "most": name in AT_MOST}
            for name in names
        },
        "columns": [name for name in names if name in columns],
        "reasons": OF_CANDIDATES,
        "rows": [_shown_row(row, names) for row in rows],
    }
    return environment.from_string(text).render(
        manifest=manifest,
        statistics=statistics,
        funnel=_funnel(statistics),
        sample=len(rows),
        total=statistics["total"]["references" if losers else "kept"],
        losers=losers,
        style=style + own_style,
        script=script,
        data=base64.b64encode(gzip.compress(json.dumps(data, ensure_ascii=False).encode(), mtime=0)).decode(),
        toolkit_version=VERSION,
    )


def _funnel(statistics: dict) -> list[dict]:
    """The two parts of the funnel: what came, what was refused and what was kept, as lines with their share of all."""
    inputs, outcomes, total = statistics["inputs"], statistics["candidates"], statistics["total"]
    other_outcomes = {label: outcomes[key] for key, label in OTHERS.items() if outcomes.get(key)}
    unit = READ[bool(statistics["source_languages"]) and TRANSLATED not in statistics].capitalize()
    parts = (
        (unit, inputs["lines"], inputs["refused"], REASONS, "became references", total["references"]),
        (
            "Candidates",
            total["candidates"],
            outcomes["refused"] | other_outcomes,
            OF_CANDIDATES,
            "became paraphrases",
            total["pairs"],
        ),
    )
    return [
        {
            "title": title,
            "all": whole_count,
            "lines": [
                {
                    "label": label,
                    "meaning": meanings.get(label, ""),
                    "count": count,
                    "share": 100 * count / max(whole_count, 1),
                    "kept": label == kept_label,
                }
                for label, count in (_most_first(refused) | {kept_label: kept_count}).items()
            ],
        }
        for title, whole_count, refused, meanings, kept_label, kept_count in parts
    ]


def _shown_row(row: Row, names: Sequence[str]) -> list:
    """A row as the page holds it: id, texts and languages, paraphrases, losers, and the numbers of others by reason."""
    losers = sorted((candidate for candidate in row.candidates if candidate.rank is None), key=_place_of)
    reason_counts: Counter[str] = Counter()
    order = []
    for loser in losers:  # the best of each reason first, then the second best of each
        order.append((reason_counts[loser.reason or ""], _place_of(loser), loser))
        reason_counts[loser.reason or ""] += 1
    shown_losers = [loser for _, _, loser in sorted(order, key=lambda item: item[:2])[:LOSERS]]
    hidden_counts = Counter(loser.reason or "" for loser in losers) - Counter(
        loser.reason or "" for loser in shown_losers
    )
    return [
        row.id,
        row.reference,
        row.lang,
        row.source,
        row.source_lang,
        [[paraphrase.text, _numbers(paraphrase, names)] for paraphrase in row.paraphrases],
        [[loser.text, loser.reason, _numbers(loser, names)] for loser in shown_losers],
        dict(hidden_counts.most_common()),
    ]


def _numbers(candidate: Candidate, names: Sequence[str]) -> list[float | None]:
    """The scores of a candidate, rounded."""
    scores = (getattr(candidate.scores, name) for name in names)
    return [None if score is None or not math.isfinite(score) else round(score, DIGITS) for score in scores]
