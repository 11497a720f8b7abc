"""Correlations by an encoder of four words, on files written here in the official formats."""

import numpy as np
import pytest

from tests.tiny import word_encoder
from toolkit.evaluate.sts import (
    SETS,
    _encode_distinct,
    _leave_out,
    _Pairs,
    _read_sick,
    _set_files,
    _similarities,
    _year_correlations,
    agreement,
    best_threshold,
    correlations,
    read_benchmark,
    read_chinese,
    read_chinese_identification,
    read_sentences,
    read_year,
)

WORDS = {"[UNK]": [0, 0], "dog": [1, 0], "hound": [3, 4], "cat": [0, 2]}


@pytest.fixture(scope="module")
def encoder():
    return word_encoder(WORDS)


def pairs_of(name, texts, scores):
    return _Pairs(name, ["dog"] * len(texts), list(texts), np.array(scores, float))


def write(folder, name, inputs, golds, prefix="STS"):
    (folder / f"{prefix}.input.{name}.txt").write_bytes(inputs.encode())
    (folder / f"{prefix}.gs.{name}.txt").write_bytes(golds.encode())


FOUR = pairs_of("four", ["hound", "cat", "dog", "purple"], [3, 1, 5, 0])


def test_correlations_by_hand(encoder):
    assert _similarities(encoder, FOUR).tolist() == [0.6, 0.0, 1.0, 0.0]  # a zero vector counts 0
    pearson, spearman = correlations(encoder, FOUR)
    # cosines less their mean 0.2 -0.4 0.6 -0.4, scores less theirs 0.75 -1.25 2.75 -2.25
    assert pearson == pytest.approx(100 * 3.2 / np.sqrt(0.72 * 14.75))
    # ranks 3 1.5 4 1.5, the two zeros being tied, and 3 2 4 1
    assert spearman == pytest.approx(100 * 4.5 / np.sqrt(4.5 * 5))


def test_a_year_is_the_mean_over_sets_however_large(encoder):
    backwards = pairs_of("backwards", ["dog", "hound"], [1, 4])
    result = _year_correlations(encoder, [FOUR, backwards])
    assert result["backwards"] == pytest.approx((-100, -100))
    assert result["four"] == correlations(encoder, FOUR)
    assert result["mean"] == pytest.approx(((result["four"][0] - 100) / 2, (result["four"][1] - 100) / 2))
    cosines, scores = [0.6, 0, 1, 0, 1, 0.6], [3, 1, 5, 0, 1, 4]
    assert result["pooled"][0] == pytest.approx(100 * np.corrcoef(cosines, scores)[0, 1])
    assert result["pooled"][0] > result["mean"][0] + 10


def test_a_text_is_encoded_once(encoder):
    vectors, rows = _encode_distinct(encoder, ["cat", "dog", "cat", "hound", "dog"])
    assert vectors.tolist() == [[0, 2], [1, 0], [3, 4]] and rows.tolist() == [0, 1, 0, 2, 1]


def test_similarities_that_say_nothing_count_zero(encoder):
    assert correlations(encoder, pairs_of("blind", ["purple", "green"], [1, 2])) == (0, 0)
    with pytest.raises(ValueError, match="wanted pairs with different scores, got 2 in flat"):
        agreement(np.array([0.1, 0.2]), np.array([3.0, 3.0]), "flat")


def test_reads_a_year_without_what_nobody_scored(tmp_path):
    write(tmp_path, "images", 'A "dog\tA cat.\r\nno\tscore\nDogs!\tCats ; \n', "4.50\n\n0\n")
    write(tmp_path, "belief", "one\ttwo\n", "5")
    (tmp_path / "STS.input.belief.LICENSE").write_text("free")
    (tmp_path / "STS.gs.ALL.txt").write_text("5\n4.50\n")
    belief, images = read_year(tmp_path)
    assert (belief.name, images.name) == ("belief", "images")
    assert images.sentences1 == ['A "dog', "Dogs!"] and images.sentences2 == ["A cat.", "Cats ;"]
    assert images.scores.tolist() == [4.5, 0] and belief.scores.tolist() == [5]


def test_2016_has_names_and_columns_of_its_own(tmp_path):
    lines = "What is it?\tWhat was it?\thttp://a\thttp://b\nNo.\tYes.\tx\ty\n"
    for name in SETS[2016]:
        write(tmp_path, name, lines, "4\n1\n", "STS2016")
    sets = read_year(tmp_path)
    assert [item.name for item in sets] == list(SETS[2016]) and all(
        path.is_file() for path in _set_files(tmp_path, 2016)
    )
    assert sets[0].sentences2 == ["What was it?", "Yes."]


def test_the_papers_25_sets_but_for_the_one_that_is_not_public(tmp_path):
    assert [len(SETS[year]) for year in range(2012, 2017)] == [5, 3, 6, 5, 5]  # ParaNMT, table 10: 25
    names = [path.name for path in _set_files(tmp_path, 2012)]
    assert names[-2:] == ["STS.input.surprise.SMTnews.txt", "STS.gs.surprise.SMTnews.txt"] and len(names) == 10


def test_reads_the_benchmark_sick_and_chinese(tmp_path):
    path = tmp_path / "sts-test.csv"
    path.write_text('main-news\tMSRpar\t2012test\t0024\t2.500\t"Dogs" bark.\tA dog, barks\tlicence\turl\n', "utf-8")
    pairs = read_benchmark(path)
    assert (pairs.name, pairs.sentences1, pairs.sentences2) == ("sts-test", ['"Dogs" bark.'], ["A dog, barks"])
    assert pairs.scores.tolist() == [2.5]
    path = tmp_path / "SICK_trial.txt"
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    path.write_bytes((head + "4\tA boy\tA girl\t3.6\tNEUTRAL\r\n").encode())
    assert (_read_sick(path).sentences2, _read_sick(path).scores.tolist()) == (["A girl"], [3.6])
    path = tmp_path / "sts-b-dev.txt"
    path.write_text("狗。\t猫。\t0\n", "utf-8")
    assert (read_chinese(path).sentences1, read_chinese(path).scores.tolist()) == (["狗。"], [0])


