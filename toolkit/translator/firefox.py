"""Load a translator in Marian's format, as Mozilla publishes those of Firefox, from the folder that holds its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor
from torch import nn
from transformers import MarianConfig, MarianMTModel

from toolkit.bitext.subwords import EOS, UNK, Pieces
from toolkit.firefox.fetch import RECORD
from toolkit.firefox.folder import unpacked
from toolkit.firefox.published import sides
from toolkit.models.marian_file import MarianFile, read_marian
from toolkit.models.marian_transformer import TIED, tie_embeddings, transformer_model, transformer_weights
from toolkit.models.marian_weights import CONVERT, decoder_layers, embeddings, is_recurrent, setting, weights_of
from toolkit.models.shortlist import Shortlist, read_shortlist
from toolkit.models.ssru import POSITIONS, SsruConfig, SsruModel
from toolkit.system.whole_files import read_record

PACKED = ("model*.bin.zst", "*vocab*.spm.zst")
# what a model's settings must be, where they say it, and those of each kind of decoder
RECURRENT: dict[str, Any] = {
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    "transformer-ffn-activation": "relu",
}
ACTIVATIONS = ("relu", "swish")  # of a transformer's decoder; `transformers` has the same names
ARCHITECTURE: dict[str, Any] = {
    "type": "transformer",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-top": "",
    "transformer-ffn-depth": 2,
    "transformer-train-position-embeddings": False,
    "transformer-no-projection": False,
    "layer-normalization": False,
    "right-left": False,
}


@dataclass(frozen=True)
class _FirefoxFiles:
    """The files of one model.

    Attributes:
        model: The weights.
        source: SentencePiece model of the source side.
        target: Of the target side; the same file where both share one.
        shortlist: The tokens that are likely by the tokens of the source; None without.
    """

    model: Path
    source: Path
    target: Path
    shortlist: Path | None


def firefox_files(name: str | Path) -> _FirefoxFiles | None:
    """The files of the model in a folder, by Mozilla's names; None where there is no folder, or no model of this kind.

    Args:
        name: A folder, whose files may be compressed by gzip; or a name that is none.

    Raises:
        ValueError: There are several models, a vocabulary is missing, or a file is damaged.
    """
    if not Path(name).is_dir() or Path(name, "config.json").exists():
        return None
    folder = unpacked(Path(name))
    model = _only_file(folder, "model*.bin") or _only_file(folder, "model*.npz")
    packed_paths = [path for pattern in PACKED for path in sorted(folder.glob(pattern))]
    if model is None and not any(path.name.startswith("model") for path in packed_paths):
        return None
    shared_path = _only_file(folder, "vocab*.spm")
    source, target = (_only_file(folder, f"{side}vocab*.spm") or shared_path for side in ("src", "trg"))
    if model is not None and source is not None and target is not None:
        return _FirefoxFiles(model, source, target, _only_file(folder, "lex*.bin"))
    if packed_paths:
        raise ValueError(f"wanted unpacked files of a model, got {packed_paths[0]}: zstd -d --rm {folder}/*.zst")
    raise ValueError(
        f"wanted a vocabulary (vocab*.spm, or srcvocab*.spm and trgvocab*.spm) for {model} in its folder, got none: "
        "fetch it, too"
    )


def _only_file(folder: Path, name: str) -> Path | None:
    """The only file of this pattern in a folder; None where there is none."""
    paths = sorted(folder.glob(name))
    if len(paths) > 1:
        raise ValueError(f"wanted one {name} in {folder}, got {', '.join(path.name for path in paths)}: keep one")
    return paths[0] if paths else None


def _stated_pair(files: _FirefoxFiles) -> tuple[str | None, str | None]:
    """The source and target language that a fetched model's record, or the name of its file, states (ISO 639-1).

    >>> path = Path("model.enpt.intgemm.alphas.bin")
    >>> _stated_pair(_FirefoxFiles(path, path, path, None))
    ('en', 'pt')
    """
    record = files.model.with_name(RECORD)
    if record.is_file():
        pair = read_record(record, "delete it").get("pair")
        if isinstance(pair, str):
            source, target = sides(pair)
            return source.split("-")[0], target.split("-")[0]
    match = re.match(r"model\.([a-z]{2})([a-z]{2})\.", files.model.name)
    return (match[1], match[2]) if match else (None, None)


def _load_firefox(files: _FirefoxFiles, dtype: torch.dtype) -> tuple[SsruModel | MarianMTModel, Pieces, Pieces]:
    """The model and the pieces of both sides.

    Args:
        files: Of one model.
        dtype: Of the weights.

    Raises:
        ValueError: A file is damaged, the architecture is another, or a vocabulary is that of another model.
    """
    content = read_marian(files.model)
    _check_architecture(content, files.model)
    arrays = weights_of(content, files.model)
    config = _config(content, files.model)
    source, target = (_pieces(path) for path in (files.source, files.target))
    _check_vocabularies(config, source, target, files)
    weights = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays}
    is_shared, model = config.share_encoder_decoder_embeddings, _model(config, weights, files.model)
    if isinstance(model, SsruModel):
        model.lm_head.weight = model.decoder.embed_tokens.weight
        if is_shared:
            model.encoder.embed_tokens.weight = model.lm_head.weight
    else:
        tie_embeddings(model, bool(is_shared))
        source, target = (_add_padding(pieces, model.config.vocab_size) for pieces in (source, target))
    model.to(dtype)  # type: ignore[arg-type]
    return model.eval(), source, target


def _model(config: MarianConfig, weights: dict[str, torch.Tensor], path: Path) -> SsruModel | MarianMTModel:
    """The model of a configuration, with its weights."""
    if isinstance(config, SsruConfig):
        model: SsruModel | MarianMTModel = SsruModel(config)
        _check_weights(model, weights, {"encoder.embed_positions.weight"}, path)
    else:
        model = transformer_model(config)
        weights = transformer_weights(weights, config.vocab_size)
        _check_weights(model, weights, TIED, path)
    model.load_state_dict(weights, strict=False)
    return model


def load_shortlist(files: _FirefoxFiles, source: Pieces, target: Pieces) -> Shortlist | None:
    """The shortlist of a model; None where it has none."""
    return None if files.shortlist is None else read_shortlist(files.shortlist, len(source), len(target))


def _check_architecture(content: MarianFile, path: Path) -> None:
    """Refuse a model whose settings are those of neither kind of decoder."""
    settings = content.settings
    if not settings:
        raise ValueError(
            f"wanted a model with its settings (special:model.yml), got {path}, which has none: fetch it again"
        )
    kind = RECURRENT if is_recurrent(content) else {"transformer-decoder-autoreg": "self-attention"}
    for key, expected in (ARCHITECTURE | kind).items():
        if settings.get(key, expected) != expected:
            raise ValueError(f"wanted a model with {key} {expected!r}, got {settings[key]!r} in {path}: {CONVERT}")
    activation = settings.get("transformer-ffn-activation", "relu")
    if activation not in ACTIVATIONS:
        raise ValueError(f"wanted transformer-ffn-activation relu or swish, got {activation!r} in {path}: {CONVERT}")


def _config(content: MarianFile, path: Path) -> MarianConfig:
    """The configuration that a file's settings and tensors state; the tensors are complete (`weights_of`)."""
    tensors, heads = content.tensors, setting(content, "transformer-heads", path)
    source, target = (tensors[embeddings(tensors, side)] for side in ("encoder", "decoder"))
    wide, narrow = tensors["encoder_l1_ffn_W1"], tensors[f"decoder_l{decoder_layers(content, path)[0]}_ffn_W1"]
    if any(matrix.ndim != 2 for matrix in (source, target, wide, narrow)) or source.shape[1] % (2 * heads):
        raise ValueError(
            f"wanted embeddings of an even number for each of {heads} heads, got shape {source.shape} in {path}: "
            "fetch it again"
        )
    kind = SsruConfig if is_recurrent(content) else MarianConfig
    return kind(
        vocab_size=len(source),
        decoder_vocab_size=len(target),
        share_encoder_decoder_embeddings="Wemb" in tensors,
        d_model=source.shape[1],
        encoder_layers=setting(content, "enc-depth", path),
        decoder_layers=setting(content, "dec-depth", path),
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=wide.shape[1],
        decoder_ffn_dim=narrow.shape[1],
        activation_function=content.settings.get("transformer-ffn-activation", "relu"),
        scale_embedding=True,
        max_position_embeddings=POSITIONS,
        eos_token_id=EOS,
        pad_token_id=UNK,
        decoder_start_token_id=UNK,
        forced_eos_token_id=None,
    )


