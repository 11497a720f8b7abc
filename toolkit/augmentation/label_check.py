"""Take the new rows that a classifier still gives the label of the row that they are made of, the surest first.

A row that the classifier does not know itself gives few new rows or none: that was better than taking them unchecked
(docs/results.md, "With checked labels").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from toolkit.augmentation.parts import NewRow, SkippedError, joined
from toolkit.augmentation.summary import Summary
from toolkit.evaluate.transfer import classifier

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


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
        self, made: Sequence[Sequence[NewRow]], values: Mapping[int, Mapping[str, Any]], summary: Summary
    ) -> list[list[NewRow]]:
        """The new rows that keep their label, most probable first; where none of one source does, this is counted.

        Args:
            made: The possible new rows of each source.
            values: The values of the sources, by number.
            summary: Counts.
        """
        flat = [one for some in made for one in some]
        inputs = [self.input_of({**values[one.source], **one.changes}) for one in flat]
        labels = [values[one.source][self.label] for one in flat]
        found = iter(self.judge([one.source for one in flat], inputs, labels) if flat else ())
        kept = []
        for some in made:
            probable = list(zip((float(next(found)) for _ in some), some, strict=True))
            good = [one for p, one in sorted(probable, key=lambda item: -item[0]) if p > 0]
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


def by_classifier(labels_of: Classifier) -> Judge:
    """The judge of a user's classifier: 1 where it gives an input the label of its row, else 0."""

    def judge(_: Sequence[int], inputs: Sequence[Input], labels: Sequence[Any]) -> np.ndarray:
        said = list(labels_of(inputs))
        if len(said) != len(inputs):
            raise ValueError(f"wanted {len(inputs)} labels from the classifier, got {len(said)}")
        if said and isinstance(said[0], str) != isinstance(labels[0], str):
            raise ValueError(f"wanted labels such as {labels[0]!r} from the classifier, got {said[0]!r}")
        return np.array([float(one == label) for one, label in zip(said, labels, strict=True)])

    return judge


def cross_validated(inputs: Sequence[Input], labels: Sequence[Any], encoder: SentenceTransformer, seed: int) -> Judge:
    """Logistic regressions on embeddings, each trained without a fifth of the rows, which it judges.

    Args:
        inputs: Of all rows.
        labels: Of all rows.
        encoder: A sentence encoder.
        seed: Of the folds.

    Raises:
        ValueError: There are fewer than two labels, or a label is None.
    """
    if None in labels or len(set(labels)) < 2 or len(inputs) < 2:
        raise ValueError(f"wanted rows of two labels or more for a cross-validated check, got {set(labels)!r:.80}")
    vectors, wanted = features(inputs, encoder), np.array(labels)
    order = np.random.default_rng(seed).permutation(len(inputs))
    by_class = order[np.argsort(wanted[order], kind="stable")]
    fold = np.empty(len(inputs), dtype=int)
    fold[by_class] = np.arange(len(inputs)) % min(FOLDS, len(inputs))  # the rows of a class are in different folds
    models: list[Pipeline | Any] = []
    for number in range(fold.max() + 1):
        seen = fold != number
        if len(set(wanted[seen])) == 1:
            models.append(wanted[seen][0])
            continue
        models.append(regression().fit(vectors[seen], wanted[seen]))

    def judge(numbers: Sequence[int], texts: Sequence[Input], own: Sequence[Any]) -> np.ndarray:
        found, judged, its = features(texts, encoder), fold[np.array(numbers)], np.array(own)
        sure = np.empty(len(texts))
        for number, model in enumerate(models):
            here = judged == number
            if here.any():
                sure[here] = probability(model, found[here], its[here])
        return sure

    return judge


def probability(model: Pipeline | Any, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How probable a model finds each label, and 0 where it finds another more probable.

    Args:
        model: A logistic regression, or the only label that it could be trained on.
        vectors: (inputs, features).
        labels: (inputs,).
    """
    if not isinstance(model, Pipeline):
        return (labels == model).astype(float)
    probabilities = model.predict_proba(vectors)
    known = model.classes_[None, :] == labels[:, None]
    return np.where(model.predict(vectors) == labels, (probabilities * known).sum(1), 0.0)


def regression() -> Pipeline:
    """A logistic regression on embeddings, not trained yet."""
    return classifier(PENALTY)


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
