"""Nearest neighbours against brute force in numpy."""

import numpy as np
import pytest
import torch

from toolkit.pair_classifier import _neighbours as neighbours
from toolkit.pair_classifier._neighbours import nearest


def random_vectors(count, seed, topics=0, dimensions=16):
    """Vectors of length 1; with topics, around so many of them."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, dimensions))
    if topics:
        vectors = vectors * 0.5 + random.normal(size=(topics, dimensions))[random.integers(topics, size=count)]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def brute_force(vectors, queries, forbidden, max_cosine=1.0):
    """One query after another, all cosines in float64."""
    result = []
    for query, exclusions in zip(queries, forbidden, strict=True):
        cosines = {i: float(np.dot(vectors[query].astype(float), v.astype(float))) for i, v in enumerate(vectors)}
        allowed = {i: c for i, c in cosines.items() if i not in exclusions and c <= max_cosine}
        result.append(max(allowed, key=allowed.get, default=-1))
    return result


def groups(count, size):
    """Each vector bars those of its own group of consecutive ones."""
    return [list(range(i // size * size, min(count, i // size * size + size))) for i in range(count)]


def test_exact_is_brute_force_over_several_blocks(monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK", 7)
    vectors, queries = random_vectors(100, 0, dimensions=4), list(range(99, -1, -3))
    exclusions = [groups(100, 20)[i] for i in queries]
    indices, cosines = nearest(torch.tensor(vectors), queries, exclusions)
    assert indices == brute_force(vectors, queries, exclusions) and indices != brute_force(
        vectors, queries, [[q] for q in queries]
    )
    assert cosines == pytest.approx(
        [float(vectors[q] @ vectors[n]) for q, n in zip(queries, indices, strict=True)], abs=1e-5
    )


def test_what_is_too_near_is_passed_over():
    vectors, queries = random_vectors(60, 3, dimensions=4), list(range(60))
    exclusions = [[q] for q in queries]
    indices, cosines = nearest(torch.tensor(vectors), queries, exclusions, max_cosine=0.8)
    assert indices == brute_force(vectors, queries, exclusions, 0.8) != brute_force(vectors, queries, exclusions)
    assert max(cosines) <= 0.8


def test_none_is_left():
    vectors = torch.tensor(random_vectors(3, 4))
    assert nearest(vectors, [1, 2], [[0, 1, 2], [0, 2]]) == (
        [-1, 1],
        [-2.0, pytest.approx(float(vectors[1] @ vectors[2]))],
    )
    assert nearest(vectors, [], []) == ([], [])


def test_zero_vectors_are_neighbours_of_last_resort():
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.6, 0.8]])
    assert nearest(vectors, [0, 1], [[0, 1], [1]]) == ([2, 2], [0.0, pytest.approx(0.6)])


def test_every_query_has_its_list():
    with pytest.raises(ValueError, match="wanted forbidden vectors of each of 2 queries, got those of 1"):
        nearest(torch.eye(3), [0, 1], [[0]])
