"""Load any sentence encoder: of this toolkit, from the Hub, or a starter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.starters import model_name, resolve
from toolkit.system.extras import naming_extra

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

    from toolkit.score.semantic import Embedder

EXPECTED = "a sentence encoder"
ALTERNATIVES = "neither a folder that SentenceTransformer.save made nor a Hub id that can be reached"
OURS = "toolkit.encoder.modules.ParaphrasticEncoder"  # by which a saved encoder names our module


def load_encoder(name: str, device: torch.device | str | None = None) -> SentenceTransformer:
    """Load a sentence encoder, in float32.

    Args:
        name: "starter/encoder", a Hub id ("sentence-transformers/all-MiniLM-L6-v2") or a local folder.
        device: Device on which it computes; None is a GPU where there is one (`default_device`).

    Raises:
        ModuleNotFoundError: sentence-transformers is not installed; the message names the command that installs it.
        ValueError: The name is none of these; a tensor is missing or not finite; or the model was not saved as a
            sentence encoder. The library would add a pooling to any other model, and its weights may be random.
    """
    with naming_extra():
        from sentence_transformers import SentenceTransformer  # takes seconds
        from sentence_transformers.util import is_sentence_transformer_model
    from transformers.utils import logging

    import toolkit.encoder.modules  # noqa: F401 - it registers our module with the library
    from toolkit.models.precision import check_device
    from toolkit.models.weights import load_whole

    logging.disable_progress_bar()
    name, chosen_device = model_name(name), check_device(device)
    path = resolve(name)

    def load() -> SentenceTransformer:
        if not is_sentence_transformer_model(path):
            raise TypeError("it has no modules.json")
        return SentenceTransformer(path, device=str(chosen_device))

    return load_whole(load, name, EXPECTED, ALTERNATIVES).float().eval()


def load_embedder(name: str, device: torch.device | str | None = None) -> Embedder:
    """Load a sentence encoder for its vectors alone: a folder of ours without sentence-transformers, else as above.

    Args:
        name: As for `load_encoder`.
        device: Device on which it computes; None is a GPU where there is one (`default_device`).

    Raises:
        ModuleNotFoundError: It is not ours, and sentence-transformers is not installed.
        ValueError: As `load_encoder`.
    """
    name = model_name(name)
    folder = Path(resolve(name))
    if not _is_ours(folder):
        return load_encoder(name, device)
    from toolkit.encoder.network import CONFIG, ParaphrasticNetwork
    from toolkit.models.precision import check_device
    from toolkit.models.weights import load_whole

    chosen_device = check_device(device)

    def load() -> ParaphrasticNetwork:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        return ParaphrasticNetwork.read(config, lambda file: folder / file)

    return load_whole(load, name, EXPECTED, ALTERNATIVES).to(chosen_device).eval()


def _is_ours(folder: Path) -> bool:
    """Whether a folder has our module alone, and no prompt before every text, which the library would add."""
    try:
        modules, config = (
            json.loads((folder / file).read_text(encoding="utf-8"))
            for file in ("modules.json", "config_sentence_transformers.json")
        )
        return [module["type"] for module in modules] == [OURS] and config["default_prompt_name"] is None
    except (OSError, ValueError, KeyError, TypeError):
        return False
