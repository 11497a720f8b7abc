"""Small translators in the format of Firefox, with random weights: 170 pieces, width 32, 2+2 layers, made by numpy."""

import atexit
import functools
import shutil
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import yaml

from tests.tiny import pairs
from toolkit.bitext.subwords import EOS, UNK, train_pieces
from toolkit.decode.recurrent import RecurrentEngine
from toolkit.translator.firefox import _load_firefox, firefox_files, load_shortlist
from toolkit.translator.load import Translator, load_translator

DIM, HEADS, FEED_FORWARD, ENCODER, DECODER = 32, 4, 64, 2, 2
EOS_BIAS = 4.0  # with the seeds below, sampled and greedy rows end after 1 to 40 tokens
FLOAT32, INT8, INTGEMM8, BLOCK = 0x0404, 0x0101, 0x4101, 256
SETTINGS = {
    "type": "transformer",
    "dim-emb": DIM,
    "enc-depth": ENCODER,
    "dec-depth": DECODER,
    "transformer-heads": HEADS,
    "transformer-dim-ffn": FEED_FORWARD,
    "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "relu",
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-tied-layers": [],
    "tied-embeddings-all": True,
}
ATTENTION = {"transformer-decoder-autoreg": "self-attention", "transformer-ffn-activation": "swish"}
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Tiny:
    """A folder with a model, and what stands in its file.

    Attributes:
        folder: With the model, its vocabularies and its shortlist.
        arrays: The tensors as they are to be read: of an 8-bit file those that it rounds to.
        settings: Of the model.
    """

    folder: Path
    arrays: Arrays
    settings: dict


def random_arrays(
    sources: int, targets: int, seed: int, shared: bool = True, layers: int = DECODER, recurrent: bool = True
) -> Arrays:
    """Tensors by Marian's names, matrices as (inputs, outputs), large enough that outputs differ."""
    chance = np.random.default_rng(seed)

    def tensor(*shape: int, size: float = 0.4) -> np.ndarray:
        return (size * chance.standard_normal(shape)).astype(np.float32)

    def matrix(*shape: int) -> np.ndarray:
        return tensor(*shape, size=0.8)

    arrays = {"Wemb": tensor(targets, DIM, size=0.2)} if shared else {}
    if not shared:
        arrays = {side: tensor(n, DIM, size=0.2) for side, n in (("encoder_Wemb", sources), ("decoder_Wemb", targets))}
    arrays["decoder_ff_logit_out_b"] = tensor(1, targets)
    arrays["decoder_ff_logit_out_b"][0, EOS] = EOS_BIAS
    blocks = [(f"encoder_l{n + 1}", ["self"]) for n in range(ENCODER)]
    blocks += [(f"decoder_l{n + 1}", ["context"] if recurrent else ["self", "context"]) for n in range(layers)]
    for layer, attentions in blocks:
        for attention in attentions:
            for letter in "qkvo":
                arrays[f"{layer}_{attention}_W{letter}"] = matrix(DIM, DIM)
                arrays[f"{layer}_{attention}_b{letter}"] = tensor(1, DIM)
        arrays |= {f"{layer}_ffn_W1": matrix(DIM, FEED_FORWARD), f"{layer}_ffn_b1": tensor(1, FEED_FORWARD)}
        arrays |= {f"{layer}_ffn_W2": matrix(FEED_FORWARD, DIM), f"{layer}_ffn_b2": tensor(1, DIM)}
        norms = [*(f"{layer}_{attention}_Wo" for attention in attentions), f"{layer}_ffn_ffn"]
        if attentions == ["context"]:
            arrays |= {f"{layer}_rnn_W": matrix(DIM, DIM), f"{layer}_rnn_Wf": matrix(DIM, DIM)}
            arrays[f"{layer}_rnn_bf"] = tensor(1, DIM)
            norms.append(f"{layer}_rnn_ffn")
        for norm in norms:
            arrays[f"{norm}_ln_scale"], arrays[f"{norm}_ln_bias"] = 1 + tensor(1, DIM), tensor(1, DIM)
    return arrays


def is_matrix(name: str) -> bool:
    """Whether an 8-bit file has the tensor in 8 bits."""
    return "Wemb" in name or ("_W" in name and "_ln_" not in name)


def rounded(array: np.ndarray) -> tuple[np.ndarray, np.float32]:
    """The integers of a matrix in 8 bits, and their multiplier."""
    multiplier = np.float32(127 / np.abs(array).max())
    return np.rint(array * multiplier).astype(np.int8), multiplier


def items_of(arrays: Mapping[str, np.ndarray], settings: dict | None, int8: bool) -> list[tuple]:
    """Name, type, shape and bytes of each tensor of a binary file."""
    items: list[tuple] = []
    for name, array in arrays.items():
        if int8 and is_matrix(name):
            integers, multiplier = rounded(array)
            stored = integers if "Wemb" in name else integers.T
            items.append((name, INTGEMM8, array.shape, stored.tobytes() + multiplier.tobytes()))
            output = "Wemb" in name and not name.startswith("encoder")
            alpha = struct.pack("<f", 127 / 8.0)
            items.append((f"{'none' if output else name}_QuantMultA", FLOAT32, (1, 1), alpha))
        else:
            items.append((name, FLOAT32, array.shape, array.astype("<f4").tobytes()))
    if settings is not None:
        text = yaml.safe_dump(settings).encode() + b"\0"
        items.append(("special:model.yml", INT8, (len(text),), text))
    return items


