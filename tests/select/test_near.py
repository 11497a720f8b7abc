"""The hashes of near duplicates: n-grams as sets of plain strings, MinHash as it is defined."""

import itertools

import numpy as np

from toolkit.select._near import VALUES, band_hashes, ngrams, rows_of_band


def test_ngrams_are_those_of_both_texts_apart():
    hashes, offsets = ngrams(["abcde", "ab", "abcde"], ["abcd", "", "xabcd"], 4)
    parts = [hashes[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    assert [len(part) for part in parts] == [3, 2, 4]
    assert parts[0][0] == parts[2][0] and parts[0][1] == parts[2][1], "abcd and bcde of the reference"
    assert parts[0][2] == parts[2][3] != parts[0][0], "abcd of the paraphrase is not that of the reference"
    assert parts[0][2] not in parts[2][:3] and len(set(hashes.tolist())) == 6


def test_many_texts_have_the_hashes_of_each_alone():
    chance = np.random.default_rng(0)
    texts = ["".join(chance.choice(list("abc你好"), n)) for n in chance.integers(0, 12, 300)]
    hashes, offsets = ngrams(texts[:150], texts[150:], 3)
    for n in range(150):
        alone, _ = ngrams(texts[n : n + 1], texts[150 + n : 151 + n], 3)
        assert alone.tolist() == hashes[offsets[n] : offsets[n + 1]].tolist()


def test_bands_are_equal_as_often_as_the_sets_are_similar():
    """P(one value is equal) is the Jaccard similarity; a band of 4 values is equal with its fourth power."""
    chance = np.random.default_rng(1)
    shared, rest = 30, 10
    grams, offsets = [], [0]
    for _ in range(400):
        common = chance.integers(0, 2**63, shared)
        for _ in range(2):
            grams += [common, chance.integers(0, 2**63, rest)]
            offsets.append(offsets[-1] + shared + rest)
    similarity = shared / (shared + 2 * rest)
    for rows in (1, 4):
        bands = band_hashes(np.concatenate(grams).astype(np.uint64), np.array(offsets), rows)
        assert bands.shape == (800, VALUES // rows)
        equal = (bands[::2] == bands[1::2]).mean()
        assert abs(equal - similarity**rows) < 0.02
    assert len(np.unique(bands[0])) == bands.shape[1], "other bands, other hashes"


def test_bands_find_nearly_all_pairs_of_the_threshold():
    for similarity in (0.3, 0.5, 0.8, 0.95):
        rows = rows_of_band(similarity)
        assert 1 - (1 - similarity**rows) ** (VALUES // rows) >= 0.95
