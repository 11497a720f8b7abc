"""Top-k sampling of many translations of each sentence under per-row negative constraints.

The order is ParaBank 2's (section 2.1): forbidden tokens are masked, the k most probable of the rest are kept, their
probabilities are renormalised, one is drawn. The score is the model's own log p(token), before all three, summed while
sampling: there is no second pass for it.

Chance belongs to the row: the number that a row draws at a step is a function of its seed and the step, whatever batch
it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.decode.constraints import NONE, NegativeConstraints
from toolkit.decode.engine import Engine

GROUPS = 16  # ours: a row's logits are searched for the top k in columns of this many
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
    seeds: Sequence[int],
    top_k: int,
    max_tokens: int | Sequence[int],
    min_p: float = 0.0,
) -> list[Sample]:
    """Sample `len(phrases) // len(sources)` translations of each sentence.

    Args:
        engine: The forward translator.
        sources: Ids of each sentence, EOS included.
        phrases: For each row, sentence by sentence, the phrases of ids that it must not say.
        seeds: A seed for each row.
        top_k: How many tokens are left to draw from, >= 1; with 1 it is greedy search.
        max_tokens: A row without EOS after so many tokens is cut; one number, or one for each sentence.
        min_p: Tokens are left out whose probability is below this share of the most probable allowed one's, in [0, 1);
            0 is the paper's.

    Returns:
        A sample for each row, in order.

    Raises:
        ValueError: The rows are not a multiple of the sentences, or `top_k` is not positive.

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.1 and 3.3.
    """
    rows, device = len(phrases), engine.device
    if not sources or rows % len(sources) or len(seeds) != rows or top_k < 1:
        raise ValueError(
            f"wanted as many rows for every sentence, a seed for each and top_k >= 1; "
            f"got {len(sources)} sentences, {rows} rows, {len(seeds)} seeds, top_k {top_k}"
        )
    each = rows // len(sources)
    limits = [max_tokens] * len(sources) if isinstance(max_tokens, int) else list(max_tokens)
    limits = [min(limit, engine.limit - 1) for limit in limits]
    state, constraints = engine.start(sources, each, max(limits)), NegativeConstraints.of(phrases, device)
    # By row: what it has said, and what that weighs.
    said = torch.full((rows, max(limits)), NONE, device=device)
    logprob, tokens = torch.zeros(rows, device=device).double(), torch.zeros(rows, device=device).long()
    # By place in the batch: the number of its row, and what goes with it. Places move, rows do not.
    number, seed = torch.arange(rows, device=device), torch.tensor(seeds, device=device)
    limit = torch.tensor(limits, device=device).repeat_interleave(each)
    last, alive = torch.full((rows,), engine.given[-1], device=device), torch.ones(rows, device=device).bool()
    for step in range(max(limits)):
        hidden = engine.step(state, last)
        forbidden = None if constraints is None else constraints.forbidden(said[number, :step])
        last, gained = draw(engine, hidden, forbidden, top_k, uniform(seed, step), min_p)
        here = number[alive]
        said[here, step] = last[alive]
        logprob[here] += gained[alive]
        tokens[here] += 1
        alive &= (last != engine.eos) & (step + 1 < limit)
        gone = len(alive) - int(alive.sum())
        if gone == len(alive):
            break
        if gone * COMPACT >= len(alive):
            source, target, left = engine.keep(state, alive)
            for kept in (number, seed, limit, last, alive):
                kept[target] = kept[source]
            number, seed, limit, last, alive = (t[:left] for t in (number, seed, limit, last, alive))
            if constraints is not None:
                constraints = constraints.move(source, target, left)
    ended = said.gather(1, tokens[:, None] - 1)[:, 0] == engine.eos
    found = zip(said.tolist(), tokens.tolist(), logprob.tolist(), ended.tolist(), strict=True)
    return [Sample(ids[:count], score, end) for ids, count, score, end in found]


def draw(
    engine: Engine, hidden: Tensor, forbidden: Tensor | None, top_k: int, chance: Tensor, min_p: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The next token of each row and its log-probability: mask, top k, renormalise, draw.

    Args:
        engine: For the logits.
        hidden: (rows, width).
        forbidden: (rows, phrases) ids, NONE where there is nothing to forbid.
        top_k: How many tokens are left to draw from.
        chance: (rows,) numbers in [0, 1).
        min_p: See `sample`.

    Returns:
        (rows,) ids; (rows,) log p before the mask and the cut, in nats.
    """
    ids, gained = [], []
    for part, logits in engine.logits(hidden):
        logprobs = torch.log_softmax(logits.float(), -1)
        logprobs[:, engine.pad] = -torch.inf
        if forbidden is not None:
            banned = forbidden[part]
            logprobs.scatter_(1, torch.where(banned == NONE, engine.pad, banned), -torch.inf)
        values, indices = top(logprobs, top_k)
        weights = torch.softmax(values.double(), -1)
        mass = weights.where(weights >= min_p * weights[:, :1], 0.0).cumsum(-1)
        at = (chance[part, None] * mass[:, -1:] >= mass).sum(-1, keepdim=True).clamp_(max=values.shape[1] - 1)
        ids.append(indices.gather(1, at)[:, 0])
        gained.append(values.gather(1, at)[:, 0])
    return torch.cat(ids), torch.cat(gained).double()


def top(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k greatest of each row, in falling order, as `scores.topk(k)` but in half its time on a CPU.

    The row is folded into columns of GROUPS numbers. The k greatest are in the k columns with the greatest maxima.

    Args:
        scores: (rows, vocabulary).
        k: How many.

    Returns:
        (rows, k) values and their (rows, k) indices.
    """
    width = scores.shape[1] // GROUPS
    if width <= 4 * k or scores.device.type != "cpu":
        return scores.topk(min(k, scores.shape[1]), -1)
    folded, rest = scores[:, : GROUPS * width].unflatten(1, (GROUPS, width)), scores[:, GROUPS * width :]
    columns = folded.amax(1).topk(k, -1, sorted=False).indices
    near = folded.gather(2, columns[:, None].expand(-1, GROUPS, -1)).flatten(1)
    indices = (torch.arange(GROUPS)[:, None] * width + columns[:, None]).flatten(1)
    if rest.shape[1]:
        tail = torch.arange(GROUPS * width, scores.shape[1]).expand(len(scores), -1)
        near, indices = torch.cat([near, rest], 1), torch.cat([indices, tail], 1)
    values, at = near.topk(k, -1)
    return values, indices.gather(1, at)


def uniform(seed: Tensor, step: int) -> Tensor:
    """Numbers in [0, 1), one per seed, as good as independent for every (seed, step): SplitMix64 (Steele et al. 2014).

    Args:
        seed: (rows,) 64-bit integers.
        step: The step they are for.

    Returns:
        (rows,) float64.
    """
    z = seed + _signed((step + 1) * 0x9E3779B97F4A7C15)
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _signed(0x94D049BB133111EB)
    z = z ^ ((z >> 31) & 0x1FFFFFFFF)
    return ((z >> 11) & ((1 << 53) - 1)).double() * 2.0**-53


def _signed(number: int) -> int:
    """The low 64 bits of a number, as torch's signed integers hold them."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
