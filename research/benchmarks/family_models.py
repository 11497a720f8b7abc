"""Models of the families that the shared engine drives, in the sizes of published checkpoints, with random weights.

The output layer is random, and apart from the embeddings also where the checkpoint ties them: a hidden state of random
layers is close to the embedding of the last token, which tied weights would say for ever. Both cost the same. It is
scaled such that a step has a given entropy (`opus_size.py`). It never says EOS or padding, so all samples have the
greatest length, and an engine that drops finished rows gains nothing by it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig, PreTrainedModel

from research.benchmarks.opus_size import bisect_spread
from toolkit.decode.shared import SharedEngine

BART = {"activation_function": "relu", "scale_embedding": True, "forced_eos_token_id": None}
LARGE = {
    "d_model": 1024, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096, "max_position_embeddings": 1024,
}  # fmt: skip
SPECIAL_T5 = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
SIZES: dict[str, tuple[str, dict[str, Any]]] = {  # checkpoint -> model type, and what its config.json says
    "google-t5/t5-base": (
        "t5", {"vocab_size": 32128, "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12,
               **SPECIAL_T5}),
    "google/flan-t5-base": (
        "t5", {"vocab_size": 32128, "d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_heads": 12,
               "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, **SPECIAL_T5}),
    "google/mt5-small": (
        "mt5", {"vocab_size": 250112, "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_heads": 6,
                "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, **SPECIAL_T5}),
    "facebook/mbart-large-50-many-to-many-mmt": (
        "mbart", {"vocab_size": 250054, "encoder_layers": 12, "decoder_layers": 12, **LARGE, **BART, "pad_token_id": 1,
                  "eos_token_id": 2, "decoder_start_token_id": 2, "forced_bos_token_id": 250004}),
    "facebook/nllb-200-distilled-600M": (
        "m2m_100", {"vocab_size": 256206, "encoder_layers": 12, "decoder_layers": 12, **LARGE, **BART,
                    "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_bos_token_id": 256047}),
    "google/pegasus-large": (
        "pegasus", {"vocab_size": 96103, "encoder_layers": 16, "decoder_layers": 16, **LARGE, **BART,
                    "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}),
}  # fmt: skip


def family_model(
    kind: str, sizes: dict[str, Any], sources: list[list[int]], seed: int, entropy: float
) -> PreTrainedModel:
    """A model with random weights whose steps have a given mean entropy.

    Args:
        kind: The model type of transformers.
        sizes: The settings of its configuration.
        sources: The ids of the sentences whose samples are measured.
        seed: The seed of the weights.
        entropy: The mean entropy of a step in nats (`opus_size.mean_entropy`).
    """
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **sizes)
    model = AutoModelForSeq2SeqLM.from_config(config).eval()
    model.generation_config = GenerationConfig.from_model_config(config)
    model.generation_config.forced_bos_token_id = sizes.get("forced_bos_token_id")
    head = model.get_output_embeddings()
    # The engine's scale is that of the hidden states: T5 divides them where it ties the embeddings.
    weights = torch.randn(head.weight.shape) / (config.d_model**0.5 * SharedEngine(model).scale)
    weights[[config.eos_token_id, config.pad_token_id, config.decoder_start_token_id]] = 0.0
    head.weight = nn.Parameter(weights.clone(), requires_grad=False)
    bisect_spread(model, head.weight, weights, sources, entropy)
    return model
