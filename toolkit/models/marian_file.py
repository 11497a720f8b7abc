"""Read the model files of Marian, the toolkit that trains the translators of Firefox and OPUS-MT.

Two forms are read: the binary one (`model.*.bin`, of Firefox; its matrices are float32 or 8-bit integers), and `.npz`.
The layout of the binary form, little-endian:

    u64 version, 1; u64 number of tensors
    for each tensor: u64 bytes of its name (with a zero byte), u64 type, u64 dimensions, u64 bytes of its data
    the names; the shapes, i32 for each dimension; u64 bytes of a gap, and the gap; the data

An 8-bit matrix is followed by a float32, its multiplier: number = integer / multiplier. It is stored transposed, unless
it is an embedding. A tensor NAME_QuantMultA is the multiplier with which an engine of 8-bit products rounds the
inputs of the matrix NAME.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, prod
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import yaml

VERSION = 1
SETTINGS = "special:model.yml"  # the tensor of bytes that holds the settings of the training
INPUT_MULTIPLIER = "_QuantMultA"
WIDTH = 0xFF  # the bits of a type that are the bytes of a number
FLOAT32, INT8, INTGEMM8, INTGEMM16 = 0x0404, 0x0101, 0x4101, 0x4102
NUMBERS = {FLOAT32: "<f4", 0x0402: "<f2", 0x0408: "<f8", INT8: "i1", 0x0201: "u1", 0x0104: "<i4"}
QUANTISED = {INTGEMM8: "i1", INTGEMM16: "<i2"}
ZIP = b"PK\x03\x04"  # begins a .npz
COMPRESSED = {b"\x1f\x8b": ("gzip", ".gz"), b"\x28\xb5\x2f\xfd": ("zstd", ".zst"), b"\xfd7zXZ"[:4]: ("xz", ".xz")}
MOST_TENSORS, MOST_DIMENSIONS = 100_000, 8  # ours: a file that says more is no model
ITEM = struct.Struct("<4Q")
# what numpy and zipfile raise where a file is damaged
NPZ_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, KeyError, TypeError, ValueError),
    *(NotImplementedError, RuntimeError, SyntaxError, TokenError, MemoryError, OverflowError),
)


@dataclass
class MarianFile:
    """The content of a model file.

    Attributes:
        tensors: float32 arrays by Marian's names, matrices as (inputs, outputs), embeddings as (tokens, dim).
        multipliers: Of each tensor that is stored as integers: the number that they are divided by.
        input_multipliers: Of a matrix: that with which an 8-bit engine rounds its inputs.
        settings: Of the training; empty where the file holds none.
    """

    tensors: dict[str, np.ndarray] = field(default_factory=dict)
    multipliers: dict[str, float] = field(default_factory=dict)
    input_multipliers: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def read_marian(path: Path) -> MarianFile:
    """Read a model file of either form.

    Raises:
        ValueError: It is cut, damaged, compressed, in a layout for one kind of processor, or no model file.
    """
    if not path.is_file():
        raise ValueError(f"wanted a model file of Marian, got {path}, which is no file: give the file")
    with path.open("rb") as file:
        begin = file.read(len(ZIP))
    for magic, (program, ending) in COMPRESSED.items():
        if begin.startswith(magic):
            packed = f"{path.name}{ending}"
            raise ValueError(
                f"wanted a model file of Marian, got {path}, which is compressed: mv {path.name} {packed}, and "
                f"{program} -d {packed}"
            )
    if begin == ZIP:
        return _read_npz(path)
    data = path.read_bytes()
    try:
        return _read_items(data)
    except struct.error:
        raise ValueError(
            f"wanted a whole model file of Marian, got {path}, which ends after {len(data):,} bytes: fetch it again"
        ) from None
    except ValueError as error:
        raise ValueError(f"wanted a model file of Marian, got {path}: {error}") from None


def _read_items(data: bytes) -> MarianFile:
    """The content of a file in the binary form."""
    content = MarianFile()
    for name, kind, shape, item in _items(data):
        if name == SETTINGS:
            content.settings = _settings(item)
        elif name.endswith(INPUT_MULTIPLIER):
            if kind == FLOAT32:  # that of the embeddings was itself rounded to 8 bits: the output layer's is "none"
                (content.input_multipliers[name.removesuffix(INPUT_MULTIPLIER)],) = struct.unpack_from("<f", item)
        elif kind in QUANTISED:
            content.tensors[name], content.multipliers[name] = _read_quantised(name, QUANTISED[kind], shape, item)
        elif kind in NUMBERS:
            numbers = np.frombuffer(item, NUMBERS[kind], prod(shape))
            content.tensors[name] = numbers.astype(np.float32).reshape(shape)
        else:
            raise ValueError(f"{name} is of type {kind:#06x}, a layout for one kind of processor; take its .npz")
    return content


def _items(data: bytes) -> Iterator[tuple[str, int, tuple[int, ...], bytes]]:
    """The name, the type, the shape and the data, with its padding, of each tensor."""
    version, count = struct.unpack_from("<QQ", data)
    if version != VERSION or count > MOST_TENSORS:
        raise ValueError("its first bytes are not those of such a file; fetch it again")
    headers = [ITEM.unpack_from(data, 16 + ITEM.size * n) for n in range(count)]
    offset = 16 + ITEM.size * count
    names, shapes = [], []
    for length, _, dimensions, _ in headers:
        if offset + length > len(data):
            raise struct.error
        stored = data[offset : offset + length - 1]
        if dimensions > MOST_DIMENSIONS or not stored or not stored.isascii():
            raise ValueError("its list of tensors is damaged; fetch it again")
        names.append(stored.decode("ascii"))
        offset += length
    for _, _, dimensions, _ in headers:
        shapes.append(struct.unpack_from(f"<{dimensions}i", data, offset))
        offset += 4 * dimensions
    (gap,) = struct.unpack_from("<Q", data, offset)
    offset += 8 + gap
    for name, shape, (_, kind, _, length) in zip(names, shapes, headers, strict=True):
        if offset + length > len(data):
            raise struct.error
        if min(shape, default=0) < 1 or prod(shape) * (kind & WIDTH) > length:
            raise ValueError(f"{name} has other numbers than its shape {shape} says; fetch it again")
        yield name, kind, shape, data[offset : offset + length]
        offset += length


def _read_quantised(name: str, number: str, shape: tuple[int, ...], item: bytes) -> tuple[np.ndarray, float]:
    """The float32 values of a tensor of integers, and its multiplier, which stands right behind the last integer."""
    integers = np.frombuffer(item, number, prod(shape))
    (multiplier,) = struct.unpack_from("<f", item, integers.nbytes)
    if not 0 < multiplier < inf:
        raise ValueError(f"{name} is divided by {multiplier}; fetch it again")
    rows, columns = integers.size // shape[-1], shape[-1]
    matrix = integers.reshape(rows, columns) if "Wemb" in name else integers.reshape(columns, rows).T
    return matrix.astype(np.float32) / np.float32(multiplier), multiplier


def _settings(item: bytes) -> dict[str, Any]:
    """The settings of a model, from YAML that ends in a zero byte."""
    try:
        settings = yaml.safe_load(item.split(b"\0")[0].decode("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise ValueError(f"its settings ({SETTINGS}) are damaged; fetch it again")
    return settings


def _read_npz(path: Path) -> MarianFile:
    """The content of a file in the form of numpy."""
    content = MarianFile()
    try:
        with np.load(path, allow_pickle=False) as arrays:
            for name in arrays.files:
                if name == SETTINGS:
                    content.settings = _settings(arrays[name].astype(np.int8).tobytes())
                else:
                    content.tensors[name] = arrays[name].astype(np.float32)
    except NPZ_DAMAGED:
        raise ValueError(f"wanted a model file of Marian, got {path}, which is damaged: fetch it again") from None
    return content
