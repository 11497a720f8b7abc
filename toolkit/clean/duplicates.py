"""Which pairs of a bitext have been there before."""

from __future__ import annotations

import hashlib

from toolkit.bitext.read import Pair


def seen_before(pair: Pair, seen: set[int]) -> bool:
    """Whether a pair with this text is in the set of hashes already; it is afterwards."""
    text = f"{pair.source}\n{pair.reference}"  # normalised text has no line feed
    key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    if key in seen:
        return True
    seen.add(key)
    return False
