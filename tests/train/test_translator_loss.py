"""The sliced loss against torch's own, in value and gradient."""

import pytest
import torch

from tests.tiny import model, plain_model
from toolkit.train import translator_loss as loss
from toolkit.train.translator_loss import TranslationLoss, _LinearCrossEntropy


@pytest.mark.parametrize("size", [1, 7, 20, 64])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_linear_cross_entropy_is_torchs(monkeypatch, size, smoothing):
    monkeypatch.setitem(loss.SLICE, "cpu", size)  # 20 tokens: slices that divide them and that do not
    torch.manual_seed(0)
    hidden, weight = torch.randn(20, 8, requires_grad=True), torch.randn(31, 8, requires_grad=True)
    labels = torch.randint(0, 31, (20,))
    expected_total = torch.nn.functional.cross_entropy(
        hidden @ weight.T, labels, label_smoothing=smoothing, reduction="sum"
    )
    expected_gradients = torch.autograd.grad(expected_total * 3, (hidden, weight))
    total = _LinearCrossEntropy.apply(hidden, weight, labels, smoothing)
    gradients = torch.autograd.grad(total * 3, (hidden, weight))
    torch.testing.assert_close(total, expected_total)
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        assert expected_gradient.abs().max() > 0.1, "a gradient of zeros would compare nothing"
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [7, 64])
def test_linear_cross_entropy_with_a_bias_and_weights_of_tokens_is_torchs(monkeypatch, size):
    monkeypatch.setitem(loss.SLICE, "cpu", size)
    torch.manual_seed(0)
    hidden, weight, bias = torch.randn(20, 8, requires_grad=True), torch.randn(31, 8), torch.randn(31)
    labels, token_weights = torch.randint(0, 31, (20,)), torch.rand(20)
    logits = hidden @ weight.T + bias
    losses = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.1, reduction="none")
    expected_total = (losses * token_weights).sum()
    total = _LinearCrossEntropy.apply(hidden, weight, labels, 0.1, bias, token_weights)
    torch.testing.assert_close(total, expected_total)
    gradients = [torch.autograd.grad(value, hidden)[0] for value in (total, expected_total)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_translation_loss_leaves_padding_out():
    shared = plain_model("de-en")
    source = torch.tensor([[5, 6, 7, 0], [8, 0, 2, 2]])
    labels = torch.tensor([[9, 10, 0], [11, 0, 2]])
    bias = shared.final_logits_bias  # the loss is without it: in training it is zero
    expected = {0.1: 0.0, 0.0: 0.0}
    for s, y in (([5, 6, 7, 0], [9, 10, 0]), ([8, 0], [11, 0])):
        prefix = torch.tensor([[shared.config.decoder_start_token_id, *y[:-1]]])
        logits = shared(input_ids=torch.tensor([s]), decoder_input_ids=prefix).logits[0] - bias
        for e in expected:
            nats = torch.nn.functional.cross_entropy(logits, torch.tensor(y), reduction="sum", label_smoothing=e)
            expected[e] += nats.item()
    with torch.no_grad():
        assert TranslationLoss(shared, 0.1)(source, labels).item() == pytest.approx(expected[0.1], rel=1e-5)
        plain = TranslationLoss(shared, 0.1)(source, labels, smoothing=0.0).item()
    assert plain == pytest.approx(expected[0.0], rel=1e-5)
    assert abs(expected[0.0] - expected[0.1]) > 1e-2, "the two can be told apart"


def test_tied_embeddings_get_the_gradient_of_both_ends():
    tied = model(40, seed=0, eos_bias=0.0)
    source, labels = torch.tensor([[5, 6, 0]]), torch.tensor([[7, 8, 0]])
    TranslationLoss(tied, 0.1)(source, labels).backward()
    sliced = tied.lm_head.weight.grad.clone()
    tied.zero_grad()
    logits = tied(input_ids=source, decoder_input_ids=torch.tensor([[2, 7, 8]])).logits[0]
    torch.nn.functional.cross_entropy(logits, labels[0], label_smoothing=0.1, reduction="sum").backward()
    assert sliced.abs().max() > 0.1
    torch.testing.assert_close(sliced, tied.lm_head.weight.grad, rtol=1e-4, atol=1e-4)
