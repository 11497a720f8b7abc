"""Duplicate pairs of a bitext, found by hashes of their text."""

from __future__ import annotations

import hashlib

from toolkit.bitext.read import Pair


def seen_before(pair: Pair, hashes: set[int]) -> bool:
    """Whether the hash of a pair's text is in the set of hashes; it is added if it is not."""
    text = f"{pair.source}\n{pair.reference}"  # normalised text has no line feed
    key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    if key in hashes:
        return True
    hashes.add(key)
    return False
