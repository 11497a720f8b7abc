"""The batches of a training: every pair in every epoch, within the limits, the same for any number of processes."""

import random
from collections import Counter

import pytest

from toolkit.train._batches import Batches, cut

LENGTHS = random.Random(3).choices(range(2, 60), k=500)


@pytest.mark.parametrize(("tokens", "pairs"), [(400, 1000), (4000, 16), (60, 4)])
def test_every_pair_is_read_once_an_epoch_within_the_limits(tokens, pairs):
    batches = Batches(LENGTHS, 3, tokens, pairs, 1, seed=1)
    groups = list(batches)
    assert len(groups) == len(batches)
    assert Counter(n for batch in groups for n in batch) == dict.fromkeys(range(500), 3)
    for batch in groups:
        assert len(batch) <= pairs
        assert len(batch) * max(LENGTHS[n] for n in batch) <= max(tokens, 60)
    assert groups == list(batches), "a training that resumes reads the same batches"
    assert groups != list(Batches(LENGTHS, 3, tokens, pairs, 1, seed=2))


def test_processes_get_equally_many():
    for share in (2, 3, 8):
        assert len(list(Batches(LENGTHS, 2, 400, 1000, share, 0))) % share == 0
    assert len(Batches(LENGTHS[:3], 1, 4000, 1000, 2, 0)) == 0


def test_a_pair_that_is_longer_than_a_batch_is_a_batch():
    assert cut([5, 50], 10, 9) == [(0, 1), (1, 2)]
    assert cut([], 10, 9) == []
