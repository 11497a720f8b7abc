"""The log-likelihood of known outputs under a model (forced decoding), in batches of equally long outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from toolkit.decode.engine import Engine
from toolkit.system.memory import in_halves


def log_likelihood(
    engine: Engine,
    inputs: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    batch_tokens: int,
    working: Callable[[Sequence[int]], AbstractContextManager[object]] = nullcontext,
) -> list[float]:
    """The log-likelihood log p(output | input) of each pair: the sum over the output's tokens, in nats.

    Args:
        engine: Of the model that scores.
        inputs: Ids with EOS, no more than the model has positions.
        outputs: Likewise, without the `given` tokens of the engine: a decoder does not choose those.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.
        working: Called with the numbers of a batch's pairs; the batch is scored inside the context that it returns.

    Returns:
        A number <= 0 for each pair, in order.
    """
    lengths = list(zip(map(len, outputs), map(len, inputs), strict=True))
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    log_likelihoods = [0.0] * len(inputs)

    def score(batch: Sequence[int]) -> None:
        scores = engine.likelihoods([inputs[i] for i in batch], [outputs[i] for i in batch])
        for i, total in zip(batch, scores.double().sum(1).tolist(), strict=True):
            log_likelihoods[i] = total

    for batch in _batches(order, inputs, outputs, batch_tokens):
        with working(batch):
            in_halves(batch, score)
    return log_likelihoods


def _batches(
    order: Sequence[int], inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], batch_tokens: int
) -> Iterator[list[int]]:
    """Cut an order of pairs into batches of one output length and at most `batch_tokens`."""
    batch: list[int] = []
    length = longest = 0
    for i in order:
        longer = max(len(outputs[i]), len(inputs[i]))
        longest = max(longest, longer)
        if batch and ((len(batch) + 1) * longest > batch_tokens or len(outputs[i]) != length):
            yield batch
            batch, longest = [], longer
        length = len(outputs[i])
        batch.append(i)
    if batch:
        yield batch
