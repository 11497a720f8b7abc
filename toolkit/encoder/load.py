"""Load any sentence encoder: of this toolkit, from the Hub, or a starter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkit.starters import model_name, resolve

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer


def load_encoder(name: str, device: torch.device | str = "cpu") -> SentenceTransformer:
    """Load a sentence encoder, in float32.

    Args:
        name: "starter/encoder", a Hub id ("sentence-transformers/all-MiniLM-L6-v2") or a local folder.
        device: Device on which it computes.

    Raises:
        ValueError: The name is none of these; a tensor is missing or not finite; or the model was not saved as a
            sentence encoder. The library would add a pooling to any other model, and its weights may be random.
    """
    from sentence_transformers import SentenceTransformer  # takes seconds, and most builders need none
    from sentence_transformers.util import is_sentence_transformer_model
    from transformers.utils import logging

    import toolkit.encoder.modules  # noqa: F401 - it registers our module with the library
    from toolkit.models.precision import check_device
    from toolkit.models.weights import load_whole

    logging.disable_progress_bar()
    check_device(str(device))
    name = model_name(name)
    path = resolve(name)

    def load() -> SentenceTransformer:
        if not is_sentence_transformer_model(path):
            raise TypeError("it has no modules.json")
        return SentenceTransformer(path, device=str(device))

    alternatives = "neither a folder that SentenceTransformer.save made nor a Hub id that can be reached"
    return load_whole(load, name, "a sentence encoder", alternatives).float().eval()
