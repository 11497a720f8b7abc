"""The tensors of a Marian file by the names of layers here: of `MarianMTModel`, and of `SsruModel` where it differs.

A decoder is one of simple recurrent units, as Firefox has them, or a transformer's, as most of Marian's.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from toolkit.models.marian_file import MarianFile

CONVERT = "convert it for transformers (MarianMTModel), and give that folder"


class _Tensors(UserDict[str, np.ndarray]):
    """The tensors of a file, and the names of those that were read."""

    def __init__(self, tensors: dict[str, np.ndarray]):
        self.data, self.read = tensors, set[str]()

    def __getitem__(self, name: str) -> np.ndarray:
        self.read.add(name)
        return self.data[name]


def is_recurrent(content: MarianFile) -> bool:
    """Whether the decoder of a file has recurrent units, rather than attention to what was said."""
    return not any(name.startswith("decoder_l") and "_self_" in name for name in content.tensors)


def weights_of(content: MarianFile, path: Path) -> list[tuple[str, np.ndarray]]:
    """The tensors by the names of layers here; none may be missing, and none without a place in a model."""
    recurrent = is_recurrent(content)
    tensors = _Tensors(content.tensors)
    try:
        weights = [
            ("encoder.embed_tokens.weight", tensors[embeddings(tensors, "encoder")]),
            ("decoder.embed_tokens.weight", tensors[embeddings(tensors, "decoder")]),
            ("lm_head.weight", tensors[embeddings(tensors, "decoder")]),
            ("lm_head.bias", tensors["decoder_ff_logit_out_b"].reshape(-1)),
        ]
        for n in range(setting(content, "enc-depth", path)):
            weights += _encoder_layer(tensors, f"encoder_l{n + 1}", f"encoder.layers.{n}")
        for n, number in enumerate(decoder_layers(content, path)):
            weights += _decoder_layer(tensors, f"decoder_l{number}", f"decoder.layers.{n}", recurrent)
    except KeyError as error:
        raise ValueError(f"wanted a whole model, got {path} without {error}: fetch it again") from None
    if further := sorted(set(content.tensors) - tensors.read):
        raise ValueError(f"wanted a model of the layers that are read here, got {further[0]} in {path}: {CONVERT}")
    return weights


def _encoder_layer(tensors: Mapping[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a layer of the encoder."""
    attention = _attention(tensors, f"{marian}_self", f"{ours}.self_attn")
    return attention + _feed_forward(tensors, marian, ours)


def _decoder_layer(
    tensors: Mapping[str, np.ndarray], marian: str, ours: str, recurrent: bool
) -> list[tuple[str, np.ndarray]]:
    """The tensors of a layer of the decoder."""
    self_weights = (
        _unit(tensors, marian, ours) if recurrent else _attention(tensors, f"{marian}_self", f"{ours}.self_attn")
    )
    attention = _attention(tensors, f"{marian}_context", f"{ours}.encoder_attn")
    return self_weights + attention + _feed_forward(tensors, marian, ours)


def _unit(tensors: Mapping[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a recurrent unit and of the norm after it; W and W_f are one matrix, and W has no bias."""
    input_weight, forget_weight = (tensors[f"{marian}_rnn_{name}"].T for name in ("W", "Wf"))
    forget_bias = tensors[f"{marian}_rnn_bf"].reshape(-1)
    alike = input_weight.ndim == 2 and input_weight.shape == forget_weight.shape
    return [
        (
            f"{ours}.unit.input_and_forget.weight",
            np.concatenate([input_weight, forget_weight]) if alike else input_weight,
        ),
        (f"{ours}.unit.input_and_forget.bias", np.concatenate([np.zeros_like(forget_bias), forget_bias])),
        *_norm(tensors, f"{marian}_rnn_ffn", f"{ours}.unit_layer_norm"),
    ]


def _attention(tensors: Mapping[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of an attention and of the norm after it."""
    weights = []
    for letter, name in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj")):
        weights += _linear(tensors, f"{marian}_W{letter}", f"{marian}_b{letter}", f"{ours}.{name}")
    return weights + _norm(tensors, f"{marian}_Wo", f"{ours}_layer_norm")


def _feed_forward(tensors: Mapping[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a feed-forward network and of the norm after it."""
    return [
        *_linear(tensors, f"{marian}_ffn_W1", f"{marian}_ffn_b1", f"{ours}.fc1"),
        *_linear(tensors, f"{marian}_ffn_W2", f"{marian}_ffn_b2", f"{ours}.fc2"),
        *_norm(tensors, f"{marian}_ffn_ffn", f"{ours}.final_layer_norm"),
    ]


def _linear(tensors: Mapping[str, np.ndarray], weight: str, bias: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a linear layer; Marian's matrices are (inputs, outputs)."""
    return [(f"{ours}.weight", tensors[weight].T), (f"{ours}.bias", tensors[bias].reshape(-1))]


def _norm(tensors: Mapping[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a layer normalisation."""
    return [
        (f"{ours}.weight", tensors[f"{marian}_ln_scale"].reshape(-1)),
        (f"{ours}.bias", tensors[f"{marian}_ln_bias"].reshape(-1)),
    ]


def setting(content: MarianFile, key: str, path: Path) -> int:
    """A setting that must be a number, at least 1."""
    number = content.settings.get(key)
    if type(number) is not int or number < 1:
        raise ValueError(f"wanted a model whose settings say {key}, got {number!r} in {path}: fetch it again")
    return number


def decoder_layers(content: MarianFile, path: Path) -> list[int]:
    """The number of the tensors that each layer of the decoder has; layers may share theirs."""
    depth, tied = setting(content, "dec-depth", path), content.settings.get("transformer-tied-layers") or []
    if tied and (not isinstance(tied, list) or len(tied) != depth or any(type(number) is not int for number in tied)):
        raise ValueError(f"wanted transformer-tied-layers for {depth} layers, got {tied!r} in {path}: fetch it again")
    return tied or list(range(1, depth + 1))


def embeddings(tensors: Mapping[str, np.ndarray], side: str) -> str:
    """The name of the embeddings of a side ("encoder", "decoder"); both may share one matrix."""
    return "Wemb" if "Wemb" in tensors else f"{side}_Wemb"
