"""A translator whose encoder and decoder are transformers, as `transformers` has it, from the tensors of a Marian file.

Marian begins an output with a vector of zeros and computes positions otherwise than `transformers` (`_positions`), and
its norms add another epsilon. So the model gets one token more, whose embedding is zero, for the start and as padding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from toolkit.models.ssru import EPSILON, _positions

NEVER = -1e4  # ours: the bias of a token that is never said; float16 has it
TIED = {"model.shared.weight", "lm_head.weight", "model.encoder.embed_positions.weight"} | {
    "model.decoder.embed_positions.weight"
}
EMBEDDINGS = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")


def transformer_model(config: MarianConfig) -> MarianMTModel:
    """A model of a configuration, with one token more than the larger vocabulary; `transformer_weights` fills it.

    Args:
        config: With the vocabularies of the file; it gets those of the model, the padding and the start.
    """
    size = max(config.vocab_size, config.decoder_vocab_size or 0)
    config.pad_token_id = config.decoder_start_token_id = size
    config.vocab_size = config.decoder_vocab_size = size + 1
    model = MarianMTModel(config)
    model.generation_config = GenerationConfig.from_model_config(config)
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = EPSILON
    for side in (model.model.encoder, model.model.decoder):
        table = _positions(config.max_position_embeddings, config.d_model)
        side.embed_positions.weight = nn.Parameter(table, requires_grad=False)
    return model


def transformer_weights(weights: dict[str, Tensor], size: int) -> dict[str, Tensor]:
    """Tensors by the names of `MarianMTModel`.

    Args:
        weights: By the names of `toolkit.models.marian_weights.weights_of`.
        size: Tokens of the model.
    """
    tensors = {f"model.{name}": tensor for name, tensor in weights.items() if not name.startswith("lm_head")}
    for name in EMBEDDINGS:
        tensors[name] = torch.cat(
            [tensors[name], tensors[name].new_zeros(size - len(tensors[name]), tensors[name].shape[1])]
        )
    bias = weights["lm_head.bias"]
    tensors["final_logits_bias"] = torch.cat([bias, bias.new_full((size - len(bias),), NEVER)])[None]
    return tensors


def tie_embeddings(model: MarianMTModel, shared: bool) -> None:
    """Let the output layer, and where both sides share them the encoder, have the embeddings of the decoder."""
    embeddings = model.model.decoder.embed_tokens
    model.lm_head.weight = embeddings.weight
    if shared:
        model.model.shared.weight = model.model.encoder.embed_tokens.weight = embeddings.weight
