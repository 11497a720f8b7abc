"""Which parameter goes to which optimiser."""

import pytest
import torch

from tests.tiny import model
from toolkit.train.optimizer import _StackedMuon, optimizers


@pytest.mark.parametrize("kind", ["muon", "adamw"])
def test_every_trainable_parameter_exactly_once(kind):
    tiny = model(40, seed=0)
    identities = [id(p) for o in optimizers(tiny, 1e-3, kind) for g in o.param_groups for p in g["params"]]
    assert sorted(identities) == sorted({id(p) for p in tiny.parameters() if p.requires_grad})
    frozen = [p for p in tiny.parameters() if not p.requires_grad]
    assert frozen, "the positions"


def test_muon_takes_the_inner_matrices_only():
    tiny = model(40, seed=0)
    muon, adamw = optimizers(tiny, 1e-3, "muon")
    assert isinstance(muon, torch.optim.Muon)
    names = {id(p): name for name, p in tiny.named_parameters()}
    inner = [names[id(p)] for g in muon.param_groups for p in g["params"]]
    assert all(".layers." in name and name.endswith(".weight") and "norm" not in name for name in inner)
    assert len(inner) == 2 * 6 + 2 * 10  # attention: 4 matrices; feed-forward: 2; the decoder attends twice
    rest = [names[id(p)] for g in adamw.param_groups for p in g["params"]]
    assert "model.shared.weight" in rest
    assert all("norm" in name or name.endswith(".bias") or name == "model.shared.weight" for name in rest)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_stacked_muon_is_torchs_but_for_its_rounding(dtype):
    shapes = [(24, 24), (12, 40), (24, 24), (40, 12), (24, 24)]
    chance = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=chance) for shape in shapes]
    weights = [[torch.nn.Parameter(tensor.clone()) for tensor in start] for _ in range(2)]
    torchs = torch.optim.Muon(weights[0], 0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    muons = (torchs, _StackedMuon(weights[1], 0.01, 0.1, dtype))
    for step in range(3):
        gradients = [torch.randn(shape, generator=chance) for shape in shapes]
        for optimizer, parameters in zip(muons, weights, strict=True):
            for n, (weight, gradient) in enumerate(zip(parameters, gradients, strict=True)):
                weight.grad = None if (step, n) == (1, 2) else gradient.clone()  # one has no gradient once
            optimizer.step()
    for expected, actual, initial in zip(*weights, start, strict=True):
        distance = (expected - initial).abs().mean()
        assert distance > 1e-3 and (expected - actual).abs().mean() < 0.02 * distance


def test_the_momenta_of_a_checkpoint_of_torchs_muon_are_taken_back():
    weights = [torch.nn.Parameter(torch.randn(8, 8, generator=torch.Generator().manual_seed(n))) for n in range(2)]
    torchs, stacked_muon = torch.optim.Muon(weights, 0.01), _StackedMuon(weights, 0.01, 0.1, torch.float32)
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    torchs.step()
    stacked_muon.load_state_dict(torchs.state_dict())
    assert all(
        torch.equal(stacked_muon.state[w]["momentum_buffer"], torchs.state[w]["momentum_buffer"]) for w in weights
    )


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="wanted optimizer muon or adamw, got 'sgd'"):
        optimizers(model(40, seed=0), 1e-3, "sgd")
