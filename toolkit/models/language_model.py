"""Load a causal language model, and the log-probability of texts by it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jinja2.exceptions import TemplateError
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from toolkit.chat.requests import Message
from toolkit.models._gguf import checkpoint_path, gguf_file
from toolkit.models.checkpoint import ADAPTER, reading_model
from toolkit.models.precision import check_device, in_bfloat16
from toolkit.models.weights import _check_tensors, check_whole, loading
from toolkit.starters import model_name, resolve, shown_name
from toolkit.system.extras import require

BREAK = "\n"  # ours: between a text and its paraphrase
LOGITS = 1 << 26  # ours: numbers of one batch over the vocabulary, 256 MB


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model.

    Attributes:
        name: The name by which it was loaded.
        model: The model in eval mode.
        tokenizer: Its tokenizer.
        signature: Name, parameters and dtype in one short string, for provenance.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    signature: str


def is_causal(name: str) -> bool:
    """Whether a name is that of a causal language model, or of an adapter of one, by its configuration."""
    path = Path(resolve(model_name(name)))
    if gguf_file(path) is not None:
        return True
    if (path / ADAPTER).is_file():
        return '"CAUSAL_LM"' in (path / ADAPTER).read_text(encoding="utf-8")
    try:
        kinds = AutoConfig.from_pretrained(str(path)).architectures or []
    except (OSError, ValueError):  # whoever loads it says what it lacks
        return False
    return any(kind.endswith("ForCausalLM") for kind in kinds)


def load_language_model(name: str, dtype: str = "auto", device: torch.device | str | None = None) -> LanguageModel:
    """Load a causal language model.

    Args:
        name: A Hub id ("openai-community/gpt2"), a local path, also that of weights in GGUF, "starter/smollm2", or a
            local folder with an adapter (LoRA, by PEFT) of a model with such a name, whose weights it is added to.
        dtype: "bfloat16", "float32" or "auto" (bfloat16 where the device has it); "int8" is "auto".
        device: Device on which it computes; None is a GPU where there is one (`default_device`).

    Raises:
        ValueError: The name is none of these, the model is not causal, a tensor is missing or not finite, or the
            package of a starter or of GGUF is missing.
    """
    name, device = model_name(name), check_device(device)
    adapter = Path(resolve(name))
    if (adapter / ADAPTER).is_file():
        return _load_adapted(name, adapter, dtype, device)
    path, number = checkpoint_path(name), _number(dtype, device)
    loaded: Any
    logging.disable_progress_bar()
    actual = "which is neither a folder with a whole model nor a Hub id that can be reached"
    with reading_model(name, "a causal language model", actual), loading():
        config = AutoConfig.from_pretrained(path)
        if config.is_encoder_decoder:
            raise TypeError(f"it is a {config.model_type} model, which has an encoder")
        loaded = AutoModelForCausalLM.from_pretrained(
            path, dtype=number, output_loading_info=True, ignore_mismatched_sizes=True
        )
        tokenizer = AutoTokenizer.from_pretrained(path)
    model, info = loaded
    check_whole(model, info, name)
    model.eval().to(device)
    return LanguageModel(name, model, tokenizer, _signature(name, model))


def positions_of(network: PreTrainedModel) -> int:
    """How many tokens of input and output together a model has positions for; very many if it sets no limit."""
    return getattr(network.config.get_text_config(), "max_position_embeddings", None) or 1 << 30


def chat_ids(messages: Sequence[Message], tokenizer: Any) -> list[int]:
    """A chat as the model reads it: in its template, or the texts one after another where it has none."""
    if getattr(tokenizer, "chat_template", None):
        chat = [message._asdict() for message in messages]
        options = {"add_generation_prompt": True, "tokenize": False}
        try:
            text = tokenizer.apply_chat_template(chat, **options)
        except TemplateError:  # some templates have no place for rules
            rules, first, *others = chat
            first["content"] = f"{rules['content']}\n\n{first['content']}"
            text = tokenizer.apply_chat_template([first, *others], **options)
        return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return tokenizer("\n\n".join(message.content for message in messages), verbose=False)["input_ids"]


def _number(dtype: str, device: torch.device | str) -> torch.dtype:
    """The numbers that `dtype` names; see `load_language_model`."""
    return torch.bfloat16 if in_bfloat16("auto" if dtype == "int8" else dtype, device) else torch.float32


def _signature(name: str, model: PreTrainedModel) -> str:
    """Name, parameters and dtype."""
    size = sum(p.numel() for p in model.parameters()) / 1e6
    return f"{shown_name(name)}|{size:.1f}M|{str(model.dtype).removeprefix('torch.')}"


def _load_adapted(name: str, folder: Path, dtype: str, device: torch.device | str) -> LanguageModel:
    """The model that an adapter belongs to, in float32 until the adapter is added to its weights.

    Args:
        name: Of the adapter.
        folder: Where it is.
        dtype: See `load_language_model`.
        device: Likewise.
    """
    peft = require("peft")
    actual = "which is no adapter of a causal language model"
    with reading_model(name, "an adapter", actual):
        config = peft.PeftConfig.from_pretrained(str(folder))
        weights = peft.load_peft_weights(str(folder), device="cpu")
    base = load_language_model(config.base_model_name_or_path, "float32", device)
    config.base_model_name_or_path = base.model.name_or_path  # where it was unpacked; PEFT warns of another name
    with reading_model(name, "an adapter", actual), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PEFT asks transformers for a name that becomes another one
        model: Any = peft.get_peft_model(base.model, config)
        state: Any = peft.set_peft_model_state_dict(model, {key: value.float() for key, value in weights.items()})
    unmatched_keys = [key for key in state.missing_keys if "lora" in key] + list(state.unexpected_keys)
    _check_tensors(unmatched_keys, weights, name)
    with reading_model(name, "an adapter that is added to weights (LoRA)", actual):
        whole = model.merge_and_unload().to(_number(dtype, device)).eval()
    return LanguageModel(name, whole, base.tokenizer, _signature(name, whole))


def beginning_of(text: str, tokenizer: Any) -> list[int]:
    """A text and a line break as the model reads them, after the token with which its tokenizer begins texts."""
    ids = tokenizer(text + BREAK, verbose=False)["input_ids"]
    return ids[:-1] if ids and ids[-1] == tokenizer.eos_token_id else ids


@torch.inference_mode()
def log_probabilities(texts: Sequence[str], model: LanguageModel, batch_tokens: int) -> list[tuple[float, int]]:
    """The log-probability of each text, and the number of tokens that it sums over.

    A text begins after the token that begins texts, or else after the one that ends them, and its end is not counted. A
    model with neither token does not count the first token of a text. A text longer than the model reads is cut.

    Args:
        texts: Texts.
        model: A language model.
        batch_tokens: Greatest size of a batch: texts times the tokens of the longest.

    Returns:
        For each text log p(text) in nats, <= 0, and its tokens; 0 and 0 if it has none.
    """
    network: Any = model.model
    tokenizer, config = model.tokenizer, network.config
    first = next(
        (token_id for token_id in (tokenizer.bos_token_id, tokenizer.eos_token_id) if token_id is not None), None
    )
    begin = [] if first is None else [first]
    max_positions = getattr(config, "max_position_embeddings", None)
    read = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"] if texts else []
    ids = [(begin + text_ids)[:max_positions] for text_ids in read]
    scores = [(0.0, 0)] * len(ids)
    most_tokens = max(1, min(batch_tokens, LOGITS // config.vocab_size))
    for batch in _batches(ids, most_tokens):
        longest = max(len(ids[i]) for i in batch)
        rows = torch.tensor([ids[i] + [0] * (longest - len(ids[i])) for i in batch], device=network.device)
        lengths = torch.tensor([len(ids[i]) for i in batch], device=rows.device)
        inside = torch.arange(longest, device=rows.device) < lengths[:, None]
        logits = network(input_ids=rows, attention_mask=inside.long(), use_cache=False).logits[:, :-1].float()
        losses = cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="none").view(len(batch), -1)
        sums = -(losses * inside[:, 1:]).double().sum(1)
        for i, total in zip(batch, sums.tolist(), strict=True):
            scores[i] = (total, len(ids[i]) - 1)
    return scores


def _batches(ids: Sequence[Sequence[int]], batch_tokens: int) -> Iterator[list[int]]:
    """Cut the texts of more than one token into batches of similar length."""
    batch: list[int] = []
    for i in sorted((i for i in range(len(ids)) if len(ids[i]) > 1), key=lambda i: len(ids[i])):
        if batch and (len(batch) + 1) * len(ids[i]) > batch_tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