def test_reads_chinese_paraphrase_identification(tmp_path):
    for name in ("LCQMC", "PAWS-X"):
        (tmp_path / name).mkdir()
    (tmp_path / "LCQMC" / "test.txt").write_text("狗。\t猫。\t0\n犬。\t狗。\t1\n", "utf-8")
    (tmp_path / "PAWS-X" / "test_2k.tsv").write_text("id\tsentence1\tsentence2\tlabel\n7\t狗。\t犬。\t1\n", "utf-8")
    pairs = read_chinese_identification(tmp_path / "LCQMC" / "test.txt")
    assert (pairs.name, pairs.sentences2, pairs.scores.tolist()) == ("LCQMC test", ["猫。", "狗。"], [0, 1])
    pairs = read_chinese_identification(tmp_path / "PAWS-X" / "test_2k.tsv")
    assert (pairs.name, pairs.sentences1, pairs.scores.tolist()) == ("PAWS-X test_2k", ["狗。"], [1])


def test_pairs_are_left_out_whatever_their_case_and_punctuation(tmp_path):
    path = tmp_path / "captions.txt"
    path.write_text("two Dogs, playing\n\n...\nA cat\n", "utf-8")
    sentences = read_sentences(path)
    assert sentences == {"two dogs playing", "a cat"}
    pairs = _Pairs("s", ["Two dogs playing.", "!", "A"], ["x", "A  dog.", "a CAT!"], np.array([1.0, 2.0, 3.0]))
    left = _leave_out(pairs, sentences)
    assert (left.sentences1, left.scores.tolist(), left.left_out) == (["!"], [2], 2)
    assert _leave_out(left, {"a dog"}).left_out == 3
    assert _leave_out(pairs, set()).scores.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "inputs, golds, message",
    [
        ("a\tb\nc\td\n", "1\n", r"got 2 lines in .*STS.input.x.txt and 1 in .*STS.gs.x.txt"),
        ("a\tb\nc\n", "1\n2\n", r"wanted 2 columns parted by tabs, got 1 in line 2 of .*STS.input.x.txt"),
        ("a\tb\nc\td\n", "1\n5.1\n", r"wanted a score from 0 to 5, got '5.1' in line 2 of .*STS.gs.x.txt"),
        ("a\tb\nc\td\n", "\nnan\n", r"wanted a score from 0 to 5, got 'nan' in line 2"),
        ("a\tb\n", "good\n", r"got 'good' in line 1"),
        ("a\tb\n", "\n", r"wanted scored pairs, got none in .*STS.gs.x.txt"),
    ],
)
def test_bad_years(tmp_path, inputs, golds, message):
    write(tmp_path, "x", inputs, golds)
    with pytest.raises(ValueError, match=message) as error:
        read_year(tmp_path)
    assert "\n" not in str(error.value)


def test_missing_files_of_a_year(tmp_path):
    with pytest.raises(ValueError, match=r"wanted STS.input.NAME.txt or STS2016.input.NAME.txt, got none in"):
        read_year(tmp_path)
    (tmp_path / "STS.input.x.txt").write_text("a\tb\n")
    with pytest.raises(FileNotFoundError, match=r"STS.gs.x.txt"):
        read_year(tmp_path)


@pytest.mark.parametrize(
    "read, text, message",
    [
        (read_benchmark, "g\tf\ty\t1\t4\tone\n", "wanted 7 columns parted by tabs, got 6 in line 1"),
        (read_benchmark, "g\tf\ty\t1\t-1\tone\ttwo\n", "wanted a score from 0 to 5, got '-1' in line 1"),
        (_read_sick, "head\n1\ta\tb\t0.5\tNEUTRAL\n", "wanted a score from 1 to 5, got '0.5' in line 2"),
        (_read_sick, "head\n", "wanted scored pairs, got none"),
        (read_chinese, "a\tb\t1\na\tb\t\n", "wanted a score from 0 to 5, got '' in line 2"),
    ],
)
def test_bad_tables(tmp_path, read, text, message):
    path = tmp_path / "table.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read(path)
    assert "table.txt" in str(error.value) and "\n" not in str(error.value)


def test_a_line_with_more_columns_than_the_header_is_refused(tmp_path):
    (tmp_path / "SICK.txt").write_text("id\ta\tb\tscore\tlabel\n1\tone\tand\ttwo\t4.5\tNEUTRAL\n")
    with pytest.raises(ValueError, match=r"wanted 5 columns parted by tabs, got 6 in line 2 of .*SICK.txt"):
        _read_sick(tmp_path / "SICK.txt")


@pytest.mark.parametrize("seed", range(5))
def test_no_other_threshold_tells_more_pairs_right(seed):
    chance = np.random.default_rng(seed)
    cosines, labels = chance.integers(0, 8, 30) / 8, chance.integers(0, 2, 30)
    best, accuracy = best_threshold(cosines, labels)
    right = {threshold: np.sum((cosines >= threshold) == labels) for threshold in [*np.unique(cosines), np.inf]}
    assert right[best] == max(right.values()) == pytest.approx(30 * accuracy)
    assert best == min(threshold for threshold in right if right[threshold] == right[best])
