"""Pairs with new words stay pairs, and joined ones are one sentence each."""

import random
import re
from collections import Counter

from research.experiments.starter_paraphraser import joined, new_word, replaceable, sentence, with_new_words, words_in

PAIRS = [
    ("Tom bought 3 guitars in Boston.", "In Boston, Tom bought 3 guitars."),
    ("I didn't see the garden.", "I haven't seen the garden."),
    ("Is it late?", "Has it got late?"),
    ("We like Tom.", "Tom is liked."),
] * 30
COUNTS = Counter(word for pair in PAIRS for text in pair for word in set(words_in(text))) + Counter({"in": 999})


def test_a_new_word_stands_on_both_sides():
    pairs = list(with_new_words(PAIRS, COUNTS, random.Random(0)))
    assert 0 < len(pairs) < len(PAIRS) and not set(PAIRS).issuperset(pairs)
    for first, second in pairs:
        new, same = ({word for word in words_in(text) if word not in COUNTS} for text in (first, second))
        assert new == same
        assert re.sub(r"\w+", "", first) in {re.sub(r"\w+", "", old) for old, _ in PAIRS}, "the rest is as it was"


def test_what_is_replaced_and_by_what():
    assert [word for word in ("Tom", "Boston", "3", "guitars", "In", "bought", "the", "didn't", "I") if
            replaceable(word, COUNTS)] == ["Tom", "Boston", "3", "guitars", "bought"]  # fmt: skip
    chance, ordinary = random.Random(1), ["garden", "liked", "guitars", "bought"]
    assert all(new_word("3", ordinary, chance).isdigit() for _ in range(20))
    assert all(new_word("garden", ordinary, chance).islower() for _ in range(20))
    assert all(new_word("Tom", ordinary, chance)[0].isupper() for _ in range(20))


def test_joined_pairs_are_one_sentence():
    pairs = joined(PAIRS, COUNTS, random.Random(0))
    assert pairs and all(text.endswith(".") and text.count(".") == 1 and "?" not in text for p in pairs for text in p)
    texts = ["We like it.", "The garden is green.", "Tom left.", "I saw HW."]
    assert sentence(texts[:1] + texts[2:], [" and ", ", so "], COUNTS) == "We like it and Tom left, so I saw HW."
