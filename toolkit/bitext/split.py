"""The split that a reference belongs to, computed from its text alone, whatever the order of the files.

Equal references fall into one split wherever they are read, so a test set holds no reference of the training set. Near
duplicates, which differ in a word, are not found. A paraphrase may be a reference of another split: packaging leaves it
out (`toolkit.select.equal`).
"""

from __future__ import annotations

import hashlib

from toolkit.bitext.normalize import match_key


def split_of(reference: str, validation: float = 0.01, test: float = 0.01, seed: int = 0) -> str:
    """The split of a reference: the same for every spelling that differs in case, punctuation or spacing only.

    >>> split_of("Don't stop!") == split_of("don’t stop")
    True

    Args:
        reference: The reference; its letters and digits decide (`match_key`), so all texts without any share one split.
        validation: Share of distinct references in "validation", in [0, 1].
        test: Share in "test", in [0, 1]; a reference in "test" stays there when only `validation` grows.
        seed: Another seed divides the references differently.

    Returns:
        "train", "validation" or "test"; the same on every machine and in every process.

    Raises:
        ValueError: The shares are negative or exceed 1 together.
    """
    if min(validation, test) < 0 or validation + test > 1:
        raise ValueError(
            f"wanted shares of at least 0 and at most 1 together, got {validation=} and {test=}: lower them"
        )
    fraction = _position(reference, seed)
    if fraction < test:
        return "test"
    return "validation" if fraction < test + validation else "train"


def _position(reference: str, seed: int) -> float:
    """The hash of a reference as a number in [0, 1), uniformly distributed over references."""
    digest = hashlib.blake2b(f"{seed}\n{match_key(reference)}".encode(), digest_size=6)
    return int.from_bytes(digest.digest()) / 2**48
