"""8-bit products against the layers they replace."""

import pytest
import torch
from torch import nn

from tests import families
from tests.tiny import pairs, plain_model, translator
from toolkit.decode.likelihood import log_likelihood
from toolkit.decode.sampling import sample
from toolkit.decode.shared import SharedEngine
from toolkit.translator import int8
from toolkit.translator.int8 import _Int8Linear, _quantize_decoder, advice, has_int8
from toolkit.translator.load import load_translator

needs_int8 = pytest.mark.skipif(not has_int8(), reason="this processor has no 8-bit products")


@needs_int8
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_is_off_by_two_percent_at_most(bias):
    torch.manual_seed(0)
    linear, x = nn.Linear(64, 96, bias=bias), torch.randn(5, 7, 64)
    output, expected = _Int8Linear(linear, torch.float32)(x), linear(x)
    assert output.shape == expected.shape
    assert 0 < (output - expected).norm() / expected.norm() < 0.02


@needs_int8
def test_a_decoder_in_8_bits_samples_and_scores_like_itself():
    whole = translator("de-en")
    model = plain_model("de-en")
    _quantize_decoder(model)
    assert not any(type(m) is nn.Linear for m in model.get_decoder().modules())
    sources = whole.source.encode([german for german, _ in pairs(3)])
    rows, seeds = [[]] * 150, list(range(150))
    rounded, exact = (sample(SharedEngine(m), sources, rows, seeds, 10, 30) for m in (model, whole.model))
    means = [sum(s.logprob for s in samples) / sum(len(s.ids) for s in samples) for samples in (rounded, exact)]
    assert means[0] == pytest.approx(means[1], rel=0.1)
    assert [s.ids for s in rounded] != [s.ids for s in exact], "8 bits are not 32"


@needs_int8
def test_a_model_that_scores_has_8_bits_in_both_halves_and_scores_like_itself():
    rounded, exact = (load_translator("starter/en-de", dtype, scoring=True) for dtype in ("int8", "float32"))
    for part in (rounded.model.get_encoder(), rounded.model.get_decoder()):
        assert not any(type(m) is nn.Linear for m in part.modules())
    german, english = zip(*pairs(12), strict=True)
    inputs, outputs = exact.source.encode(english), exact.target.encode(german)
    rounded_scores, exact_scores = (
        log_likelihood(SharedEngine(t.model), inputs, outputs, 2000) for t in (rounded, exact)
    )
    assert rounded_scores != exact_scores, "8 bits are not 32"
    per_token = [abs(a - b) / len(ids) for a, b, ids in zip(rounded_scores, exact_scores, outputs, strict=True)]
    assert sum(per_token) / len(per_token) < 0.05 and max(per_token) < 0.3


def test_without_the_hardware_it_is_one_error(monkeypatch):
    monkeypatch.setattr(int8, "has_int8", lambda: False)
    with pytest.raises(ValueError, match="AVX512-VNNI"):
        _quantize_decoder(plain_model("de-en"))


@needs_int8
def test_a_starter_loads_in_8_bits():
    assert load_translator("starter/de-en", "int8").signature.endswith("|int8")


@needs_int8
@pytest.mark.parametrize("name", families.NAMES)
def test_every_family_has_8_bits(name):
    family_translator = load_translator(str(families.checkpoint(name)), "int8", "cpu", "en", "de")
    sources = family_translator.source.encode(["Yes.", "No."])
    samples = sample(SharedEngine(family_translator.model), sources, [[]] * 6, list(range(6)), 5, 8)
    assert all(output.logprob < 0 for output in samples)


@pytest.mark.parametrize(
    ("dtype", "bfloat16", "int8", "message"),
    [
        ("auto", True, True, None),
        ("auto", False, True, "--dtype int8 makes large ones faster"),
        ("auto", False, False, None),
        ("int8", False, True, None),
        ("float32", False, True, None),
        ("bfloat16", False, True, "--dtype auto is faster here"),
        ("bfloat16", True, True, None),
    ],
)
def test_a_faster_dtype_is_told(dtype, bfloat16, int8, message, monkeypatch):
    monkeypatch.setattr("toolkit.translator.int8.has_bfloat16", lambda device: bfloat16)
    monkeypatch.setattr("toolkit.translator.int8.has_int8", lambda: int8)
    text = advice(dtype, torch.device("cpu"))
    assert (message is None and text is None) or message in text
    assert advice(dtype, torch.device("meta")) is None
