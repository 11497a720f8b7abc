"""Paraphrasers of the sizes of published checkpoints with random weights: text goes in, and words come out.

Each has a tokenizer trained on the texts of the benchmark's training split, in the checkpoint's own class. Its output
layer is scaled such that a step has a given entropy (`family_models.py`), and says EOS such that outputs have about the
length of the texts: as in `opus_size.py`, the logit of EOS grows with the position. T5 has no bias in its output layer,
so a second direction, in which all hidden states agree, has its place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    T5Tokenizer,
)

from research.benchmarks import opus_size
from research.benchmarks.family_models import SPECIAL_T5, family_model
from research.benchmarks.opus_size import FITTED_STEPS, RIDGE
from toolkit.decode.shared import SharedEngine

T5 = {"vocab_size": 32128, "d_kv": 64, **SPECIAL_T5}
SIZES: dict[str, tuple[str, dict[str, Any]]] = {  # checkpoint -> model type, and what its config.json says
    "google-t5/t5-small": ("t5", {**T5, "d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8}),
    "google-t5/t5-base": ("t5", {**T5, "d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    "facebook/bart-base": (
        "bart", {"vocab_size": 50265, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6,
                 "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072,
                 "decoder_ffn_dim": 3072, "max_position_embeddings": 1024, "activation_function": "gelu",
                 "forced_eos_token_id": None, "forced_bos_token_id": None, "bos_token_id": 0, "pad_token_id": 1,
                 "eos_token_id": 2, "decoder_start_token_id": 2}),
}  # fmt: skip
SLOPES = {"t5": 1.5, "bart": 0.6}  # ours: of the EOS logit by position; T5's hidden states tell the position less well
BIASES = (-40.0, 40.0)  # ours: range of the bisection
TEXTS, SCALED_TEXTS = 128, 16  # ours: texts whose samples fit the length, and the entropy
FITTED_EACH, BISECTED_EACH = 16, 4  # ours: samples of each


def write_model(folder: Path, checkpoint: str, texts: Sequence[str], seed: int, entropy: float) -> dict[str, Any]:
    """Write a paraphraser.

    Args:
        folder: Where it goes.
        checkpoint: Of `SIZES`.
        texts: Sentences that its tokenizer is trained on.
        seed: The seed of the weights.
        entropy: The mean entropy of a step in nats (`opus_size.mean_entropy`).

    Returns:
        Its size, the mean number of tokens of a text, and of an output, with its standard deviation.
    """
    kind, sizes = SIZES[checkpoint]
    tokenizer = (t5_tokenizer if kind == "t5" else bart_tokenizer)(texts, sizes["vocab_size"])
    sources = tokenizer(list(texts[:TEXTS]))["input_ids"]
    mean = float(np.mean([len(ids) for ids in sources]))
    model = family_model(kind, sizes, sources[:SCALED_TEXTS], seed, entropy)
    tokens = fit_length(model, sources, mean, SLOPES[kind])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {
        "sizes_of": checkpoint,
        "parameters": model.num_parameters(),
        "tokens_of_a_text": round(mean, 2),
        "tokens_of_an_output": [round(float(value), 2) for value in (np.mean(tokens), np.std(tokens))],
    }


def t5_tokenizer(texts: Sequence[str], size: int) -> PreTrainedTokenizerBase:
    """A unigram tokenizer in T5's class."""
    raw = Tokenizer(models.Unigram())
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<pad>", "</s>", "<unk>"]
    raw.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=size,
            special_tokens=specials,
            unk_token="<unk>",
            show_progress=False,
        ),
    )
    pieces = [(piece, score) for piece, score in json.loads(raw.to_str())["model"]["vocab"] if piece not in specials]
    return T5Tokenizer(vocab=[("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -2.0), *pieces], extra_ids=0)


def bart_tokenizer(texts: Sequence[str], size: int) -> PreTrainedTokenizerBase:
    """A byte-level BPE tokenizer with BART's special tokens."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    raw.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    tokens: dict[str, Any] = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=raw, model_input_names=["input_ids", "attention_mask"], **tokens)


@torch.inference_mode()
def fit_length(model: PreTrainedModel, sources: list[list[int]], mean: float, slope: float) -> list[int]:
    """Change the output row of EOS such that samples have `mean` tokens on average; return how many each has."""
    states, positions = opus_size.hidden_states(model, sources, FITTED_EACH, round(FITTED_STEPS * mean))
    gram = states.T @ states + RIDGE * torch.eye(states.shape[1], dtype=states.dtype)
    targets = torch.stack([slope * (positions - positions.mean()), torch.ones_like(positions)], 1)
    growing, constant = (torch.linalg.solve(gram, states.T @ targets) / SharedEngine(model).scale).float().T
    row = model.get_output_embeddings().weight[model.config.eos_token_id]
    lengths: list[int] = []

    def too_long(bias: float) -> bool:
        torch.add(growing, constant, alpha=bias, out=row)
        lengths[:] = opus_size.lengths_of(model, sources, BISECTED_EACH, round(2 * FITTED_STEPS * mean))
        return bool(np.mean(lengths) > mean)

    opus_size.bisect(*BIASES, too_long)
    return lengths


def convert(source: Path, folder: Path) -> None:
    """Write a paraphraser of Marian, T5 or BART in CTranslate2's format; the name of a token is its id."""
    from ctranslate2.converters.transformers import BartLoader, T5Loader

    model: Any = AutoModelForSeq2SeqLM.from_pretrained(source, dtype=torch.float32).eval()
    if model.config.model_type == "marian":
        opus_size.convert(model, folder)
        return
    model.config.normalize_before = False  # CTranslate2's converter asks for it; transformers 5 has dropped it
    with torch.no_grad():
        spec = (T5Loader() if model.config.model_type == "t5" else BartLoader()).get_model_spec(model)
    opus_size.save_converted(spec, model.config, folder)
