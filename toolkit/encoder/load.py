"""Load any sentence encoder: of this toolkit, from the Hub, or a starter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkit.errors import named_line
from toolkit.models.checkpoint import NOT_A_CHECKPOINT
from toolkit.starters import resolve

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer


def load_encoder(name: str, device: torch.device | str = "cpu") -> SentenceTransformer:
    """Load a sentence encoder, in float32.

    Args:
        name: "starter/encoder", a Hub id ("sentence-transformers/all-MiniLM-L6-v2") or a local folder.
        device: Where it computes.

    Raises:
        ValueError: The name is neither; a tensor is missing, or holds NaN; or the model was not saved as a sentence
            encoder: the library would put a pooling of its own on any other, on weights that may be random.
    """
    from sentence_transformers import SentenceTransformer  # takes seconds, and most builders need none
    from sentence_transformers.util import is_sentence_transformer_model
    from transformers.utils import logging

    import toolkit.encoder.modules  # noqa: F401 - so that the library knows our module
    from toolkit.models.weights import check_tensors, loading, without_poolers

    logging.disable_progress_bar()
    path = resolve(name)
    try:
        if not is_sentence_transformer_model(path):
            raise TypeError("it has no modules.json")
        with loading() as missing:
            encoder = SentenceTransformer(path, device=str(device))
    except NOT_A_CHECKPOINT as error:
        raise ValueError(
            f"wanted a sentence encoder, got {name!r}, which is neither a folder that SentenceTransformer.save made "
            f"nor a Hub id that can be reached ({named_line(error)})"
        ) from error
    check_tensors(without_poolers(missing), encoder.state_dict(), name)
    return encoder.float().eval()
