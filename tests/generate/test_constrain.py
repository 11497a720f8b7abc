"""Rows under constraint sets: who reached a text, what it does not meet, and what cannot be said at all."""

import functools
import random

import pytest

from tests.tiny import pairs, translator, wide_translator
from toolkit.bitext.idf import Idf
from toolkit.bitext.words import constraint_words, tokens
from toolkit.data.rows import Candidate, Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.hypotheses import Hypothesis
from toolkit.generate.constrain import NamedSet, _batches, _candidates, constrain_rows
from toolkit.generate.merge import LONG
from toolkit.generate.recipes import constraint_sets
from toolkit.generate.systems import RECIPES

FREE = ConstraintSet()
BEAM = 4


def rows(count: int = 6) -> list[Row]:
    return [Row(f"demo-{n}", "demo", de, "de", en, "en", "train") for n, (de, en) in enumerate(pairs(count))]


def words(row: Row) -> list[str]:
    """Lower-case words of a reference, each once, in an order of chance."""
    found = [word for word in dict.fromkeys(constraint_words(row.reference)) if word.isalpha() and word.islower()]
    return random.Random(row.id).sample(found, len(found))


def sets_of(row: Row) -> list[NamedSet]:
    """Seven systems and five sets: two systems have the same, and one has none."""
    one, two, three, four = words(row)[:4]
    first = constraint_words(row.reference)
    return [
        ("1", FREE),
        ("2", ConstraintSet((one,))),
        ("3", ConstraintSet((one,))),
        ("4", ConstraintSet((), (two, three))),
        ("5", ConstraintSet((three,), (two,), (next(first),))),
        (None, FREE),
        ("7", ConstraintSet((four, one), (two,))),
    ]


def constrained(given: list[Row], sets=sets_of, batch_rows: int = 60, n_best: int = 1, **more: set[str]) -> list[Row]:
    return list(constrain_rows(given, wide_translator("de-en"), sets, BEAM, batch_rows, n_best=n_best, **more))


@functools.cache
def usual() -> list[Row]:
    """The first rows under the seven systems, made once."""
    return constrained(rows())


def by_recipe(row: Row) -> dict[str | None, list[Candidate]]:
    found: dict[str | None, list[Candidate]] = {}
    for candidate in row.candidates:
        for origin in candidate.origins:
            found.setdefault(origin.recipe, []).append(candidate)
    return found


@pytest.mark.slow
def test_every_recipe_names_what_it_reached():
    found = usual()
    assert [row.id for row in found] == [f"demo-{n}" for n in range(6)]
    shared = 0
    for row in found:
        reached = by_recipe(row)
        assert set(reached) == {"1", "2", "3", "4", "5", None, "7"}
        assert all(len(candidates) == 1 for candidates in reached.values())
        assert reached["2"] == reached["3"] and reached["1"] == reached[None]
        assert len({c.text for c in row.candidates}) == len(row.candidates)
        assert all(c.method == "constrain" and c.draws == len(c.origins) for c in row.candidates)
        shared += sum(len(c.origins) > 2 for c in row.candidates)
    assert shared, "some text was reached under two different sets"


def test_an_origin_has_the_constraints_and_those_that_its_text_does_not_meet():
    met = unmet = 0
    for row in usual():
        named = dict(sets_of(row))
        for candidate in row.candidates:
            for origin in candidate.origins:
                one = named[origin.recipe]
                assert origin.positive == list(one.positive)
                assert origin.negative == [*one.negative, *(f"<BOS> {phrase}" for phrase in one.not_first)]
                assert origin.unmet == one.unmet(candidate.text)
                met, unmet = met + (not origin.unmet), unmet + bool(origin.unmet)
            if candidate.reason is None:
                assert candidate.text and not all(origin.unmet for origin in candidate.origins)
    assert met > 30 > unmet


