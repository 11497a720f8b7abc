"""Tiny translators of every family with random weights and the family's own tokenizer, saved as the Hub's are."""

import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path

import sentencepiece
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    GenerationConfig,
    M2M100Tokenizer,
    MBart50Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
    PegasusTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    T5Tokenizer,
)

from tests import tiny
from toolkit.bitext.subwords import train_pieces
from toolkit.translator.load import Translator, load_translator

NAMES = ("marian", "bart", "mbart", "mbart50", "m2m100", "nllb", "pegasus", "t5", "mt5")
MANY_LANGUAGES = ("mbart", "mbart50", "m2m100", "nllb")
MODEL_TYPES = {"mbart50": "mbart", "m2m100": "m2m_100", "nllb": "m2m_100"}
MORE_WORDS = 7  # the model has more than its tokenizer, as those of T5 and M2M100 have
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]


@functools.cache
def pieces() -> list[tuple[str, float]]:
    """The pieces of a SentencePiece model of the demo bitext, without its specials."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(spm()))
    return [(processor.id_to_piece(i), processor.get_score(i)) for i in range(3, processor.get_piece_size())]


@functools.cache
def spm() -> Path:
    """A SentencePiece model of the demo bitext."""
    folder = Path(tempfile.mkdtemp(prefix="tiny-families-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    train_pieces([t for pair in tiny.pairs(320) for t in pair], folder / "pieces.spm", vocabulary=200, coverage=1.0)
    return folder / "pieces.spm"


def bpe(byte_level: bool) -> Tokenizer:
    """A BPE tokenizer of the demo bitext, on bytes or on characters."""
    tokenizer = Tokenizer(models.BPE(unk_token=None if byte_level else "<unk>"))
    tokenizer.pre_tokenizer = (
        pre_tokenizers.ByteLevel(add_prefix_space=False) if byte_level else pre_tokenizers.Metaspace()
    )
    tokenizer.decoder = decoders.ByteLevel() if byte_level else decoders.Metaspace()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([t for pair in tiny.pairs(320) for t in pair], trainer)
    return tokenizer


def tokenizer_of(name: str, folder: Path) -> PreTrainedTokenizerBase:
    """A tokenizer of the family's own class."""
    fairseq = [(special, 0.0) for special in SPECIALS] + pieces()
    if name == "mbart":
        return MBartTokenizer(vocab=fairseq)
    if name == "mbart50":
        return MBart50Tokenizer(vocab=[("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *pieces()])
    if name == "m2m100":
        vocabulary = {piece: i for i, (piece, _) in enumerate(fairseq)}
        (folder / "vocabulary.json").write_text(json.dumps(vocabulary))
        return M2M100Tokenizer(str(folder / "vocabulary.json"), str(spm()))
    if name == "nllb":
        bpe_model = json.loads(bpe(byte_level=False).to_str())["model"]
        return NllbTokenizer(vocab=bpe_model["vocab"], merges=[tuple(merge) for merge in bpe_model["merges"]])
    if name == "bart":
        raw = bpe(byte_level=True)
        raw.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
        )
        special_tokens = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
        return PreTrainedTokenizerFast(tokenizer_object=raw, **special_tokens)
    if name == "pegasus":
        return PegasusTokenizer(vocab=[("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *pieces()], offset=0)
    return T5Tokenizer(vocab=[("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -2.0), *pieces()], extra_ids=4)


def model_of(name: str, words: int, ids: dict[str, int]) -> torch.nn.Module:
    """Random weights, large enough that outputs differ, and an EOS that is likely enough."""
    torch.manual_seed(11)
    kind = MODEL_TYPES.get(name, name)
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    sizes = {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "encoder_layers": 1, "decoder_layers": 2}
    if kind in ("t5", "mt5"):
        heads, sizes = (
            {"num_heads": 2, "d_kv": 8},
            {"d_ff": 32, "num_layers": 2, "initializer_factor": 2.0 if kind == "t5" else 0.5},
        )
        sizes["tie_word_embeddings"] = kind == "t5"
    else:
        sizes |= {"max_position_embeddings": 128, "init_std": 0.4}
    config = AutoConfig.for_model(kind, vocab_size=words, d_model=16, **heads, **sizes, **ids)
    model = AutoModelForSeq2SeqLM.from_config(config).eval()
    model.generation_config = GenerationConfig.from_model_config(model.config)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias += torch.randn(words)  # a scorer that leaves it out is found out
        model.final_logits_bias[0, ids["eos_token_id"]] = 4.0
    return model


@functools.cache
def checkpoint(name: str) -> Path:
    """The folder of a translator, made once per process: generation_config.json forces a language that nobody wants."""
    if name == "marian":
        return tiny.folder() / "en-de"
    folder = Path(tempfile.mkdtemp(prefix=f"tiny-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    tokenizer = tokenizer_of(name, folder)
    start = tokenizer.pad_token_id if name in ("pegasus", "t5", "mt5") else tokenizer.eos_token_id
    ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    ids |= {"decoder_start_token_id": start, "forced_eos_token_id": None, "bos_token_id": 0}
    words = len(tokenizer) + MORE_WORDS
    if name == "m2m100":
        words += len(tokenizer.lang_code_to_id)
    model = model_of(name, words, ids)
    if name == "m2m100":
        model.generation_config.forced_bos_token_id = tokenizer.lang_code_to_id["fr"]
    if name == "bart":
        model.generation_config.forced_bos_token_id = 0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@functools.cache
def translator(name: str, source_lang: str, lang: str) -> Translator:
    """A translator of the family between two languages, in fp32."""
    return load_translator(str(checkpoint(name)), "float32", "cpu", source_lang, lang)


def plain_model(family_translator: Translator) -> PreTrainedModel:
    """The model of a translator of the family as transformers loads it, which writes the same language, in fp32."""
    model = AutoModelForSeq2SeqLM.from_pretrained(family_translator.name).eval()
    model.generation_config = family_translator.model.generation_config
    return model
