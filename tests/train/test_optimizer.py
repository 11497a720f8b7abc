"""Which parameter goes to which optimiser."""

import pytest
import torch

from tests.tiny import model
from toolkit.train.optimizer import _Float32Muon, optimizers


@pytest.mark.parametrize("kind", ["muon", "adamw"])
def test_every_trainable_parameter_exactly_once(kind):
    tiny = model(40, seed=0)
    taken = [id(p) for o in optimizers(tiny, 1e-3, kind) for g in o.param_groups for p in g["params"]]
    assert sorted(taken) == sorted({id(p) for p in tiny.parameters() if p.requires_grad})
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


@pytest.mark.parametrize("shape", [(24, 24), (12, 40), (40, 12)])
def test_muon_in_float32_is_torchs_but_for_its_rounding(shape):
    start = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    settings = {"lr": 0.01, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    weights = [torch.nn.Parameter(start.clone()) for _ in range(2)]
    both = [kind([one], **settings) for kind, one in zip((torch.optim.Muon, _Float32Muon), weights, strict=True)]
    for seed in range(3):
        gradient = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        for optimizer, weight in zip(both, weights, strict=True):
            weight.grad = gradient.clone()
            optimizer.step()
    moved = (weights[0] - start).abs().mean()
    assert moved > 1e-3 and (weights[0] - weights[1]).abs().mean() < 0.02 * moved


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="wanted optimizer muon or adamw, got 'sgd'"):
        optimizers(model(40, seed=0), 1e-3, "sgd")
