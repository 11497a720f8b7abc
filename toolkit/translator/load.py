"""Load a translator from a Hub id, a local path or `starter/...`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    MarianTokenizer,
    MBartTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils import logging

from toolkit.bitext.hub_subwords import hub_pieces
from toolkit.bitext.languages import CODES
from toolkit.bitext.subwords import Pieces, pieces_of
from toolkit.decode.shared import FAMILIES
from toolkit.firefox.published import LICENSE
from toolkit.models.checkpoint import NEITHER, reading_model
from toolkit.models.positions import fast_positions
from toolkit.models.precision import check_device, in_bfloat16
from toolkit.models.weights import check_token_ids, check_whole, loading
from toolkit.run.workspace import RECORD
from toolkit.starters import model_name, resolve, shown_name
from toolkit.system.outputs import MEASURED
from toolkit.system.ranges import DTYPES
from toolkit.system.whole_files import read_record
from toolkit.translator.firefox import _load_firefox, _stated_pair, firefox_files
from toolkit.translator.inference import prepare_for_cpu, prepare_for_gpu
from toolkit.translator.languages import (
    _language_codes,
    _marian_codes,
    _marian_language_token,
    _own_code,
    _target_tag,
    _task_prefix,
    check_stated,
)


@dataclass(frozen=True)
class Translator:
    """A seq2seq model with its subwords.

    Attributes:
        name: The name by which it was loaded.
        model: The model in eval mode, in the dtype of its computations. On a CPU its layers are replaced by faster ones
            (`inference.py`): it cannot be trained, saved, or moved to another device or dtype. On a GPU its output
            layer is another one: it cannot be trained or saved.
        source: Pieces of the source side.
        target: Pieces of the target side.
        signature: Name, parameters and dtype in one short string, for provenance.
    """

    name: str
    model: PreTrainedModel
    source: Pieces
    target: Pieces
    signature: str


def load_translator(
    name: str,
    dtype: str = "auto",
    device: torch.device | str | None = None,
    source_lang: str | None = None,
    lang: str | None = None,
    scoring: bool = False,
) -> Translator:
    """Load a translator or any other seq2seq model, for instance one that rewrites texts in their own language.

    A multilingual model (mBART, M2M100, NLLB) reads the token of `source_lang` with every text, and begins its output
    with the token of `lang`, whatever its generation_config.json says. That token is forced: it counts neither to an
    output's tokens nor to its log-probability. A Marian model (OPUS-MT) of several target languages reads the token of
    `lang` (">>fra<<") before every text.

    Args:
        name: A Hub id ("Helsinki-NLP/opus-mt-de-en"), a local path or "starter/de-en".
        dtype: "bfloat16", "float32", "auto" (bfloat16 where the device has it), or "int8" for sampling on a CPU
            (`int8.py`).
        device: Device on which it computes; None is a GPU where there is one (`default_device`).
        source_lang: Language that it reads (ISO 639-1); a model that states another is refused.
        lang: Language that it writes.
        scoring: Whether much of its time is its encoder's, as when it scores known outputs; int8 holds for it, too.

    Raises:
        ValueError: The name is none of these, the model is not seq2seq, a tensor is missing or not finite, the model
            states other languages, it needs languages and got none, or the dtype is unknown or not for this model.
    """
    if dtype not in DTYPES:
        raise ValueError(f"wanted dtype {', '.join(DTYPES)}, got {dtype!r}")
    name, device = model_name(name), check_device(device)
    torch_dtype = torch.bfloat16 if in_bfloat16(dtype, device) else torch.float32
    files = firefox_files(resolve(name))
    model: PreTrainedModel
    if files is not None:
        check_stated(name, _stated_pair(files), (source_lang, lang))
        model, source, target = _load_firefox(files, torch_dtype)
    else:
        model, source, target = _load_hub_translator(name, torch_dtype, source_lang, lang)
    model.eval().to(device)
    size = sum(p.numel() for p in model.parameters()) / 1e6
    if dtype == "int8":
        _check_int8(model, name, device)
    if device.type == "cpu":
        prepare_for_cpu(model, dtype == "int8", scoring)
    elif device.type == "cuda":
        prepare_for_gpu(model)
    kind = dtype if dtype == "int8" else str(torch_dtype).removeprefix("torch.")
    return Translator(name, model, source, target, f"{shown_name(name)}|{size:.1f}M|{kind}")


def _load_hub_translator(
    name: str, torch_dtype: torch.dtype, source_lang: str | None, lang: str | None
) -> tuple[PreTrainedModel, Pieces, Pieces]:
    """A model that `transformers` loads, with the pieces of both sides; for the arguments see `load_translator`."""
    model, tokenizer = load_checkpoint(name, torch_dtype)
    check_stated(name, stated_languages(name, tokenizer), (source_lang, lang))
    if isinstance(tokenizer, MarianTokenizer):
        source, target = pieces_of(tokenizer, _marian_language_token(tokenizer, lang, name))
    else:
        set_languages(model, tokenizer, source_lang, lang, name)
        task = _target_tag(tokenizer, lang, name) or _task_prefix(model.config, source_lang, lang, name)
        vocabulary = model.config.get_text_config(decoder=True).vocab_size
        source, target = hub_pieces(tokenizer, model.generation_config.forced_bos_token_id, task, vocabulary)
    check_token_ids(model, max(source.names), max(target.names), name)
    return model, source, target


def _check_int8(model: PreTrainedModel, name: str, device: torch.device) -> None:
    """Refuse int8 on a device that is no CPU, and for a model whose code may read the weights of its layers."""
    if device.type != "cpu":
        raise ValueError(f"wanted a CPU for int8, got {device}; use dtype auto")
    if model.config.model_type not in (*FAMILIES, "ssru"):
        raise ValueError(
            f"wanted a model of one of {', '.join(FAMILIES)} for int8, got {name!r}, which is "
            f"{model.config.model_type}; use dtype auto"
        )


def load_checkpoint(name: str, torch_dtype: torch.dtype) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a seq2seq model as `transformers` has it, and its tokenizer.

    Args:
        name: A Hub id, a local path or "starter/NAME".
        torch_dtype: Of its weights.

    Raises:
        ValueError: The name is none of these, the model is not seq2seq, or a tensor is missing or not finite.
    """
    path = resolve(name)
    if firefox_files(path) is not None:
        raise ValueError(
            f"wanted a checkpoint of transformers to train or publish, got {name!r}, a translator of Firefox, which "
            "can only translate: give another"
        )
    logging.disable_progress_bar()
    alternatives = f"{NEITHER} a folder with a whole model, nor a Hub id that can be reached"
    with reading_model(name, "a translator", alternatives), loading(), fast_positions():
        config = AutoConfig.from_pretrained(path)
        if not config.is_encoder_decoder:
            raise TypeError(f"it is a {config.model_type} model, which has no encoder and decoder")
        model, info = AutoModelForSeq2SeqLM.from_pretrained(
            path, dtype=torch_dtype, output_loading_info=True, ignore_mismatched_sizes=True
        )
        tokenizer = (MarianTokenizer if config.model_type == "marian" else AutoTokenizer).from_pretrained(path)
    check_whole(model, info, name)
    return model, tokenizer


