"""Cross-encoders with random weights and a tokenizer of letters, small enough for every test."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *" .,'?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"]


def saved_cross_encoder(folder, labels=("contradiction", "entailment", "neutral"), longest=128):
    """The path of one with these labels, which reads so many letters of a pair."""
    tokenizer = Tokenizer(models.WordLevel({piece: n for n, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest, **marks).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=longest, initializer_range=0.5, num_labels=len(labels),
        id2label=dict(enumerate(labels)), label2id={name: n for n, name in enumerate(labels)},
    )  # fmt: skip
    torch.manual_seed(0)
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)
