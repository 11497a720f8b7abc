"""The arithmetic of full size: operations by hand, and what they are multiplied by."""

from dataclasses import replace

import pytest

from research.experiments.scale_estimates import PEAK, Corpus, cross_flops, decoder_flops, encoder_flops, estimate
from toolkit.generate.merge import LONG
from toolkit.translator.settings import Size

SIZE = Size(vocabulary=100, joint=False, width=10, encoder_layers=3, decoder_layers=2, heads=2, feed_forward=40)


def test_operations_are_two_for_each_weight():
    layer = 4 * 10 * 10 + 2 * 10 * 40
    assert encoder_flops(SIZE) == 2 * 3 * layer
    assert decoder_flops(SIZE) == 2 * (2 * (layer + 2 * 10 * 10) + 10 * 100), "of cross-attention query and output"
    assert cross_flops(SIZE) == 2 * 2 * (2 * 10 * 10), "keys and values"


def test_a_corpus_costs_its_rows_and_its_scoring():
    plain = Corpus(1000, 8, 5, 12, 0, 50, SIZE, None)
    figures = estimate(plain, 2e6)
    assert figures["rows"] == 1000 * 5 * 12 and figures["share_of_scoring"] == 0 and figures["gigabytes"] == 2
    source = 8 * (encoder_flops(SIZE) + cross_flops(SIZE))
    assert figures["operations"] == 1000 * (source + 60 * decoder_flops(SIZE))
    high, low = figures["hours"]["1 GPU"]
    assert low == pytest.approx(4 * high) and high == pytest.approx(figures["operations"] / (0.2 * PEAK) / 3600)
    assert figures["hours"]["8 GPU"][0] == pytest.approx(high / 8)
    weights = 3 * 1200 + 2 * (1200 + 400) + 2 * 10 * 100
    assert figures["gpu_gigabytes"] == pytest.approx(2 * (weights + 50 * (2 * LONG + 10) * 2 * 2 * 10) / 1e9)
    scored = estimate(replace(plain, scored=2, backward=SIZE), 1)
    read = 2 * (5 * (encoder_flops(SIZE) + cross_flops(SIZE)) + 8 * decoder_flops(SIZE))
    assert scored["operations"] == pytest.approx(figures["operations"] + 1000 * read)
