import json

import pytest

from tests.conftest import row as demo_row
from tests.conftest import write_run
from toolkit.data.database import database
from toolkit.data.rows import Candidate, Origin, Scores
from toolkit.data.shards import read_shard
from toolkit.package import statistics
from toolkit.package.parquet import _write_parquet, finished_shards
from toolkit.package.statistics import BINS, WIDTHS, _sample, measure
from toolkit.select.equal import find_equal_pairs


def packaged(shards, folder):
    """The figures of a package of these shards."""
    equal = find_equal_pairs(shards)
    return measure(shards, _write_parquet(shards, folder, equal.left_out), equal.copies)


@pytest.fixture
def figures(demo_run, tmp_path):
    shards = finished_shards(demo_run)
    return packaged(shards, tmp_path / "out")


def test_counts_by_hand(figures):
    assert figures["inputs"] == {"lines": 9, "refused": {"empty": 1, "too_long": 3}}
    assert figures["total"] == {"references": 5, "kept": 4, "pairs": 7, "candidates": 10, "draws": 20}
    assert list(figures["splits"]) == ["train", "validation", "test"]
    assert figures["splits"]["train"] == {"references": 3, "kept": 2, "pairs": 5, "candidates": 8, "draws": 16}
    assert figures["paraphrases_per_reference"] == {"0": 1, "1": 2, "2": 1, "3": 1}
    assert figures["candidates"] == {"refused": {"dual": 2}, "not_chosen": 1, "held_out": 0, "repeated": 0, "chosen": 7}
    assert figures["clusters"] == {
        "candidates": 8,
        "in_reference_cluster": 1,
        "clusters_per_reference": {"1": 2, "3": 2},
    }
    assert (figures["languages"], figures["source_languages"], figures["origins"]) == (["en"], ["de"], ["demo"])


def test_lengths_by_hand(figures):
    references = ["We will go home now, he said.", "The dog sleeps.", "She can't swim.", "It is raining again."]
    characters = [len(text) for text in references]
    assert figures["lengths"]["references"] == {
        "words": {"mean": (7 + 3 + 3 + 4) / 4, "min": 3, "max": 7},
        "characters": {"mean": sum(characters) / 4, "min": min(characters), "max": max(characters)},
    }
    assert figures["lengths"]["paraphrases"]["words"]["max"] == 8


def test_histograms_hold_every_scored_candidate(figures, demo_run):
    for name, bins in figures["histograms"].items():
        assert len(bins) == BINS
        assert sum(b["candidates"] for b in bins) == 10, name
        assert sum(b["paraphrases"] for b in bins) == 7, name
    expected = [0] * BINS
    for shard in finished_shards(demo_run):
        for candidate in (c for row in read_shard(shard) for c in row.candidates):
            expected[min(int(-candidate.scores.dual / WIDTHS["dual"]), BINS - 1)] += 1
    assert [b["candidates"] for b in figures["histograms"]["dual"]] == expected


def test_paraphrase_scores_by_hand(tmp_path):
    """Ends belong to the range below, also -0.1; what nobody measured is not counted."""
    cases = [
        (-0.1, 0.0, 0),
        (-0.05, 0.5, 0),
        (0.2, 0.25, 0),
        (0.4, None, 0),
        (0.81, 1.0, None),
        (1.0, 0.0, 0),
        (None, None, None),
    ]
    rows = [
        demo_row(
            n,
            "train",
            f"Reference {n}.",
            [Candidate("Text.", "beam", rank=rank, scores=Scores(semantic=s, trigram_overlap=t))],
        )
        for n, (s, t, rank) in enumerate(cases)
    ]
    shards = finished_shards(write_run(tmp_path / "scored.shards", rows))
    table = packaged(shards, tmp_path / "out")["paraphrase_scores"]
    assert [(line["above"], line["up_to"]) for line in table] == [
        (None, -0.1), (-0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0),
    ]  # fmt: skip
    assert [(line["candidates"], line["paraphrases"]) for line in table] == [
        (1, 1), (2, 2), (1, 1), (0, 0), (0, 0), (2, 1),
    ]  # fmt: skip
    overlaps = [line["trigram_overlap"] for line in table]
    assert overlaps == [{"mean": 0, "sd": 0}, {"mean": 0.375, "sd": 0.125}, None, None, None, {"mean": 0.5, "sd": 0.5}]
    assert table[0]["paper"] is None and table[5]["paper"] == {"millions": 18.0, "mean": 0.35, "sd": 0.2}


