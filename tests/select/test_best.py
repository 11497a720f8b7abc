"""The best pairs of a corpus against a plain loop in memory: duplicates, near duplicates, and the last cut."""

import json
import random
from dataclasses import asdict, replace
from functools import partial

import pytest

from tests.conftest import write_run
from toolkit.bitext.normalize import match_key
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.data.shards import read_shard
from toolkit.package.parquet import finished_shards
from toolkit.select.best import PAPER_SHARE, BestBy, refuse_but_best
from toolkit.select.corpus import _chosen_folder, _copy_chosen, write_choice

ALL = BestBy(best_share=1.0)
WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "the",
    "dog",
    "ran",
    "after",
    "it",
    "over",
    "hills",
    "far",
    "away",
]


def pair(number: int, nats: float, reference: str = "", text: str = "", tokens: int = 4) -> Row:
    """A row whose pair has a `dual_per_token` of -`nats`; before it stands a refused candidate."""
    scores = Scores(-nats * tokens / 2, tokens, -nats * tokens / 2, 9)
    candidates = [
        Candidate("", "beam", reason="empty"),
        Candidate(text or f"Other words {number}.", "beam", rank=0, scores=scores),
    ]
    return Row(
        f"demo-{number}", "demo", "s", "en", reference or f"Text {number}.", "en", "train", candidates=candidates
    )


def choose(folder, rows, settings, lines=0, lang="en", shard_rows=7):
    """By id the reason of the pair of each row, and cut.json."""
    run = write_run(folder / "bank.shards", rows, shard_rows)
    shards, target = finished_shards(run), _chosen_folder(run, settings)
    rule = partial(refuse_but_best, settings=settings, lang=lang, lines=lines)
    write_choice(shards, asdict(settings), rule, target)
    copies = _copy_chosen(shards, target)
    reasons = {row.id: row.candidates[1].reason for shard in copies for row in read_shard(shard)}
    return reasons, json.loads((target / "cut.json").read_text())


def winners(reasons):
    return {row_id for row_id, reason in reasons.items() if reason is None}


