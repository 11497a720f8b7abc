"""Load a translator of Firefox (Mozilla's models, in Marian's format) from the folder that holds its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor

from toolkit.bitext.subwords import EOS, UNK, Pieces
from toolkit.firefox.fetch import RECORD
from toolkit.firefox.folder import unpacked
from toolkit.firefox.published import sides
from toolkit.models.marian_file import MarianFile, read_marian
from toolkit.models.shortlist import Shortlist, read_shortlist
from toolkit.models.ssru import POSITIONS, SsruConfig, SsruModel
from toolkit.shards import read_record

# what a model's settings must be, where they say it
ARCHITECTURE: dict[str, Any] = {
    "type": "transformer",
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-top": "",
    "transformer-ffn-activation": "relu",
    "transformer-ffn-depth": 2,
    "transformer-train-position-embeddings": False,
    "transformer-no-projection": False,
    "layer-normalization": False,
}


@dataclass(frozen=True)
class FirefoxFiles:
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


def firefox_files(name: str | Path) -> FirefoxFiles | None:
    """The files of the model in a folder, by Mozilla's names; None where there is no folder, or no model of this kind.

    Args:
        name: A folder, whose files may be compressed by gzip; or a name that is none.

    Raises:
        ValueError: There are several models, a vocabulary is missing, or a file is damaged.
    """
    if not Path(name).is_dir() or Path(name, "config.json").exists():
        return None
    folder = unpacked(Path(name))
    models = sorted(folder.glob("model*.bin")) or sorted(folder.glob("model*.npz"))
    if not models:
        return None
    if len(models) > 1:
        raise ValueError(f"wanted one model in {folder}, got {', '.join(path.name for path in models)}: keep one")
    shared = sorted(folder.glob("vocab*.spm"))
    vocabularies = [(sorted(folder.glob(f"{side}vocab*.spm")) or shared)[:1] for side in ("src", "trg")]
    if not all(vocabularies):
        raise ValueError(f"wanted a vocabulary (vocab*.spm, or srcvocab*.spm and trgvocab*.spm) in {folder}, got none")
    shortlists = sorted(folder.glob("lex*.bin"))
    return FirefoxFiles(models[0], vocabularies[0][0], vocabularies[1][0], shortlists[0] if shortlists else None)


def stated_pair(files: FirefoxFiles) -> tuple[str | None, str | None]:
    """The source and target language that a fetched model's record, or the name of its file, states (ISO 639-1).

    >>> path = Path("model.enpt.intgemm.alphas.bin")
    >>> stated_pair(FirefoxFiles(path, path, path, None))
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


def load_firefox(files: FirefoxFiles, dtype: torch.dtype) -> tuple[SsruModel, Pieces, Pieces]:
    """The model and the pieces of both sides.

    Args:
        files: Of one model.
        dtype: Of the weights.

    Raises:
        ValueError: A file is damaged, the architecture is another, or a vocabulary is that of another model.
    """
    content = read_marian(files.model)
    _check_architecture(content, files.model)
    source, target = (_pieces(path) for path in (files.source, files.target))
    config = _config(content, files.model)
    model = SsruModel(config)
    _check_vocabularies(config, source, target, files)
    weights = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in _weights(content, files.model)}
    _check_weights(model, weights, files.model)
    model.load_state_dict(weights, strict=False)
    model.lm_head.weight = model.decoder.embed_tokens.weight
    if config.share_encoder_decoder_embeddings:
        model.encoder.embed_tokens.weight = model.lm_head.weight
    model.to(dtype)  # type: ignore[arg-type]
    return model.eval(), source, target


def load_shortlist(files: FirefoxFiles, source: Pieces, target: Pieces) -> Shortlist | None:
    """The shortlist of a model; None where it has none."""
    return None if files.shortlist is None else read_shortlist(files.shortlist, len(source), len(target))


def _check_architecture(content: MarianFile, path: Path) -> None:
    """Refuse a model whose settings are not those of `SsruModel`."""
    settings = content.settings
    if not settings:
        raise ValueError(f"wanted a model with its settings (special:model.yml), got {path}, which has none")
    for key, wanted in ARCHITECTURE.items():
        if settings.get(key, wanted) != wanted:
            raise ValueError(
                f"wanted a model with {key} {wanted!r}, as Firefox has them, got {settings[key]!r} in {path}: "
                "convert it for transformers (MarianMTModel), and give that folder"
            )


def _config(content: MarianFile, path: Path) -> SsruConfig:
    """The configuration that a file's settings and tensors state."""
    settings, tensors = content.settings, content.tensors
    try:
        sources, targets = (len(tensors[_embeddings(tensors, side)]) for side in ("encoder", "decoder"))
        return SsruConfig(
            vocab_size=sources,
            decoder_vocab_size=targets,
            share_encoder_decoder_embeddings="Wemb" in tensors,
            d_model=settings["dim-emb"],
            encoder_layers=settings["enc-depth"],
            decoder_layers=settings["dec-depth"],
            encoder_attention_heads=settings["transformer-heads"],
            decoder_attention_heads=settings["transformer-heads"],
            encoder_ffn_dim=settings["transformer-dim-ffn"],
            decoder_ffn_dim=settings.get("transformer-dim-ffn-dec") or tensors["decoder_l1_ffn_W1"].shape[1],
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=POSITIONS,
            eos_token_id=EOS,
            pad_token_id=UNK,
            decoder_start_token_id=UNK,
            forced_eos_token_id=None,
        )
    except KeyError as error:
        raise ValueError(f"wanted a whole model, got {path} without {error}: fetch it again") from None