def _pieces(path: Path) -> Pieces:
    """The pieces of a side, whose ids are those of its SentencePiece model."""
    try:
        processor = SentencePieceProcessor(model_file=str(path))
        vocabulary = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
        return Pieces(processor, vocabulary, EOS, UNK)
    except (OSError, RuntimeError, UnicodeDecodeError):
        raise ValueError(f"wanted a SentencePiece model, got {path}, which is damaged: fetch it again") from None


def _add_padding(pieces: Pieces, size: int) -> Pieces:
    """The pieces and, up to so many, tokens that stand in no text."""
    padding_tokens = {f"<pad {number}>": number for number in range(len(pieces), size)}
    return Pieces(pieces.processor, pieces.vocabulary | padding_tokens, EOS, UNK)


def _check_vocabularies(config: MarianConfig, source: Pieces, target: Pieces, files: _FirefoxFiles) -> None:
    """Refuse a vocabulary of another size than the embeddings, or whose first pieces are not </s> and <unk>."""
    for pieces, path, size in (
        (source, files.source, config.vocab_size),
        (target, files.target, config.decoder_vocab_size),
    ):
        if len(pieces) != size or pieces.names.get(EOS) != "</s>" or pieces.names.get(UNK) != "<unk>":
            raise ValueError(
                f"wanted a vocabulary of {size:,} pieces for {files.model.name}, got {path} of {len(pieces):,}: take "
                "the files of one model"
            )


def _check_weights(model: nn.Module, weights: dict[str, torch.Tensor], absent_names: set[str], path: Path) -> None:
    """Refuse tensors of other shapes than the configuration states, and numbers that are not finite.

    Args:
        model: Of the configuration.
        weights: By its names.
        absent_names: Tensors of it that are in no file.
        path: Of the file.
    """
    state = model.state_dict()
    for name, tensor in weights.items():
        if state[name].shape != tensor.shape:
            raise ValueError(
                f"wanted {name} of shape {tuple(state[name].shape)}, got {tuple(tensor.shape)} in {path}: "
                "fetch it again"
            )
        if not tensor.isfinite().all():
            raise ValueError(f"wanted finite weights, got NaN or infinity in {name} of {path}: fetch it again")
    if missing_names := sorted(set(state) - set(weights) - absent_names):
        raise ValueError(f"wanted a whole model, got {path} without {missing_names[0]}: fetch it again")
