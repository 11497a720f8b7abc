"""Linear layers with packed weights against the layers they replace, and a model that has them against itself."""

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM

from tests.tiny import pairs, plain_model, translator
from toolkit.decode.likelihood import log_likelihood
from toolkit.decode.shared import SharedEngine
from toolkit.models.precision import has_bfloat16
from toolkit.translator import packed
from toolkit.translator.inference import _move_bias, prepare_for_cpu
from toolkit.translator.load import load_translator
from toolkit.translator.packed import _can_pack, _PackedLinear, pack_layers

needs_packing = pytest.mark.skipif(not _can_pack(torch.float32), reason="this processor has no packed products")


@needs_packing
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(64,), (0, 64), (1, 64), (5, 7, 64), (700, 64)])
def test_a_packed_layer_is_the_layer(bias, shape):
    torch.manual_seed(0)
    linear, x = nn.Linear(64, 96, bias=bias), torch.randn(shape)
    with torch.inference_mode():
        torch.testing.assert_close(_PackedLinear(linear)(x), linear(x))


@needs_packing
def test_its_input_may_have_any_layout():
    torch.manual_seed(0)
    linear, x = nn.Linear(64, 96), torch.randn(64, 9, 5)
    views = x.permute(2, 1, 0), x.permute(2, 1, 0)[::2], torch.randn(9, 128)[:, ::2], torch.randn(1, 64).expand(4, 64)
    with torch.inference_mode():
        for view in views:
            torch.testing.assert_close(_PackedLinear(linear)(view), linear(view))


@pytest.mark.skipif(not _can_pack(torch.bfloat16), reason="this processor has no bfloat16")
def test_in_bfloat16_it_is_as_near_to_float32_as_the_layer_is():
    torch.manual_seed(0)
    linear, x = nn.Linear(512, 300), torch.randn(200, 512)
    narrow = nn.Linear(512, 300).bfloat16()
    narrow.load_state_dict(linear.state_dict())
    with torch.inference_mode():
        error = [(layer(x.bfloat16()).float() - linear(x)).norm() for layer in (_PackedLinear(narrow), narrow)]
    assert error[0] < 1.1 * error[1]


@needs_packing
@pytest.mark.parametrize("name", ["de-en", "en-de"])
def test_a_loaded_translator_has_no_other_layers_and_computes_what_its_checkpoint_does(name):
    loaded, plain = translator(name), plain_model(name)
    assert not any(type(module) is nn.Linear for module in loaded.model.modules())
    source, target = zip(*pairs(8), strict=True) if name == "de-en" else zip(*[p[::-1] for p in pairs(8)], strict=True)
    inputs, outputs = loaded.source.encode(source), loaded.target.encode(target)
    scores, expected = (log_likelihood(SharedEngine(model), inputs, outputs, 500) for model in (loaded.model, plain))
    assert scores == pytest.approx(expected, rel=1e-4)


def test_the_output_layer_takes_the_bias_of_the_logits():
    plain, moved = plain_model("de-en"), plain_model("de-en")
    assert plain.final_logits_bias.abs().sum() > 1, "without a bias this test shows nothing"
    _move_bias(moved)
    assert not moved.final_logits_bias.any()
    ids = torch.tensor([[5, 6, 7, 0]])
    with torch.inference_mode():
        logits, expected = (model(input_ids=ids, decoder_input_ids=ids).logits for model in (moved, plain))
    torch.testing.assert_close(logits, expected)


@needs_packing
@pytest.mark.parametrize("family", ["t5", "mt5", "umt5"])
def test_families_that_ask_for_the_dtype_of_a_weight_compute_with_packed_ones(family):
    config = AutoConfig.for_model(
        family, vocab_size=50, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_decoder_layers=2, num_heads=4,
        decoder_start_token_id=0, feed_forward_proj="gated-gelu",
    )  # fmt: skip
    torch.manual_seed(0)
    model, ids = AutoModelForSeq2SeqLM.from_config(config).eval(), torch.tensor([[5, 6, 7, 1]])
    with torch.inference_mode():
        expected = model(input_ids=ids, decoder_input_ids=ids).logits
        prepare_for_cpu(model)
        logits = model(input_ids=ids, decoder_input_ids=ids).logits
    assert not any(type(module) is nn.Linear for module in model.modules())
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("machine", "capability", "cap", "packs"),
    [
        ("x86_64", "AVX512", "", True),
        ("AMD64", "AVX2", "avx2", True),
        ("x86_64", "AVX2", "SSE41", False),
        ("x86_64", "DEFAULT", "", False),
        ("aarch64", "AVX512", "", False),
    ],
)
def test_where_weights_are_packed(monkeypatch, machine, capability, cap, packs):
    monkeypatch.setattr(packed.platform, "machine", lambda: machine)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", cap)
    assert _can_pack(torch.float32) == packs
    assert _can_pack(torch.bfloat16) == (packs and has_bfloat16("cpu"))
    assert not _can_pack(torch.float64)


def test_elsewhere_the_layers_stay(monkeypatch):
    monkeypatch.setattr(packed, "_can_pack", lambda dtype: False)
    model = plain_model("de-en")
    before = [type(module) for module in model.modules()]
    pack_layers(model)
    assert [type(module) for module in model.modules()] == before


@needs_packing
def test_a_loaded_translator_is_not_saved_or_moved_without_its_weights(tmp_path):
    model = load_translator(translator("de-en").name, "float32").model  # what fails may be moved in part
    with pytest.raises(RuntimeError, match="wanted a model to save, got one whose layers were replaced"):
        model.save_pretrained(tmp_path)
    with pytest.raises(RuntimeError, match=r"wanted a model to move to cpu, torch\.float64, got one whose layers"):
        model.double()


@needs_packing
def test_moving_a_loaded_translator_to_where_it_is_changes_nothing():
    model = translator("de-en").model
    assert model.to("cpu") is model
