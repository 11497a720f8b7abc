"""The losses against the papers' formulas in plain numpy: values by definition, gradients by finite differences."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from toolkit.train._encoder_loss import SCALE, margin_loss, ranking_loss

STEP = 1e-6


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / lengths) if lengths else 0.0


def margins(s: np.ndarray, p: np.ndarray, t: np.ndarray, u: np.ndarray, margin: float) -> np.ndarray:
    rows = zip(s, p, t, u, strict=True)
    return np.array(
        [
            max(0.0, margin - cosine(a, b) + cosine(a, c)) + max(0.0, margin - cosine(a, b) + cosine(b, d))
            for a, b, c, d in rows
        ]
    )


def rankings(
    anchors: np.ndarray, candidates: np.ndarray, right: np.ndarray, barred: np.ndarray, scale: float
) -> np.ndarray:
    losses = []
    for n, target in enumerate(right):
        scores = {m: scale * cosine(anchors[n], o) for m, o in enumerate(candidates) if m == target or not barred[n, m]}
        losses.append(np.log(sum(np.exp(score) for score in scores.values())) - scores[target])
    return np.array(losses)


def slopes(loss: Callable[..., np.ndarray], vectors: list[np.ndarray], weights: np.ndarray) -> list[np.ndarray]:
    """The gradient of the weighted sum of losses, one number at a time."""
    differences = [np.zeros_like(v) for v in vectors]
    for v, slope in zip(vectors, differences, strict=True):
        for place in np.ndindex(v.shape):
            value = v[place]
            v[place] = value + STEP
            above = weights @ loss(*vectors)
            v[place] = value - STEP
            slope[place] = (above - weights @ loss(*vectors)) / (2 * STEP)
            v[place] = value
    return differences


def gradients(loss: Callable[..., torch.Tensor], vectors: list[np.ndarray], weights: np.ndarray) -> list[np.ndarray]:
    tensors = [torch.tensor(v, requires_grad=True) for v in vectors]
    (torch.from_numpy(weights) * loss(*tensors)).sum().backward()
    return [tensor.grad.numpy() for tensor in tensors]


def draw(*shapes: tuple[int, int], seed: int = 0) -> list[np.ndarray]:
    chance = np.random.default_rng(seed)
    return [chance.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("margin", [0.0, 0.4, 2.0])
def test_margin_loss_in_value_and_gradient(margin):
    vectors, weights = draw(*[(12, 3)] * 4), np.linspace(0.5, 2, 12)
    expected = margins(*vectors, margin)
    losses = margin_loss(*map(torch.from_numpy, vectors), margin)
    np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-12, atol=1e-12)
    assert margin == 2 or {0.0} < set(expected.tolist()), "both sides of the hinge"
    slope = slopes(lambda *v: margins(*v, margin), vectors, weights)
    for gradient, expected_gradient in zip(
        gradients(lambda *v: margin_loss(*v, margin), vectors, weights), slope, strict=True
    ):
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-6, atol=1e-8)
        assert np.abs(expected_gradient).max() > 0.01


def test_margin_loss_by_hand_each_side_with_its_own_negative():
    first = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    second = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    negative = torch.tensor([[5.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    second_negative = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    # 0.4 - 0 + 1 and 0.4 - 0 + 0; 0.4 - 1 + 0 and less: nothing; 0.4 - 1 + 0.8 and 0.4 - 1 - 1
    losses = margin_loss(first, second, negative, second_negative, 0.4)
    torch.testing.assert_close(losses, torch.tensor([1.8, 0.0, 0.2]))


@pytest.mark.parametrize("scale", [1.0, SCALE])
def test_ranking_loss_in_value_and_gradient(scale):
    anchors, candidates = draw((5, 4), (9, 4), seed=1)
    right = np.array([7, 0, 2, 3, 8])
    barred = np.random.default_rng(2).random((5, 9)) < 0.4
    barred[0], barred[1] = True, False  # nothing but its own; all
    weights = np.linspace(0.5, 2, 5)
    arguments = torch.from_numpy(right), torch.from_numpy(barred)
    expected = rankings(anchors, candidates, right, barred, scale)
    losses = ranking_loss(torch.from_numpy(anchors), torch.from_numpy(candidates), *arguments, scale)
    np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-10, atol=1e-12)
    assert (
        expected[0] == 0
        and expected[1:].min() > 1e-3
        and np.abs(expected - rankings(anchors, candidates, right, barred & False, scale)).max() > 0.1
    )
    slope = slopes(lambda *v: rankings(*v, right, barred, scale), [anchors, candidates], weights)
    actual = gradients(lambda *v: ranking_loss(*v, *arguments, scale), [anchors, candidates], weights)
    for gradient, expected_gradient in zip(actual, slope, strict=True):
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-5, atol=1e-7)
        assert np.abs(expected_gradient).max() > 0.01


def test_what_is_barred_has_no_gradient():
    anchors, candidates = (torch.tensor(v, requires_grad=True) for v in draw((1, 3), (3, 3)))
    barred = torch.tensor([[True, True, False]])
    ranking_loss(anchors, candidates, torch.tensor([0]), barred).sum().backward()
    assert candidates.grad[1].tolist() == [0, 0, 0]
    assert candidates.grad[0].abs().max() > 0 and candidates.grad[2].abs().max() > 0


def test_a_zero_vector_has_cosine_zero():
    zero, unit = np.zeros((1, 2)), np.array([[3.0, 4.0]])
    for vectors in ([zero, unit, unit, unit], [unit, unit, zero, zero], [zero] * 4):
        losses = margin_loss(*(torch.from_numpy(v).requires_grad_() for v in vectors), 0.4)
        np.testing.assert_allclose(losses.detach().numpy(), margins(*vectors, 0.4), atol=1e-12)
        assert torch.isfinite(losses).all()
    anchors, candidates = np.zeros((1, 2)), np.array([[1.0, 0.0], [0.0, 0.0]])
    losses = ranking_loss(
        *map(torch.from_numpy, (anchors, candidates)), torch.tensor([1]), torch.zeros(1, 2, dtype=torch.bool)
    )
    np.testing.assert_allclose(losses.numpy(), [np.log(2)])
    inputs = [torch.from_numpy(v).requires_grad_() for v in (unit, unit + 1, zero, unit)]
    margin_loss(*inputs, 0.4).sum().backward()
    assert all(torch.isfinite(v.grad).all() for v in inputs)
