"""Refuse new rows that a classifier no longer gives the label of the row that they are made of.

Of a row that the classifier gets wrong from the start nothing is refused: such rows are the hard ones, which a training
set needs most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from toolkit.augmentation.parts import SkippedError, joined
from toolkit.augmentation.summary import Summary

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from toolkit.augmentation.new_rows import NewRow

FOLDS = 5  # ours: a row is judged by a classifier that has seen four fifths of the others
PENALTY = 2**-6  # ours: sklearn's C on standardised embeddings; `toolkit.evaluate.transfer` has its best there
ITERATIONS = 2000  # ours: enough for every fit to converge

Input = str | tuple[str, ...]  # the text of a row, or its texts in the order of the columns
Classifier = Callable[[Sequence[Input]], Sequence[Any]]


@dataclass(frozen=True)
class LabelCheck:
    """A classifier that refuses new rows.

    Attributes:
        predict: The labels of some inputs of rows, given the numbers of the rows and the inputs.
        columns: The columns of the texts.
        label: The column of the label.
        lang: Language of the texts (ISO 639-1).
    """

    predict: Callable[[Sequence[int], Sequence[Input]], Sequence[Any]]
    columns: tuple[str, ...]
    label: str
    lang: str

    def kept(
        self, made: Sequence[Sequence[NewRow]], values: Mapping[int, Mapping[str, Any]], summary: Summary
    ) -> list[list[NewRow]]:
        """The new rows that keep their label; where none of one source does, this is counted.

        Args:
            made: The possible new rows of each source.
            values: The values of the sources, by number.
            summary: Counts.
        """
        numbers = list(dict.fromkeys(one.source for some in made for one in some))
        flat = [one for some in made for one in some]
        before = [self.input_of(values[number]) for number in numbers]
        after = [self.input_of({**values[one.source], **one.changes}) for one in flat]
        labels = self.predict([*numbers, *(one.source for one in flat)], [*before, *after]) if flat else []
        if len(labels) != len(before) + len(after):
            raise ValueError(f"wanted {len(before) + len(after)} labels from the classifier, got {len(labels)}")
        wrong = {n for n, label in zip(numbers, labels, strict=False) if label != values[n][self.label]}
        same = iter(labels[len(before) :])
        kept = []
        for some in made:
            good = [one for one in some if next(same) == values[one.source][self.label] or one.source in wrong]
            if some and not good:
                was, text = values[some[0].source][self.label], self.input_of(some[0].changes)
                refused = f"wanted label {was!r}, got another for {text!r:.80}"
                summary.skip(some[0].source, SkippedError("label_changed", refused))
            kept.append(good)
        return kept

    def input_of(self, row: Mapping[str, Any]) -> Input:
        """The text of a row, or its texts."""
        texts = tuple(joined(row[column], column, self.lang)[0] for column in self.columns if column in row)
        return texts[0] if len(texts) == 1 else texts


def by_classifier(classifier: Classifier) -> Callable[[Sequence[int], Sequence[Input]], Sequence[Any]]:
    """The predictions of a user's classifier, which needs no numbers of rows."""
    return lambda _, inputs: classifier(inputs)


def cross_validated(
    inputs: Sequence[Input], labels: Sequence[Any], encoder: SentenceTransformer, seed: int
) -> Callable[[Sequence[int], Sequence[Input]], Sequence[Any]]:
    """Logistic regressions on embeddings, each trained without a fifth of the rows, which it judges.

    Args:
        inputs: Of all rows.
        labels: Of all rows.
        encoder: A sentence encoder.
        seed: Of the folds.

    Returns:
        A function that predicts the labels of inputs, given the number of the row that each is made of.

    Raises:
        ValueError: There are fewer than two labels, or a label is None.
    """
    if None in labels or len(set(labels)) < 2 or len(inputs) < 2:
        raise ValueError(f"wanted rows of two labels or more for a cross-validated check, got {set(labels)!r:.80}")
    fold = np.random.default_rng(seed).permutation(len(inputs)) % min(FOLDS, len(inputs))
    vectors, wanted = features(inputs, encoder), np.array(labels)
    models: list[Pipeline | Any] = []
    for number in range(fold.max() + 1):
        seen = fold != number
        if len(set(wanted[seen])) == 1:
            models.append(wanted[seen][0])
            continue
        models.append(regression().fit(vectors[seen], wanted[seen]))

    def predict(numbers: Sequence[int], texts: Sequence[Input]) -> Sequence[Any]:
        found = features(texts, encoder)
        own = fold[np.array(numbers)]
        said = np.empty(len(texts), dtype=wanted.dtype)
        for number, model in enumerate(models):
            if (own == number).any():
                said[own == number] = model.predict(found[own == number]) if isinstance(model, Pipeline) else model
        return said.tolist()

    return predict


def regression() -> Pipeline:
    """A logistic regression on embeddings, not trained yet."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=ITERATIONS))


def word_regression() -> Pipeline:
    """A logistic regression on weighted words, not trained yet."""
    return make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(max_iter=ITERATIONS))


def features(inputs: Sequence[Input], encoder: SentenceTransformer) -> np.ndarray:
    """The embedding of each text; of several texts their embeddings, and of two also difference and product.

    Args:
        inputs: Texts, or equally many texts each.
        encoder: A sentence encoder.

    Returns:
        (inputs, features) float32.
    """
    several = [one if isinstance(one, tuple) else (one,) for one in inputs]
    distinct = list(dict.fromkeys(text for some in several for text in some))
    vectors = encoder.encode(distinct, batch_size=256, show_progress_bar=False)
    place = {text: n for n, text in enumerate(distinct)}
    found = [vectors[[place[some[k]] for some in several]] for k in range(len(several[0]))]
    if len(found) == 2:
        found += [np.abs(found[0] - found[1]), found[0] * found[1]]
    return np.concatenate(found, axis=1)
