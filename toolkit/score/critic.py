"""What a causal language model says of a candidate: how probable it is after its reference, and how natural beside it.

Both are measures of ours. A small model that has read the reference is sure of a candidate that is grammatical and says
much the same; without the reference it only knows the grammar. A fluent text about something else may score as high as
a freely worded paraphrase, so the first score goes with one of meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from toolkit.models.language_model import LanguageModel, load_language_model
from toolkit.models.token_trees import check_reads_trees, log_probabilities_after
from toolkit.rows import Row
from toolkit.translator.packed import pack_layers

BREAK = "\n"  # ours: between the reference and a candidate
DECIMALS = 6  # ours: further digits differ from batch to batch


def load_critic(name: str, dtype: str, device: torch.device | str) -> LanguageModel:
    """Load a causal language model that only scores: on a CPU its layers are replaced by faster ones (`packed.py`).

    Args:
        name: A Hub id, a local path or "starter/smollm2".
        dtype: As of `load_language_model`.
        device: Device on which it computes.

    Raises:
        ValueError: As of `load_language_model`, or its attention follows no given mask (recurrent models).
    """
    model = load_language_model(name, dtype, device)
    if torch.device(device).type == "cpu":
        pack_layers(model.model)
    check_reads_trees(model)
    return model


def critic_signature(model: LanguageModel) -> str:
    """The settings of both scores."""
    settings = f"after:reference and line break|less:repetition|eos:no|decimals:{DECIMALS}|v:1.0.0"
    return f"nats per token|{model.signature}|{settings}"


def critic_rows(
    rows: Iterable[Row], model: LanguageModel, batch_tokens: int, relative_fluency: bool = True
) -> Iterator[Row]:
    """Fill `given_reference`, `after_reference` and, unless it is not wanted, `relative_fluency`.

    These are filled of every candidate without a reason.

    `given_reference` is relative to a repetition of the reference, whose probability differs from text to text, as the
    model knows its words. A reference, and the words with which several of its candidates begin, are read once
    (`token_trees.py`). Where a text or its reference has no tokens, there is no score.

    Args:
        rows: Rows with candidates; all of a shard are held at a time.
        model: What `load_critic` returns.
        batch_tokens: Tokens that are read at a time, at least those of one reference with its candidates.
        relative_fluency: Whether that score is filled, which takes as much time again.
    """
    shard = list(rows)
    waiting = [[candidate for candidate in row.candidates if candidate.reason is None] for row in shard]
    texts = [[row.reference, *(one.text for one in some)] for row, some in zip(shard, waiting, strict=True) if some]
    for some, (repetition, *given) in zip(
        filter(None, waiting), per_token(texts, model, batch_tokens, True), strict=True
    ):
        for candidate, score in zip(some, given, strict=True):
            if repetition is not None and score is not None:
                candidate.scores.given_reference = round(score - repetition, DECIMALS)
                candidate.scores.after_reference = score
    fluencies = per_token(texts, model, batch_tokens, False) if relative_fluency else []
    for some, (own, *alone) in zip(filter(None, waiting), fluencies, strict=relative_fluency):
        for candidate, fluency in zip(some, alone, strict=True):
            if own is not None and fluency is not None:
                candidate.scores.relative_fluency = round(fluency - own, DECIMALS)
    yield from shard


def per_token(
    texts: Sequence[Sequence[str]], model: LanguageModel, batch_tokens: int, after_reference: bool
) -> list[list[float | None]]:
    """Log-probabilities in nats per token.

    Args:
        texts: References, each followed by its candidates.
        model: What `load_critic` returns.
        batch_tokens: As of `critic_rows`.
        after_reference: Whether each text is read after its reference and a line break, or else after the token that
            begins texts (or the one that ends them; without either the first token of a text is not counted).

    Returns:
        For each reference its own and those of its candidates; None where no token counts.
    """
    tokenizer: Any = model.tokenizer
    begin = next((one for one in (tokenizer.bos_token_id, tokenizer.eos_token_id) if one is not None), None)
    first = [] if begin is None else [begin]
    asked: list[tuple[list[int], list[list[int]]]] = []
    for reference, *candidates in texts:
        read = tokenizer([reference, *candidates], add_special_tokens=False, verbose=False)["input_ids"]
        asked.append(((beginning_of(reference, tokenizer) if after_reference else []) or first, read))
    return [
        [round(total / count, DECIMALS) if count else None for total, count in some]
        for some in log_probabilities_after(asked, model, batch_tokens)
    ]


def beginning_of(reference: str, tokenizer: Any) -> list[int]:
    """A reference and a line break as the model reads them, after the token with which its tokenizer begins texts."""
    ids = tokenizer(reference + BREAK, verbose=False)["input_ids"]
    return ids[:-1] if ids and ids[-1] == tokenizer.eos_token_id else ids
