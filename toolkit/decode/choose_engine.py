"""Which engine drives which model."""

from __future__ import annotations

from transformers import PreTrainedModel

from toolkit.decode._expanded import ExpandedEngine
from toolkit.decode.engine import Engine
from toolkit.decode.recurrent import RecurrentEngine
from toolkit.decode.shared import FAMILIES, SharedEngine
from toolkit.models.ssru import SsruModel


def engine_of(model: PreTrainedModel) -> Engine:
    """The engine that drives a model.

    `SharedEngine` for its `FAMILIES`, `RecurrentEngine` for an SSRU decoder, `ExpandedEngine` for all others.

    Raises:
        ValueError: The model is no encoder-decoder model.
    """
    if isinstance(model, SsruModel):
        return RecurrentEngine(model)
    return SharedEngine(model) if model.config.model_type in FAMILIES else ExpandedEngine(model)
