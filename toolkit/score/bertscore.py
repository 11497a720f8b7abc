"""BERTScore F1 over any encoder of `transformers` (Zhang et al. 2020), without IDF weights and without rescaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import normalize
from transformers import AutoModel, AutoTokenizer

from toolkit.models.checkpoint import reading_model
from toolkit.models.precision import check_device
from toolkit.starters import resolve, shown_name

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def bertscore_signature(name: str, layer: int) -> str:
    """The settings of a BERTScore."""
    return f"BERTScore|encoder:{shown_name(name)}|layer:{layer}|idf:no|rescaled:no|v:1.0.0"


def load_bertscore(
    name: str, layer: int = -1, device: torch.device | str | None = None
) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """The BERTScore of pairs of texts by an encoder.

    Args:
        name: A Hub id or a folder.
        layer: Which hidden states, as an index; 0 are the embeddings.
        device: Device on which it computes; None is a GPU where there is one (`default_device`).

    Raises:
        ValueError: There is no such encoder, or no such layer.
    """
    path = resolve(name)
    with reading_model(name, "an encoder of transformers", ""):
        model, tokenizer = AutoModel.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
        model = model.get_encoder() if model.config.is_encoder_decoder else model
    states = model.config.num_hidden_layers + 1
    if not -states <= layer < states:
        raise ValueError(f"wanted a layer of the {states} of {name}, got {layer}; 0 are the embeddings, -1 the last")

    model.to(check_device(device))

    def scores(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return bertscore(
            [reference for reference, _ in pairs], [candidate for _, candidate in pairs], model, tokenizer, layer
        )

    return scores


@torch.inference_mode()
def bertscore(
    references: Sequence[str],
    candidates: Sequence[str],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    layer: int = -1,
    batch_size: int = 64,
) -> list[float]:
    """BERTScore F1 of each candidate with its reference.

    Every token is compared by cosine with the most similar token of the other text; precision is the mean over the
    candidate's tokens, recall that over the reference's. Special tokens (CLS and SEP) match nothing, as in the authors'
    program, but others may match them.

    Args:
        references: Texts.
        candidates: As many texts.
        model: An encoder, or a model with one; its hidden states are the vectors.
        tokenizer: The encoder's.
        layer: Which hidden states, as an index; 0 are the embeddings.
        batch_size: Pairs at a time.

    Returns:
        A number for each pair, in [-1, 1].

    Source: Zhang et al. 2020, "BERTScore: Evaluating Text Generation with BERT", section 3.
    """
    order = sorted(range(len(references)), key=lambda i: len(references[i]) + len(candidates[i]))
    scores = [0.0] * len(order)
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        reference_vectors, reference_weights = _vectors([references[i] for i in batch], model, tokenizer, layer)
        candidate_vectors, candidate_weights = _vectors([candidates[i] for i in batch], model, tokenizer, layer)
        cosine = torch.einsum("nid,njd->nij", reference_vectors, candidate_vectors)
        recall = (cosine.amax(2) * reference_weights).sum(1)
        precision = (cosine.amax(1) * candidate_weights).sum(1)
        f1 = torch.nan_to_num(2 * precision * recall / (precision + recall))
        for i, score in zip(batch, f1.tolist(), strict=True):
            scores[i] = score
    return scores


def _vectors(
    texts: Sequence[str], model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, layer: int
) -> tuple[Tensor, Tensor]:
    """The vectors of each text's tokens, of length 1, and 0 for padding; and the weight of each token.

    Args:
        texts: Texts.
        model: An encoder.
        tokenizer: Its tokenizer.
        layer: Which hidden states.

    Returns:
        (texts, tokens, width); (texts, tokens), which sum to 1 for each text with a token.
    """
    options = {"padding": True, "truncation": True, "return_special_tokens_mask": True, "return_tensors": "pt"}
    encoding = tokenizer(list(texts), **options).to(model.device)
    inner = 1 - encoding.pop("special_tokens_mask").float()
    hidden = model(**encoding, output_hidden_states=True).hidden_states[layer].float()
    mask = encoding["attention_mask"].float()
    inner *= mask
    return normalize(hidden, dim=-1) * mask[:, :, None], inner / inner.sum(1, keepdim=True).clamp(min=1)
