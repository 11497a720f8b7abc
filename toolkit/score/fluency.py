"""How fluent a sentence is: its log-probability by a language model, in nats per token.

Source: ParaNet (Liu et al. 2022), section 3.3.2 and equation 1. The paper's model is GPT-2. An infiller is a language
model, too: it says how probable a whole sentence is in place of a single sentinel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch

from toolkit.data.rows import Row
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.likelihood import log_likelihood
from toolkit.generate.sentinels import infill_input, infill_output, load_infiller
from toolkit.models.config import read_config
from toolkit.models.language_model import LanguageModel, load_language_model, log_probabilities
from toolkit.translator.load import Translator

DECIMALS = 6  # ours: further digits differ from batch to batch


def fluency_signature(model: LanguageModel | Translator) -> str:
    """The settings of the fluency."""
    begin = "eos:yes|by:infilling" if isinstance(model, Translator) else "eos:no"
    return f"nats per token|{model.signature}|{begin}|decimals:{DECIMALS}|v:1.0.0"


def load_fluency(name: str, dtype: str, device: torch.device, lang: str) -> LanguageModel | Translator:
    """Load a causal language model or an infiller, whichever a name is.

    Args:
        name: A Hub id, a local path or "starter/infiller".
        dtype: See `load_language_model`.
        device: Device on which it computes.
        lang: The language of the texts; an infiller that states another is refused.

    Raises:
        ValueError: The name is neither.
    """
    if not read_config(name, "a causal language model or an infiller").is_encoder_decoder:
        return load_language_model(name, dtype, device)
    return load_infiller(name, dtype, device, lang)


def fluencies(texts: Sequence[str], model: LanguageModel | Translator, batch_tokens: int) -> list[float]:
    """The log-probability of each text in nats per token, <= 0; 0 of a text without tokens.

    Args:
        texts: Texts; equal ones are scored once.
        model: A causal language model, or an infiller.
        batch_tokens: Greatest size of a batch: texts times the tokens of the longest.
    """
    distinct = list(dict.fromkeys(texts))
    if isinstance(model, Translator):
        totals = _infill_log_probabilities(distinct, model, batch_tokens)
    else:
        totals = log_probabilities(distinct, model, batch_tokens)
    by_text = {
        text: round(total / count, DECIMALS) if count else 0.0
        for text, (total, count) in zip(distinct, totals, strict=True)
    }
    return [by_text[text] for text in texts]


def _infill_log_probabilities(texts: Sequence[str], infiller: Translator, batch_tokens: int) -> list[tuple[float, int]]:
    """The log-probability of each text by an infiller that reads a sentinel alone, and the number of its tokens."""
    outputs = infiller.target.encode([infill_output(text, []) for text in texts])
    inputs = infiller.source.encode([infill_input([], "", "")] * len(texts))
    scores = log_likelihood(engine_of(infiller.model), inputs, outputs, batch_tokens) if texts else []
    return [(score, len(output)) for score, output in zip(scores, outputs, strict=True)]


def fluency_rows(rows: Iterable[Row], model: LanguageModel | Translator, batch_tokens: int) -> Iterator[Row]:
    """Fill `fluency` of every candidate without a reason.

    Args:
        rows: Rows with candidates; all of a shard are held at a time.
        model: A causal language model, or an infiller.
        batch_tokens: Greatest size of a batch: texts times the tokens of the longest.

    Source: ParaNet, section 3.3.2. The paper multiplies probabilities, which favours short sentences.
    """
    shard = list(rows)
    candidates = [candidate for row in shard for candidate in row.candidates if candidate.reason is None]
    scores = fluencies([candidate.text for candidate in candidates], model, batch_tokens)
    for candidate, fluency in zip(candidates, scores, strict=True):
        candidate.scores.fluency = fluency
    yield from shard
