"""The match keys of many texts at once: what `bitext.normalize.match_key` makes of each, by a lookup."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.normalize import match_key
from toolkit.clean.characters import POINTS, all_characters, unstable
from toolkit.clean.texts import code_points, text_of, utf8_lengths

ODD = 0xFFFFFFFF  # stands for a character whose part of a key depends on its neighbours, or is longer than one
CONTEXT = "\u03a3"  # its lower case is another one at the end of a word


@cache
def _keys_of_characters() -> np.ndarray:
    """What `match_key` leaves of each code point: its lower case, 0 for nothing, or `ODD`: (POINTS,) of uint32."""
    table, may_compose = np.zeros(POINTS, np.uint32), unstable()
    for character in all_characters():
        plain = unicodedata.is_normalized("NFKC", character)
        form = character if plain else unicodedata.normalize("NFKC", character)
        if character.isalnum() or not plain or may_compose[ord(character)]:
            key = match_key(character)
            odd = len(key) > 1 or may_compose[code_points(form)].any() or character in CONTEXT
            table[ord(character)] = ODD if odd else ord(key) if key else 0
    table[:0x80] = _keys_of_bytes()[:0x80]  # control characters count as unstable, but leave nothing
    return table


@cache
def _keys_of_bytes() -> np.ndarray:
    """The same of ASCII, and nothing of other bytes: (256,) of uint8."""
    kept = [ord(chr(point).lower()) if chr(point).isalnum() else 0 for point in range(0x80)]
    return np.array(kept + [0] * 0x80, np.uint8)


def match_keys(texts: pa.StringArray | pa.LargeStringArray) -> pa.LargeStringArray:
    """The match key of each text; of a text without letters and digits the text itself.

    >>> match_keys(pa.array(["Don't stop!", "...", "ＡＢＣ １２"])).to_pylist()
    ['dontstop', '...', 'abc12']

    Args:
        texts: (N,) without nulls.

    Returns:
        (N,).
    """
    texts = pa.concat_arrays([texts]).cast(pa.large_string())
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return texts
    byte_bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    raw = np.frombuffer(data, np.uint8)[byte_bounds[0] : byte_bounds[-1]]
    byte_bounds = byte_bounds - byte_bounds[0]
    if raw.size == 0 or raw.max() < 0x80:
        return _assembled(texts, _keys_of_bytes()[raw], byte_bounds)
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum((raw & 0xC0) != 0x80)])[byte_bounds]
    keys = _keys_of_characters()[code_points(raw.tobytes().decode())]
    odd = np.concatenate([np.zeros(1, np.int64), np.cumsum(keys == ODD)])[begins]
    if odd[-1]:
        keys[np.repeat(odd[1:] > odd[:-1], np.diff(begins))] = 0
    return _assembled(texts, keys, begins)


def _assembled(texts: pa.LargeStringArray, keys: np.ndarray, bounds: np.ndarray) -> pa.LargeStringArray:
    """The keys of texts of the keys of their characters; those of which none is left by `match_key`.

    Args:
        texts: (N,).
        keys: Of all characters of all texts, 0 for nothing: of uint8 if all are ASCII, else of uint32.
        bounds: Where each text begins in `keys`, and the last ends: (N + 1,).
    """
    kept = keys != 0
    left, sizes = keys[kept], kept
    data = left.tobytes()
    if keys.dtype != np.uint8:
        sizes, data = kept * utf8_lengths(keys), text_of(left).encode()
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])[bounds]
    made = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(data))
    again = ends[1:] == ends[:-1]
    if not again.any():
        return made
    own = [match_key(text) or text for text in texts.filter(pa.array(again)).to_pylist()]
    return pc.replace_with_mask(made, pa.array(again), pa.array(own, pa.large_string()))
