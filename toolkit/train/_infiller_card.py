"""The card of a trained infiller."""

from __future__ import annotations

from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from toolkit.package.templates import TEMPLATES
from toolkit.starters import shown_name

TEMPLATE = TEMPLATES / "infiller.md"


def infiller_card(training: dict[str, Any]) -> str:
    """The card of an infiller, by the record of its training."""
    settings = training["settings"]
    data = ModelCardData(
        language=settings["lang"],
        license=settings["license"],
        library_name="transformers",
        tags=["infilling", "paraphrase", "parabank-toolkit"],
    )
    base = shown_name(settings["base_model"]) if settings["base_model"] else None
    content = {"lang": settings["lang"], "licence": settings["license"], "base": base, "training": training}
    return str(ModelCard.from_template(data, str(TEMPLATE), **content))
