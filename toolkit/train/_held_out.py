"""How well an encoder finds the paraphrases of references that it was not trained on, beside another encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.encoder.load import load_encoder
from toolkit.models.coverage import covers
from toolkit.package import read as package
from toolkit.run.workspace import Outcome
from toolkit.system.outputs import MANIFEST
from toolkit.system.whole_files import read_record

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MOST = 2000  # ours: references; their cosines are one product of matrices
STARTER = "starter/encoder"
MEASURE = "paraphrases nearest to their own reference, in percent"


def held_out_pairs(sources: Sequence[str]) -> list[tuple[str, str]]:
    """The references of the parabanks' validation splits, each with its best paraphrase; files have no such split.

    Args:
        sources: See `toolkit.train.encoder_pairs.read_pairs`.
    """
    best_paraphrases: dict[str, str] = {}
    for source in sources:
        if package.is_plain(source):
            continue
        for table in package.read_pairs(source, "validation"):
            for text, paraphrase in zip(table["sentence1"].to_pylist(), table["sentence2"].to_pylist(), strict=True):
                if text != paraphrase and (text in best_paraphrases or len(best_paraphrases) < MOST):
                    best_paraphrases.setdefault(text, paraphrase)
    return list(best_paraphrases.items())


def share_found(encoder: SentenceTransformer, pairs: Sequence[tuple[str, str]]) -> float:
    """The percentage of references whose paraphrase has a greater cosine than those of all other references.

    Args:
        encoder: A sentence encoder.
        pairs: References, each with a paraphrase, at least one.
    """
    texts, paraphrases = (
        encoder.encode(list(side), batch_size=256, show_progress_bar=False, normalize_embeddings=True)
        for side in zip(*pairs, strict=True)
    )
    cosines = np.asarray(texts, np.float32) @ np.asarray(paraphrases, np.float32).T
    paraphrase_cosines = cosines.diagonal().copy()
    np.fill_diagonal(cosines, -np.inf)
    return 100 * float(np.mean(paraphrase_cosines > cosines.max(1, initial=-np.inf)))


def outcome_beside(
    encoder: SentenceTransformer, other_encoders: Mapping[str, SentenceTransformer], sources: Sequence[str]
) -> Outcome:
    """What an encoder finds of the held-out pairs, and what others find.

    Args:
        encoder: The one that was trained.
        other_encoders: Others by name.
        sources: What it was trained on.
    """
    pairs = held_out_pairs(sources)
    if len(pairs) < 2:
        return Outcome(MEASURE, 0, "pairs", None, {})
    figures = {name: share_found(other_encoder, pairs) for name, other_encoder in other_encoders.items()}
    return Outcome(MEASURE, len(pairs), "pairs", share_found(encoder, pairs), figures)


def starter_for(sources: Sequence[str]) -> dict[str, SentenceTransformer]:
    """The starter encoder by its name, where all parabanks state its language; else nothing."""
    manifests = [Path(source, MANIFEST) for source in sources]
    languages = [read_record(file).get("settings", {}).get("lang") if file.is_file() else None for file in manifests]
    return {STARTER: load_encoder(STARTER)} if all(lang and covers(STARTER, lang) for lang in languages) else {}
