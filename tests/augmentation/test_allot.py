"""Which rows get copies, and which new rows stay."""

from collections import Counter

from toolkit.augmentation.allot import (
    SPARE,
    _lacks,
    class_targets,
    next_rows,
    shuffled,
    smaller_classes,
    wanted_rows,
)

LABELS = [*"aaaaaaaaaa", *"bbbb", "c"]


def first_rows(total, labels=None, copies=1, balance=False, stratify=False, max_rows=None, seed=0):
    targets = class_targets(labels, balance, stratify, max_rows)
    return next_rows(shuffled(total, seed), labels, targets, None if stratify else max_rows, copies, [], [])


def test_without_limits_every_row_is_augmented_once():
    assert first_rows(15) == list(range(15))
    assert next_rows(range(15), None, None, None, 1, range(15), []) == []


def test_only_smaller_classes_are_augmented_for_a_balance():
    assert first_rows(15, LABELS, 3, balance=True) == [10, 11, 12, 13, 14]


def test_few_of_many_rows_are_worked_on_where_few_new_ones_are_wanted():
    assert len(first_rows(1000, copies=2, max_rows=10)) == SPARE * 5
    labels = ["a"] * 1000 + ["b"] * 998
    assert len(first_rows(len(labels), labels, balance=True)) == SPARE * 2
    many_classes = ["a"] * 300 + list(range(300))
    assert len(first_rows(600, many_classes, balance=True, max_rows=10)) == SPARE * 10


def test_more_rows_are_worked_on_until_there_are_enough():
    order, rows = shuffled(100, 0), []
    sizes = []
    while more := next_rows(order, None, None, 10, 1, rows, rows[:4]):
        assert sorted(more) == more and sorted(order[len(rows) : len(rows) + len(more)]) == more
        rows, sizes = rows + more, [*sizes, len(more)]
    assert sizes == [30, 30, 40] and sorted(rows) == list(range(100))
    assert next_rows(order, None, None, 10, 1, rows[:30], rows[:10]) == []


def test_more_rows_are_worked_on_of_a_class_that_lacks_some():
    labels = ["a"] * 20 + ["b"] * 18 + ["c"] * 19
    order, targets = shuffled(57, 0), class_targets(labels, True, False, None)
    rows = next_rows(order, labels, targets, None, 1, [], [])
    assert Counter(labels[row] for row in rows) == {"b": 6, "c": 3}
    sources = [row for row in rows if labels[row] == "c"]
    more = next_rows(order, labels, targets, None, 1, rows, sources)
    assert Counter(labels[row] for row in more) == {"b": 6} and not set(more) & set(rows)
    assert next_rows(order, labels, targets, 1, 1, rows, sources) == []


def test_classes_that_stay_smaller():
    assert smaller_classes(LABELS, [10, 14]) == {"b": 5, "c": 8}
    assert smaller_classes(LABELS, [14] * 12) == {"a": 3, "b": 9}


def test_the_choice_is_the_seeds():
    first, same, second = (first_rows(1000, max_rows=10, seed=seed) for seed in (1, 1, 2))
    assert first == same != second
    assert first == sorted(first)


def test_classes_become_equal_and_rows_take_turns():
    sources = [row for row in range(10, 15) for _ in range(12)]
    rows = [sources[n] for n in wanted_rows(sources, 15, LABELS, _lacks(LABELS), None, 0)]
    assert Counter(LABELS[row] for row in rows) == {"b": 6, "c": 9}
    assert set(Counter(row for row in rows if row < 14).values()) == {1, 2}


def test_the_limit_takes_first_copies_first():
    sources = [row for row in range(6) for _ in range(3)]
    numbers = wanted_rows(sources, 6, None, None, 8, 0)
    assert len(numbers) == 8 and set(Counter(sources[n] for n in numbers).values()) == {1, 2}
    assert numbers == sorted(numbers)


def test_rows_of_every_class_are_worked_on_to_stratify():
    labels = ["often"] * 990 + ["rarely"] * 10
    for seed in range(5):
        counts = Counter(labels[row] for row in first_rows(1000, labels, stratify=True, max_rows=100, seed=seed))
        assert counts == {"often": SPARE * 99, "rarely": SPARE}
