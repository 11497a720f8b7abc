"""Take the new rows that a classifier still gives the label of the row that they are made of, the surest first.

A row that the classifier does not know itself gives few new rows or none: that was better than taking them unchecked
(docs/results/augmentation.md, "With checked labels").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.augmentation.parts import NewRow, _joined, _SkippedError
from toolkit.augmentation.summary import Summary

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from toolkit.score.semantic import Embedder


FOLDS = 5  # ours: a row is judged by a classifier that has seen four fifths of the others
PENALTY = 2**-6  # ours: sklearn's C on standardised embeddings; `toolkit.evaluate.transfer` has its best there

Input = str | tuple[str, ...]  # the text of a row, or its texts in the order of the columns
Classifier = Callable[[Sequence[Input]], Sequence[Any]]
Judge = Callable[[Sequence[int], Sequence[Input], Sequence[Any]], np.ndarray]


@dataclass(frozen=True)
class LabelCheck:
    """A classifier that refuses new rows.

    Attributes:
        judge: Given the numbers of some rows, the inputs that are made of them and the labels of the rows: the
            probability of the label, in (0, 1], and 0 where another label is more probable.
        columns: The columns of the texts.
        label: The column of the label.
        lang: Language of the texts (ISO 639-1).
    """

    judge: Judge
    columns: tuple[str, ...]
    label: str
    lang: str

    def kept(
        self, candidates: Sequence[Sequence[NewRow]], values: Mapping[int, Mapping[str, Any]], summary: Summary
    ) -> list[list[NewRow]]:
        """The new rows that keep their label, most probable first; where none of one source does, this is counted.

        Args:
            candidates: The possible new rows of each source.
            values: The values of the sources, by number.
            summary: Counts.
        """
        flat = [candidate for group in candidates for candidate in group]
        inputs = [self.input_of({**values[candidate.source], **candidate.changes}) for candidate in flat]
        labels = [values[candidate.source][self.label] for candidate in flat]
        probabilities = iter(self.judge([candidate.source for candidate in flat], inputs, labels) if flat else ())
        usable_rows = []
        for group in candidates:
            probable = list(zip((float(next(probabilities)) for _ in group), group, strict=True))
            usable = [candidate for p, candidate in sorted(probable, key=lambda pair: -pair[0]) if p > 0]
            if group and not usable:
                label, text = values[group[0].source][self.label], self.input_of(group[0].changes)
                message = f"wanted label {label!r}, got another for {text!r:.80}"
                summary.skip(group[0].source, _SkippedError("label_changed", message))
            usable_rows.append(usable)
        return usable_rows

    def input_of(self, row: Mapping[str, Any]) -> Input:
        """The text of a row, or its texts."""
        texts = tuple(_joined(row[column], column, self.lang)[0] for column in self.columns if column in row)
        return texts[0] if len(texts) == 1 else texts


def _by_classifier(predict_labels: Classifier) -> Judge:
    """The judge of a user's classifier: 1 where it gives an input the label of its row, else 0."""

    def judge(_: Sequence[int], inputs: Sequence[Input], labels: Sequence[Any]) -> np.ndarray:
        predictions = list(predict_labels(inputs))
        if len(predictions) != len(inputs):
            raise ValueError(f"wanted {len(inputs)} labels from the classifier, got {len(predictions)}")
        if np.ndim(predictions[0]):
            raise ValueError(f"wanted one label of each text from the classifier, got {predictions[0]!r:.80}")
        label = next((label for label in labels if label is not None), None)
        if label is not None and isinstance(predictions[0], str) != isinstance(label, str):
            raise ValueError(f"wanted labels such as {label!r} from the classifier, got {predictions[0]!r}")
        return np.array([float(prediction == label) for prediction, label in zip(predictions, labels, strict=True)])

    return judge


def cross_validated(inputs: Sequence[Input], labels: Sequence[Any], encoder: Embedder, seed: int) -> Judge:
    """Logistic regressions on embeddings, each trained without a fifth of the rows, which it judges.

    Args:
        inputs: Of all rows.
        labels: Of all rows.
        encoder: A sentence encoder.
        seed: Of the folds.

    Raises:
        ValueError: There are fewer than two labels, or a label is None or a number with decimals.
    """
    fraction = next((label for label in labels if isinstance(label, float) and not label.is_integer()), None)
    if fraction is not None:
        raise ValueError(f"wanted classes for a cross-validated check, got {fraction}: give texts or whole numbers")
    if None in labels or len(set(labels)) < 2 or len(inputs) < 2:
        raise ValueError(f"wanted rows of two labels or more for a cross-validated check, got {set(labels)!r:.80}")
    vectors, label_array = features(inputs, encoder), np.array(labels)
    order = np.random.default_rng(seed).permutation(len(inputs))
    by_class = order[np.argsort(label_array[order], kind="stable")]
    fold = np.empty(len(inputs), dtype=int)
    fold[by_class] = np.arange(len(inputs)) % min(FOLDS, len(inputs))  # the rows of a class are in different folds
    models: list[Pipeline | Any] = []
    for number in range(fold.max() + 1):
        training_mask = fold != number
        if len(set(label_array[training_mask])) == 1:
            models.append(label_array[training_mask][0])
            continue
        models.append(regression().fit(vectors[training_mask], label_array[training_mask]))

    def judge(numbers: Sequence[int], texts: Sequence[Input], expected: Sequence[Any]) -> np.ndarray:
        text_vectors = features(texts, encoder)
        input_folds, expected_labels = fold[np.array(numbers)], np.array(expected)
        probabilities = np.empty(len(texts))
        for number, model in enumerate(models):
            fold_mask = input_folds == number
            if fold_mask.any():
                probabilities[fold_mask] = _probability(model, text_vectors[fold_mask], expected_labels[fold_mask])
        return probabilities

    return judge


def _probability(model: Pipeline | Any, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How probable a model finds each label, and 0 where it finds another more probable.

    Args:
        model: A logistic regression, or the only label that it could be trained on.
        vectors: (inputs, features).
        labels: (inputs,).
    """
    if not hasattr(model, "predict_proba"):
        return (labels == model).astype(float)
    probabilities = model.predict_proba(vectors)
    known = model.classes_[None, :] == labels[:, None]
    return np.where(model.predict(vectors) == labels, (probabilities * known).sum(1), 0.0)


def regression() -> Pipeline:
    """A logistic regression on embeddings, not trained yet."""
    from toolkit.evaluate.transfer import classifier

    return classifier(PENALTY)


def features(inputs: Sequence[Input], encoder: Embedder) -> np.ndarray:
    """The embedding of each text; of several texts their embeddings, and of two also difference and product.

    Args:
        inputs: Texts, or equally many texts each.
        encoder: A sentence encoder.

    Returns:
        (inputs, features) float32.
    """
    text_tuples = [row_input if isinstance(row_input, tuple) else (row_input,) for row_input in inputs]
    distinct_texts = list(dict.fromkeys(text for texts in text_tuples for text in texts))
    vectors = encoder.encode(distinct_texts, batch_size=256, show_progress_bar=False)
    indices = {text: index for index, text in enumerate(distinct_texts)}
    vector_parts = [vectors[[indices[texts[k]] for texts in text_tuples]] for k in range(len(text_tuples[0]))]
    if len(vector_parts) == 2:
        vector_parts += [np.abs(vector_parts[0] - vector_parts[1]), vector_parts[0] * vector_parts[1]]
    return np.concatenate(vector_parts, axis=1)
