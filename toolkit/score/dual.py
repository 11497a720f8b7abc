"""The backward half of the dual score: the likelihood of the source given a candidate (ParaBank 2, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import compress

from toolkit.decode.engine import engine_of
from toolkit.decode.likelihood import log_likelihood
from toolkit.progress import at_hand
from toolkit.rows import Row
from toolkit.translator.load import Translator


def dual_rows(rows: Iterable[Row], backward: Translator, batch_tokens: int) -> Iterator[Row]:
    """Fill `backward_logprob` and `backward_tokens` of every candidate without a reason.

    Both sides are segmented by Viterbi. A candidate gets the reason "too_long" if it or its source has more tokens than
    the model has positions.

    Args:
        rows: Rows with a source; all of a shard are held at a time.
        backward: A translator from the references' language to the source language.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.

    Source: ParaBank 2 (Hu et al. 2019b), section 2.2.
    """
    shard, engine = list(rows), engine_of(backward.model)
    sources = backward.target.encode([row.source or "" for row in shard])
    waiting = [(i, c) for i, row in enumerate(shard) for c in row.candidates if c.reason is None]
    inputs = backward.source.encode([c.text for _, c in waiting])
    longest_output = engine.limit - len(engine.given) + 1  # the decoder reads the given tokens, and not the last token
    fits = [
        len(ids) <= engine.limit and len(sources[i]) <= longest_output
        for ids, (i, _) in zip(inputs, waiting, strict=True)
    ]
    for fit, (_, candidate) in zip(fits, waiting, strict=True):
        candidate.reason = None if fit else "too_long"
    waiting, inputs = list(compress(waiting, fits)), list(compress(inputs, fits))
    outputs, owners = [sources[i] for i, _ in waiting], [shard[i] for i, _ in waiting]
    rows_per_candidate = len(shard) / max(1, len(waiting))  # for the progress bar, which counts rows

    def working(batch: Sequence[int]) -> AbstractContextManager[None]:
        return at_hand([owners[i] for i in batch], len(batch) * rows_per_candidate)

    scores = log_likelihood(engine, inputs, outputs, batch_tokens, working)
    for output, (_, candidate), score in zip(outputs, waiting, scores, strict=True):
        candidate.scores.backward_logprob, candidate.scores.backward_tokens = score, len(output)
    yield from shard
