"""Contamination against a plain loop over all texts."""

import random
from collections import Counter

import pyarrow as pa
import pytest

from toolkit.bitext.normalize import match_key
from toolkit.clean import contamination
from toolkit.clean.contamination import CONTAINED, LEAST_NGRAMS, NGRAM, EvaluationSet, _found_in, _index_of, search_for
from toolkit.clean.normal_form import form_of, normal

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "dog",
    "ran",
    "after",
    "it",
    "over",
    "hills",
    "far",
    "away",
    "where",
    "nobody",
    "ever",
    "lived",
    "before",
    "them",
]


def grams(text):
    key = match_key(text)
    return {key[i : i + NGRAM] for i in range(len(key) - NGRAM + 1)}


def plain(sets, text):
    equal = [
        n
        for n, evaluation_set in enumerate(sets)
        if match_key(text) in {match_key(member) or member for member in evaluation_set.texts}
    ]
    if equal:
        return equal[0], "equal"
    text_grams = grams(text)
    contained = []
    for number, evaluation_set in enumerate(sets):
        for member in evaluation_set.texts:
            member_grams = grams(member)
            long = len(match_key(member)) - NGRAM + 1 >= LEAST_NGRAMS
            if long and len(member_grams & text_grams) >= CONTAINED * len(member_grams):
                contained.append(number)
    return (min(contained), "contains") if contained else None


@pytest.mark.parametrize("seed", range(3))
def test_as_a_plain_loop_says(seed):
    chance = random.Random(seed)

    def phrase(low, high):
        return " ".join(chance.choices(WORDS, k=chance.randint(low, high)))

    sets = [EvaluationSet(f"set-{n}", "1", [phrase(1, 9) for _ in range(40)]) for n in range(3)]
    texts = [phrase(1, 12) for _ in range(150)]
    for evaluation_set in sets:
        for text in chance.sample(evaluation_set.texts, 15):
            texts += [
                f"{text.upper()}!",
                f"{phrase(1, 4)}, {text}",
                " ".join(text.split()[1:]),
                f"{text} {phrase(6, 9)}",
            ]
    matches = _found_in(_index_of(sets), pa.array(texts))
    assert matches == [plain(sets, text) for text in texts]
    kinds = Counter(match[1] if match else None for match in matches)
    assert min(kinds.values()) > 20 and len(kinds) == 3


def test_short_texts_are_compared_as_a_whole():
    index = _index_of([EvaluationSet("demo", "1", ["I don't know.", "", "?"])])
    texts = ["i dont KNOW", "I don't know him.", "?", "..."]
    assert _found_in(index, pa.array(texts)) == [(0, "equal"), None, (0, "equal"), None]


def test_without_evaluation_texts_nothing_is_found():
    assert _found_in(_index_of([]), pa.array(["We go home.", ""])) == [None, None]
    assert _found_in(_index_of([EvaluationSet("demo", "1", ["Ja."])]), pa.array([], pa.string())) == []


@pytest.mark.parametrize("seed", range(3))
def test_common_ngrams_are_counted_beside_others(seed, monkeypatch):
    monkeypatch.setattr(contamination, "COMMON", 3)
    chance = random.Random(seed)
    begin = "a man in a blue shirt is standing on a ladder and cleans"
    groups = [[f"{begin} {' '.join(chance.choices(WORDS, k=8))}" for _ in range(30)] for _ in range(2)]
    sets = [EvaluationSet(f"set-{n}", "1", texts) for n, texts in enumerate(groups)]
    texts = [f"so {text} he said" for group in groups for text in group[::3]]
    texts += [begin, *(f"{begin} {word}" for word in WORDS), *(text[9:] for text in groups[1][::4])]
    matches = _found_in(_index_of(sets), pa.array(texts))
    assert matches == [plain(sets, text) for text in texts]
    assert Counter(matches)[None] > 20 and len(set(matches)) == 3


def test_a_common_ngram_is_not_followed(monkeypatch):
    monkeypatch.setattr(contamination, "COMMON", 0)
    text = "the cat sat on the mat where nobody lived"
    assert _found_in(_index_of([EvaluationSet("demo", "1", [text])]), pa.array([f"so {text}", text])) == [
        None,
        (0, "equal"),
    ]


def test_texts_are_looked_for_as_they_are_and_in_the_normal_forms_of_what_is_searched():
    texts = ["這個電梯又壞了，我們只好走樓梯。", "Tom &amp; Anna went home at last."]
    forms = {form_of(lang, True, True, True, True) for lang in ("zh", "en")}
    search = search_for([EvaluationSet("demo", "1", texts)], forms)
    cleaned = [normal(text, form_of("zh", True, True, True, True)) for text in texts]
    assert cleaned[0].startswith("这个电梯") and "&amp;" not in cleaned[1]
    assert search.found(pa.array([*cleaned, *texts, "这个电梯没有坏。"])).tolist() == [True] * 4 + [False]
    assert search.record("lines")[0]["texts"] == 2


def test_a_search_counts_each_record_once():
    long = "the dog ran over the far hills and nobody lived there"
    sets = [EvaluationSet("sts", "ab12", ["We go home now.", "Two."]), EvaluationSet("qqp", "cd34", [long])]
    search = search_for(sets)
    flags = search.found(
        pa.array(["we go home now", "x", f"so {long}"]), pa.chunked_array([["We go home now!", "y", long]])
    )
    assert flags.tolist() == [True, False, True]
    lines = search.record("pairs")
    assert [line["set"] for line in lines] == ["sts", "qqp"] and lines[0].keys() == lines[1].keys()
    assert [line["pairs equal"] for line in lines] == [1, 0] and lines[0]["texts"] == 2
    assert [line["pairs that contain one"] for line in lines] == [0, 1] and "80%" in lines[0]["rule"]
    assert not search_for([]).found(pa.array(["We go."])).any()
