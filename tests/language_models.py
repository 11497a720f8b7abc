"""Causal language models with random weights and a tokenizer of letters, small enough for every test."""

from dataclasses import replace

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MptConfig,
    PretrainedConfig,
    PreTrainedTokenizerFast,
)

from toolkit.data.rows import Candidate, Row
from toolkit.models.language_model import LanguageModel, load_language_model

LETTERS = [*"\n .,'?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"]
END = "<|end|>"
SIZE = len(LETTERS) + 2
SMALL = {"vocab_size": SIZE, "hidden_size": 16, "num_hidden_layers": 2, "bos_token_id": 0, "eos_token_id": 0}
CONFIGS: dict[str, PretrainedConfig] = {
    "gpt2": GPT2Config(vocab_size=SIZE, n_positions=128, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5,
                       bos_token_id=0, eos_token_id=0),
    "llama": LlamaConfig(**SMALL, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=128, initializer_range=0.5, tie_word_embeddings=True),
    "mamba": MambaConfig(**SMALL, state_size=4, initializer_range=0.5),
    "mpt": MptConfig(vocab_size=SIZE, d_model=16, n_layers=2, n_heads=2, max_seq_len=128, initializer_range=0.5),
}  # fmt: skip


def rows_of(texts: dict[str, list[str]]) -> list[Row]:
    """A row for each reference, with its candidates."""
    return [
        Row(
            f"a-{n}", "a", None, None, text, "en", "train", candidates=[Candidate(output, "beam") for output in outputs]
        )
        for n, (text, outputs) in enumerate(texts.items())
    ]


def saved(kind: str, folder, begins: bool = True) -> str:
    """The path of a model of this kind, with a token that begins texts or with none."""
    inner = Tokenizer(models.WordLevel({piece: n for n, piece in enumerate([END, "~", *LETTERS])}, unk_token="~"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    special_tokens = {"bos_token": END, "eos_token": END} if begins else {}
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(CONFIGS[kind]).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="~", **special_tokens).save_pretrained(folder)
    return str(folder)


def wide(kind: str, folder, begins: bool = True) -> LanguageModel:
    """The same, loaded and in float64, where two ways to compute a number agree."""
    model = load_language_model(saved(kind, folder, begins), "float32")
    return replace(model, model=model.model.double())


def alone(model: LanguageModel, beginning: list[int], text: list[int]) -> tuple[float, int]:
    """The log-probability of a text after a beginning by one forward pass, and the tokens that it sums over."""
    ids, start = beginning + text, max(len(beginning), 1)
    with torch.no_grad():
        logits = model.model(torch.tensor([ids]), use_cache=False).logits[0].log_softmax(-1) if ids else None
    values = [logits[place - 1, ids[place]].item() for place in range(start, len(ids))]
    return sum(values), len(values)
