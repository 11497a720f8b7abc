"""What the adapters take for texts, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from sklearn.base import BaseEstimator, ClassifierMixin

import toolkit
from tests.augmentation.fake import Rotations
from toolkit.augmentation._text_inputs import texts_of
from toolkit.augmentation.adapters import (
    AugmentedClassifier,
    CollateAugmenter,
    MapAugmenter,
    NlpaugAugmenter,
    TextAugmenter,
    contrastive_pairs,
)

TEXTS = ["The dog is here.", "It rains a lot."]


class Rotating(Rotations):
    """It has what the other adapters read, too."""

    def paraphrase(self, texts, n=1, seed=0, progress=True):
        return [self.rotated(text, n, seed) for text in texts]


class Polars:
    """What a data frame of polars has; iteration yields its columns."""

    columns, shape = ["text"], (2, 1)

    def __iter__(self):
        return iter([TEXTS])

    def __array__(self, dtype=None, copy=None):
        return np.array(TEXTS, dtype=object).reshape(-1, 1)


class First(ClassifierMixin, BaseEstimator):
    """A classifier that shows what it was given."""

    def fit(self, X, y):
        self.texts, self.classes_ = list(X), np.unique(y)
        return self

    def predict(self, X):
        return list(X)


TABLES = [
    pd.DataFrame({"text": TEXTS}),
    pd.Series(TEXTS, index=[7, 8]),
    np.array(TEXTS).reshape(-1, 1),
    Dataset.from_dict({"text": TEXTS}),
    Dataset.from_dict({"text": TEXTS})["text"],
    Polars(),
    (text for text in TEXTS),
]


@pytest.mark.parametrize("data", TABLES, ids=lambda data: type(data).__name__)
def test_texts_of_one_column(data):
    assert texts_of(data) == TEXTS


def test_every_adapter_takes_the_texts_and_not_the_names():
    frame = pd.DataFrame({"text": TEXTS})
    assert list(TextAugmenter(paraphraser=Rotating()).fit_resample(frame, [0, 1])[0][:2]) == TEXTS
    assert list(TextAugmenter().transform(frame)) == TEXTS
    fitted = AugmentedClassifier(First(), paraphraser=Rotating()).fit(frame, [0, 1])
    assert fitted.estimator_.texts[:2] == TEXTS and fitted.predict(frame) == TEXTS
    assert len(NlpaugAugmenter(Rotating()).augment(frame)) == 2
    assert list(contrastive_pairs(frame, paraphraser=Rotating())["anchor"]) == TEXTS
    assert MapAugmenter("text", paraphraser=Rotating())(frame)["text"][:2] == TEXTS


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("It is late.", "wanted a list of texts, got a str"),
        (pd.DataFrame({"a": TEXTS, "b": TEXTS}), "wanted one column of texts, got the columns a, b"),
        (np.array([TEXTS]), r"wanted one column of texts, got an array of shape \(1, 2\)"),
        ({"text": TEXTS}, r"wanted a list of texts, got .* \(dict\)"),
        (12, r"wanted a list of texts, got 12 \(int\)"),
        (["It is late.", 3], r"row 1: wanted a text, got 3 \(int\)"),
    ],
)
def test_other_things_are_refused_by_every_adapter(data, message):
    calls = [lambda: TextAugmenter(paraphraser=Rotating()).fit_resample(data, [0, 1])]
    calls += [lambda: contrastive_pairs(data, paraphraser=Rotating())]
    calls += [] if isinstance(data, str) else [lambda: NlpaugAugmenter(Rotating()).augment(data)]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_a_text_that_is_missing():
    texts, labels = TextAugmenter(paraphraser=Rotating()).fit_resample([None, *TEXTS], [0, 1, 2])
    assert list(texts[:3]) == [None, *TEXTS] and list(labels) == [0, 1, 2, 1, 2]
    with pytest.raises(ValueError, match="row 0: wanted a text, got None"):
        NlpaugAugmenter(Rotating()).augment([None])


def test_names_of_columns_are_texts():
    frame = pd.DataFrame({0: TEXTS, "label": [0, 1]})
    for call in (
        lambda: toolkit.augment(frame, 0),
        lambda: toolkit.augment(frame, "text", label=0),
        lambda: MapAugmenter([0]),
        lambda: CollateAugmenter(list, 0),
    ):
        with pytest.raises(ValueError, match=r"wanted the name of a column as a text, got 0 \(int\)"):
            call()
    with pytest.raises(ValueError, match="wanted spans as a mapping"):
        toolkit.augment(frame, "text", spans="answers")
