"""The equations of a Marian translator in float64, one sentence and one position at a time, with numpy and loops.

Written from the description of the model, not from `toolkit`: tensors have Marian's names, vectors are rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.firefox_folders import Arrays, Tiny

NORM_EPSILON = 1e-6


def position(p: int, dim: int) -> np.ndarray:
    """All sines, then all cosines, in the float32 that the model is stored in."""
    half = dim // 2
    angles = [p * math.exp(-i * math.log(10_000) / (half - 1)) for i in range(half)]
    return np.float32([*map(math.sin, angles), *map(math.cos, angles)]).astype(np.float64)


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max())
    return weights / weights.sum()


@dataclass
class Reference:
    """A model: its tensors in float64, and the settings that count."""

    arrays: Arrays
    heads: int
    encoder: list[str]
    decoder: list[str]
    swish: bool

    @classmethod
    def of(cls, tiny: Tiny) -> Reference:
        settings = tiny.settings
        tied = settings["transformer-tied-layers"] or range(1, settings["dec-depth"] + 1)
        arrays = {name: array.astype(np.float64) for name, array in tiny.arrays.items()}
        encoder = [f"encoder_l{n + 1}" for n in range(settings["enc-depth"])]
        swish = settings["transformer-ffn-activation"] == "swish"
        return cls(arrays, settings["transformer-heads"], encoder, [f"decoder_l{n}" for n in tied], swish)

    def embeddings(self, side: str) -> np.ndarray:
        return self.arrays["Wemb"] if "Wemb" in self.arrays else self.arrays[f"{side}_Wemb"]

    def affine(self, x: np.ndarray, weight: str, bias: str) -> np.ndarray:
        return x @ self.arrays[weight] + self.arrays[bias][0]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        spread = math.sqrt(((x - x.mean()) ** 2).mean() + NORM_EPSILON)
        return (x - x.mean()) / spread * self.arrays[f"{name}_ln_scale"][0] + self.arrays[f"{name}_ln_bias"][0]

    def feed_forward(self, x: np.ndarray, layer: str) -> np.ndarray:
        inner = self.affine(x, f"{layer}_ffn_W1", f"{layer}_ffn_b1")
        inner = inner / (1 + np.exp(-inner)) if self.swish else np.maximum(inner, 0)
        return self.norm(x + self.affine(inner, f"{layer}_ffn_W2", f"{layer}_ffn_b2"), f"{layer}_ffn_ffn")

    def attention(self, x: np.ndarray, states: Sequence[np.ndarray], name: str) -> np.ndarray:
        """The attention of one position to those seen, and the norm after it."""
        query = self.affine(x, f"{name}_Wq", f"{name}_bq")
        keys = [self.affine(state, f"{name}_Wk", f"{name}_bk") for state in states]
        values = [self.affine(state, f"{name}_Wv", f"{name}_bv") for state in states]
        width, attended = len(query) // self.heads, []
        for head in range(self.heads):
            part = slice(head * width, (head + 1) * width)
            weights = softmax(np.array([query[part] @ key[part] / math.sqrt(width) for key in keys]))
            attended.append(sum(weight * value[part] for weight, value in zip(weights, values, strict=True)))
        return self.norm(x + self.affine(np.concatenate(attended), f"{name}_Wo", f"{name}_bo"), f"{name}_Wo")

    def encode(self, source: Sequence[int]) -> list[np.ndarray]:
        table = self.embeddings("encoder")
        states = [
            table[token] * math.sqrt(table.shape[1]) + position(p, table.shape[1]) for p, token in enumerate(source)
        ]
        for layer in self.encoder:
            states = [self.attention(x, states, f"{layer}_self") for x in states]
            states = [self.feed_forward(x, layer) for x in states]
        return states

    def next(
        self, encoded: Sequence[np.ndarray], prefix: Sequence[int], memory: Sequence[np.ndarray] | None
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Log-probabilities of the token after those said, and the memory of each layer; the memory before is given."""
        table = self.embeddings("decoder")
        dim = table.shape[1]
        x = (table[prefix[-1]] * math.sqrt(dim) if prefix else np.zeros(dim)) + position(len(prefix), dim)
        if f"{self.decoder[0]}_rnn_W" not in self.arrays:
            before, after = memory or [[]] * len(self.decoder), []
            for layer, inputs in zip(self.decoder, before, strict=True):
                after.append([*inputs, x])
                x = self.attention(x, after[-1], f"{layer}_self")
                x = self.feed_forward(self.attention(x, encoded, f"{layer}_context"), layer)
            return np.log(softmax(x @ table.T + self.arrays["decoder_ff_logit_out_b"][0])), after
        before, after = memory or [np.zeros(dim)] * len(self.decoder), []
        for layer, cell in zip(self.decoder, before, strict=True):
            forget = 1 / (1 + np.exp(-self.affine(x, f"{layer}_rnn_Wf", f"{layer}_rnn_bf")))
            cell = forget * cell + (1 - forget) * (x @ self.arrays[f"{layer}_rnn_W"])
            after.append(cell)
            x = self.norm(x + np.maximum(cell, 0), f"{layer}_rnn_ffn")
            x = self.attention(x, encoded, f"{layer}_context")
            x = self.feed_forward(x, layer)
        logits = x @ table.T + self.arrays["decoder_ff_logit_out_b"][0]
        return np.log(softmax(logits)), after

    def scores(self, source: Sequence[int], output: Sequence[int]) -> list[float]:
        """The log-probability of each token of an output."""
        encoded, memory, token_logprobs = self.encode(source), None, []
        for step, token in enumerate(output):
            logprobs, memory = self.next(encoded, output[:step], memory)
            token_logprobs.append(float(logprobs[token]))
        return token_logprobs
