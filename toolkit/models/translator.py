"""A translator, loaded: one call for a Hub id, a local path and `starter/...`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, MarianTokenizer, PreTrainedModel
from transformers.utils import logging

from toolkit.bitext.subwords import HubPieces, Pieces, pieces_of
from toolkit.models.checkpoint import NOT_A_CHECKPOINT, said
from toolkit.models.int8 import quantize_decoder
from toolkit.models.precision import has_bfloat16
from toolkit.models.settings import DTYPES
from toolkit.models.starter import resolve, shown_name


@dataclass(frozen=True)
class Translator:
    """A seq2seq model with its subwords.

    Attributes:
        name: As the user gave it.
        model: In eval mode, in the dtype it computes in.
        source: Pieces of the side that it reads.
        target: Pieces of the side that it writes.
        signature: Name, parameters and dtype in one short string, for provenance.
    """

    name: str
    model: PreTrainedModel
    source: Pieces
    target: Pieces
    signature: str


def load_translator(name: str, dtype: str = "auto", device: torch.device | str = "cpu") -> Translator:
    """Load a translator, or any other seq2seq model: one that rewrites its own language reads and writes the same side.

    Args:
        name: A Hub id ("Helsinki-NLP/opus-mt-de-en"), a local path or "starter/de-en".
        dtype: "bfloat16", "float32", "auto" (bfloat16 where the processor has it), or "int8" for a decoder that is to
            be sampled from on a CPU (`int8.py`).
        device: Where it computes.

    Raises:
        ValueError: The name is none of these, the model is not seq2seq, or the dtype is another.
    """
    if dtype not in DTYPES:
        raise ValueError(f"wanted dtype {', '.join(DTYPES)}, got {dtype!r}")
    wide = dtype == "float32" or (dtype != "bfloat16" and not has_bfloat16())
    number = torch.float32 if wide else torch.bfloat16
    path = resolve(name)
    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(path)
        if not config.is_encoder_decoder:
            raise TypeError(f"it is a {config.model_type} model, which has no encoder and decoder")
        model = AutoModelForSeq2SeqLM.from_pretrained(path, dtype=number).eval().to(device)
        tokenizer = (MarianTokenizer if config.model_type == "marian" else AutoTokenizer).from_pretrained(path)
    except NOT_A_CHECKPOINT as error:
        raise ValueError(
            f"wanted a translator, got {name!r}, which is neither a starter/NAME, a folder with a whole model, nor a "
            f"Hub id that can be reached ({said(error)})"
        ) from error
    source, target = pieces_of(tokenizer) if isinstance(tokenizer, MarianTokenizer) else (HubPieces(tokenizer),) * 2
    size = sum(p.numel() for p in model.parameters()) / 1e6
    if dtype == "int8":
        quantize_decoder(model)
    kind = dtype if dtype == "int8" else str(number).removeprefix("torch.")
    return Translator(name, model, source, target, f"{shown_name(name)}|{size:.1f}M|{kind}")


def described(name: str) -> dict:
    """What is known of a translator from the files beside it: name, languages, BLEU with its signature, licence.

    Raises:
        ValueError: `starter/...` that does not exist.
    """
    path = Path(resolve(name)) / "measured.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    return {
        "name": shown_name(name),
        **{key: known.get(key) for key in ("source_lang", "lang", "bleu", "signature", "license")},
    }
