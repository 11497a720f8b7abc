"""Sampling as the paper describes it: a row for each sample, masks over the whole vocabulary, no row leaves.

What `toolkit.decode.sampling` shares and cuts short, this does not.
"""

from collections.abc import Callable, Sequence
from functools import cache

import torch

from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.draw import uniform
from toolkit.decode.engine import Engine

Forbids = Callable[[int, list[int]], Sequence[int]]  # what a sample must not say after it has said these ids


def phrases_forbid(phrases: Sequence[Sequence[Sequence[int]]], samples: int) -> Forbids:
    """The last id of each phrase of the sample's list whose other ids it has just said."""

    def forbids(sample: int, ids: list[int]) -> list[int]:
        sample_phrases = phrases[sample * len(phrases) // samples]
        return [
            p[-1] for p in sample_phrases if ids[len(ids) - len(p) + 1 :] == list(p[:-1]) and len(ids) >= len(p) - 1
        ]

    return forbids


def words_forbid(sets: Sequence[ConstraintSet], surfaces: Sequence[str], eos: int, samples: int) -> Forbids:
    """The pieces after which the text so far would not meet the sample's set, if it ended there."""

    @cache
    def unmet(constraint_set: ConstraintSet, text: str) -> list[int]:
        return [i for i, more in enumerate(surfaces) if constraint_set.unmet(text + ("" if i == eos else more))]

    return lambda sample, ids: unmet(sets[sample * len(sets) // samples], "".join(surfaces[i] for i in ids))


@torch.inference_mode()
def plain_sample(
    engine: Engine,
    sources: Sequence[Sequence[int]],
    forbids: Forbids,
    sample_keys: Sequence[int],
    top_k: int,
    max_tokens: int,
    min_p: float = 0.0,
) -> list[tuple[list[int], float]]:
    """Ids and log-probability of each sample; other arguments as of `sample`."""
    samples = len(sample_keys)
    state = engine.start(sources, samples // len(sources), max_tokens)
    outputs: list[list[int]] = [[] for _ in range(samples)]
    logprob, last = [0.0] * samples, torch.full((samples,), engine.given[-1])
    for step in range(max_tokens):
        hidden = engine.step(state, last)
        logits = torch.cat([part for _, part in engine.logits(hidden)])
        logprobs, chances = torch.log_softmax(logits.float(), -1), uniform(torch.tensor(sample_keys), step).tolist()
        logprobs[:, engine.pad] = -torch.inf
        for n, ids in enumerate(outputs):
            if engine.eos in ids:
                continue
            allowed = logprobs[n].clone()
            allowed[list(forbids(n, ids))] = -torch.inf
            values, order = allowed.sort(descending=True, stable=True)
            weights = torch.softmax(values[:top_k].double(), -1)
            mass = weights.where(weights >= min_p * weights[0], 0.0).cumsum(-1)
            at = min(int((chances[n] * mass[-1] >= mass).sum()), top_k - 1)
            outputs[n].append(int(order[at]))
            logprob[n] += float(values[at])
            last[n] = order[at]
    return list(zip(outputs, logprob, strict=True))
