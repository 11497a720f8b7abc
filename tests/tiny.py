"""Two translators with random weights, small enough for every test: 170 pieces, width 32, 2+2 layers."""

import atexit
import functools
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

from tests import warm
from toolkit.bitext.subwords import EOS, PAD, marian_tokenizer, train_pieces
from toolkit.translator.load import Translator, load_translator

torch.set_num_threads(1)  # two threads on busy cores wait for each other at every one of these small products
ROOT = Path(__file__).parents[1]
DEMO = ROOT / "toolkit" / "demo" / "bitext.de-en.tsv"
EOS_BIAS = 5.5  # with the seeds below, sampled and greedy rows end after 1 to 40 tokens
BRIEF = 6.5  # likewise after 1 to 15, which is enough for tests of whole runs
# What a launcher starts inherits this: no network, one thread, CPU.
ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
PYTHON = warm.python(ENVIRONMENT)  # an interpreter for what a test launches


def word_encoder(vectors: dict[str, list[float]]) -> SentenceTransformer:
    """An encoder that averages given vectors of words."""
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(vectors)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.array(list(vectors.values()), np.float32)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu")


def pairs(count: int) -> list[tuple[str, str]]:
    """The first pairs of the demo bitext."""
    lines = DEMO.read_text(encoding="utf-8").splitlines()[:count]
    return [(line.split("\t")[0], line.split("\t")[1]) for line in lines]


def model(vocabulary: int, seed: int, eos_bias: float = EOS_BIAS) -> MarianMTModel:
    """Random weights, large enough that outputs differ."""
    torch.manual_seed(seed)
    network = MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary,
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            max_position_embeddings=128,
            init_std=0.4,
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            forced_eos_token_id=None,
            decoder_start_token_id=PAD,
        )
    )
    network.final_logits_bias[0, EOS] = eos_bias
    network.generation_config = GenerationConfig.from_model_config(network.config)
    return network.eval()


@functools.cache
def folder(eos_bias: float = EOS_BIAS) -> Path:
    """A folder with the translators `de-en` and `en-de`, made once per process."""
    path = Path(tempfile.mkdtemp(prefix="tiny-translators-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    sentences = [text for pair in pairs(320) for text in pair] + ["- \" ' ( ) : ! ?"]
    train_pieces(sentences, path / "joint.spm", vocabulary=200, coverage=1.0)
    for seed, name in ((17, "de-en"), (3, "en-de")):
        tokenizer = marian_tokenizer(path / "joint.spm", path / "joint.spm", path / name)
        model(len(tokenizer), seed, eos_bias).save_pretrained(path / name)
    return path


@functools.cache
def translator(name: str) -> Translator:
    """`de-en` or `en-de`, in fp32. Its model is shared: leave it as it is."""
    return load_translator(str(folder() / name), "float32", "cpu")


@functools.cache
def wide_translator(name: str) -> Translator:
    """The same in float64, where two ways to compute it choose the same tokens.

    In float32 the scores of a batch and of a sentence alone, or of two processors, differ in the fifth or sixth digit,
    and tokens and hypotheses that lie nearer to each other change places.
    """
    return replace(translator(name), model=plain_model(name).double())


def model_of_targets(folder_of_model: Path, codes: list[str], added: list[str] | None = None) -> Path:
    """A copy of `de-en` with the tokens of target languages in its vocabulary, and tokens added to its tokenizer."""
    shutil.copytree(folder() / "de-en", folder_of_model)
    file = folder_of_model / "vocab.json"
    vocabulary = json.loads(file.read_text())
    size = len(vocabulary)
    file.write_text(json.dumps(vocabulary | {f">>{code}<<": size + n for n, code in enumerate(codes)}))
    tokenizer = MarianTokenizer.from_pretrained(folder_of_model)
    tokenizer.add_tokens(added or [])
    tokenizer.save_pretrained(folder_of_model)
    resized = MarianMTModel.from_pretrained(folder_of_model)
    resized.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    resized.save_pretrained(folder_of_model)
    return folder_of_model


def plain_model(name: str) -> MarianMTModel:
    """The model of a translator as transformers loads it, in float32."""
    return MarianMTModel.from_pretrained(folder() / name).eval()


def killing_at(name: str) -> str:
    """Code for a process: it is killed when a file is about to get this name, as by `kill -9`, its content written."""
    return f"""
import os, signal
rename = os.replace
def replace(source, target):
    if str(target).endswith({name!r}):
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)
os.replace = replace
"""
