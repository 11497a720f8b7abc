"""The configuration of a checkpoint of any form."""

from __future__ import annotations

from typing import Any

from toolkit.models._gguf import checkpoint_path
from toolkit.models.checkpoint import NEITHER, reading_model


def read_config(name: str, expected: str) -> Any:
    """The configuration of a checkpoint, by which its kind is known before it is loaded.

    Args:
        name: A Hub id, a local path or "starter/NAME".
        expected: What the model should be, for the error: "an infiller".

    Raises:
        ValueError: There is no such checkpoint.
    """
    from transformers import AutoConfig  # here and not above: importers need it only for some models

    path = checkpoint_path(name)
    with reading_model(name, expected, f"{NEITHER} a folder with a model, nor a Hub id that can be reached"):
        return AutoConfig.from_pretrained(path)
