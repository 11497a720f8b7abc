"""Models of OPUS-MT's size with random weights for the decoding benchmarks, with realistic lengths and entropies.

The gain of an engine that drops finished rows depends on the variation of the lengths. With plain random weights EOS
would have the same probability at every position, which gives too much variation and flatters such engines. Therefore
the output row of EOS is fitted to the hidden states such that its logit grows with the position, and its bias is set by
bisection. The lengths then have the mean and about the standard deviation of a real model's samples of one sentence.

The gain of an engine that shares equal prefixes depends on the entropy of a step. Therefore the standard deviation of
the logits is set by bisection such that the mean entropy of a step is that of a real translator, or FLAT: then the top
10 tokens are nearly equal, and no two samples share more than their first tokens.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel, PreTrainedConfig, PreTrainedModel

from toolkit.decode.draw import draw, most_probable, uniform
from toolkit.decode.sampling import sample
from toolkit.decode.shared import SharedEngine

EOS, UNK = 0, 1
SLOPE = (
    0.6  # ours: of the EOS logit by position; the lengths within a sentence then deviate by 3.1, a starter's by 3.06
)
SPREAD = 2.5  # ours: standard deviation of the other logits where no entropy is given
FLAT = 2.2  # ours: nats; ten equal tokens have 2.3
SPREADS, ENTROPY_STEPS = (0.1, 20.0), 8  # ours: range of the bisection; steps of which the entropy is the mean
PIECES_PER_WORD = 1.4  # ours
FITTED_STEPS = 2.3  # ours: of the mean length; steps whose hidden states EOS is fitted to
FITTED_EACH, RIDGE = 8, 10.0  # ours
BISECTIONS, BISECTED_EACH = 9, 16  # ours
BIASES = (-20.0, 30.0)  # ours: range of the bisection of the bias of EOS


def random_model(
    vocabulary: int, sources: list[list[int]], seed: int, mean: float, max_tokens: int, entropy: float | None
) -> MarianMTModel:
    """A Marian model with 6+6 layers of width 512 whose samples have a given mean length.

    Args:
        vocabulary: The number of pieces, including </s>, <unk> and <pad> (the last).
        sources: The ids of the sentences whose samples are measured.
        seed: The seed of the weights and the calibration.
        mean: The mean number of tokens of a sample, EOS counted.
        max_tokens: The most tokens of a sample in the benchmark.
        entropy: The mean entropy of a step in nats (`mean_entropy`); None for whatever SPREAD gives.
    """
    model = endless_model(vocabulary, sources, seed, entropy)
    fit_length(model, sources, mean, max_tokens)
    return model


def endless_model(vocabulary: int, sources: list[list[int]], seed: int, entropy: float | None) -> MarianMTModel:
    """The model of `random_model` before `fit_length`: what it samples has no particular length."""
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=vocabulary, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=512,
        activation_function="relu", scale_embedding=False, pad_token_id=vocabulary - 1, eos_token_id=EOS,
        decoder_start_token_id=vocabulary - 1, forced_eos_token_id=None, tie_word_embeddings=True,
    )  # fmt: skip
    model = MarianMTModel(config).eval()
    model.final_logits_bias[0, [UNK, vocabulary - 1]] = -1e4
    weights = torch.randn(vocabulary - 1, config.d_model) / config.d_model**0.5
    output = model.model.shared.weight[:-1]
    scale(output, weights, SPREAD)
    if entropy is not None:
        model.final_logits_bias[0, EOS] = -1e4
        bisect_spread(model, output, weights, sources, entropy)
    return model


def fit_length(model: MarianMTModel, sources: list[list[int]], mean: float, max_tokens: int) -> None:
    """Change the output row and the bias of EOS such that samples have `mean` tokens on average."""
    fit_eos(model, sources, round(FITTED_STEPS * mean))
    bisect_bias(model, sources, mean, max_tokens)


def random_ids(chance: random.Random, tokens: int, vocabulary: int) -> list[int]:
    """Random ids of a sentence, with EOS at the end."""
    return [*(chance.randrange(2, vocabulary - 1) for _ in range(tokens)), EOS]


@torch.no_grad()
def scale(output: Tensor, weights: Tensor, spread: float) -> None:
    """Set the rows of the output layer to weights (deviation: 1 / sqrt(width)) times a factor."""
    torch.mul(weights, spread, out=output)


def bisect_spread(
    model: PreTrainedModel, output: Tensor, weights: Tensor, sources: list[list[int]], entropy: float
) -> None:
    """Set the standard deviation of the logits such that a step has a given entropy; EOS must be impossible.

    Args:
        model: The model, of a family that `SharedEngine` drives.
        output: (tokens, width) its output layer, or the rows of it that are scaled.
        weights: What these rows are scaled from, with a deviation of 1 / sqrt(width).
        sources: The ids of the sentences whose samples are measured.
        entropy: The mean entropy of a step in nats (`mean_entropy`).
    """

    def too_flat(spread: float) -> bool:
        scale(output, weights, spread)
        return mean_entropy(model, sources) > entropy

    bisect(*SPREADS, too_flat)


def bisect(low: float, high: float, is_too_low: Callable[[float], bool]) -> None:
    """Try the middle of a range, BISECTIONS times; the last value that was tried stays set."""
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_too_low(middle) else (low, middle)


@torch.inference_mode()
def mean_entropy(model: PreTrainedModel, sources: list[list[int]]) -> float:
    """The mean entropy in nats of the renormalised top 10 over the first ENTROPY_STEPS steps of samples, until EOS."""
    engine = SharedEngine(model)
    state = engine.start(sources, FITTED_EACH, ENTROPY_STEPS)
    keys = torch.arange(FITTED_EACH * len(sources))
    last, alive = torch.full_like(keys, engine.given[-1]), torch.ones_like(keys, dtype=torch.bool)
    entropies = []
    for step in range(ENTROPY_STEPS):
        values, ids = most_probable(engine, engine.step(state, last), 10)
        entropies.append(torch.distributions.Categorical(logits=values[alive].double()).entropy())
        last, _ = draw(values, ids, 10, uniform(keys, step))
        alive &= last != engine.eos
    return torch.cat(entropies).mean().item()


@torch.inference_mode()
def fit_eos(model: MarianMTModel, sources: list[list[int]], steps: int) -> None:
    """Fit the output row of EOS such that its logit is SLOPE x position, by ridge regression on hidden states."""
    model.final_logits_bias[0, EOS] = -1e4
    hidden, positions = hidden_states(model, sources, FITTED_EACH, steps)
    centred, target = hidden - hidden.mean(0), SLOPE * (positions - positions.mean())
    gram = centred.T @ centred + RIDGE * torch.eye(centred.shape[1], dtype=centred.dtype)
    model.model.shared.weight[EOS] = torch.linalg.solve(gram, centred.T @ target).float()


def hidden_states(model: PreTrainedModel, sources: list[list[int]], each: int, steps: int) -> tuple[Tensor, Tensor]:
    """Hidden states (states, width) of `each` samples of every sentence, and the position of each state, in float64.

    EOS must be impossible.
    """
    engine = SharedEngine(model)
    rows = each * len(sources)
    state = engine.start(sources, each, steps)
    seeds, last_tokens, states = torch.arange(rows), torch.full((rows,), engine.given[-1]), []
    for step in range(steps):
        states.append(engine.step(state, last_tokens))
        last_tokens, _ = draw(*most_probable(engine, states[-1], 10), 10, uniform(seeds, step))
    positions = torch.arange(steps, dtype=torch.float64).repeat_interleave(rows)
    return torch.cat(states).double(), positions


@torch.inference_mode()
def bisect_bias(model: MarianMTModel, sources: list[list[int]], mean: float, max_tokens: int) -> None:
    """Set the bias of EOS such that float32 samples have `mean` tokens on average."""

    def too_long(bias: float) -> bool:
        model.final_logits_bias[0, EOS] = bias
        return mean_tokens(model, sources, max_tokens) > mean

    bisect(*BIASES, too_long)


def mean_tokens(model: MarianMTModel, sources: list[list[int]], max_tokens: int) -> float:
    """Mean length of BISECTED_EACH samples of every sentence, EOS counted."""
    return float(np.mean(lengths_of(model, sources, BISECTED_EACH, max_tokens)))


def lengths_of(model: PreTrainedModel, sources: list[list[int]], each: int, max_tokens: int) -> list[int]:
    """The length of `each` samples of every sentence, EOS counted."""
    seeds = list(range(each * len(sources)))
    return [
        len(output.ids) for output in sample(SharedEngine(model), sources, [[]] * len(seeds), seeds, 10, max_tokens)
    ]


def random_text(pairs: list[tuple[str, str]], vocabulary: int, seed: int) -> tuple[list[list[int]], list[list]]:
    """Random ids with the lengths of real sentences.

    Args:
        pairs: Sources and references.
        vocabulary: The vocabulary size of the model.
        seed: The seed of the ids.

    Returns:
        The ids of each source; and for each reference the lower-case words that may be forbidden, with one or two ids
        each.
    """
    chance = random.Random(seed)
    sources, words = [], []
    for source, reference in pairs:
        sources.append(random_ids(chance, round(len(source.split()) * PIECES_PER_WORD), vocabulary))
        plain = sorted({word for word in reference.split() if word.isalpha() and word.islower()})
        words.append([(w, [random_ids(chance, chance.choice((1, 1, 2)), vocabulary)[:-1]]) for w in plain])
    return sources, words


def convert(model: MarianMTModel, folder: Path) -> None:
    """Write the same weights in CTranslate2's format, in float32; the name of a token is its id.

    CTranslate2's converter removes the last row, which is <pad> in OPUS-MT's models. Our models may have <pad>
    elsewhere, so all rows are kept and a bias forbids <pad>.
    """
    from ctranslate2.converters.transformers import MarianMTLoader

    class Whole(MarianMTLoader):
        def _remove_pad_weights(self, spec: object) -> None:
            """Keep all rows."""

    bias = model.final_logits_bias.clone()
    model.final_logits_bias[0, model.config.pad_token_id] = -1e4
    with torch.no_grad():
        spec = Whole().get_model_spec(model)
    model.final_logits_bias.copy_(bias)
    spec.decoder.start_from_zero_embedding = False  # the row of <pad>, which is zero in OPUS-MT's models alone
    save_converted(spec, model.config, folder)


def save_converted(spec: Any, config: PreTrainedConfig, folder: Path) -> None:
    """Save a model in CTranslate2's format; the name of a token is its id."""
    names = [str(i) for i in range(config.vocab_size)]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.eos_token = spec.config.bos_token = names[config.eos_token_id]
    spec.config.decoder_start_token = names[config.decoder_start_token_id]
    spec.config.unk_token = names[UNK]
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True)
    spec.save(str(folder))
