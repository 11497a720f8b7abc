"""The label check: which new rows it takes, and in which order."""

import numpy as np
import pytest

from toolkit.augmentation.label_check import LabelCheck, _by_classifier, _probability, cross_validated, regression
from toolkit.augmentation.parts import NewRow
from toolkit.augmentation.summary import Summary

TOPICS = {
    "animal": ["The cat sleeps.", "A dog ran home.", "The horse is old.", "Birds sing.", "My dog likes the cat."],
    "food": ["The soup is hot.", "I ate bread.", "The cheese is good.", "We cook rice.", "This soup is too salty."],
}


@pytest.fixture(scope="module")
def encoder():
    from toolkit.encoder.load import load_encoder

    return load_encoder("starter/encoder")


def test_the_most_probable_come_first_and_another_label_never():
    sure = {"a": 0.4, "b": 0.9, "c": 0.0, "d": 0.9}
    calls = []

    def judge(numbers, inputs, labels):
        calls.extend(zip(numbers, inputs, labels, strict=True))
        return np.array([sure[text] for text in inputs])

    check = LabelCheck(judge, ("text",), "label", "en")
    new_rows = [[NewRow(3, {"text": text}, None) for text in "abcd"], [NewRow(5, {"text": "c"}, None)], []]
    summary = Summary()
    groups = check.kept(new_rows, {3: {"text": "x", "label": 1}, 5: {"text": "y", "label": 0}}, summary)
    assert [[row.changes["text"] for row in group] for group in groups] == [["b", "d", "a"], [], []]
    assert calls == [*((3, text, 1) for text in "abcd"), (5, "c", 0)]
    assert summary.skipped == {"label_changed": 1} and summary.first["label_changed"].startswith(
        "row 5: wanted label 0"
    )
    assert check.kept([[], []], {}, summary) == [[], []]


def test_a_row_is_judged_by_a_classifier_that_has_not_seen_it(encoder):
    inputs = [text for texts in TOPICS.values() for text in texts] * 2
    labels = [topic for topic, texts in TOPICS.items() for _ in texts] * 2
    wrong = [*labels[:-1], "animal"]  # the last row is labelled wrong, and its text is in the data twice
    judge = cross_validated(inputs, wrong, encoder, 0)
    last = len(inputs) - 1
    of_last = judge([last, last], [inputs[last], "The bread is hot."], ["animal", "animal"])
    assert of_last.tolist() == [0, 0]
    new = ["The dog sleeps.", "The bread is hot."]
    as_they_are, as_the_other = judge([0, 5], new, ["animal", "food"]), judge([0, 5], new, ["food", "animal"])
    assert (as_they_are > 0.5).all() and (as_they_are <= 1).all() and not as_the_other.any()


def test_the_probability_of_a_label_that_is_not_the_most_probable_is_zero():
    vectors = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    model = regression().fit(vectors, np.array(["x", "x", "y", "y", "z", "z"]))
    probabilities = _probability(model, np.eye(3), np.array(["x", "z", "z"]))
    assert probabilities[1] == 0 and probabilities[0] == pytest.approx(model.predict_proba(np.eye(3))[0, 0])
    assert _probability("x", np.eye(3), np.array(["x", "y", "x"])).tolist() == [1, 0, 1]


def test_a_row_without_a_label_may_be_the_first_of_a_batch():
    judge = _by_classifier(lambda inputs: ["pos" for _ in inputs])
    assert judge([0, 1], ["a", "b"], [None, "pos"]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="wanted labels such as 1 from the classifier, got 'pos'"):
        judge([0, 1], ["a", "b"], [None, 1])


def test_labels_that_are_no_labels_are_one_line(encoder):
    with pytest.raises(ValueError, match=r"^wanted one label of each text from the classifier, got array\(\[0\]\)$"):
        _by_classifier(lambda inputs: np.zeros((len(inputs), 1), int))([0, 1], ["a", "b"], [0, 1])
    for label in (0.5, float("nan")):
        with pytest.raises(ValueError, match=rf"^wanted classes for a cross-validated check, got {label}: give texts"):
            cross_validated(["a", "b"], [1.0, label], encoder, 0)
