import math

import pytest

from toolkit.bitext.idf import Idf
from toolkit.evaluate.profile import _entropy, _idf_signature, _mean_idf, _parse_entropy_signature, _tokens, profile
from toolkit.evaluate.trees import Parses, _read_tree

LN2 = math.log(2)


def test_entropy_by_hand():
    assert _entropy([5]) == 0
    assert _entropy([3, 3, 3, 3]) == pytest.approx(2 * LN2)
    # 1/2 at 1 bit, 1/4 at 2 bits, twice 1/8 at 3 bits
    assert _entropy([4, 2, 1, 1]) == pytest.approx(1.75 * LN2)
    assert _entropy([]) == 0


def test_tokens_part_punctuation():
    assert _tokens("Greetings, all!") == ["greetings", ",", "all", "!"]
    assert _tokens("") == []


def test_lengths_and_words_by_hand():
    # lengths 2, 4, 6; words a x4, b x2, . x2, c x4
    figures = profile(["A b", "a b . C", "a . a c c c"])
    assert figures["sentences"] == 3 and figures["words"] == 4
    assert figures["length_mean"] == 4 and figures["length_sd"] == 2  # root of 8 / (3 - 1)
    expected = -(2 * (4 / 12) * math.log(4 / 12) + 2 * (2 / 12) * math.log(2 / 12))
    assert figures["vocabulary_entropy"] == pytest.approx(expected)
    assert not {"idf_mean", "parse_entropy", "unparsed"} & set(figures)


def test_idf_by_hand():
    idf = Idf(16, {"go": 8, "home": 2, "once": 1})
    assert _mean_idf("Go, go HOME!", idf) == pytest.approx((1 + 1 + 3) / 3)
    assert _mean_idf("Once unknown.", idf) is None
    figures = profile(["Go home.", "Go.", "Once."], idf)
    assert figures["idf_mean"] == pytest.approx((2 + 1) / 2) and figures["idf_sd"] == pytest.approx(math.sqrt(0.5))
    assert figures["idf_unknown"] == pytest.approx(1 / 4)


def test_idf_of_words_that_the_table_lacks():
    figures = profile(["Stay.", "?!"], Idf(16, {"go": 8}))
    assert "idf_mean" not in figures and figures["idf_unknown"] == 1
    assert profile(["?!"], Idf(16, {"go": 8}))["idf_unknown"] == 0


def test_parse_entropy_is_of_the_top_two_levels():
    trees = {
        "a": "(S (NP (DT a)) (VP x))",
        "b": "(S (NP (PRP b)) (VP y))",  # differs on the third level only
        "c": "(S (VP z))",
    }
    parses = Parses("by hand", {text: _read_tree(tree) for text, tree in trees.items()} | {"d": None})
    figures = profile(["a", "b", "c", "d", "c"], parses=parses)
    assert figures["parse_entropy"] == pytest.approx(LN2)
    assert figures["unparsed"] == 1
    assert "parse_entropy" not in profile(["d"], parses=parses)


def test_one_sentence_has_no_deviation():
    figures = profile(["We go."])
    assert figures["length_mean"] == 3 and "length_sd" not in figures


def test_nothing_is_refused():
    with pytest.raises(ValueError, match="wanted at least one sentence, got none"):
        profile([])


def test_signatures_name_what_changes_the_number():
    assert "base:2" in _idf_signature(Idf(7, {})) and "sentences:7" in _idf_signature(Idf(7, {}))
    assert "parser:by hand" in _parse_entropy_signature("by hand")
