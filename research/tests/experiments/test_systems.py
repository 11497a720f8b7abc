import pytest

from research.experiments.systems import (
    PAPER_AGAINST,
    PAPER_BETWEEN,
    PAPER_BY_LENGTH,
    PAPER_JUDGED,
    PAPER_ORACLES_AGAINST,
    PAPER_ORACLES_BETWEEN,
    PAPER_ORACLES_JUDGED,
    PAPER_ORDERS,
    by_length,
    common_rows,
    compare,
    oracle_texts,
    orders,
    rank_texts,
    select_rows,
    system_texts,
)
from toolkit.data.rows import Candidate, Origin, Row
from toolkit.evaluate import lengths
from toolkit.evaluate.corpus import one_minus_bleu
from toolkit.score.overlap import intersection_over_union_percentage


def row(id: str, reference: str, *candidates: Candidate) -> Row:
    return Row(id, "demo", None, None, reference, "en", "test", candidates=list(candidates))


def candidate(text: str, *origins: Origin, reason: str | None = None, rank: int | None = None) -> Candidate:
    return Candidate(text, "constrain", list(origins), rank=rank, reason=reason)


def test_a_text_is_of_all_systems_that_reached_it():
    shared = candidate("We leave.", Origin("17", negative=["go"]), Origin("28"), rank=1)
    rows = [row("a", "We go.", candidate("We go.", Origin("34"), reason="copy"), shared)]
    assert system_texts(rows, "17") == system_texts(rows, "28") == {"a": "We leave."}
    assert system_texts(rows, "34") == {"a": "We go."}  # a copy is what the system said


def test_what_is_no_text_of_a_system():
    unmet = Origin("31", positive=["goes"], unmet=["goes"])
    rows = [
        row("unmet", "We go.", candidate("We go on.", unmet, Origin("28"))),  # of 28, not of 31
        row(
            "refused",
            "We go.",
            candidate("We", Origin("31"), reason="unfinished"),
            candidate("", Origin("28"), reason="empty"),
        ),
        row("no set", "We go."),
        row("met", "We go.", candidate("She goes.", Origin("31", positive=["goes"]))),
    ]
    assert system_texts(rows, "31") == {"met": "She goes."}
    assert system_texts(rows, "28") == {"unmet": "We go on."}
    assert system_texts(rows, "17") == {}


def test_a_search_without_recipe():
    assert system_texts([row("a", "We go.", candidate("We leave.", Origin()))], None) == {"a": "We leave."}


def test_ranks_are_systems_and_the_last_fills_up():
    two = row("a", "We go.", candidate("second", rank=1), candidate("first", rank=0), candidate("no", reason="dual"))
    ranks = rank_texts([two, row("b", "No one.")])
    assert ranks == [{"a": "first"}] + [{"a": "second"}] * 4


def test_oracles_are_of_each_reference():
    ranks = [{"a": "a1", "b": "b1"}, {"a": "a2", "b": "b2"}, {"a": "a3", "b": "b3"}]
    scores = {("a", "a1"): 10, ("a", "a2"): 30, ("a", "a3"): 20, ("b", "b1"): 5, ("b", "b2"): 4, ("b", "b3"): 6}
    oracles = oracle_texts(ranks, scores)
    assert oracles == {"max": {"a": "a2", "b": "b3"}, "median": {"a": "a3", "b": "b1"}, "min": {"a": "a1", "b": "b2"}}


def test_a_text_that_fills_ranks_counts_for_each():
    ranks = [{"a": "best"}, {"a": "worst"}, {"a": "worst"}, {"a": "worst"}, {"a": "worst"}]
    oracles = oracle_texts(ranks, {("a", "best"): 90, ("a", "worst"): 20})
    assert [texts["a"] for texts in oracles.values()] == ["best", "worst", "worst"]


def test_oracles_of_equal_and_of_missing_scores():
    ranks = [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}, {"a": "3"}, {"a": "4"}, {"c": "none"}]
    scores = {("a", "1"): 50, ("a", "2"): 50, ("a", "3"): float("nan"), ("b", "x"): 1, ("b", "y"): 2}
    oracles = oracle_texts(ranks, scores)  # "4" has no score, "3" has nan, and c has nothing
    assert oracles == {"max": {"a": "1", "b": "y"}, "median": {"a": "2", "b": "x"}, "min": {"a": "2", "b": "x"}}
    assert oracle_texts([], {}) == {"max": {}, "median": {}, "min": {}}


