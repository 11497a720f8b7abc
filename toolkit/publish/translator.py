"""Package a trained translator for publication: float16 weights, a measured BLEU, a card."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import ModelCard, ModelCardData
from transformers import MarianMTModel, MarianTokenizer, PreTrainedModel

from toolkit.bitext.languages import check_languages
from toolkit.bitext.read import Pair, read_bitext
from toolkit.clean.rules import CleanSettings, clean, none_usable
from toolkit.evaluate.translation import bleu
from toolkit.package.templates import TEMPLATES
from toolkit.publish._folder import made_beside, read_training
from toolkit.run.workspace import RECORD
from toolkit.starters import WORDS, shown_name
from toolkit.system.outputs import MEASURED, check_output_folder
from toolkit.system.whole_files import write_whole
from toolkit.translator.languages import check_stated
from toolkit.translator.load import Translator, load_translator
from toolkit.version import VERSION

TEMPLATE = TEMPLATES / "translator.md"
# settings that describe the machine of the training
PRIVATE = ("bitext", "validation", "synthetic", "output_dir", "processes")


def package_translator(
    model: str,
    bitext: list[str],
    source_column: str | None,
    reference_column: str | None,
    source_lang: str,
    lang: str,
    output_dir: str,
    license_name: str,
    text: str,
    check_language: bool = True,
) -> dict:
    """Save a translator in float16 with `measured.json` and its card; BLEU is measured on the saved model.

    Args:
        model: Folder of the trained model.
        bitext: Held-out pairs.
        source_column: Column of the source in `bitext`.
        reference_column: Column of the reference.
        source_lang: Language that it reads.
        lang: Language that it writes.
        output_dir: Folder of the packaged model.
        license_name: Licence of the model, as the Hub names it.
        text: The text it was trained on, with attribution.
        check_language: Whether to refuse a bitext with a side in another language than stated.

    Returns:
        The content of `measured.json`.

    Raises:
        ValueError: `model` is no translator of `toolkit.train.translator`, was trained for other languages, or the
            bitext cannot be used.
        OSError: The folder cannot be written, or holds files that the toolkit did not make.
    """
    folder, words = Path(output_dir), Path(model, WORDS)
    check_output_folder(folder, MEASURED, [model, *bitext])
    pairs = _held_out(bitext, source_column, reference_column, source_lang, lang)
    if check_language:
        check_languages(pairs, source_lang, lang)
    training = read_training(model, "parabank train translator", PRIVATE)
    trained_languages = training["settings"].get("source_lang"), training["settings"].get("lang")
    check_stated(model, trained_languages, (source_lang, lang))
    if base := training["settings"].get("base_model"):
        training["settings"]["base_model"] = shown_name(base)
    if not words.is_file():
        raise ValueError(f"wanted a folder that parabank train translator made, got {model} without {WORDS}")
    load_translator(model, "float32")
    with made_beside(folder) as temporary_folder:
        loaded_model = MarianMTModel.from_pretrained(model, dtype=torch.float16)
        loaded_model.save_pretrained(temporary_folder)
        MarianTokenizer.from_pretrained(model).save_pretrained(temporary_folder)
        shutil.copyfile(words, temporary_folder / WORDS)
        write_whole(temporary_folder / RECORD, json.dumps(training, indent=1) + "\n")
        saved_translator = load_translator(str(temporary_folder), "float32")
        measurements = {
            "toolkit": VERSION,
            "source_lang": source_lang,
            "lang": lang,
            **_bleu_figures(saved_translator, pairs, lang),
            "license": license_name,
            "text": text,
            **_size_figures(loaded_model, temporary_folder),
        }
        write_whole(temporary_folder / MEASURED, json.dumps(measurements, indent=1, ensure_ascii=False) + "\n")
        write_whole(temporary_folder / "README.md", _translator_card(measurements, training))
    return measurements


def _held_out(
    bitext: list[str], source_column: str | None, reference_column: str | None, source_lang: str, lang: str
) -> list[Pair]:
    """The pairs that BLEU is measured on.

    Raises:
        ValueError: The bitext cannot be read, or has no usable pair.
    """
    refusals: Counter[str] = Counter()
    keep_all = CleanSettings(deduplicate=False, drop_same_text=False, refuse_misread=False, min_script_share=0)
    pairs_of_bitext = read_bitext(bitext, source_column, reference_column, "train", source_lang, lang)
    pairs = list(clean(pairs_of_bitext, keep_all, source_lang, lang, refusals))
    if not pairs:
        raise ValueError(none_usable(bitext, refusals))
    return pairs


def _bleu_figures(translator: Translator, pairs: list[Pair], lang: str) -> dict[str, Any]:
    """BLEU on held-out pairs in [0, 100], its signature, and the number of pairs; `lang` is that of the references."""
    score, signature = bleu(translator, [pair.source for pair in pairs], [pair.reference for pair in pairs], lang)
    return {"bleu": round(score, 2), "signature": signature, "pairs": len(pairs)}


def _size_figures(model: PreTrainedModel, folder: Path) -> dict[str, Any]:
    """The trainable parameters of a translator, and the megabytes of the files in its folder."""
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return {"parameters": parameters, "megabytes": round(sum(f.stat().st_size for f in folder.iterdir()) / 1e6, 1)}


def _translator_card(measurements: dict[str, Any], training: dict[str, Any]) -> str:
    """The card of a packaged translator.

    Args:
        measurements: Content of its `measured.json`.
        training: Record of its training.
    """
    data = ModelCardData(
        language=[measurements["source_lang"], measurements["lang"]],
        license=measurements["license"],
        pipeline_tag="translation",
        library_name="transformers",
        tags=["marian"],
    )
    content: dict[str, Any] = {**measurements, "training": training}
    return str(ModelCard.from_template(data, template_path=str(TEMPLATE), **content))
