"""Spans in every form that data sets have, and what of them is found again."""

import pytest

from toolkit.augmentation._spans import find_again, places, read_spans, wholes, write_spans

TEXT = "The Denver Broncos beat the Panthers."
FORMS = [
    {"text": ["Denver Broncos", "Panthers"], "answer_start": [4, 28]},
    {"start": [4, 28], "end": [18, 36], "label": ["ORG", "ORG"]},
    [{"text": "Denver Broncos", "answer_start": 4}, {"text": "Panthers", "answer_start": 28}],
    [{"start": 4, "end": 18, "label": "ORG"}, {"start": 28, "end": 36, "label": "ORG"}],
    [[4, 18], [28, 36]],
    [(4, 18, "ORG"), (28, 36, "ORG")],
    '[[4, 18, "ORG"], [28, 36, "ORG"]]',
    {"text": ["Denver Broncos", "Panthers"], "answer_start": [4, 28], "note": None},
]


@pytest.mark.parametrize("value", FORMS, ids=str)
def test_every_form_is_read_and_written(value):
    spans = read_spans(value, TEXT)
    assert spans == [(4, 18), (28, 36)]
    moved = write_spans(value, [(0, 14), (20, 28)])
    assert type(moved) is type(value)
    assert read_spans(moved, "Denver Broncos beat Panthers.") == [(0, 14), (20, 28)]
    labels = {"ORG"} if "ORG" in str(value) else set()
    assert labels == ({"ORG"} if "ORG" in str(moved) else set()), "what is not an offset stays"


NOTHING = [None, [], {"text": [], "answer_start": []}, {"text": None, "answer_start": None}, {}, "[]"]


@pytest.mark.parametrize("value", NOTHING, ids=str)
def test_no_spans(value):
    assert read_spans(value, TEXT) == [] and write_spans(value, []) == value


@pytest.mark.parametrize(
    "value",
    [
        7,
        "Denver",
        [4, 18],
        [{"begin": 4}],
        {"text": ["Denver"], "answer_start": []},
        {"start": 4, "end": 10},
        {"text": ["Denver"], "answer_start": [4], "answer_end": [10]},
        [{"text": "Denver", "answer_start": 4, "end": 10}],
        [{"start": 4, "end": 10, "token_start": 1}],
    ],
    ids=str,
)
def test_other_values_are_refused_in_a_line(value):
    with pytest.raises(ValueError, match=r"^wanted .*, got ") as error:
        read_spans(value, TEXT)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [[[4, 4]], [[-1, 3]], [[30, 99]], [{"text": "Broncos", "answer_start": 4}]], ids=str)
def test_spans_that_are_not_in_the_text_are_refused_in_a_line(value):
    with pytest.raises(IndexError, match=r"^wanted the span .*, got .* there$"):
        read_spans(value, TEXT)


def test_a_span_is_kept_with_its_whole_words_and_with_what_overlaps_it():
    assert wholes("It was the 42nd.", [(11, 13)]) == [(11, 15)]
    assert wholes(TEXT, [(4, 18), (11, 18), (28, 36)]) == [(4, 18), (28, 36)]
    assert wholes("他在北京大学读书", [(2, 4)]) == [(2, 4)], "no white space says where a word ends"


def test_places_are_whole_words_and_do_not_overlap():
    assert places("art, party, art", ["art"]) == {"art": [0, 12]}
    assert places("New York, York", ["York", "New York"]) == {"New York": [0], "York": [10]}


def test_spans_are_found_again_wherever_they_stand():
    spans = read_spans(FORMS[0], TEXT)
    text = "The Panthers lost to the Denver Broncos."
    offsets = find_again(TEXT, spans, text)
    assert [text[b:e] for b, e in offsets] == ["Denver Broncos", "Panthers"]
    overlapping = [(0, 18), (4, 18), (11, 18)]
    text = "In the end The Denver Broncos won."
    assert [text[b:e] for b, e in find_again(TEXT, overlapping, text)] == [
        "The Denver Broncos",
        "Denver Broncos",
        "Broncos",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The Broncos of Denver beat the Panthers.",
        "The denver broncos beat the Panthers.",
        "The Denver Broncos beat the Panthers, yes, the Panthers.",
        "The Denver Broncosaurs beat the Panthers.",
    ],
)
def test_a_span_that_is_not_there_exactly_as_often_is_not_found(text):
    assert find_again(TEXT, [(4, 18), (28, 36)], text) is None


def test_the_second_of_two_equal_phrases_stays_the_second():
    text = "Anna met Anna."
    assert find_again(text, [(9, 13)], "Anna saw Anna.") == [(9, 13)]
