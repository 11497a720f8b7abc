"""What a shard keeps of the candidates that were not chosen: all, none, or the best of each reference.

Whatever is kept, the chosen candidates are the same, and so are all counts (`toolkit.package.counts`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.data.rows import Candidate, Row, to_table
from toolkit.data.shards import dropped_of, write_shard
from toolkit.package.counts import _differences
from toolkit.run.shard_runs import ALL, CHOSEN
from toolkit.select.equal import BEST_KNOWN
from toolkit.system.whole_files import write_whole


def write_kept(path: Path, rows: Iterable[Row], keep: str = ALL) -> None:
    """Write a shard without the candidates that are not to be kept, and before it the counts of those.

    Args:
        path: The shard.
        rows: Its rows with all their candidates.
        keep: "all", "chosen", or how many others of a reference, the best ones.

    Raises:
        OSError: The disk is full, or another error of the file system; no shard is left behind.
        ValueError: A score is NaN or infinite; the message names the row.
    """
    if keep == ALL:
        return write_shard(path, rows)
    all_rows = list(rows)
    max_others = 0 if keep == CHOSEN else int(keep)
    kept_rows = [replace(row, candidates=_kept_candidates(row, max_others)) for row in all_rows]
    sink = pa.BufferOutputStream()
    counts = _differences(to_table(all_rows), to_table(kept_rows))
    pq.write_table(counts, sink, compression="zstd", write_page_checksum=True)
    write_whole(dropped_of(path), sink.getvalue().to_pybytes())
    write_shard(path, kept_rows)


def _kept_candidates(row: Row, max_others: int) -> list[Candidate]:
    """The chosen candidates of a row, and of the others the `max_others` with the best scores, in their order.

    Candidates with a dual score come first, then those with a predicted judgment, then those with a translation score,
    each by that score; then the others. Equal ones come in their order.
    """
    unranked_positions = sorted(
        (position for position, candidate in enumerate(row.candidates) if candidate.rank is None),
        key=lambda position: (_place_of(row.candidates[position]), position),
    )
    kept_positions = set(unranked_positions[:max_others])
    return [
        candidate
        for position, candidate in enumerate(row.candidates)
        if candidate.rank is not None or position in kept_positions
    ]


def _place_of(candidate: Candidate) -> tuple[int, float]:
    """What candidates that were not chosen are sorted by: their first score, and minus its value."""
    scores = [getattr(candidate.scores, name) for name in BEST_KNOWN]
    sort_keys = ((position, -score) for position, score in enumerate(scores) if score is not None)
    return next(sort_keys, (len(scores), 0.0))
