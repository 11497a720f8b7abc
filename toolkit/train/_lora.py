"""Adapters (LoRA, by PEFT) for every family of seq2seq models: which layers they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transformers import PreTrainedModel

from toolkit.system.extras import require

if TYPE_CHECKING:
    from peft import PeftModel

# Linear layers of attention and feed-forward, by what they are called: T5's family, and all that descend from BART.
T5_LAYERS = ("q", "k", "v", "o", "wi", "wi_0", "wi_1", "wo")
BART_LAYERS = ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")


def target_layers(model: PreTrainedModel) -> list[str]:
    """The names of the layers that get adapters.

    Raises:
        ValueError: The model has none of the known layers.
    """
    layer_names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    for layers in (BART_LAYERS, T5_LAYERS):
        if set(layers[:3]) <= layer_names:
            return [name for name in layers if name in layer_names]
    raise ValueError(
        f"wanted a model with layers {', '.join(BART_LAYERS[:3])} or {', '.join(T5_LAYERS[:3])} for LoRA, got "
        f"{model.config.model_type}: train all weights"
    )


def with_adapters(model: PreTrainedModel, rank: int, alpha: float, dropout: float = 0.05) -> PeftModel:
    """A model of which only new adapters are trained.

    Args:
        model: The model; its weights do not change.
        rank: Of the adapters.
        alpha: LoRA's scale: what the adapters add is multiplied by alpha over rank.
        dropout: Before the adapters.

    Source: Hu et al. 2022, "LoRA".
    """
    peft = require("peft")
    config = peft.LoraConfig(
        task_type="SEQ_2_SEQ_LM",
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules=target_layers(model),
    )
    return peft.get_peft_model(model, config)