def test_common_rows_of_systems():
    systems = [{"a": "1", "b": "2", "c": "3"}, {"c": "4", "b": "5"}]
    assert common_rows(systems) == {"b", "c"}
    assert select_rows(systems[0], {"c", "b", "x"}) == {"b": "2", "c": "3"}


def test_compare_is_over_rows_of_both_sides():
    references = {"a": "We will go home now.", "b": "They stay.", "c": "not compared"}
    texts = {"b": "They wait.", "a": "We will go home today.", "d": "not compared"}
    figures = compare(references, texts)
    pairs = [(references[id], texts[id]) for id in ("a", "b")]
    assert figures["references"] == 2
    assert figures["one_minus_bleu"] == pytest.approx(one_minus_bleu(*map(list, zip(*pairs, strict=True))))
    assert figures["intersection_over_union"] == pytest.approx(
        sum(intersection_over_union_percentage(*p) for p in pairs) / 2
    )
    assert figures["intersection_over_union"] == pytest.approx((100 * 4 / 6 + 100 / 3) / 2)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="wanted rows that both sides have a text for, got none"):
        compare({"a": "We go."}, {"b": "They go."})


def test_by_length_is_of_that_system_only():
    five = "w0 w1 w2 w3 w4"
    rows = [row("a", five, candidate("another", rank=0)), row("b", five, candidate(five, rank=0))]
    table = by_length(rows, {"a": five})
    assert table["lengths"][0] == {"length": 5, "references": 1, "bleu": pytest.approx(100)}
    assert rows[0].candidates[0].text == "another"


def test_the_papers_averages_and_names():
    means = {name: sum(line.values()) / 4 for name, line in PAPER_BY_LENGTH.items()}  # "Avg." of table 4
    expected = {"ParaNMT": 27.48, "ParaBank 17": 26.88, "ParaBank 34": 30.47}
    expected |= {"ParaBank 21": 14.70, "ParaBank 28": 34.10, "ParaBank 31": 34.16}
    assert means == pytest.approx(expected, abs=0.006)
    assert list(PAPER_JUDGED) == sorted(PAPER_BY_LENGTH, key=lambda name: (name != "ParaNMT", name))
    assert lengths.PAPER_BY_LENGTH.items() <= PAPER_BY_LENGTH.items()
    assert {name for pair in PAPER_BETWEEN for name in pair} <= PAPER_AGAINST.keys()
    assert PAPER_AGAINST["ParaBank 2, rank 5"] == (81.55, 32.50, 7.80, 1.09)
    assert PAPER_BETWEEN["ParaBank 2, rank 3", "ParaBank 2, rank 5"] == (71.05, 45.00, 6.40)
    assert PAPER_ORACLES_AGAINST.keys() == PAPER_ORACLES_JUDGED.keys()
    assert {name for pair in PAPER_ORACLES_BETWEEN for name in pair} <= PAPER_ORACLES_AGAINST.keys()


def lines(figures: dict) -> dict[str, dict[str, float]]:
    return {
        name if isinstance(name, str) else " / ".join(name): {
            "one_minus_bleu": values[0],
            "intersection_over_union": values[1],
        }
        for name, values in figures.items()
    }


def test_the_papers_own_figures_give_the_papers_orders():
    averages = {name: (100 - sum(line.values()) / 4, 0.0) for name, line in PAPER_BY_LENGTH.items()}
    margins = orders(lines(averages | PAPER_AGAINST), lines(PAPER_BETWEEN))
    by_average = margins.pop("1-BLEU, ParaBank 21 - the next most diverse")  # 34 and 17 have table 1's figures here
    assert by_average == pytest.approx(85.305 - 65.905)
    assert margins == pytest.approx({name: value for name, value in PAPER_ORDERS.items() if name in margins})


def test_no_orders_without_a_system():
    assert orders(lines(PAPER_AGAINST), lines(PAPER_BETWEEN)) == {}  # table 1 has no 21
