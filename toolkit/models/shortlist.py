"""The lexical shortlist of a Firefox translator: the tokens that an output may say, by the tokens of its source.

The layout of `lex.*.bin`, little-endian: u64 magic number, u64 checksum of what follows, u64 `first`, u64 most targets
of a token, u64 number of offsets, u64 number of targets; the offsets, u64; the targets, u32. The targets of token s are
targets[offsets[s]] to targets[offsets[s + 1] - 1].
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MAGIC = 0xF11A48D5013417F5
HEADER = struct.Struct("<6Q")
MULTIPLE = 8  # Marian's: a shortlist is filled up with the smallest ids to a multiple of so many


@dataclass(frozen=True)
class Shortlist:
    """The likely target tokens of each source token.

    Attributes:
        first: So many first ids of the target vocabulary are always permitted.
        offsets: (source tokens + 1,) where the targets of each source token begin.
        targets: Ids of target tokens, those of a source token in rising order.
    """

    first: int
    offsets: np.ndarray
    targets: np.ndarray

    def permitted(self, source: Iterable[int], vocabulary: int) -> np.ndarray:
        """Which target tokens the translation of a sentence may say.

        Args:
            source: Ids of the sentence, with EOS.
            vocabulary: Number of target tokens.

        Returns:
            (vocabulary,) booleans.
        """
        permitted = np.zeros(vocabulary, bool)
        permitted[: self.first] = True
        for token in set(source):
            permitted[self.targets[self.offsets[token] : self.offsets[token + 1]]] = True
        missing = -int(permitted.sum()) % MULTIPLE
        permitted[self.first + np.flatnonzero(~permitted[self.first :])[:missing]] = True
        return permitted


def read_shortlist(path: Path, sources: int, targets: int) -> Shortlist:
    """Read a shortlist.

    Args:
        path: The file.
        sources: Tokens of the source vocabulary.
        targets: Tokens of the target vocabulary.

    Raises:
        ValueError: It is no shortlist, it is cut, or it is that of other vocabularies.
    """
    if not path.is_file():
        raise ValueError(f"wanted a binary shortlist, got {path}, which is no file: give the file")
    data = path.read_bytes()
    if len(data) < HEADER.size or HEADER.unpack_from(data)[0] != MAGIC:
        raise ValueError(f"wanted a binary shortlist, got {path}, which is none: fetch it again")
    _, _, first, _, offset_count, target_count = HEADER.unpack_from(data)
    if len(data) != HEADER.size + 8 * offset_count + 4 * target_count:
        raise ValueError(f"wanted a whole shortlist, got {path}, which has {len(data):,} bytes: fetch it again")
    offsets = np.frombuffer(data, "<u8", offset_count, HEADER.size)
    ids = np.frombuffer(data, "<u4", target_count, HEADER.size + 8 * offset_count).astype(np.int64)
    if offset_count != sources + 1 or (ids >= targets).any():
        raise ValueError(
            f"wanted a shortlist of {sources:,} and {targets:,} tokens, got {path} of {offset_count - 1:,} source "
            "tokens: take the files of one model"
        )
    if offsets[0] or offsets[-1] != target_count or (offsets[:-1] > offsets[1:]).any():
        raise ValueError(f"wanted a whole shortlist, got {path}, whose offsets are damaged: fetch it again")
    return Shortlist(first, offsets.astype(np.int64), ids)
