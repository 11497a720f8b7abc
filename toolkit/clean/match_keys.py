"""The match keys of many texts at once: what `bitext.normalize.match_key` makes of each, by a lookup."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.normalize import match_key
from toolkit.bitext.words import SIGNS
from toolkit.clean._characters import POINTS, all_characters, unstable
from toolkit.clean.texts import _code_points, _text_of, _utf8_lengths

ODD = 0xFFFFFFFF  # stands for a character whose part of a key depends on its neighbours, or is longer than one
CONTEXT = "\u03a3"  # its lower case is another one at the end of a word


@cache
def _character_keys() -> np.ndarray:
    """What `match_key` leaves of each code point: its lower case, 0 for nothing, or `ODD`: (POINTS,) of uint32."""
    table, may_compose = np.zeros(POINTS, np.uint32), unstable()
    points = _code_points(all_characters())
    table[points[may_compose[points]]] = ODD
    for character in all_characters():
        if not unicodedata.is_normalized("NFKC", character):
            key, form = match_key(character), unicodedata.normalize("NFKC", character)
            odd = len(key) > 1 or may_compose[_code_points(form)].any() or character in CONTEXT
            table[ord(character)] = ODD if odd else ord(key) if key else 0
        elif (character.isalnum() or character in SIGNS) and not table[ord(character)]:
            key = lower if len(lower := character.lower()) == 1 else match_key(character)
            table[ord(character)] = ord(key) if len(key) == 1 and character not in CONTEXT else ODD
    table[:0x80] = _byte_keys()[:0x80]  # control characters count as unstable, but leave nothing
    return table


@cache
def _byte_keys() -> np.ndarray:
    """The same of ASCII, and nothing of other bytes: (256,) of uint8."""
    lower_points = [ord(chr(point).lower()) if chr(point).isalnum() else 0 for point in range(0x80)]
    return np.array(lower_points + [0] * 0x80, np.uint8)


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
        return _assemble_keys(texts, _byte_keys()[raw], byte_bounds)
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum((raw & 0xC0) != 0x80)])[byte_bounds]
    keys = _character_keys()[_code_points(raw.tobytes().decode())]
    odd = np.concatenate([np.zeros(1, np.int64), np.cumsum(keys == ODD)])[begins]
    if odd[-1]:
        keys[np.repeat(odd[1:] > odd[:-1], np.diff(begins))] = 0
    return _assemble_keys(texts, keys, begins)


def _assemble_keys(texts: pa.LargeStringArray, keys: np.ndarray, bounds: np.ndarray) -> pa.LargeStringArray:
    """The keys of texts of the keys of their characters; those of which none is left by `match_key`.

    Args:
        texts: (N,).
        keys: Of all characters of all texts, 0 for nothing: of uint8 if all are ASCII, else of uint32.
        bounds: Where each text begins in `keys`, and the last ends: (N + 1,).
    """
    has_key = keys != 0
    remaining_keys, sizes = keys[has_key], has_key
    data = remaining_keys.tobytes()
    if keys.dtype != np.uint8:
        sizes, data = has_key * _utf8_lengths(keys), _text_of(remaining_keys).encode()
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])[bounds]
    key_texts = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(data))
    is_empty = ends[1:] == ends[:-1]
    if not is_empty.any():
        return key_texts
    replacement_keys = [match_key(text) or text for text in texts.filter(pa.array(is_empty)).to_pylist()]
    return pc.replace_with_mask(key_texts, pa.array(is_empty), pa.array(replacement_keys, pa.large_string()))
