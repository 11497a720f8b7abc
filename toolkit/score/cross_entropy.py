"""Dual conditional cross-entropy: how improbable two translators find the sides of a pair, and how little they agree.

A pair whose sides are no translations of each other is improbable in both directions; one that says more on one side is
improbable in one. Here are the measure, the settings and the choice over a whole bitext; `parabank filter bitext` runs
it.

Source: Junczys-Dowmunt (2018), "Dual Conditional Cross-Entropy Filtering of Noisy Parallel Corpora", WMT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.clean.bitext import BitextSettings
from toolkit.clean.clean_file import check_names
from toolkit.data.shards import candidates_of, read_tables
from toolkit.system.ranges import Count, Dtype, Machine, Range, Share

# ParaBank 2, section 3.1, calls it a negative log-likelihood and does not say of what; that it is this one, is ours
MAX_CROSS_ENTROPY = 3.5
REASON = "cross_entropy"
Nats = Annotated[float, Range("{} above 0", lambda nats: nats > 0)]


@dataclass(frozen=True, kw_only=True)
class BitextFilter(BitextSettings, Machine):
    """The settings of `toolkit.score.filter_bitext.filter_bitext`.

    Attributes:
        forward: Translator from the source language to the references': a Hub id, a local path or "starter/de-en".
        backward: Translator in the opposite direction.
        output: File of the pairs that are kept: source TAB reference (.tsv, also .gz or .zst) or Parquet (.parquet),
            which has the line, the cross-entropy x and the score exp(-x) of each, too; the shards are in the folder of
            the same name with ".shards".
        refused: File of the refused pairs, likewise, with the line and the reason of each; by default none.
        max_cross_entropy: Pairs with more nats per token are refused; 3.5 unless given and no share is.
        best_share: Share of the scored pairs that are kept, those with the least cross-entropy, in (0, 1]; of equal
            ones the first.
        batch_tokens: Size of a scoring batch: the number of pairs times the tokens of the longest side. None is 8,192
            on a CPU, and by its memory on a GPU.
        shard_rows: Pairs of a shard; a killed process loses at most the work on one shard.
        dtype: Arithmetic of the models: auto, bfloat16, float32 or int8.
    """

    CPU_BATCHES: ClassVar = {"batch_tokens": 8192}  # ours

    forward: str
    backward: str
    output: str
    refused: str | None = None
    max_cross_entropy: Nats | None = None
    best_share: Share | None = None
    batch_tokens: Count | None = None
    shard_rows: Count = 10_000  # ours
    dtype: Dtype = "auto"

    def __post_init__(self) -> None:
        """Refuse a threshold and a share, and outputs with an unknown suffix."""
        super().__post_init__()
        check_names(self.output, self.refused)
        if self.best_share is not None and (self.max_cross_entropy is not None or not self.best_share):
            limits = f"best_share {self.best_share} and max_cross_entropy {self.max_cross_entropy}"
            raise ValueError(f"wanted a share above 0 or a threshold, got {limits}: give one of them")

    @property
    def shards_dir(self) -> Path:
        """The folder of the shards."""
        return Path(self.output + ".shards")

    @property
    def threshold(self) -> float:
        """The greatest cross-entropy, where no share is given."""
        return MAX_CROSS_ENTROPY if self.max_cross_entropy is None else self.max_cross_entropy


def cross_entropy(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """Dual conditional cross-entropy x = |Hf - Hb| + (Hf + Hb) / 2 of pairs; exp(-x) is their score in (0, 1].

    >>> cross_entropy(np.array([2.0, 1.0]), np.array([2.0, 3.0])).tolist()
    [2.0, 4.0]

    Args:
        forward: Hf, the negative log-likelihood of the references given the sources, in nats per token, >= 0: (N,).
        backward: Hb, that of the sources given the references: (N,).

    Source: Junczys-Dowmunt (2018).
    """
    return np.abs(forward - backward) + (forward + backward) / 2


def _scored_pairs(shard: Path) -> Iterator[pa.Table]:
    """The pairs of a finished shard, a batch at a time.

    Yields:
        Tables of `line`, `source`, `reference`, `reason`, and `x`, the cross-entropy, which is NaN for a pair that was
        refused before.
    """
    for rows in read_tables(shard):
        is_scored = pc.is_null(rows["reason"]).to_numpy()
        candidates = candidates_of(rows.filter(pa.array(is_scored))).flatten()  # one of each row that is not refused
        reasons = np.array(rows["reason"].to_pylist(), object)
        reasons[is_scored] = pc.struct_field(candidates, "reason").to_pylist()
        x = np.full(len(rows), np.nan)
        x[is_scored] = cross_entropy(*(_per_token(candidates, side) for side in ("forward", "backward")))
        lines = pc.cast(pc.replace_substring_regex(rows["id"], "^.*-", ""), pa.int64())
        texts = {name: rows[name].cast(pa.large_string()) for name in ("source", "reference")}
        yield pa.table({"line": lines, **texts, "reason": pa.array(reasons, pa.string()), "x": pa.array(x)})


def _per_token(candidates: pa.StructArray, side: str) -> np.ndarray:
    """The negative log-likelihood of candidates in one direction, in nats per token; NaN where it was not measured."""
    total, tokens = (pc.struct_field(candidates, ["scores", f"{side}_{name}"]) for name in ("logprob", "tokens"))
    return -pc.divide(total, pc.cast(tokens, pa.float64())).to_numpy(zero_copy_only=False)


def _judged(shards: Iterable[Path], settings: BitextFilter) -> Iterator[pa.Table]:
    """The pairs of all shards with the reason "cross_entropy" for those that the choice refuses.

    For a share all cross-entropies are held in memory, 16 bytes for each pair.

    Yields:
        Tables of `line`, `source`, `reference`, `reason`, `cross_entropy` and `score`; the last two are null for a pair
        that was refused before.
    """
    shards = list(shards)
    maximum, ties = settings.threshold, np.inf
    if settings.best_share is not None:
        maximum, ties = _limit_of(
            np.concatenate([table["x"].to_numpy() for s in shards for table in _scored_pairs(s)]), settings.best_share
        )
    for table in (table for shard in shards for table in _scored_pairs(shard)):
        x = table["x"].to_numpy()
        is_refused, tied_positions = x > maximum, np.flatnonzero(x == maximum)
        tie_count = int(min(ties, len(tied_positions)))
        is_refused[tied_positions[tie_count:]] = True
        ties -= tie_count
        reason = pc.if_else(pa.array(is_refused), pa.scalar(REASON), table["reason"])
        is_unscored = np.isnan(x)
        scores = {"cross_entropy": pa.array(x, mask=is_unscored), "score": pa.array(np.exp(-x), mask=is_unscored)}
        yield pa.table({name: table[name] for name in ("line", "source", "reference")} | {"reason": reason} | scores)


def _limit_of(x: np.ndarray, share: float) -> tuple[float, int]:
    """The greatest cross-entropy of the best share of pairs, and how many of those that have it are among them.

    >>> _limit_of(np.array([3.0, 1.0, 2.0, 2.0, np.nan]), 0.5)
    (2.0, 1)

    Args:
        x: Of all pairs, NaN of those that were not scored: (N,).
        share: Of the scored pairs, in (0, 1]; at least one pair is among the best, if there is one.
    """
    scored_x = x[~np.isnan(x)]
    if not len(scored_x):
        return np.inf, 0
    best = max(1, round(share * len(scored_x)))
    limit = float(np.partition(scored_x, best - 1)[best - 1])
    return limit, best - int((scored_x < limit).sum())
