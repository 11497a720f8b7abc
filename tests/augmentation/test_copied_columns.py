"""Columns that belong to a text and are not named are refused, unless they only look so."""

import pandas as pd
import pytest
from datasets import Dataset, IterableDataset

import toolkit
from tests.augmentation.fake import Rotations

SETTINGS = {"progress": False, "paraphraser": Rotations()}
TOKENS = [["Tom", "went", "to", "Rome"], ["He", "left", "it"], ["Yes"], *3 * [["So", "be", "it"]]]
TAGS = [["B", "O", "O", "B"], ["O", "O", "O"], ["O"], *3 * [["O", "O", "O"]]]
CONTEXTS = ["He was born in Paris.", "She never left Rome at all."]
QUESTIONS = ["Where was he born then?", "Where did she never live?"]
ANSWERS = [{"text": ["Paris"], "answer_start": [15]}, {"text": ["Rome"], "answer_start": [15]}]


def containers(rows):
    """The rows as a data set, a stream, a stream that states no features, and a data frame."""
    data = Dataset.from_dict(rows)
    return [data, data.to_iterable_dataset(), IterableDataset.from_generator(lambda: iter(data)), pd.DataFrame(rows)]


@pytest.mark.parametrize("kind", range(4))
def test_other_values_of_tokens_are_refused(kind):
    rows = {"tokens": TOKENS, "pos_tags": [[1, 2, 3, 4], [1, 2, 3], [1], *3 * [[1, 2, 3]]], "ner_tags": TAGS}
    settings = {"spans": {"tokens": "ner_tags"}, **SETTINGS}
    with pytest.raises(ValueError, match=r"for each token of 'tokens', got 'pos_tags', .* remove the column$"):
        toolkit.augment(containers(rows)[kind], "tokens", **settings)


@pytest.mark.parametrize(
    "others",
    [
        [[1, 2, 3, 4], [1, 2], [1], *3 * [[1, 2, 3]]],
        [[5], [], [3], [1], [2], [3]],
        6 * [None],
        ["abcd", "abc", "a", "abc", "abc", "abc"],
    ],
)
def test_lists_that_are_not_as_long_stay(others):
    data = Dataset.from_dict({"tokens": TOKENS, "others": others, "ner_tags": TAGS})
    bigger = toolkit.augment(data, "tokens", spans={"tokens": "ner_tags"}, **SETTINGS)
    assert len(bigger) > 6 and bigger["others"][6] == others[bigger["augmented_from"][6]]


def test_lists_of_a_few_rows_may_be_as_long_by_chance():
    data = Dataset.from_dict({"tokens": TOKENS[:2], "votes": [[1, 2, 3, 4], [1, 2, 3]], "ner_tags": TAGS[:2]})
    assert len(toolkit.augment(data, "tokens", spans={"tokens": "ner_tags"}, **SETTINGS)) > 2


@pytest.mark.parametrize("kind", range(4))
def test_offsets_that_are_not_named_are_refused(kind):
    rows = {"context": CONTEXTS, "question": QUESTIONS, "answers": ANSWERS}
    with pytest.raises(ValueError, match=r"wanted spans=\{'context': 'answers'\}, because 'answers' holds offsets"):
        toolkit.augment(containers(rows)[kind], "context", **SETTINGS)
    assert len(list(toolkit.augment(Dataset.from_dict(rows), "question", **SETTINGS))) == 4
    assert len(toolkit.augment(Dataset.from_dict(rows), "context", spans={"context": "answers"}, **SETTINGS)) == 4


@pytest.mark.parametrize(
    ("entities", "refused"),
    [
        ([5 * [{"start": 15, "end": 20, "label": "LOC"}], []], True),
        ([3 * [{"start": 15, "end": 20}], 2 * [{"start": 15, "end": 19}]], True),
        ([{"start": 5 * [0], "end": 5 * [2]}, {"start": [], "end": []}], True),
        ([5 * [{"start": 14, "end": 20}], []], False),  # of another text: not at the ends of words
        ([{"start": 18, "end": 25}, {"start": 0, "end": 3}], False),  # too few to tell, such as ages
        ([[{"start": 1990, "end": 1995}], []], False),
        ([[{"start": 15, "end": 20, "text": "London"}], []], False),
        ([[{"from": 15, "to": 20}], []], False),
        ([[{"start": 0.5, "end": 2.5}], []], False),
        ([[], []], False),
    ],
)
def test_what_are_offsets_of_a_text(entities, refused):
    data = Dataset.from_dict({"text": CONTEXTS, "entities": entities})
    if refused:
        with pytest.raises(ValueError, match=r"wanted spans=\{'text': 'entities'\}, because"):
            toolkit.augment(data, "text", **SETTINGS)
    else:
        assert len(toolkit.augment(data, "text", **SETTINGS)) == 4


@pytest.mark.parametrize("values", [[2**70, 1], ["\ud83d a", "b"]])
def test_a_data_frame_may_have_copied_columns_that_no_table_holds(values):
    frame = pd.DataFrame({"text": CONTEXTS, "x": pd.Series(values, dtype=object)})
    bigger = toolkit.augment(frame, "text", **SETTINGS)
    assert list(bigger["x"]) == 2 * values


def test_a_data_frame_may_have_copied_columns_of_one_name():
    frame = pd.DataFrame([[text, [1], [2]] for text in CONTEXTS], columns=["text", "x", "x"])
    assert len(toolkit.augment(frame, "text", **SETTINGS)) == 4
