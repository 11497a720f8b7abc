"""A trained translator as something to publish: float16 weights, a measured BLEU, a card."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import ModelCard, ModelCardData
from transformers import MarianMTModel, MarianTokenizer

import cards
from toolkit.bitext.clean import CleanSettings, clean
from toolkit.bitext.read import read_bitext
from toolkit.evaluate.translation import bleu
from toolkit.models.starter import WORDS
from toolkit.models.translator import load_translator

TEMPLATE = Path(cards.__file__).parent / "translator.md"


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
) -> dict:
    """Save a translator in float16 with `measured.json` and its card, BLEU measured on what was saved.

    Args:
        model: Folder of the trained model.
        bitext: Held-out pairs.
        source_column: Column of the source in `bitext`.
        reference_column: Column of the reference.
        source_lang: Language that it reads.
        lang: Language that it writes.
        output_dir: Where it goes.
        license_name: Licence of the model, as the Hub names it.
        text: What it was trained on, with attribution.

    Returns:
        What `measured.json` says.

    Raises:
        ValueError: `model` is no translator, or the bitext cannot be used.
    """
    folder = Path(output_dir)
    refused: Counter[str] = Counter()
    keep_all = CleanSettings(deduplicate=False, drop_same_text=False, check_script=False)
    pairs = list(clean(read_bitext(bitext, source_column, reference_column), keep_all, source_lang, lang, refused))
    MarianMTModel.from_pretrained(model, dtype=torch.float16).save_pretrained(folder)
    MarianTokenizer.from_pretrained(model).save_pretrained(folder)
    shutil.copyfile(Path(model, WORDS), folder / WORDS)
    training = json.loads(Path(model, "training.json").read_text())
    for here in ("bitext", "validation", "output_dir"):  # paths of the machine that trained it
        training["settings"].pop(here, None)
    (folder / "training.json").write_text(json.dumps(training, indent=1) + "\n")
    saved = load_translator(str(folder), "float32")
    score, signature = bleu(saved, [p.source for p in pairs], [p.reference for p in pairs])
    measured = {
        "source_lang": source_lang,
        "lang": lang,
        "bleu": round(score, 2),
        "signature": signature,
        "pairs": len(pairs),
        "license": license_name,
        "text": text,
        "parameters": sum(p.numel() for p in saved.model.parameters() if p.requires_grad),
        "megabytes": round(sum(f.stat().st_size for f in folder.iterdir()) / 1e6, 1),
    }
    (folder / "measured.json").write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    data = ModelCardData(
        language=[source_lang, lang],
        license=license_name,
        pipeline_tag="translation",
        library_name="transformers",
        tags=["marian"],
    )
    content: dict[str, Any] = {**measured, "training": training}
    card = ModelCard.from_template(data, template_path=str(TEMPLATE), **content)
    (folder / "README.md").write_text(str(card))
    return measured
