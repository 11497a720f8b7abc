"""Which rows get copies, and which new rows stay."""

from collections import Counter

from toolkit.augmentation.allot import SPARE, _lacks, _rows_to_augment, wanted_rows

LABELS = [*"aaaaaaaaaa", *"bbbb", "c"]


def test_without_limits_every_row_is_augmented():
    assert _rows_to_augment(15, None, 2, False, False, None, 0) == list(range(15))


def test_only_smaller_classes_are_augmented_for_a_balance():
    rows = _rows_to_augment(15, LABELS, 3, True, False, None, 0)
    assert rows == [10, 11, 12, 13, 14]


def test_few_of_many_rows_are_worked_on_where_few_new_ones_are_wanted():
    assert len(_rows_to_augment(1000, None, 2, False, False, 10, 0)) == SPARE * 5
    labels = ["a"] * 1000 + ["b"] * 998
    assert len(_rows_to_augment(len(labels), labels, 1, True, False, None, 0)) == SPARE * 2


def test_the_choice_is_the_seeds():
    first, same, second = (_rows_to_augment(1000, None, 1, False, False, 10, seed) for seed in (1, 1, 2))
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
        counts = Counter(labels[row] for row in _rows_to_augment(1000, labels, 1, False, True, 100, seed))
        assert counts == {"often": SPARE * 99, "rarely": SPARE}