@pytest.mark.slow
def test_what_is_in_meets_its_set():
    free = {row.id: by_recipe(row)["1"][0].text for row in usual()}
    some = 0
    for row in constrained(rows(), lambda row: sets_of(row)[1:5]):
        for candidate in (c for c in row.candidates if c.reason is None):
            assert all(not origin.unmet for origin in candidate.origins)
            some += bool(ConstraintSet((words(row)[0],)).unmet(free[row.id]))
    assert some > 5, "the free translation does not meet them"


@pytest.mark.slow
def test_equal_sets_are_decoded_once():
    asked: list[int] = []

    def twice(row: Row) -> list[NamedSet]:
        asked.append(1)
        return [(name, ConstraintSet((words(row)[0],))) for name in ("1", "2", "3")]

    once = constrained(rows(2), lambda row: twice(row)[:1])
    (first, second) = constrained(rows(2), twice)
    assert len(asked) == 4, "a row's sets are asked for once"
    for row, alone in zip((first, second), once, strict=True):
        assert [(c.text, c.scores) for c in row.candidates] == [(c.text, c.scores) for c in alone.candidates]
        assert [[o.recipe for o in c.origins] for c in row.candidates] == [["1", "2", "3"]]
    # One search of each row: two rows of one search are a batch of 2 x BEAM, however many recipes there are.
    assert constrained(rows(2), twice, batch_rows=2 * BEAM) == [first, second]


@pytest.mark.slow
@pytest.mark.parametrize(("batch_rows", "n_best"), [(1, 3), (60, 1)])
def test_batches_do_not_matter(batch_rows, n_best):
    def contents(found: list[Row]) -> list[list[tuple]]:
        return [[(c.text, c.reason, c.draws, c.origins, c.scores.forward_tokens) for c in r.candidates] for r in found]

    found = constrained(rows(3), batch_rows=batch_rows, n_best=n_best)
    assert contents(found) == contents(constrained(rows(3), batch_rows=10_000, n_best=n_best))


@pytest.mark.slow
def test_a_row_is_cut_alike_beside_one_that_has_much_to_say():
    def sets(row: Row) -> list[NamedSet]:
        return [("1", ConstraintSet(tuple(words(row)[:4])) if row.id == "demo-0" else FREE)]

    def texts(batch_rows: int) -> list[list[tuple[str, str | None]]]:
        found = constrained(rows(), sets, batch_rows, n_best=BEAM)
        return [[(c.text, c.reason) for c in row.candidates] for row in found]

    together = texts(10_000)
    assert "unfinished" in {reason for found in together[1:] for _, reason in found}
    assert together == texts(1)


def test_what_the_vocabulary_cannot_spell_is_said():
    def sets(row: Row) -> list[NamedSet]:
        unspellable = ConstraintSet((words(row)[0], "漢字"), ("go",))
        return [("1", FREE), ("2", unspellable), ("3", unspellable), ("4", ConstraintSet((), ("漢字",)))]

    for row in constrained(rows(3), sets):
        *reached, last = row.candidates
        assert {o.recipe for c in reached for o in c.origins} == {"1", "4"}
        assert (last.text, last.draws, last.reason) == ("", 0, "constraint_unspellable")
        assert [o.recipe for o in last.origins] == ["2", "3"]
        assert last.origins[0].unmet == [f'says no "{words(row)[0]}"', 'says no "漢字"']
        assert last.scores.forward_logprob is None


def test_a_row_of_which_no_set_can_be_spelled_and_one_without_sets():
    def sets(row: Row) -> list[NamedSet]:
        return [("1", ConstraintSet(("漢",)))] if row.id == "demo-0" else []

    first, second = constrained(rows(2), sets)
    assert [c.reason for c in first.candidates] == ["constraint_unspellable"]
    assert second.candidates == []


