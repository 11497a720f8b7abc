"""The card of a trained paraphraser, and what its folder states."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from toolkit.package.templates import TEMPLATES
from toolkit.score.guards import LANGUAGES
from toolkit.starters import shown_name
from toolkit.version import VERSION

TEMPLATE = TEMPLATES / "paraphraser.md"


def paraphraser_card(training: dict[str, Any], model_type: str, figures: dict[str, Any] | None = None) -> str:
    """The card of a paraphraser.

    Args:
        training: Record of its training.
        model_type: Of its configuration, such as "t5".
        figures: What was measured when it was packaged: `table`, `inputs`, `signature`, `text`, `license`,
            `megabytes`; None of a model that was only trained.
    """
    settings = training["settings"]
    licence = figures["license"] if figures else settings["license"]
    data = ModelCardData(
        language=settings["lang"],
        license=licence,
        base_model=settings["base_model"] if _on_hub(settings["base_model"]) else None,
        library_name="transformers",
        tags=["paraphrase", "parabank-toolkit"],
    )
    content = {
        "lang": settings["lang"],
        "license": licence,
        "parameters": training["parameters"],
        "base": shown_name(settings["base_model"]) if settings["base_model"] else None,
        "guarded": settings["lang"] in LANGUAGES,
    }
    return str(
        ModelCard.from_template(
            data, str(TEMPLATE), **content, training=training, model_type=model_type, measured=figures
        )
    )


def stated(settings: Mapping[str, Any], marked: float | None = None) -> dict[str, Any]:
    """What `Paraphraser` asks a model's folder.

    Args:
        settings: Of its training; they have its language, and the most pieces of a text that it was trained on.
        marked: The share of those texts that end with a mark, in [0, 1], if it was counted.
    """
    lang = settings["lang"]
    record = {
        "toolkit": VERSION,
        "source_lang": lang,
        "lang": lang,
        "max_tokens": settings["max_tokens"],
    }
    return record if marked is None else record | {"marked": marked}


def _on_hub(base_model: str | None) -> bool:
    """Whether a model has a Hub id, rather than being a starter or a folder.

    >>> _on_hub("google-t5/t5-base"), _on_hub("starter/de-en"), _on_hub("/models/t5"), _on_hub(None)
    (True, False, False, False)
    """
    name = base_model or ""
    return name.count("/") == 1 and not name.startswith(("starter/", "/", "./", "../")) and not Path(name).is_dir()
