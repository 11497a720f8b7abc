"""Clustering against a slow implementation of the same rules in plain Python, and the rules one by one."""

import random

import pytest

from tests.tiny import translator
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.score.overlap import without_punctuation
from toolkit.select.cluster import MAX_ROUNDS, ROWS, _assign, _distance_keys, cluster_rows


def edits(a: str, b: str) -> int:
    """Levenshtein distance by the textbook recursion over prefixes."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


def slow_assign(keys: list[str], clusters: int) -> list[int]:
    """The rules of section 2.3 as the module's header states them, on indices into `keys`."""
    distance = [[edits(a, b) for b in keys] for a in keys]
    everyone = range(len(keys))
    centres = [0]
    for _ in range(min(clusters, len(set(keys[1:]) - {keys[0]}))):
        centres.append(max(everyone, key=lambda i: (min(distance[i][c] for c in centres), -i)))
    for _ in range(MAX_ROUNDS):
        members: list[list[int]] = [[] for _ in centres]
        for i in everyone:
            members[min(range(len(centres)), key=lambda n: (distance[i][centres[n]], n))].append(i)
        new = [0]
        for cluster in members[1:]:
            new.append(min(cluster, key=lambda i: (sum(distance[i][j] for j in cluster), i)))
        if new == centres:
            break
        centres = new
    return [min(range(len(centres)), key=lambda n: (distance[i][centres[n]], n)) for i in everyone][1:]


@pytest.mark.parametrize("seed", range(60))
def test_assign_is_the_slow_implementation(seed):
    chance = random.Random(seed)
    letters = "abcdef"[: chance.randint(2, 6)]
    keys = ["".join(chance.choices(letters, k=chance.randint(0, 9))) for _ in range(chance.randint(2, 40))]
    keys += chance.choices(keys, k=chance.randint(0, 3))  # equal candidates, and some equal to the reference
    for clusters in (1, 3, 7):
        assert _assign(keys, clusters) == slow_assign(keys, clusters)


def test_candidates_by_the_reference_are_in_cluster_0():
    assert _assign(["abcdef", "abcdefg", "uvwxyz", "uvwxy", "abcdef"], 1) == [0, 1, 1, 0]


@pytest.mark.parametrize("distinct", [1, 2, 6, 7, 8, 12])
def test_k_is_at_most_7_and_at_most_the_distinct_candidates(distinct):
    keys = ["r" * 20, *(chr(ord("a") + n) * 20 for n in range(distinct)), *("a" * 20 for _ in range(3))]
    clusters = _assign(keys, 7)
    assert set(clusters) - {0} == set(range(1, min(7, distinct) + 1))
    assert clusters[-3:] == [clusters[0]] * 3


def test_with_few_distinct_candidates_each_is_a_cluster():
    keys = ["abcdefgh", "abcdefgi", "abcdefgj", "abcdefgij"]  # near the reference, near each other
    assert sorted(_assign(keys, 7)) == [1, 2, 3]


def test_one_candidate_or_none():
    assert _assign(["abc", "abd"], 7) == [1]
    assert _assign(["abc", "abc"], 7) == [0]
    assert _assign(["abc"], 7) == []
    assert _assign(["", ""], 7) == [0]
    assert _assign(["", "a"], 7) == [1]


def test_all_candidates_equal_to_the_reference():
    assert _assign(["abc"] * 6, 7) == [0] * 5


def test_a_tie_between_centres_goes_to_the_reference_then_to_the_earlier():
    assert _assign(["aaaa", "bbbb", "aabb"], 1) == [1, 0]  # 2 from either
    # c and b are 4 from the reference and from each other: the better candidate is the first centre
    assert _assign(["aaaa", "bbbb", "cccc", "bbcc"], 2) == [1, 2, 1]


def test_the_furthest_is_found_one_after_another():
    # after "zzzzzz" (6), "aaaxxx" is 3 from the reference; "zzzzzy" is 6 from it but 1 from a centre
    assert _assign(["aaaaaa", "zzzzzz", "zzzzzy", "aaaxxx"], 2) == [1, 1, 2]


def keys(*texts: str) -> list[str]:
    return _distance_keys(translator("de-en").target.split_all([without_punctuation(text) for text in texts]))


def test_keys_ignore_case_and_punctuation():
    first, *rest = keys("The dog sleeps.", "the dog sleeps", "THE DOG - sleeps!?", 'the dog," sleeps...')
    assert rest == [first] * 3
    assert len(first) >= 3


def test_keys_count_pieces_not_characters():
    segmented = translator("de-en").target.processor.encode("we have been there", out_type=str)
    key = keys("We have been there.")[0]
    assert len(key) == sum(any(c.isalnum() for c in piece) for piece in segmented)
    assert len(key) < len("wehavebeenthere")


def test_keys_tell_pieces_apart():
    assert len(set(keys("one", "two", "one two", "two one", ""))) == 5
    assert keys("", "...", "¿?") == ["", "", ""]
    assert keys("3 4", "3 5")[0] != keys("3 4", "3 5")[1]


def test_rows_are_clustered_by_score_and_refused_candidates_are_left_out():
    row = Row("a-1", "a", "x", "de", "We sleep in the house.", "en", "train")
    texts = ["we sleep in the house!", "Never again would I try.", "never again would I try"]
    row.candidates = [Candidate(text, "sample", scores=Scores(-n - 1.0, 1, -1.0, 1)) for n, text in enumerate(texts)]
    row.candidates.append(Candidate("refused", "sample", scores=Scores(-9.0, 1, -9.0, 1), reason="dual"))
    assert [c.cluster for c in next(iter(cluster_rows([row], translator("de-en").target, 7))).candidates] == [
        0,
        1,
        1,
        None,
    ]


def test_a_row_has_the_same_clusters_among_others():
    chance, pieces = random.Random(2), translator("de-en").target
    rows = []
    for number in range(ROWS + 3):
        texts = {" ".join(chance.choices(("we", "you", "go", "home", "now", "will"), k=4)) for _ in range(number % 12)}
        candidates = [
            Candidate(text, "sample", scores=Scores(-n - 1.0, 1, -1.0, 1)) for n, text in enumerate(sorted(texts))
        ]
        rows.append(Row(f"a-{number}", "a", "x", "de", "we go home", "en", "train", candidates=candidates))
    alone = [[c.cluster for c in row.candidates] for single in rows for row in cluster_rows([single], pieces, 3)]
    together = list(cluster_rows(rows, pieces, 3))
    assert [row.id for row in together] == [f"a-{n}" for n in range(ROWS + 3)]
    assert [[c.cluster for c in row.candidates] for row in together] == alone


def test_the_order_of_the_candidates_does_not_matter():
    chance = random.Random(1)
    words = ["the", "a", "dog", "cat", "sleeps", "eats", "in", "near", "house", "tree", "never", "always"]
    texts = sorted({" ".join(chance.choices(words, k=5)) for _ in range(40)})
    scores = {text: chance.choice([-1.0, -2.0, -3.0]) for text in texts}
    clusters = []
    for _ in range(3):
        chance.shuffle(texts)
        row = Row("a-1", "a", "x", "de", "The dog sleeps in the house.", "en", "train")
        row.candidates = [Candidate(text, "sample", scores=Scores(scores[text], 1, -1.0, 1)) for text in texts]
        clusters.append(
            {c.text: c.cluster for c in next(iter(cluster_rows([row], translator("de-en").target, 7))).candidates}
        )
    assert clusters[0] == clusters[1] == clusters[2]
    assert len(set(clusters[0].values())) > 4
