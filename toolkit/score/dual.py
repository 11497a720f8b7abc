"""How well a candidate explains its source: back-translation likelihoods (ParaBank 2, section 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import compress

from toolkit.decode.engine import Engine
from toolkit.decode.expanded import engine_of
from toolkit.progress import at_hand
from toolkit.rows import Row
from toolkit.translator.load import Translator


def dual_rows(rows: Iterable[Row], backward: Translator, batch_tokens: int) -> Iterator[Row]:
    """Fill `backward_logprob` and `backward_tokens` of every candidate that is still in.

    Both sides are read in their Viterbi segmentation. A pair longer than the model's positions is refused, "too_long".

    Args:
        rows: Rows with a source; all of a shard are held at a time.
        backward: The references' language to the source language.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.

    Source: ParaBank 2 (Hu et al. 2019b), section 2.2.
    """
    shard, engine = list(rows), engine_of(backward.model)
    sources = backward.target.encode([row.source or "" for row in shard])
    waiting = [(i, c) for i, row in enumerate(shard) for c in row.candidates if c.reason is None]
    inputs = backward.source.encode([c.text for _, c in waiting])
    room = engine.limit - len(engine.given) + 1
    fits = [len(ids) <= engine.limit and len(sources[i]) <= room for ids, (i, _) in zip(inputs, waiting, strict=True)]
    for fit, (_, candidate) in zip(fits, waiting, strict=True):
        candidate.reason = None if fit else "too_long"
    waiting, inputs = list(compress(waiting, fits)), list(compress(inputs, fits))
    outputs, owners = [sources[i] for i, _ in waiting], [shard[i] for i, _ in waiting]
    share = len(shard) / max(1, len(waiting))  # of a row, for each of its candidates

    def working(batch: Sequence[int]) -> AbstractContextManager[None]:
        return at_hand([owners[i] for i in batch], len(batch) * share)

    scores = log_likelihood(engine, inputs, outputs, batch_tokens, working)
    for output, (_, candidate), score in zip(outputs, waiting, scores, strict=True):
        candidate.scores.backward_logprob, candidate.scores.backward_tokens = score, len(output)
    yield from shard


def log_likelihood(
    engine: Engine,
    inputs: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    batch_tokens: int,
    working: Callable[[Sequence[int]], AbstractContextManager[object]] = nullcontext,
) -> list[float]:
    """Score log p(output | input), the sum over the output's tokens in nats, for each pair.

    Args:
        engine: Of the model that scores.
        inputs: Ids with EOS, no more than the model has positions.
        outputs: Likewise, without the tokens that the engine is `given`: those are not chosen and weigh nothing.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.
        working: Given the numbers of a batch's pairs, what is around the work on it.

    Returns:
        A number <= 0 for each pair, in order.
    """
    order = sorted(range(len(inputs)), key=lambda i: (len(outputs[i]), len(inputs[i]), i))
    found = [0.0] * len(inputs)
    for batch in batches(order, inputs, outputs, batch_tokens):
        with working(batch):
            scores = engine.likelihoods([inputs[i] for i in batch], [outputs[i] for i in batch])
            for i, score in zip(batch, scores.double().sum(1).tolist(), strict=True):
                found[i] = score
    return found


def batches(
    order: Sequence[int], inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], batch_tokens: int
) -> Iterator[list[int]]:
    """Cut an order of pairs into batches of one output length and at most `batch_tokens`."""
    batch: list[int] = []
    longest = 0
    for i in order:
        longest = max(longest, len(outputs[i]), len(inputs[i]))
        if batch and ((len(batch) + 1) * longest > batch_tokens or len(outputs[i]) != len(outputs[batch[0]])):
            yield batch
            batch, longest = [], max(len(outputs[i]), len(inputs[i]))
        batch.append(i)
    if batch:
        yield batch