def test_copies_are_counted(tmp_path, figures):
    texts = ["Reference 0.", "reference 0", "Reference 1?"]
    candidates = [Candidate(text, "beam", rank=rank) for rank, text in enumerate(texts)]
    rows = [demo_row(n, "train", f"Reference {n}.", candidates) for n in range(2)]
    shards = finished_shards(write_run(tmp_path / "copied.shards", rows))
    assert packaged(shards, tmp_path / "again")["copies"] == 2
    assert figures["copies"] == 0


def test_what_was_not_scored_is_in_no_bin(tmp_path):
    scores = [Scores(), Scores(-1.0, 4), Scores(-1.0, 4), Scores(-4.0, 4, -2.0, 2)]
    candidates = [Candidate(f"Text {n}.", "sample", rank=n, scores=score) for n, score in enumerate(scores)]
    shards = finished_shards(write_run(tmp_path / "some.shards", [demo_row(0, "train", "Reference.", candidates)]))
    bins = packaged(shards, tmp_path / "out")["histograms"]
    assert {name: sum(b["candidates"] for b in histogram) for name, histogram in bins.items()} == {
        "dual": 1, "forward": 3, "backward": 1,
    }  # fmt: skip
    assert bins["dual"][4]["paraphrases"] == 1


def test_without_a_paraphrase_score_there_is_no_table(figures):
    assert figures["paraphrase_scores"] == []


def test_words_that_came_back(figures):
    # forbidden by both origins: will / will, go / home / Will; "extra" by one only. "will" and "home" came back.
    assert figures["negative_constraints"] == {
        "candidates": {"constrained": 4, "came_back": 2},
        "paraphrases": {"constrained": 2, "came_back": 1},
    }


def test_of_a_forbidden_phrase_the_first_word_counts(tmp_path):
    first, second, third = ["\u2581will", "in front"], ["in front", "dog"], ["dog"]
    cases = [
        ("He sits in a car.", [first]),
        ("A front.", [first]),
        ("He sits in a car.", [first, second]),
        ("Will?", [first, second]),
    ]
    cases += [("A dog.", [second, third]), ("A dog.", [first, third]), ("A dog.", [])]
    candidates = [
        Candidate(f"{text} {n}", "sample", [Origin(f"set-{k}", [], words) for k, words in enumerate(sets)], rank=n)
        for n, (text, sets) in enumerate(cases)
    ]
    shards = finished_shards(write_run(tmp_path / "some.shards", [demo_row(0, "train", "Reference.", candidates)]))
    # forbidden: will, in / the same / in / in / dog / nothing, twice
    constraints = packaged(shards, tmp_path / "out")["negative_constraints"]
    assert constraints["candidates"] == {"constrained": 5, "came_back": 3} == constraints["paraphrases"]


def test_figures_do_not_depend_on_threads(demo_run, tmp_path, figures, monkeypatch):
    connect = statistics.duckdb.connect
    monkeypatch.setattr(statistics.duckdb, "connect", lambda config: connect(config={**config, "threads": 1}))
    shards = finished_shards(demo_run)
    assert packaged(shards, tmp_path / "again") == figures


def test_json_holds_them(figures):
    assert json.loads(json.dumps(figures)) == figures


def test_shards_of_another_run_are_found(demo_run, tmp_path):
    shards = finished_shards(demo_run)
    (demo_run / "inputs.json").write_text('{"shards": 3, "rows": 6, "refused": {}}')
    with pytest.raises(ValueError, match=r"wanted the 6 rows of inputs.json, got 5"):
        packaged(shards, tmp_path / "out")


def test_sample_is_all_or_part(demo_run, tmp_path):
    shards = finished_shards(demo_run)
    files = _write_parquet(shards, tmp_path / "out", find_equal_pairs(shards).left_out)["references"]
    paths = [str(path) for paths in files.values() for path in paths]
    with database() as connection:
        whole = list(_sample(connection, paths, total=4))
        part = list(_sample(connection, paths, total=4, size=2))
    assert [row.id for row in whole] == ["demo-0", "demo-4", "demo-2", "demo-3"]
    assert whole[0].paraphrases[0].text == "Now we will be going home, he said."
    assert 0 < len(part) < 4 and {row.id for row in part} < {row.id for row in whole}
