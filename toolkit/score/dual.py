"""How well a candidate explains its source: back-translation likelihoods (ParaBank 2, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import torch
from torch import Tensor

from toolkit.decode.engine import SLICE
from toolkit.models.translator import Translator
from toolkit.rows import Row


def dual_rows(rows: Iterable[Row], backward: Translator, batch_tokens: int) -> Iterator[Row]:
    """Fill `backward_logprob` and `backward_tokens` of every candidate that is still in.

    Both sides are read in their Viterbi segmentation. A pair longer than the model's positions is refused, "too_long".

    Args:
        rows: Rows with a source; all of a shard are held at a time.
        backward: The references' language to the source language.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.

    Source: ParaBank 2 (Hu et al. 2019b), section 2.2.
    """
    shard = list(rows)
    sources = backward.target.encode([row.source or "" for row in shard])
    waiting = [(i, c) for i, row in enumerate(shard) for c in row.candidates if c.reason is None]
    inputs = backward.source.encode([c.text for _, c in waiting])
    limit = backward.model.config.max_position_embeddings
    fits = [len(ids) <= limit and len(sources[i]) <= limit for ids, (i, _) in zip(inputs, waiting, strict=True)]
    for fit, (_, candidate) in zip(fits, waiting, strict=True):
        candidate.reason = None if fit else "too_long"
    waiting, inputs = list(compress(waiting, fits)), list(compress(inputs, fits))
    scores = log_likelihood(backward, inputs, [sources[i] for i, _ in waiting], batch_tokens)
    for (i, candidate), score in zip(waiting, scores, strict=True):
        candidate.scores.backward_logprob, candidate.scores.backward_tokens = score, len(sources[i])
    yield from shard


@torch.inference_mode()
def log_likelihood(
    translator: Translator, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], batch_tokens: int
) -> list[float]:
    """Score log p(output | input), the sum over the output's tokens in nats, for each pair.

    Args:
        translator: Scores its own target side.
        inputs: Ids with EOS, no more than the model has positions.
        outputs: Likewise.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.

    Returns:
        A number <= 0 for each pair, in order.
    """
    order = sorted(range(len(inputs)), key=lambda i: (len(outputs[i]), len(inputs[i]), i))
    found = [0.0] * len(inputs)
    for batch in batches(order, inputs, outputs, batch_tokens):
        scores = score_batch(translator, [inputs[i] for i in batch], [outputs[i] for i in batch])
        for i, score in zip(batch, scores.tolist(), strict=True):
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


def score_batch(translator: Translator, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
    """(pairs,) log-likelihoods of outputs of equal length."""
    model = translator.model
    pad, start, device = model.config.pad_token_id, model.config.decoder_start_token_id, model.device
    longest = max(map(len, inputs))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in inputs], device=device)
    real = torch.arange(longest, device=device) < torch.tensor([[len(row)] for row in inputs], device=device)
    labels = torch.tensor(outputs, device=device)
    said = torch.cat([labels.new_full((len(labels), 1), start), labels[:, :-1]], 1)
    hidden = model.model(
        input_ids=ids, attention_mask=real.long(), decoder_input_ids=said, use_cache=False
    ).last_hidden_state.flatten(0, 1)
    head, size = model.get_output_embeddings(), SLICE.get(device.type, 8192)
    bias = model.final_logits_bias
    scores = [
        torch.log_softmax((head(part) + bias).float(), -1).gather(1, chosen[:, None])[:, 0]
        for part, chosen in zip(hidden.split(size), labels.flatten().split(size), strict=True)
    ]
    return torch.cat(scores).view(labels.shape).double().sum(1)