def binary(items: list[tuple]) -> bytes:
    """The bytes of a file of these tensors; what pads a block is no zeros."""
    blocks = [data + b"\xab" * (-len(data) % BLOCK) for *_, data in items]
    head = struct.pack("<QQ", 1, len(items))
    for (name, kind, shape, _), block in zip(items, blocks, strict=True):
        head += struct.pack("<4Q", len(name) + 1, kind, len(shape), len(block))
    head += b"".join(name.encode() + b"\0" for name, *_ in items)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    gap = -(len(head) + 8) % BLOCK
    return head + struct.pack("<Q", gap) + b"\xcd" * gap + b"".join(blocks)


def write_model(path: Path, arrays: Mapping[str, np.ndarray], settings: dict | None = SETTINGS) -> None:
    """Write a model in the form that its name says: `.npz`, `.alphas.bin` in 8 bits, or `.bin` in float32."""
    if path.suffix == ".npz":
        text = {} if settings is None else {"special:model.yml": yaml.safe_dump(settings).encode() + b"\0"}
        np.savez(path, **arrays, **{name: np.frombuffer(data, np.int8) for name, data in text.items()})
    else:
        path.write_bytes(binary(items_of(arrays, settings, path.name.endswith(".alphas.bin"))))


def write_shortlist(path: Path, targets: list[list[int]], first: int = 8) -> None:
    """Write the targets of each source token."""
    offsets = np.cumsum([0, *map(len, targets)], dtype="<u8")
    ids = np.array([token for tokens in targets for token in sorted(tokens)], "<u4")
    head = struct.pack("<6Q", 0xF11A48D5013417F5, 0, first, 10, len(offsets), len(ids))
    path.write_bytes(head + offsets.tobytes() + ids.tobytes())


@functools.cache
def vocabularies() -> tuple[Path, Path, Path]:
    """SentencePiece models: of both languages, of the German side, of the English side; made once per process."""
    folder = Path(tempfile.mkdtemp(prefix="tiny-vocabularies-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    german, english = (list(side) for side in zip(*pairs(320), strict=True))
    signs = ["- \" ' ( ) : ! ?"]
    for name, texts, size in (
        ("joint", german + english + signs, 200),
        ("de", german + signs, 160),
        ("en", english + signs, 150),
    ):
        train_pieces(texts, folder / f"{name}.spm", size, coverage=1.0, specials=(EOS, UNK, -1))
    return folder / "joint.spm", folder / "de.spm", folder / "en.spm"


def size_of(path: Path) -> int:
    """The pieces of a SentencePiece model."""
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_file=str(path)).get_piece_size()


def write_folder(
    folder: Path,
    form: str = "alphas.bin",
    shared: bool = True,
    seed: int = 3,
    pair: str = "deen",
    recurrent: bool = True,
) -> Tiny:
    """A folder as Mozilla has it.

    Args:
        folder: Is made.
        form: How the name of the model's file ends: "alphas.bin" (8 bits), "bin" (float32) or "npz".
        shared: Whether one vocabulary is that of both sides.
        seed: Of the weights.
        pair: The languages in the names of the files.
        recurrent: Whether the decoder has recurrent units, or else attention to what was said.
    """
    folder.mkdir(parents=True)
    joint, *sides = vocabularies()
    if shared:
        shutil.copyfile(joint, folder / f"vocab.{pair}.spm")
        sides = [joint, joint]
    else:
        for side, path in zip(("src", "trg"), sides, strict=True):
            shutil.copyfile(path, folder / f"{side}vocab.{pair}.spm")
    sources, targets = map(size_of, sides)
    arrays = random_arrays(sources, targets, seed, shared, recurrent=recurrent)
    settings = SETTINGS | {"tied-embeddings-all": shared} | ({} if recurrent else ATTENTION)
    write_model(folder / f"model.{pair}.{form}", arrays, settings)
    chance = np.random.default_rng(seed)
    likely = [chance.choice(targets, chance.integers(0, 12), replace=False).tolist() for _ in range(sources)]
    write_shortlist(folder / f"lex.{pair}.s2t.bin", likely)
    if form == "alphas.bin":
        for name in filter(is_matrix, arrays):
            integers, multiplier = rounded(arrays[name])
            arrays[name] = integers.astype(np.float32) / multiplier
    return Tiny(folder, arrays, settings)


@functools.cache
def tiny(form: str = "alphas.bin", shared: bool = True, seed: int = 3, pair: str = "deen") -> Tiny:
    """`write_folder` once per process; leave the folder as it is."""
    parent = Path(tempfile.mkdtemp(prefix="tiny-firefox-"))
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    return write_folder(parent / pair, form, shared, seed, pair)


def wide(tiny_model: Tiny) -> Translator:
    """The translator in float64, where two ways to compute it choose the same tokens; its layers are those of torch."""
    files = firefox_files(tiny_model.folder)
    assert files is not None
    model, source, target = _load_firefox(files, torch.float64)
    return Translator(str(tiny_model.folder), model, source, target, "tiny|float64")


@functools.cache
def wide_engine(with_shortlist: bool) -> RecurrentEngine:
    """The engine of the 8-bit file with one vocabulary in float64."""
    wide_translator = wide(tiny())
    files = firefox_files(tiny().folder)
    assert files is not None
    shortlist = load_shortlist(files, wide_translator.source, wide_translator.target) if with_shortlist else None
    return RecurrentEngine(wide_translator.model, shortlist)


@functools.cache
def translator(dtype: str = "float32") -> Translator:
    """The 8-bit file with one vocabulary as users load it. Its model is shared: leave it as it is."""
    return load_translator(str(tiny().folder), dtype)
