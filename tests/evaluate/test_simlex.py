import math

import pytest

from toolkit.evaluate.simlex import WordPair, _pair_score, correlation, read_simlex

HEADER = "word1\tword2\tPOS\tSimLex999\tconc(w1)\n"
PAIRS = [
    WordPair("old", "new", 1.0),
    WordPair("hot", "warm", 5.0),
    WordPair("big", "large", 9.0),
    WordPair("cup", "mug", 8.0),
]


def test_reads_words_and_similarity(tmp_path):
    path = tmp_path / "SimLex-999.txt"
    path.write_text(HEADER + 'old\tnew\tA\t1.58\t2.72\r\nGod\t"devil\tN\t1.8\t3\n')
    assert read_simlex(path) == [("old", "new", 1.58), ("god", '"devil', 1.8)]


@pytest.mark.parametrize("line", ["old\tnew\tA\tmuch\t1", "old\tnew"])
def test_refuses_what_is_not_simlex(tmp_path, line):
    (tmp_path / "s.txt").write_text(HEADER + line + "\n")
    with pytest.raises(
        ValueError, match=r"^wanted lines with word1, word2, SimLex999, .*in line 2 of .*: fetch the file"
    ):
        read_simlex(tmp_path / "s.txt")
    with pytest.raises(ValueError, match=r"^wanted SimLex-999.txt, got .*, which is no file: fetch it"):
        read_simlex(tmp_path / "gone.txt")


def test_rho_by_hand():
    """Ranks 1 2 4 3 by people, 2 1 4 3 by scores: 1 - 6 * 2 / (4 * 15)."""
    scores = {("old", "new"): 0.2, ("hot", "warm"): 0.1, ("big", "large"): 7.0, ("cup", "mug"): 0.3}
    assert correlation(PAIRS, scores).rho == pytest.approx(80.0)
    assert correlation(PAIRS, lambda *words: -scores[words] if words in scores else None).rho == pytest.approx(-80.0)


def test_unseen_pairs_are_zero_and_counted():
    """Scores -1, 0, 2, 0: ranks 1, 2.5, 4, 2.5 against 1, 2, 4, 3."""
    result = correlation(PAIRS, {("old", "new"): -1.0, ("large", "big"): 2.0})
    left, right = [1, 2.5, 4, 2.5], [1, 2, 4, 3]
    products = sum((a - 2.5) * (b - 2.5) for a, b in zip(left, right, strict=True))
    squares = sum((a - 2.5) ** 2 for a in left) * sum((b - 2.5) ** 2 for b in right)
    assert result.rho == pytest.approx(100 * products / math.sqrt(squares))
    assert (result.pairs, result.unseen) == (4, 2)


def test_both_orders_are_averaged_and_one_is_enough():
    assert _pair_score({("a", "b"): 1.0, ("b", "a"): 4.0}, "a", "b") == 2.5
    assert _pair_score({("b", "a"): 4.0}, "a", "b") == 4.0
    assert _pair_score({("b", "c"): 4.0}, "a", "b") is None
    assert _pair_score(lambda first, second: 3.0 if first < second else None, "b", "a") == 3.0


def test_refuses_scores_without_a_rank():
    with pytest.raises(
        ValueError, match=r"^wanted scores that tell word pairs apart, .* 4 of which 4 are unseen: count"
    ):
        correlation(PAIRS, {})
    with pytest.raises(ValueError, match=r"^wanted finite scores, got an infinite one or none: return None for"):
        correlation(PAIRS, lambda first, second: math.nan)


@pytest.mark.parametrize("score", ["nan", "inf", "4,2", "3\tmore\tfields"])
def test_a_score_that_is_not_finite_and_a_wide_line_are_refused(tmp_path, score):
    (tmp_path / "SimLex-999.txt").write_text(f"word1\tword2\tSimLex999\nold\tnew\t1.58\nfast\tquick\t{score}\n")
    with pytest.raises(ValueError, match=r"got none in line 3 of .*SimLex-999.txt"):
        read_simlex(tmp_path / "SimLex-999.txt")
