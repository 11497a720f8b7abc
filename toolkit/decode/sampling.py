"""Top-k sampling of many translations of each sentence under per-row negative constraints.

The order is ParaBank 2's (section 2.1): forbidden tokens are masked, the k most probable of the rest are kept, their
probabilities are renormalised, one is drawn. The score is the model's own log p(token), before all three, summed while
sampling: there is no second pass for it.

Each sample has a sample key, a hash of the run's seed, the row's id and the number of the sample. The random number
that it draws at a step is a function of that key and the step, so that the batch it is in makes no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.decode.constraints import NONE, NegativeConstraints
from toolkit.decode.engine import Engine, token_limits
from toolkit.decode.top_k import top
from toolkit.decode.words import signed

COMPACT = 16  # ours: done rows leave when they are a sixteenth of all; until then they cost less than moving others


@dataclass(frozen=True)
class Sample:
    """One finished translation.

    Attributes:
        ids: Its tokens, EOS included if it ended, without those that the engine is given.
        logprob: log p(tokens | source), nats, the sum over `ids`.
        ended: Whether it said EOS before the limit of tokens.
    """

    ids: list[int]
    logprob: float
    ended: bool


@torch.inference_mode()
def sample(
    engine: Engine,
    sources: Sequence[Sequence[int]],
    phrases: Sequence[Sequence[Sequence[int]]],
    sample_keys: Sequence[int],
    top_k: int,
    max_tokens: int | Sequence[int],
    min_p: float = 0.0,
) -> list[Sample]:
    """Sample `len(phrases) // len(sources)` translations of each sentence.

    Args:
        engine: The forward translator.
        sources: Ids of each sentence, EOS included.
        phrases: For each row (sample), sentence by sentence, the phrases of ids that it must not say.
        sample_keys: For each row the number that its random numbers are made from, 64 bits.
        top_k: How many tokens are left to draw from, >= 1; with 1 it is greedy search.
        max_tokens: A row without EOS after so many tokens is cut; one number, or one for each sentence.
        min_p: Tokens are left out whose probability is below this share of the probability of the most probable token
            that is allowed, in [0, 1); 0 is the paper's.

    Returns:
        A sample for each row, in order.

    Raises:
        ValueError: The rows are not a multiple of the sentences, or `top_k` is not positive.

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.1 and 3.3.
    """
    rows, device = len(phrases), engine.device
    if not sources or rows % len(sources) or len(sample_keys) != rows or top_k < 1:
        raise ValueError(
            f"wanted as many rows for every sentence, a sample key for each and top_k >= 1; "
            f"got {len(sources)} sentences, {rows} rows, {len(sample_keys)} sample keys, top_k {top_k}"
        )
    each, limits = rows // len(sources), token_limits(engine, len(sources), max_tokens)
    state, constraints = engine.start(sources, each, max(limits)), NegativeConstraints.of(phrases, device)
    # The results, by number of the row: ids, log-probability, number of tokens.
    said = torch.full((rows, max(limits)), NONE, device=device)
    logprob, tokens = torch.zeros(rows, device=device).double(), torch.zeros(rows, device=device).long()
    # The rows in flight, by their place in the batch, which changes when others leave; `number` is that of the row.
    number, key = torch.arange(rows, device=device), torch.tensor(sample_keys, device=device)
    limit = torch.tensor(limits, device=device).repeat_interleave(each)
    last, alive = torch.full((rows,), engine.given[-1], device=device), torch.ones(rows, device=device).bool()
    for step in range(max(limits)):
        hidden = engine.step(state, last)
        forbidden = None if constraints is None else constraints.forbidden(said[number, :step])
        last, gained = draw(engine, hidden, forbidden, top_k, uniform(key, step), min_p)
        speaking = number[alive]
        said[speaking, step] = last[alive]
        logprob[speaking] += gained[alive]
        tokens[speaking] += 1
        alive &= (last != engine.eos) & (step + 1 < limit)
        done = len(alive) - int(alive.sum())
        if done == len(alive):
            break
        if done * COMPACT >= len(alive):
            source, target, left = engine.keep(state, alive)
            for per_row in (number, key, limit, last, alive):
                per_row[target] = per_row[source]
            number, key, limit, last, alive = (t[:left] for t in (number, key, limit, last, alive))
            if constraints is not None:
                constraints = constraints.move(source, target, left)
    ended = said.gather(1, tokens[:, None] - 1)[:, 0] == engine.eos
    found = zip(said.tolist(), tokens.tolist(), logprob.tolist(), ended.tolist(), strict=True)
    return [Sample(ids[:count], score, end) for ids, count, score, end in found]


def draw(
    engine: Engine, hidden: Tensor, forbidden: Tensor | None, top_k: int, chance: Tensor, min_p: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Draw the next token of each row: mask, take the top k, renormalise, draw.

    Args:
        engine: For the logits.
        hidden: (rows, width).
        forbidden: (rows, phrases) ids that the row must not say, NONE where there is none; None without constraints.
        top_k: How many tokens are left to draw from.
        chance: (rows,) random numbers in [0, 1).
        min_p: See `sample`.

    Returns:
        (rows,) ids; (rows,) log p before the mask and the cut, in nats.
    """
    ids, gained = [], []
    for part, logits in engine.logits(hidden):
        logprobs = torch.log_softmax(logits.float(), -1)
        logprobs[:, engine.pad] = -torch.inf
        if forbidden is not None:
            ids_to_mask = torch.where(forbidden[part] == NONE, engine.pad, forbidden[part])
            logprobs.scatter_(1, ids_to_mask, -torch.inf)
        values, indices = top(logprobs, top_k)
        weights = torch.softmax(values.double(), -1)
        mass = weights.where(weights >= min_p * weights[:, :1], 0.0).cumsum(-1)
        at = (chance[part, None] * mass[:, -1:] >= mass).sum(-1, keepdim=True).clamp_(max=values.shape[1] - 1)
        ids.append(indices.gather(1, at)[:, 0])
        gained.append(values.gather(1, at)[:, 0])
    return torch.cat(ids), torch.cat(gained).double()


def uniform(key: Tensor, step: int) -> Tensor:
    """Random numbers in [0, 1), as good as independent for every (key, step): SplitMix64 (Steele et al. 2014).

    Args:
        key: (rows,) sample keys, 64-bit integers.
        step: The number of the token that they are for, from 0.

    Returns:
        (rows,) float64.
    """
    z = key + signed((step + 1) * 0x9E3779B97F4A7C15)
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * signed(0xBF58476D1CE4E5B9)
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * signed(0x94D049BB133111EB)
    z = z ^ ((z >> 31) & 0x1FFFFFFFF)
    return ((z >> 11) & ((1 << 53) - 1)).double() * 2.0**-53
