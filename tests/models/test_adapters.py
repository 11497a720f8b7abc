"""Adapters of causal language models: added to the weights of their model, and refused where they are not whole."""

import json

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from tests.language_models import saved
from toolkit.models.language_model import is_causal, load_language_model

IDS = torch.tensor([[5, 9, 20, 3, 7]])
FILE = "adapter_model.safetensors"


@pytest.fixture
def folders(tmp_path):
    base = saved("llama", tmp_path / "base")
    config = LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"])
    torch.manual_seed(3)
    peft_model = get_peft_model(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), config)
    for name, weights in peft_model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.5)
    peft_model.save_pretrained(tmp_path / "adapter")
    return base, tmp_path / "adapter"


def logits(model):
    with torch.no_grad():
        return model(IDS, use_cache=False).logits


def test_an_adapter_is_added_to_its_model(folders):
    base, adapter = folders
    loaded = load_language_model(str(adapter), "float32")
    peers = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), adapter).eval()
    assert torch.allclose(logits(loaded.model), logits(peers), atol=1e-5)
    assert not torch.allclose(logits(loaded.model), logits(load_language_model(base, "float32").model), atol=1e-2)
    assert loaded.signature.startswith("adapter|") and loaded.signature.endswith("float32")


def test_an_adapter_in_half_precision_is_the_same_up_to_rounding(folders):
    _, adapter = folders
    before = logits(load_language_model(str(adapter), "float32").model)
    save_file({key: value.half() for key, value in load_file(adapter / FILE).items()}, adapter / FILE)
    assert torch.allclose(logits(load_language_model(str(adapter), "float32").model), before, atol=0.02)


def test_a_tensor_that_is_missing_or_no_number_is_named(folders):
    _, adapter = folders
    weights = load_file(adapter / FILE)
    first = next(iter(weights))
    save_file({key: value for key, value in weights.items() if key != first}, adapter / FILE)
    with pytest.raises(ValueError, match=r"wanted a model with all its tensors, got .*adapter"):
        load_language_model(str(adapter), "float32")
    save_file(weights | {first: torch.full_like(weights[first], float("nan"))}, adapter / FILE)
    with pytest.raises(ValueError, match="wanted finite weights, got NaN or infinity"):
        load_language_model(str(adapter), "float32")


@pytest.mark.parametrize("content", [b"", b"\x00" * 40])
def test_a_file_that_is_cut_is_one_line(folders, content):
    _, adapter = folders
    (adapter / FILE).write_bytes(content)
    with pytest.raises(ValueError, match="wanted an adapter, got"):
        load_language_model(str(adapter), "float32")


def test_a_model_that_is_not_there_is_named(folders):
    _, adapter = folders
    config = json.loads((adapter / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "starter/nothing"
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="nothing"):
        load_language_model(str(adapter), "float32")


def test_what_is_causal(folders):
    base, adapter = folders
    assert is_causal(base) and is_causal(str(adapter))
    assert not is_causal("starter/paraphraser") and not is_causal("someone/a-model-that-is-not-here")
