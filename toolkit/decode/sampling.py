"""Top-k sampling of many translations of each sentence under negative constraints, every distinct prefix decoded once.

The order is ParaBank 2's (section 2.1): forbidden tokens are masked, the k most probable of the rest are kept, their
probabilities are renormalised, one is drawn. What is forbidden may be phrases of ids or words (`forbidden.py`). The
score is the model's own log p(token), before all three, summed while sampling: there is no second pass for it.

Samples of one sentence share their beginnings. So a row of the engine is a prefix that some samples have in common, and
every sample points to a row. A step decodes each row once; then each sample draws its own token under its own
constraints, and samples of one row that drew different tokens part: the row branches (`_branch`). The samples are those
that one row for each sample would give.

Each sample has a sample key, a hash of the run's seed, the row's id and the number of the sample. The random number
that it draws at a step is a function of that key and the step, so that the batch it is in makes no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from toolkit.decode.constraints import NONE
from toolkit.decode.draw import _allowed, draw, uniform
from toolkit.decode.engine import IDS, Engine, S, _moves_to_front, _token_limits, _true_places
from toolkit.decode.forbidden import Phrases, _forbidden_of
from toolkit.decode.lexical import LexicalConstraints

COMPACT = 16  # ours: unused rows leave when they are a sixteenth of all; until then they cost less than moving others
WHOLE = 16  # ours: rows come in multiples of so many, because oneDNN makes a kernel of its own for each number of rows
DONE = (1 << 63) - 1  # in place of a row and a token, after all others


class Sample(NamedTuple):
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
    constraints: Phrases | LexicalConstraints | None,
    sample_keys: Sequence[int],
    top_k: int,
    max_tokens: int | Sequence[int],
    min_p: float = 0.0,
    top_p: float = 1.0,
) -> list[Sample]:
    """Sample `len(sample_keys) // len(sources)` translations of each sentence.

    Args:
        engine: The forward translator.
        sources: Ids of each sentence, EOS included.
        constraints: Lists of phrases of ids, or sets of words, that must not be said: each for
            `len(sample_keys) // len(constraints)` samples that follow one another. None forbids nothing.
        sample_keys: For each sample, sentence by sentence, the number that its random numbers are made from, 64 bits.
        top_k: How many tokens are left to draw from, >= 1; with 1 it is greedy search.
        max_tokens: A sample without EOS after so many tokens is cut; one number, or one for each sentence.
        min_p: Tokens are left out whose probability is below this share of the probability of the most probable token
            that is allowed, in [0, 1); 0 is the paper's.
        top_p: Of the `top_k` tokens, only the most probable are left that have this share of their probability
            together, in (0, 1]; 1 is the paper's (Holtzman et al. 2020, "nucleus sampling").

    Returns:
        The samples, in the order of their keys; equal ones of a sentence are the same object.

    Raises:
        ValueError: The samples are not a multiple of the sentences and of the lists or sets, `top_k` is not positive, a
            phrase is empty, or something is required.

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.1 and 3.3.
    """
    samples, device = len(sample_keys), engine.device
    lists = 1 if constraints is None else len(constraints)
    if not sources or not lists or samples % len(sources) or samples % lists or top_k < 1:
        raise ValueError(
            f"wanted as many samples for every sentence, as many for every list of constraints, and top_k >= 1; got "
            f"{len(sources)} sentences, {samples} sample keys, {lists} lists of constraints, top_k {top_k}"
        )
    each, limits = samples // len(sources), _token_limits(engine, len(sources), max_tokens)
    state, forbidden = engine.start(sources, 1, max(limits)), _forbidden_of(constraints, samples, device)
    # By number of the sample: the results, and what does not change.
    output_ids = torch.full((samples, max(limits)), NONE, device=device)
    logprob = torch.zeros(samples, device=device).double()
    key, limit = torch.tensor(sample_keys, device=device), torch.tensor(limits, device=device).repeat_interleave(each)
    # The samples in flight, and the row of each; the token that each row says last.
    number = torch.arange(samples, device=device)
    row, last = number // each, torch.full((len(sources),), engine.given[-1], device=device)
    for step in range(max(limits)):
        values, ids = _allowed(engine, engine.step(state, last), row, forbidden, top_k)
        drawn_tokens, gained = draw(values, ids, top_k, uniform(key[number], step), min_p, top_p)
        output_ids[number, step] = drawn_tokens
        logprob[number] += gained
        alive = (drawn_tokens != engine.eos) & (step + 1 < limit[number])
        children = _Children.of(row, drawn_tokens, alive)
        if not len(children.samples):
            break
        number, drawn_tokens = number[children.samples], drawn_tokens[children.samples]
        forbidden = None if forbidden is None else forbidden.keep(children.samples).advance(drawn_tokens)
        row, last = _branch(engine, state, children)
    return samples_of(output_ids, logprob, each, engine.eos)


def samples_of(output_ids: Tensor, logprob: Tensor, each: int, eos: int) -> list[Sample]:
    """The samples as objects, one for all equal samples of a sentence: those have the same log-probability, too.

    Args:
        output_ids: (samples, steps) ids, NONE after the last.
        logprob: (samples,) log p, in nats.
        each: Samples of a sentence; the samples of a sentence follow one another.
        eos: The token that ends a sample.
    """
    tokens, scores = (output_ids != NONE).sum(1).tolist(), logprob.tolist()
    data, width = output_ids.cpu().numpy().tobytes(), output_ids.shape[1] * output_ids.element_size()
    ids, samples = memoryview(data).cast("q"), []
    for first in range(0, len(scores), each):
        samples_by_ids: dict[bytes, Sample] = {}
        for n in range(first, first + each):
            key = data[n * width : (n + 1) * width]
            if key not in samples_by_ids:
                begin = n * output_ids.shape[1]
                sample_ids = ids[begin : begin + tokens[n]].tolist()
                samples_by_ids[key] = Sample(sample_ids, scores[n], sample_ids[-1] == eos)
            samples.append(samples_by_ids[key])
    return samples


class _Children(NamedTuple):
    """The distinct pairs of a row and a token that was drawn from it, by row and token.

    Attributes:
        samples: (samples,) the places of the samples that go on, in the order of their pairs.
        child: (samples,) the number of the pair of each of these.
        parent: (children,) the row of each pair.
        token: (children,) its token.
        further: (further children,) the numbers of the pairs that are not the first of their row.
    """

    samples: Tensor
    child: Tensor
    parent: Tensor
    token: Tensor
    further: Tensor

    @classmethod
    def of(cls, row: Tensor, drawn_tokens: Tensor, alive: Tensor) -> _Children:
        """The pairs of some samples; the host asks once, for all numbers together.

        Args:
            row: (samples,) the row of each.
            drawn_tokens: (samples,) the token that it drew.
            alive: (samples,) whether it goes on.
        """
        pairs, samples = torch.where(alive, row * IDS + drawn_tokens, DONE).sort()
        parents, goes_on = pairs // IDS, pairs != DONE
        is_first = goes_on.clone()
        is_first[1:] &= pairs[1:] != pairs[:-1]
        is_further = is_first.clone()
        is_further[1:] &= parents[1:] == parents[:-1]
        is_further[:1] = False
        counts = torch.stack([goes_on.sum(), is_first.sum(), is_further.sum()]).tolist()
        left, children, further_children = counts
        first, child = _true_places(is_first, children), is_first.cumsum(0) - 1
        further = child[_true_places(is_further, further_children)]
        return cls(samples[:left], child[:left], parents[first], pairs[first] % IDS, further)


def _branch(engine: Engine[S], state: S, children: _Children) -> tuple[Tensor, Tensor]:
    """Give every distinct pair of a row and a token that was drawn from it a row of its own.

    A row's first child stays in its place. Further children take the places of rows that no sample points to, then new
    ones, of which there are some more than needed (`WHOLE`). Where many places are left unused, the last rows move into
    them.

    Args:
        engine: For the caches.
        state: Rows in flight.
        children: What the samples that go on have drawn.

    Returns:
        (samples,) the row of each of these samples; (rows,) the token that each row says last, `pad` where it is
        unused.
    """
    parent, further = children.parent, children.further
    rows, further_count, device = len(state.sentence), len(further), parent.device
    used = torch.zeros(rows, dtype=torch.bool, device=device)
    used[parent] = True
    unused = _true_places(~used, rows - (len(parent) - further_count))
    # unused places that are left; new ones are wanted below 0
    place, left = parent.clone(), len(unused) - further_count
    if further_count:
        rows_after = _whole(rows - left) if left < 0 else rows
        free = torch.cat([unused, torch.arange(rows, rows_after, device=device)])
        place[further], spare = free[:further_count], free[max(further_count, len(unused)) :]
        evenly = torch.arange(len(spare), device=device) * len(parent) // max(1, len(spare))
        copied = torch.cat([parent[further], parent[evenly]])  # spare rows are copies of some of all sentences
        engine.move(state, copied, torch.cat([place[further], spare]), rows_after)
        rows = rows_after
    if left * COMPACT >= rows > _whole(rows - left):
        used[place] = True
        source, target = _moves_to_front(used, len(place))
        moved_to = torch.arange(rows, device=device)
        moved_to[source] = target
        place, rows = moved_to[place], _whole(len(place))
        engine.move(state, source, target, rows)
    last = torch.full((rows,), engine.pad, device=device)
    last[place] = children.token
    return place[children.child], last


def _whole(rows: int) -> int:
    """The next multiple of `WHOLE`.

    >>> _whole(16), _whole(17)
    (16, 32)
    """
    return -(-rows // WHOLE) * WHOLE
