"""Masked language models with random weights and about as many parameters as another model, for nlpaug's augmenter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
SIZES: dict[str, dict[str, int]] = {  # hidden size, layers, heads, inner size, vocabulary
    "starter": {"hidden": 256, "layers": 4, "heads": 4, "inner": 1024, "vocabulary": 7500},
    "base": {"hidden": 768, "layers": 12, "heads": 12, "inner": 3072, "vocabulary": 30522},  # bert-base
}


def write_masked(folder: Path, size: str, texts: Sequence[str], seed: int) -> dict[str, Any]:
    """Write a BERT whose word pieces are trained on some texts.

    Args:
        folder: Where it goes; nlpaug wants "bert" in its name.
        size: Of `SIZES`.
        texts: Sentences.
        seed: Of the weights.

    Returns:
        The number of its parameters.
    """
    sizes = SIZES[size]
    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer(lowercase=True)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=sizes["vocabulary"], special_tokens=list(SPECIAL.values()), show_progress=False
    )
    raw.train_from_iterator(texts, trainer)
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, raw.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, **SPECIAL)
    torch.manual_seed(seed)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=sizes["vocabulary"],
            hidden_size=sizes["hidden"],
            num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"],
            intermediate_size=sizes["inner"],
            pad_token_id=0,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {"masked_parameters": model.num_parameters()}