def stated_languages(name: str, tokenizer: PreTrainedTokenizerBase) -> tuple[str | None, str | None]:
    """The source and target language that a model states; None where it states none.

    They stand in its measured.json, in the record of its training, or in a Marian tokenizer.

    Raises:
        ValueError: The record is damaged.
    """
    languages = _recorded_languages(name)
    if any(languages) or not isinstance(tokenizer, MarianTokenizer):
        return languages
    return tokenizer.source_lang, None if _marian_codes(tokenizer) else tokenizer.target_lang


def _recorded_languages(name: str) -> tuple[str | None, str | None]:
    """The source and target language in a model's measured.json or in the record of its training.

    Raises:
        ValueError: The record is damaged.
    """
    record = Path(resolve(name)) / RECORD
    settings = read_record(record, "train again").get("settings") if record.is_file() else None
    for languages in (described(name), settings if isinstance(settings, dict) else {}):
        if languages.get("source_lang") or languages.get("lang"):
            return languages.get("source_lang"), languages.get("lang")
    return None, None


def languages_of(name: str) -> tuple[str | None, str | None]:
    """The source and target language that a model states before it is loaded; None where it states none, or a group.

    Beside its records that is the configuration of a Marian tokenizer, which OPUS-MT's models have.

    Args:
        name: A Hub id, a local path or "starter/NAME".

    Raises:
        ValueError: A record is damaged.
    """
    languages = _recorded_languages(name)
    if not any(languages):
        try:
            config = get_tokenizer_config(str(resolve(name)))
        except (OSError, ValueError):  # whoever loads the model says why it cannot be read
            config = {}
        languages = config.get("source_lang"), config.get("target_lang")
    source_lang, lang = (code if code in CODES else None for code in languages)  # not "mul" or "ROMANCE"
    return source_lang, lang


def set_languages(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source_lang: str | None, lang: str | None, name: str
) -> None:
    """Set the source and target language of a multilingual model, in its tokenizer and its decoder's first tokens.

    Args:
        model: Of one language or of several.
        tokenizer: Its tokenizer.
        source_lang: Language that it reads (ISO 639-1).
        lang: Language that it writes.
        name: Of the checkpoint, for errors.

    Raises:
        ValueError: The model has several languages, and one is not given or is none of them; or it is a Marian model
            of several, whose token `pieces_of` puts before a source.
    """
    if isinstance(tokenizer, MarianTokenizer) and (codes := _marian_codes(tokenizer)):
        raise ValueError(
            f"wanted a model of one target language to train, got {name!r}, which has {', '.join(sorted(codes))}: give "
            "another"
        )
    codes = _language_codes(tokenizer)
    if not codes:
        return
    if source_lang is None or lang is None:
        raise ValueError(
            f"wanted source_lang and lang for {name!r}, which has {len(codes)} languages, got {source_lang} and {lang}"
        )
    tokenizer.src_lang, tokenizer.tgt_lang = (_own_code(language, codes, name) for language in (source_lang, lang))
    first = codes[tokenizer.tgt_lang]
    if isinstance(tokenizer, MBartTokenizer):  # its decoder starts with the language; those of the others with </s>
        model.generation_config.decoder_start_token_id, model.generation_config.forced_bos_token_id = first, None
    else:
        model.generation_config.forced_bos_token_id = first


def described(name: str) -> dict:
    """What the measured.json of a model says, None where it does not.

    The name, languages, BLEU with its signature, licence and longest text of a model; of a paraphraser also the share
    of texts with a mark at their end.

    Raises:
        ValueError: `starter/...` that does not exist.
    """
    folder = Path(resolve(name))
    path = folder / MEASURED
    record = json.loads(path.read_text()) if path.exists() else {}
    if (files := firefox_files(folder)) is not None:
        source_lang, lang = _stated_pair(files)
        record = {"source_lang": source_lang, "lang": lang, "license": LICENSE}
    keys = ("source_lang", "lang", "bleu", "signature", "license", "max_tokens", "marked")
    return {"name": shown_name(name), **{key: record.get(key) for key in keys}}
