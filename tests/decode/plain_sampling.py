"""Sampling as the paper describes it: a row for each sample, masks over the whole vocabulary, no row leaves.

What `toolkit.decode.sampling` shares and cuts short, this does not.
"""

from collections.abc import Sequence

import torch

from toolkit.decode.engine import Engine
from toolkit.decode.sampling import uniform


@torch.inference_mode()
def plain_sample(
    engine: Engine,
    sources: Sequence[Sequence[int]],
    phrases: Sequence[Sequence[Sequence[int]]],
    sample_keys: Sequence[int],
    top_k: int,
    max_tokens: int,
    min_p: float = 0.0,
) -> list[tuple[list[int], float]]:
    """Ids and log-probability of each sample; arguments as of `sample`."""
    samples = len(sample_keys)
    state = engine.start(sources, samples // len(sources), max_tokens)
    said: list[list[int]] = [[] for _ in range(samples)]
    logprob, last = [0.0] * samples, torch.full((samples,), engine.given[-1])
    for step in range(max_tokens):
        hidden = engine.step(state, last)
        logits = torch.cat([part for _, part in engine.logits(hidden)])
        logprobs, chances = torch.log_softmax(logits.float(), -1), uniform(torch.tensor(sample_keys), step).tolist()
        logprobs[:, engine.pad] = -torch.inf
        for n, ids in enumerate(said):
            if engine.eos in ids:
                continue
            allowed = logprobs[n].clone()
            for phrase in phrases[n * len(phrases) // samples]:
                if [*ids][len(ids) - len(phrase) + 1 :] == list(phrase[:-1]) and len(ids) >= len(phrase) - 1:
                    allowed[phrase[-1]] = -torch.inf
            values, order = allowed.sort(descending=True, stable=True)
            weights = torch.softmax(values[:top_k].double(), -1)
            mass = weights.where(weights >= min_p * weights[0], 0.0).cumsum(-1)
            at = min(int((chances[n] * mass[-1] >= mass).sum()), top_k - 1)
            said[n].append(int(order[at]))
            logprob[n] += float(values[at])
            last[n] = order[at]
    return list(zip(said, logprob, strict=True))