def test_a_set_under_which_nothing_was_found_is_said():
    sets = {ConstraintSet(("often",)): ["1", "2"], FREE: ["3"]}
    target = translator("de-en").target
    best = Hypothesis(target.encode(["We go."])[0], -2.0, -0.5, True)
    reached, nothing = _candidates(sets, [[], [best]], translator("de-en"), "constrain")
    assert (reached.text, reached.reason, [o.recipe for o in reached.origins]) == ("We go.", None, ["3"])
    assert (nothing.text, nothing.reason, nothing.draws) == ("", "constraint_unmet", 0)
    assert [(o.recipe, o.unmet) for o in nothing.origins] == [(name, ['says no "often"']) for name in ("1", "2")]


@pytest.mark.slow
def test_known_words_and_those_of_the_row_are_all_that_is_said():
    known = {word for _, english in pairs(40) for word in constraint_words(english.lower()) if word.isalpha()}
    said: set[str] = set()
    for row in constrained(
        rows(), lambda row: [*sets_of(row), ("8", ConstraintSet(("unheardof",)))], known_words=known
    ):
        own = {word for word in constraint_words(f"{row.source} {row.reference} unheardof")}
        for candidate in (c for c in row.candidates if c.reason is None):
            found = {word for word in constraint_words(candidate.text) if word[0].isalnum()}
            assert {word for word in found if word.lower() not in known} <= own
            said |= found
    assert "unheardof" in said, "what is required is known"
    free = {word for row in usual() for c in row.candidates for word in constraint_words(c.text) if word.isalpha()}
    assert any(word.lower() not in known for word in free), "without the list the translator makes words up"


def test_a_source_longer_than_the_model_does_not_stop_its_shard():
    long = Row("odd-1", "odd", "Wort " * 2000, "de", "A word or two or three for me.", "en", "train")
    found = constrained([long, *rows(1)])
    assert [c.reason for c in found[0].candidates] == ["source_too_long"]
    assert set(by_recipe(found[1])) == {"1", "2", "3", "4", "5", None, "7"}


def test_no_rows():
    assert constrained([]) == []


@pytest.mark.parametrize(
    ("order", "tokens", "hypotheses", "batch_rows", "wanted"),
    [
        ([], [], {}, 12, []),
        ([0, 1, 2], [5, 5, 5], {0: 4, 1: 4, 2: 4}, 8, [[0, 1], [2]]),
        ([0, 1], [5, 5], {0: 36, 1: 36}, 8, [[0], [1]]),  # a row is never parted
        ([1, 0, 2], [5, 4, 6], {0: 4, 1: 4, 2: 4}, 100, [[1, 0, 2]]),
        ([0, 1, 2, 3], [LONG, LONG, 2 * LONG, 2 * LONG], {n: 4 for n in range(4)}, 12, [[0, 1], [2], [3]]),
    ],
)
def test_batches(order, tokens, hypotheses, batch_rows, wanted):
    assert list(_batches(order, tokens, hypotheses, batch_rows)) == wanted


def cut(text: str, count: int) -> list[str]:
    """The first `count` tokens of a text, the marks before its first word with them."""
    said = tokens(text)
    marks = next((n for n, token in enumerate(said) if any(map(str.isalnum, token))), len(said))
    return [token.lower() for token in said[: marks + count]]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_positional_system_keeps_no_beginning_of_its_reference(count):
    """What the model says freely is the reference, so that every ban is of what the model would say."""
    free = [Row(f"demo-{n}", "demo", de, "de", en, "en", "train") for n, (de, en) in enumerate(pairs(48))]
    said = [(row, row.candidates[0].text) for row in constrained(free, lambda row: [(None, FREE)])]
    own = [Row(row.id, "demo", row.source, "de", text, "en", "train") for row, text in said]

    def banned(row: Row) -> list[NamedSet]:
        return [("x", one) for one in constraint_sets(RECIPES[31 + count], row.reference, row.id, 0, Idf(0, {}))]

    found = constrained([row for row in own if banned(row)], banned)
    assert len(found) > 10
    assert any(not row.reference[0].isalnum() for row in found), "one begins with a mark"
    for row in found:
        assert row.candidates
        ended = [candidate.text for candidate in row.candidates if candidate.reason != "unfinished"]
        assert cut(row.reference, count) not in [cut(text, count) for text in ended]
