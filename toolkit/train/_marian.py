"""The model that a training begins with: a new one with random weights, or a translator that was trained before."""

from __future__ import annotations

from dataclasses import replace

import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer, PreTrainedModel

from toolkit.bitext.subwords import EOS, PAD
from toolkit.translator.languages import check_stated
from toolkit.translator.load import load_checkpoint, stated_languages
from toolkit.translator.settings import SIZES, Size, TrainingSettings, check_positions

# of a configuration, what `new_model` chooses for every size
CHOSEN = (
    *("activation_function", "scale_embedding", "max_position_embeddings"),
    *("decoder_attention_heads", "decoder_ffn_dim"),
    *("pad_token_id", "eos_token_id", "decoder_start_token_id"),
)


def new_model(size: Size, source_pieces: int, target_pieces: int, dropout: float) -> MarianMTModel:
    """A Marian model of this size with random weights, all embeddings tied where the pieces are joint."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=source_pieces,
            decoder_vocab_size=target_pieces,
            share_encoder_decoder_embeddings=size.joint,
            d_model=size.width,
            encoder_layers=size.encoder_layers,
            decoder_layers=size.decoder_layers,
            encoder_attention_heads=size.heads,
            decoder_attention_heads=size.heads,
            encoder_ffn_dim=size.feed_forward,
            decoder_ffn_dim=size.feed_forward,
            max_position_embeddings=size.positions,
            dropout=dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            forced_eos_token_id=None,
            decoder_start_token_id=PAD,
        )
    )


def load_base(settings: TrainingSettings) -> tuple[MarianMTModel, MarianTokenizer]:
    """The base model of a training with the dropout of the settings, and its tokenizer.

    Raises:
        ValueError: It cannot be loaded, was not made by this training, has other languages or another size than the
            settings say, or has too few positions.
    """
    name = str(settings.base_model)
    base_model, tokenizer = load_checkpoint(name, torch.float32)
    if not (isinstance(base_model, MarianMTModel) and isinstance(tokenizer, MarianTokenizer)):
        raise _other_model(name, f"a {base_model.config.model_type} model")
    check_stated(name, stated_languages(name, tokenizer), (settings.source_lang, settings.lang))
    size, config = size_of(base_model), base_model.config
    if settings.size and replace(SIZES[settings.size], vocabulary=size.vocabulary) != size:
        layers = f"{size.encoder_layers} and {size.decoder_layers} layers of width {size.width}"
        raise ValueError(
            f"wanted a base model of size {settings.size}, got {name!r}, which has {layers}: leave --size out"
        )
    check_positions(settings.max_tokens, config.max_position_embeddings, name)
    model = new_model(size, config.vocab_size, config.decoder_vocab_size or config.vocab_size, settings.dropout)
    differing_fields = [field for field in CHOSEN if getattr(config, field) != getattr(model.config, field)]
    if differing_fields or bool(base_model.final_logits_bias.any()):
        raise _other_model(name, f"a Marian model with another {(differing_fields or ['final_logits_bias'])[0]}")
    model.load_state_dict(base_model.state_dict())
    return model, tokenizer


def size_of(model: PreTrainedModel) -> Size:
    """The shape of a Marian model."""
    config = model.config
    return Size(
        config.vocab_size,
        config.share_encoder_decoder_embeddings,
        config.d_model,
        config.encoder_layers,
        config.decoder_layers,
        config.encoder_attention_heads,
        config.encoder_ffn_dim,
    )


def _other_model(name: str, description: str) -> ValueError:
    """The error of a base model that this training did not make."""
    return ValueError(
        f"wanted a translator that parabank train translator made, got {name!r}, {description}: give another model"
    )
