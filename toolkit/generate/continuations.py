"""Paraphrases by a causal language model that was tuned to say a text, and a line break, again in other words.

Such a model reads what the critic reads (`toolkit.score.critic`), and an adapter of a few megabytes is enough to teach
it (`toolkit.models.language_model` adds it to its model). What it finds most probable is the text itself, and all
hypotheses of a beam search differ from it at the same few places. So the model reads a sequence of the text, a line
break and the text again, in one pass. At each place of the second copy this shows which other tokens it finds probable
there. Each of the most probable ones begins a candidate: the text up to that place, the other token, and what the model
says next, greedily. As soon as three tokens in a row are again those of the text, the rest of the text is copied. Like
the negative constraints of ParaBank this forbids a word of the text, but it tries all places and goes on from those
alone where another word is probable. It is ours. The line break must be a token of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache

from toolkit.data.progress import at_hand
from toolkit.data.rows import Candidate, Row
from toolkit.models.language_model import BREAK, LOGITS, LanguageModel, beginning_of, positions_of
from toolkit.system.memory import in_halves

METHOD = "continuation"
EACH = 3  # ours: other tokens of a place, at most
BACK = 3  # ours: tokens of the text, one after another, after which a candidate goes on as the text does
AT_A_TIME = 192  # ours: candidates; a processor gains nothing from more
LONGER, MORE_TOKENS = 1.4, 6  # ours: a paraphrase has at most so many times the tokens of its text, and so many more


class _Branch(NamedTuple):
    """The beginning of a candidate.

    Attributes:
        log_probability: Of its last token, in nats.
        text: The number of its text.
        place: How many tokens of the text come before the last token.
        token: The last token, which is not that of the text.
    """

    log_probability: float
    text: int
    place: int
    token: int


def continued_rows(rows: Iterable[Row], model: LanguageModel, each: int) -> Iterator[Row]:
    """Give every row candidates that depart from its reference at one place, and go on as the model goes on.

    Args:
        rows: Rows without candidates; all are held at a time.
        model: A tuned model, of a kind that `toolkit.score.critic.load_critic` accepts.
        each: The most candidates of a row.

    Yields:
        The rows in their order, the most probable departure first; none of a row that the model has no positions for.
        The reason is "unfinished" where a candidate did not end.
    """
    shard = list(rows)
    prompts = [beginning_of(row.reference, model.tokenizer) for row in shard]
    order = sorted(range(len(shard)), key=lambda i: (len(prompts[i]), i))
    positions = positions_of(model.model)
    # the text, its copy, and a longer candidate
    order = [i for i in order if 3.5 * len(prompts[i]) + MORE_TOKENS < positions]
    longest = len(prompts[order[-1]]) if order else 1
    batch_size = max(1, min(AT_A_TIME // max(1, each), LOGITS // (2 * longest * model.model.config.vocab_size)))

    def decode(batch: Sequence[int]) -> None:
        batch_outputs = _continued([prompts[i] for i in batch], [shard[i].reference for i in batch], model, each)
        for i, outputs in zip(batch, batch_outputs, strict=True):
            shard[i].candidates = [
                Candidate(text, METHOD, generator=model.signature, reason=None if ended else "unfinished")
                for text, ended in dict.fromkeys(outputs)
                if text
            ]

    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        with at_hand([shard[i] for i in batch], len(batch)):
            in_halves(batch, decode)
    yield from shard


@torch.inference_mode()
def _continued(
    prompts: Sequence[Sequence[int]], texts: Sequence[str], model: LanguageModel, each: int
) -> list[list[tuple[str, bool]]]:
    """For each text the candidates, and whether each ended.

    Args:
        prompts: The tokens of each text and a line break.
        texts: The texts.
        model: The model.
        each: The most candidates of a text.
    """
    tokenizer: Any = model.tokenizer
    copies: list[list[int]] = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    stops = {tokenizer(BREAK, add_special_tokens=False)["input_ids"][-1], tokenizer.eos_token_id} - {None}
    cache, logits, lengths = _read_twice(prompts, copies, model)
    branches = [
        branch
        for n, copy in enumerate(copies)
        for branch in _branches(n, logits[n, lengths[n] - 1 :][: len(copy)], copy, each)
        if branch.token not in stops
    ]
    continuations = _go_on(branches, cache, lengths, copies, stops, model)
    outputs: list[list[tuple[str, bool]]] = [[] for _ in texts]
    for branch, ids in zip(branches, continuations, strict=True):
        ended = ids[-1] in stops
        line = tokenizer.decode(
            [*copies[branch.text][: branch.place], *(ids[:-1] if ended else ids)], skip_special_tokens=True
        )
        outputs[branch.text].append((line.strip(), ended))
    return outputs


def _read_twice(
    prompts: Sequence[Sequence[int]], copies: Sequence[Sequence[int]], model: LanguageModel
) -> tuple[DynamicCache, Tensor, list[int]]:
    """Read each text, a line break, and the text again.

    Returns:
        The keys and values, one row for a text; the logits, of shape (texts, tokens, vocabulary); and how many tokens
        of each row come before the repetition.
    """
    network: Any = model.model
    sequences = [[*prompt, *copy] for prompt, copy in zip(prompts, copies, strict=True)]
    longest = max(map(len, sequences))
    rows = torch.tensor([ids + [0] * (longest - len(ids)) for ids in sequences], device=network.device)
    mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in sequences], device=network.device)
    cache = DynamicCache()
    logits = network(input_ids=rows, attention_mask=mask, past_key_values=cache, use_cache=True).logits
    return cache, logits, list(map(len, prompts))


def _branches(text: int, logits: Tensor, copy: Sequence[int], each: int) -> list[_Branch]:
    """The most probable departures of a text from its repetition.

    Args:
        text: The number of the text.
        logits: Of shape (tokens, vocabulary): what may stand at each place.
        copy: The tokens of the text.
        each: How many at most.
    """
    log_probabilities = logits.float().log_softmax(-1)
    log_probabilities[torch.arange(len(copy)), torch.tensor(copy)] = -torch.inf
    values, tokens = log_probabilities.topk(min(EACH, log_probabilities.shape[-1] - 1))
    branches = [
        _Branch(value, text, position, token)
        for position, (row_values, row_tokens) in enumerate(zip(values.tolist(), tokens.tolist(), strict=True))
        for value, token in zip(row_values, row_tokens, strict=True)
    ]
    return sorted(branches, reverse=True)[:each]


def _go_on(
    branches: Sequence[_Branch],
    cache: DynamicCache,
    lengths: Sequence[int],
    copies: Sequence[Sequence[int]],
    stops: set[int],
    model: LanguageModel,
) -> list[list[int]]:
    """The tokens of each branch from its own on: greedily until one of `stops`, or with the rest of the text.

    A branch sees the keys of its text's first reading and of the repetition before its place; a mask hides the rest.

    Args:
        branches: The branches.
        cache: Keys and values of the texts, which is used up.
        lengths: Of each text: tokens before its repetition.
        copies: The tokens of each text.
        stops: Tokens that end a line.
        model: The model.
    """
    network: Any = model.model
    device = network.device
    continuations = [[branch.token] for branch in branches]
    limits = [round(LONGER * len(copy)) + MORE_TOKENS for copy in copies]
    if not branches:
        return continuations
    active_branches = list(range(len(branches)))
    cache.batch_select_indices(torch.tensor([branch.text for branch in branches], device=device))
    positions = torch.tensor([lengths[branch.text] + branch.place for branch in branches], device=device)
    mask = (torch.arange(cache.get_seq_length(), device=device) < positions[:, None]).long()
    while active_branches:
        mask = torch.cat([mask, torch.ones_like(mask[:, :1])], 1)
        logits = network(
            input_ids=torch.tensor([[continuations[n][-1]] for n in active_branches], device=device),
            attention_mask=mask,
            position_ids=positions[:, None],
            past_key_values=cache,
            use_cache=True,
        ).logits[:, -1]
        for n, token in zip(active_branches, logits.argmax(-1).tolist(), strict=True):
            continuations[n].append(token)
            continuations[n] += _rest(continuations[n], copies[branches[n].text], branches[n].place, min(stops))
        open_rows = [
            row
            for row, n in enumerate(active_branches)
            if continuations[n][-1] not in stops
            and branches[n].place + len(continuations[n]) < limits[branches[n].text]
        ]
        positions = positions + 1
        if len(open_rows) < len(active_branches):
            row_indices = torch.tensor(open_rows, dtype=torch.long, device=device)
            active_branches, mask, positions = (
                [active_branches[row] for row in open_rows],
                mask[row_indices],
                positions[row_indices],
            )
            if active_branches:
                cache.batch_select_indices(row_indices)
    return continuations


def _rest(continuation: Sequence[int], copy: Sequence[int], position: int, stop: int) -> list[int]:
    """What follows in the text, and a stop, where a branch has come back to it; else nothing.

    >>> _rest([9, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7], 1, 0)
    [6, 7, 0]

    Args:
        continuation: The tokens of a branch from its own on.
        copy: The tokens of its text.
        position: Where its own token stands.
        stop: A token that ends a line.
    """
    if len(continuation) <= BACK:
        return []
    last_tokens = list(continuation[-BACK:])
    for end in range(position + BACK, len(copy) + 1):
        if list(copy[end - BACK : end]) == last_tokens:
            return [*copy[end:], stop]
    return []