def _embeddings(tensors: dict[str, np.ndarray], side: str) -> str:
    """The name of the embeddings of a side ("encoder", "decoder"); both may share one matrix."""
    return "Wemb" if "Wemb" in tensors else f"{side}_Wemb"


def _weights(content: MarianFile, path: Path) -> list[tuple[str, np.ndarray]]:
    """The tensors by the names of `SsruModel`."""
    tensors, settings = content.tensors, content.settings
    try:
        weights = [
            ("encoder.embed_tokens.weight", tensors[_embeddings(tensors, "encoder")]),
            ("decoder.embed_tokens.weight", tensors[_embeddings(tensors, "decoder")]),
            ("lm_head.weight", tensors[_embeddings(tensors, "decoder")]),
            ("lm_head.bias", tensors["decoder_ff_logit_out_b"].reshape(-1)),
        ]
        for n in range(settings["enc-depth"]):
            weights += _encoder_layer(tensors, f"encoder_l{n + 1}", f"encoder.layers.{n}")
        tied = settings.get("transformer-tied-layers") or range(1, settings["dec-depth"] + 1)
        for n, number in enumerate(tied):
            weights += _decoder_layer(tensors, f"decoder_l{number}", f"decoder.layers.{n}")
    except KeyError as error:
        raise ValueError(f"wanted a whole model, got {path} without {error}: fetch it again") from None
    return weights


def _encoder_layer(tensors: dict[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a layer of the encoder."""
    weights = []
    for letter, name in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj")):
        weights += _linear(tensors, f"{marian}_self_W{letter}", f"{marian}_self_b{letter}", f"{ours}.self_attn.{name}")
    weights += _norm(tensors, f"{marian}_self_Wo", f"{ours}.self_attn_layer_norm")
    return weights + _feed_forward(tensors, marian, ours)


def _decoder_layer(tensors: dict[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a layer of the decoder; W and W_f of its unit are one matrix, and W has no bias."""
    unit = np.concatenate([tensors[f"{marian}_rnn_W"], tensors[f"{marian}_rnn_Wf"]], 1).T
    forget = tensors[f"{marian}_rnn_bf"].reshape(-1)
    weights = [
        (f"{ours}.unit.input_and_forget.weight", unit),
        (f"{ours}.unit.input_and_forget.bias", np.concatenate([np.zeros_like(forget), forget])),
        *_norm(tensors, f"{marian}_rnn_ffn", f"{ours}.unit_layer_norm"),
    ]
    for letter, name in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj")):
        linear = (f"{marian}_context_W{letter}", f"{marian}_context_b{letter}", f"{ours}.encoder_attn.{name}")
        weights += _linear(tensors, *linear)
    weights += _norm(tensors, f"{marian}_context_Wo", f"{ours}.encoder_attn_layer_norm")
    return weights + _feed_forward(tensors, marian, ours)


def _feed_forward(tensors: dict[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a feed-forward network and of the norm after it."""
    return [
        *_linear(tensors, f"{marian}_ffn_W1", f"{marian}_ffn_b1", f"{ours}.fc1"),
        *_linear(tensors, f"{marian}_ffn_W2", f"{marian}_ffn_b2", f"{ours}.fc2"),
        *_norm(tensors, f"{marian}_ffn_ffn", f"{ours}.final_layer_norm"),
    ]


def _linear(tensors: dict[str, np.ndarray], weight: str, bias: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a linear layer; Marian's matrices are (inputs, outputs)."""
    return [(f"{ours}.weight", tensors[weight].T), (f"{ours}.bias", tensors[bias].reshape(-1))]


def _norm(tensors: dict[str, np.ndarray], marian: str, ours: str) -> list[tuple[str, np.ndarray]]:
    """The tensors of a layer normalisation."""
    return [
        (f"{ours}.weight", tensors[f"{marian}_ln_scale"].reshape(-1)),
        (f"{ours}.bias", tensors[f"{marian}_ln_bias"].reshape(-1)),
    ]


def _pieces(path: Path) -> Pieces:
    """The pieces of a side, whose ids are those of its SentencePiece model."""
    try:
        processor = SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise ValueError(f"wanted a SentencePiece model, got {path}, which is damaged ({error})") from None
    vocabulary = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    return Pieces(processor, vocabulary, EOS, UNK)


def _check_vocabularies(config: SsruConfig, source: Pieces, target: Pieces, files: FirefoxFiles) -> None:
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


def _check_weights(model: SsruModel, weights: dict[str, torch.Tensor], path: Path) -> None:
    """Refuse tensors of other shapes than the configuration states, or with numbers that are not finite."""
    state = model.state_dict()
    for name, tensor in weights.items():
        if state[name].shape != tensor.shape:
            raise ValueError(f"wanted {name} of shape {tuple(state[name].shape)}, got {tuple(tensor.shape)} in {path}")
        if not tensor.isfinite().all():
            raise ValueError(f"wanted finite weights, got NaN or infinity in {name} of {path}: fetch it again")
    if missing := sorted(set(state) - set(weights) - {"encoder.embed_positions.weight"}):
        raise ValueError(f"wanted a whole model, got {path} without {missing[0]}: fetch it again")
