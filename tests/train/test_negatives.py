"""The nearest allowed sentence, by looking at all of them."""

import numpy as np
import pytest
import torch

from toolkit.train import _negatives as negatives
from toolkit.train._negatives import excluded, nearest

EXACT, HALF = torch.float32, torch.bfloat16
BLOCKS = [1000, 7, 1]


def cosines(vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return unit @ unit.T


def barred(keys: list[np.ndarray]) -> np.ndarray:
    return np.any([key[:, None] == key[None] for key in keys], axis=0)


def case(seed: int, count: int = 60, dimensions: int = 5) -> tuple[np.ndarray, list[np.ndarray]]:
    """Sentences of which some share a reference, and some the text, hence the vector."""
    chance = np.random.default_rng(seed)
    references, texts = chance.integers(0, 25, count), chance.integers(0, 45, count)
    return chance.normal(size=(45, dimensions)).astype(np.float32)[texts], [references, texts]


def oracle(vectors: np.ndarray, keys: list[np.ndarray]) -> np.ndarray:
    return np.where(barred(keys), -np.inf, cosines(vectors))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_is_the_nearest(block, seed, monkeypatch):
    monkeypatch.setattr(negatives, "BLOCK", block)
    vectors, keys = case(seed)
    allowed, count = oracle(vectors, keys), len(vectors)
    places = nearest(torch.from_numpy(vectors), keys, 0, count, EXACT)
    assert places.shape == (count,) and places.dtype == np.int64
    # equal texts are equally near: the cosine decides, not the place
    np.testing.assert_allclose(allowed[np.arange(count), places], allowed.max(1), atol=1e-6)
    assert (cosines(vectors).argmax(1) != places).any() and (allowed.argmax(1) == places).mean() > 0.8
    for first, last in ((0, 20), (13, 47), (59, 60), (60, 60), (0, 0)):
        part = nearest(torch.from_numpy(vectors), keys, first, last, EXACT)
        np.testing.assert_allclose(allowed[np.arange(first, last), part], allowed.max(1)[first:last], atol=1e-6)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("part", [False, True], ids=["all", "a share"])
def test_bfloat16_is_at_most_half_a_percent_of_cosine_off_and_never_barred(block, part, monkeypatch):
    monkeypatch.setattr(negatives, "BLOCK", block)
    for seed in range(4):
        vectors, keys = case(seed, dimensions=(2, 5, 40, 300)[seed])
        first, last = (5, 50) if part else (0, 60)
        allowed = oracle(vectors, keys)[first:last]
        places = nearest(torch.from_numpy(vectors), keys, first, last, HALF)
        values = allowed[np.arange(last - first), places]
        assert np.isfinite(values).all(), "barred"
        assert (allowed.max(1) - values).max() <= 0.005


@pytest.mark.parametrize("dtype", [EXACT, HALF])
@pytest.mark.parametrize("block", [1000, 2, 1])
def test_where_all_cosines_are_negative(dtype, block, monkeypatch):
    monkeypatch.setattr(negatives, "BLOCK", block)
    angles = np.radians([0, 110, 230])
    vectors = torch.tensor(np.stack([np.cos(angles), np.sin(angles)], 1), dtype=torch.float32)
    alone = [np.arange(3)]
    assert nearest(vectors, alone, 0, 3, dtype).tolist() == [1, 0, 1]  # 110, 110 and 120 degrees apart
    assert nearest(vectors, [*alone, np.array([4, 4, 9])], 0, 3, dtype).tolist() == [2, 2, 1]
    # a zero vector, of cosine 0, is nearer than any of them
    with_zero = torch.cat([vectors, torch.zeros(1, 2)])
    assert nearest(with_zero, [np.arange(4)], 0, 4, dtype)[:3].tolist() == [3, 3, 3]


@pytest.mark.parametrize("dtype", [EXACT, HALF])
def test_where_none_is_allowed_any_place_comes_back(dtype):
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    places = nearest(vectors, [np.zeros(3, np.int64)], 0, 3, dtype)
    assert ((places >= 0) & (places < 3)).all()
    places = nearest(vectors, [np.array([0, 0, 0]), np.arange(3)], 0, 3, dtype)
    assert ((places >= 0) & (places < 3)).all()


@pytest.mark.parametrize("dtype", [EXACT, HALF])
def test_the_length_of_a_vector_does_not_matter(dtype):
    vectors, keys = case(1)
    longer = vectors * np.random.default_rng(0).integers(0, 9, (60, 1)).astype(np.float32).__rpow__(np.float32(2))
    places = [nearest(torch.from_numpy(v), keys, 0, 60, dtype).tolist() for v in (vectors, longer)]
    assert places[0] == places[1] and not np.array_equal(vectors, longer)


def test_excluded_are_all_that_share_a_key():
    _, keys = case(7)
    for key_list in (keys, keys[:1], [np.arange(60)], [np.zeros(60, np.int64)]):
        rows, columns = excluded(key_list)
        assert (np.diff(rows) >= 0).all()
        assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == set(
            map(tuple, np.argwhere(barred(key_list)).tolist())
        )
    rows, columns = excluded([np.zeros(0, np.int64)])
    assert len(rows) == len(columns) == 0