def corpus(count: int, seed: int = 0) -> list[Row]:
    chance = random.Random(seed)
    return [
        pair(n, chance.randrange(20) / 8, " ".join(chance.choices(WORDS, k=3)), " ".join(chance.choices(WORDS, k=2)))
        for n in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("one_per_reference", [False, True])
def test_as_a_plain_loop_says(tmp_path, seed, one_per_reference):
    rows = corpus(400, seed)
    rows += [replace(row, id=f"demo-{400 + n}") for n, row in enumerate(random.Random(seed).sample(rows, 80))]
    settings = BestBy(best_pairs=150, one_per_reference=one_per_reference)
    reasons, cut = choose(tmp_path, rows, settings, shard_rows=61)
    best_first = sorted(rows, key=lambda row: (-row.candidates[1].scores.dual_per_token, int(row.id[5:])))
    pairs, references, expected = set(), set(), {}
    for row in best_first:
        reference = match_key(row.reference)
        key = (reference, match_key(row.candidates[1].text))
        expected[row.id] = "duplicate" if key in pairs else None
        if expected[row.id] is None and one_per_reference and reference in references:
            expected[row.id] = "better_pair"
        pairs.add(key)
        references.add(reference)
    left = [row.id for row in best_first if expected[row.id] is None]
    expected |= dict.fromkeys(left[150:], "dual_per_token")
    assert reasons == expected and len(left) > 150
    counts = {reason: list(expected.values()).count(reason) for reason in cut["refused"]}
    assert cut["refused"] == counts and counts["duplicate"] >= 80 and cut["selected"] == 150
    assert cut["least_score"] == min(
        row.candidates[1].scores.dual_per_token for row in rows if row.id in set(left[:150])
    )


def test_of_equal_scores_the_first_of_the_run_is_better(tmp_path):
    reasons, _ = choose(tmp_path, [pair(n, 1.0) for n in range(9)], BestBy(best_pairs=4), shard_rows=2)
    assert winners(reasons) == {f"demo-{n}" for n in range(4)}


def test_dual_sum_and_dual_per_token_choose_differently(tmp_path):
    """The sum prefers short pairs; the cut is by the number per token."""
    long, short = pair(0, 0.5, tokens=40), pair(1, 1.0, tokens=2)
    of_long, of_short = (row.candidates[1].scores for row in (long, short))
    assert of_long.dual_sum < of_short.dual_sum and of_long.dual_per_token > of_short.dual_per_token
    assert winners(choose(tmp_path, [long, short], BestBy(best_pairs=1))[0]) == {"demo-0"}


@pytest.mark.slow
def test_without_a_number_as_many_as_the_paper(tmp_path):
    rows = [pair(n, n / 100) for n in range(100)]
    reasons, _ = choose(tmp_path, rows, BestBy(), lines=60)
    assert len(winners(reasons)) == 50 == round(60 * PAPER_SHARE)
    assert len(winners(choose(tmp_path / "more", rows, BestBy(), lines=1000)[0])) == 100


def test_a_share_and_a_least_score(tmp_path):
    rows = [pair(n, n / 100) for n in range(40)]
    assert winners(choose(tmp_path, rows, BestBy(best_share=0.25))[0]) == {f"demo-{n}" for n in range(10)}
    ids = winners(choose(tmp_path / "least", rows, BestBy(least_score=-0.055))[0])
    assert ids == {f"demo-{n}" for n in range(6)}


def jaccard(first: Row, second: Row, size: int) -> float:
    def grams(row):
        sides = match_key(row.reference), match_key(row.candidates[1].text)
        return {
            (side, text[i : i + size]) for side, text in enumerate(sides) for i in range(max(1, len(text) - size + 1))
        }

    a, b = grams(first), grams(second)
    return len(a & b) / len(a | b)


@pytest.mark.slow
def test_near_duplicates_lose_to_a_better_pair(tmp_path):
    chance, rows = random.Random(5), []
    for n in range(60):
        reference = " ".join(chance.sample(WORDS, 14)) + f" {chance.randrange(10**9)}"
        text = " ".join(chance.sample(WORDS, 14)) + f" {chance.randrange(10**9)}"
        rows.append(pair(3 * n, 1.0 + n / 100, reference, text))
        rows.append(pair(3 * n + 1, 0.5, f"{reference} now", text))
        rows.append(pair(3 * n + 2, 3.0, f"{reference}!", f"{text} {chance.randrange(10**30)}"))
    by_id = {row.id: row for row in rows}
    reasons, cut = choose(tmp_path, rows, replace(ALL, max_similarity=0.9), shard_rows=50)
    assert winners(reasons) == {f"demo-{3 * n + k}" for n in range(60) for k in (1, 2)}
    assert cut["refused"]["near_duplicate"] == 60 and cut["values_per_band"] == 8
    for n in range(60):
        best, near, far = by_id[f"demo-{3 * n + 1}"], by_id[f"demo-{3 * n}"], by_id[f"demo-{3 * n + 2}"]
        assert jaccard(best, near, 4) >= 0.9 > jaccard(best, far, 4)
    assert winners(choose(tmp_path / "off", rows, ALL)[0]) == set(by_id)


def test_near_duplicates_in_chinese_are_compared_by_two_characters(tmp_path):
    rows = [
        pair(0, 2.0, "我们明天早上八点钟在学校门口见面吧", "明天早上八点钟我们在校门口碰头吧"),
        pair(1, 1.0, "我们明天早上九点钟在学校门口见面吧", "明天早上九点钟我们在校门口碰头吧"),
        pair(2, 1.0, "他昨天晚上没有来参加我们的聚会", "昨晚的聚会他没有参加"),
    ]
    assert 0.7 < jaccard(rows[0], rows[1], 2) < 0.9
    similar = replace(ALL, max_similarity=0.7)
    assert choose(tmp_path, rows, similar, lang="zh")[0]["demo-0"] == "near_duplicate"
    assert choose(tmp_path / "en", rows, similar, lang="en")[0]["demo-0"] is None


@pytest.mark.slow
def test_the_survivor_does_not_depend_on_the_shards(tmp_path):
    rows = corpus(200, 9)
    settings = replace(ALL, max_similarity=0.5)
    reasons = [choose(tmp_path / str(size), rows, settings, shard_rows=size)[0] for size in (200, 17, 1)]
    assert reasons[0] == reasons[1] == reasons[2] and "near_duplicate" in reasons[0].values()


def test_killed_and_started_again_it_makes_the_same_bytes(tmp_path):
    run = write_run(tmp_path / "bank.shards", corpus(100), 30)
    settings = BestBy(best_pairs=20)
    target = _chosen_folder(run, settings)
    rule = partial(refuse_but_best, settings=settings, lang="en", lines=0)
    before: dict = {}
    for lost in ((), ("cut.json", "rows-00001.parquet"), ("refused.parquet",)):
        for name in lost:
            (target / name).unlink()
        write_choice(finished_shards(run), {}, rule, target)
        _copy_chosen(finished_shards(run), target)
        files = {path.name: path.read_bytes() for path in target.iterdir()}
        assert before in ({}, files)
        before = files


def test_more_than_there_are_is_an_error(tmp_path):
    with pytest.raises(
        ValueError, match=r"^wanted --best_pairs of at most 3, the number of pairs to select from, got 4: "
    ):
        choose(tmp_path, [pair(n, 1.0) for n in range(3)], BestBy(best_pairs=4))


def test_a_pair_without_the_score_is_an_error(tmp_path):
    rows = [pair(0, 1.0), pair(1, 1.0)]
    rows[1].candidates[1].scores = Scores()
    with pytest.raises(ValueError, match=r"wanted pairs that all have a dual_per_token, got 1 of 2 in .*bank.shards"):
        choose(tmp_path, rows, ALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"best_pairs": 3, "best_share": 0.5},
            "wanted one of --best_pairs, --best_share and --least_score, got --best_pa",
        ),
        ({"best_pairs": 0}, "wanted best_pairs of at least 1, got 0"),
        ({"best_share": 0.0}, r"wanted best_share in \(0, 1\], got 0.0"),
        ({"least_score": float("nan")}, "wanted a finite least_score, got nan"),
        ({"max_similarity": 1.5}, r"wanted max_similarity in \(0, 1\], got 1.5"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BestBy(**options)


def test_another_score_is_another_choice(tmp_path):
    rows = [pair(n, 1.0 + n) for n in range(4)]
    for n, row in enumerate(rows):
        row.candidates[1].scores = replace(row.candidates[1].scores, semantic=n / 4)
    assert winners(choose(tmp_path, rows, BestBy(best_share=0.5))[0]) == {"demo-0", "demo-1"}
    assert winners(choose(tmp_path, rows, BestBy(best_share=0.5, by="semantic"))[0]) == {"demo-2", "demo-3"}
    assert len(winners(choose(tmp_path, rows, BestBy(best_share=0.1))[0])) == 1
