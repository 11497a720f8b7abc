"""What engines share of the source side: sentences are encoded once, and their rows attend to them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from toolkit.models.padding import padding_mask

RUN, LONGER = 32, 1.2  # ours: fewest sentences that are encoded together, and how much longer the others may be
EncodeRun = Callable[[Sequence[Sequence[int]]], tuple[list[Tensor], list[Tensor], Tensor]]


def encode_in_runs(
    sources: Sequence[Sequence[int]], encode_run: EncodeRun
) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
    """Cross-attention keys and values of each decoder layer, and the mask of their padding.

    Runs of sentences with about as many tokens are encoded apart, because padding costs as much as tokens.

    Args:
        sources: Ids of each sentence, EOS included.
        encode_run: Gives keys and values for sentences that are padded together, and which of their steps are tokens.

    Returns:
        Keys, values: a (sentences, heads, source steps, dim) tensor per layer. Mask: to add to scores,
        (sentences, 1, 1, source steps); None without padding.
    """
    steps = max(map(len, sources))
    runs = [encode_run(sources[part]) for part in runs_of_similar([len(source) for source in sources])]
    if len(runs) == 1:
        keys, values, is_token = runs[0]
    else:
        keys, values = (
            [torch.cat([_widen_steps(run[kind][layer], steps) for run in runs]) for layer in range(len(runs[0][kind]))]
            for kind in (0, 1)
        )
        is_token = torch.cat([pad(run[2], (0, steps - run[2].shape[1])) for run in runs])
    return keys, values, padding_mask(is_token) if steps > min(map(len, sources)) else None


def runs_of_similar(tokens: Sequence[int]) -> list[slice]:
    """Cut sentences that stand in order of length into runs without much padding.

    >>> runs_of_similar([3] * 40 + [4] * 10 + [9] * 2)
    [slice(0, 40, None), slice(40, 52, None)]
    """
    cuts = [0]
    for n, length in enumerate(tokens):
        if n - cuts[-1] >= RUN and length > tokens[n - 1] and length > LONGER * tokens[cuts[-1]]:
            cuts.append(n)
    return [slice(begin, end) for begin, end in zip(cuts, [*cuts[1:], len(tokens)], strict=True)]


def _widen_steps(states: Tensor, steps: int) -> Tensor:
    """Keys or values (sentences, heads, source steps, dim) with so many source steps, the further ones zero."""
    return pad(states, (0, 0, 0, steps - states.shape[2]))


def places(sentence: Tensor, sentences: int) -> tuple[Tensor | None, int]:
    """The place of each row in a (sentences, width) grid, and the width: the greatest number of rows of one sentence.

    The place is None where the rows fill the grid in its order.

    >>> places(torch.tensor([1, 0, 1]), 2)
    (tensor([2, 0, 3]), 2)
    >>> places(torch.tensor([0, 0, 1, 1]), 2)
    (None, 2)
    """
    counts = torch.zeros(sentences, dtype=torch.long, device=sentence.device)
    counts.index_add_(0, sentence, torch.ones_like(sentence))
    is_sorted = (sentence[1:] >= sentence[:-1]).all()
    width, lowest, in_order = torch.stack([counts.max(), counts.min(), is_sorted.long()]).tolist()
    if in_order and lowest == width:
        return None, width
    order = torch.argsort(sentence, stable=True)
    first = counts.cumsum(0) - counts
    number = torch.arange(len(sentence), device=sentence.device)
    place = torch.empty_like(sentence)
    place[order] = sentence[order] * width + number - first[sentence[order]]
    return place, width
