"""Paraphrases where people already augment: `datasets.map`, a DataLoader, scikit-learn, nlpaug, sentence-transformers.

Each adapter loads its model when it is first used. A pickle of it holds only the name, so that worker processes load
their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from datasets import Dataset

from toolkit.augmentation._new_rows import new_rows
from toolkit.augmentation._text_inputs import texts_of
from toolkit.augmentation.augment import augment
from toolkit.augmentation.label_check import Classifier
from toolkit.augmentation.settings import Augmentation, _column_names
from toolkit.augmentation.sources import _Model
from toolkit.augmentation.summary import Summary
from toolkit.paraphraser.names import BEST, PIVOT, THEN, installed_critic, models_of
from toolkit.starters import resolve
from toolkit.system.code_version import DIGITS
from toolkit.system.contents import contents_of
from toolkit.system.errors import check_several
from toolkit.system.extras import naming_extra

with naming_extra():
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone

if TYPE_CHECKING:
    from toolkit.paraphraser.paraphraser import Paraphraser

PROCESS = os.getpid()  # that imported this module


@lru_cache(maxsize=1)
def loaded(name: str) -> Paraphraser:
    """The paraphraser of a name; that of the last name stays loaded."""
    from toolkit.paraphraser.paraphraser import Paraphraser

    return Paraphraser(name)


def _load_paraphraser(paraphraser: str | Paraphraser) -> Paraphraser:
    """A paraphraser by its name, or itself; in a forked process with one thread, because OpenMP's do not survive."""
    if os.getpid() != PROCESS:
        torch.set_num_threads(1)
    return loaded(paraphraser) if isinstance(paraphraser, str) else paraphraser


class MapAugmenter:
    """For `Dataset.map(..., batched=True)`: the rows of a batch, and after them their new rows.

        train.map(MapAugmenter("text", copies=2), batched=True)

    Batches need some hundred rows to be fast (`batch_size`, by default 1,000). The result has no columns of provenance;
    `toolkit.augment` does more.

    Args:
        columns: The columns whose texts are paraphrased.
        copies: New rows for each row, and with vary "separately" for each of its columns, at most.
        vary: "separately" or "together", see `toolkit.augment`.
        paraphraser: A name as `toolkit.Paraphraser` takes it, or one that is loaded.
        seed: Of the samples.
    """

    def __init__(
        self,
        columns: str | Sequence[str],
        copies: int = 1,
        vary: str = "separately",
        paraphraser: str | Paraphraser = BEST,
        seed: int = 0,
    ) -> None:
        self.settings = Augmentation(columns=_column_names(columns), copies=copies, vary=vary, seed=seed)
        self.paraphraser = paraphraser

    def __getstate__(self) -> dict:
        """What a pickle holds: also what paraphrases depend on, because `Dataset.map` finds rows in its cache by it."""
        return vars(self) | {"made_by": _made_by(self.paraphraser)}

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """The columns of a batch, which may be a data frame, with new rows at their end.

        Raises:
            ValueError: A column is missing, or holds something else than texts.
        """
        names = list(getattr(batch, "columns", batch))
        for column in self.settings.columns:
            if column not in names:
                raise ValueError(f"wanted column {column!r}, got the columns {', '.join(names)}: map with batched=True")
        if any(isinstance(batch[column], str) for column in self.settings.columns):
            raise ValueError("wanted a batch of rows, got one row: map with batched=True")
        columns = [list(batch[name]) for name in names]
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        source = _Model(_load_paraphraser(self.paraphraser), self.settings)
        added_rows = new_rows(list(enumerate(rows)), self.settings, source, {}, None, Summary())
        rows += [{**rows[new_row.source], **new_row.changes} for new_row in added_rows]
        return {name: [row[name] for row in rows] for name in names}


class CollateAugmenter:
    """For a PyTorch DataLoader: replaces the texts of some examples of each batch, then collates it.

        DataLoader(train, batch_size=32, collate_fn=CollateAugmenter(collate, "text", share=0.5, cache="copies.sqlite"))

    A text is paraphrased the first time that it is drawn; after that its paraphrases are in the cache, so that every
    epoch draws from them at no cost. Worker processes share a cache that is a file.

    Args:
        collate: Makes a batch of a list of examples, such as `transformers.DataCollatorWithPadding` after a tokenizer.
        columns: The columns whose texts are replaced.
        share: The probability with which a text is replaced, in [0, 1].
        copies: The most paraphrases of a text.
        cache: A file that keeps the paraphrases; None keeps them in memory.
        paraphraser: A name as `toolkit.Paraphraser` takes it, or one that is loaded.
        seed: Of the paraphrases; which of them is drawn depends on torch's seed, too, which differs between workers.

    Raises:
        ValueError: The share is out of its range.
    """

    def __init__(
        self,
        collate: Callable[[list[dict[str, Any]]], Any],
        columns: str | Sequence[str],
        share: float = 0.5,
        copies: int = 4,
        cache: str | Path | None = None,
        paraphraser: str | Paraphraser = BEST,
        seed: int = 0,
    ) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"wanted share in [0, 1], got {share}")
        self.collate, self.columns = collate, _column_names(columns)
        self.share, self.copies, self.seed = share, copies, seed
        self.cache = ":memory:" if cache is None else str(cache)
        self.paraphraser = paraphraser
        self.process: int | None = None  # that opened the cache: SQLite must not be used across a fork

    def __getstate__(self) -> dict:
        """What a pickle holds: no open file."""
        return {k: v for k, v in vars(self).items() if k not in ("connection", "chance")} | {"process": None}

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> Any:
        """The batch of some examples.

        Raises:
            ValueError: A column is missing, or holds something else than texts; or the cache holds the paraphrases of
                another paraphraser, number of copies or seed.
        """
        if self.process != os.getpid():
            self.process, self.chance = os.getpid(), random.Random(f"{self.seed} {torch.initial_seed()}")
            self.connection = self.opened()
        rows = [dict(example) for example in examples]
        for row in rows:
            for column in self.columns:
                _check_text(row, column)
        cells = [(row, column) for row in rows for column in self.columns if self.chance.random() < self.share]
        cells = [(row, column) for row, column in cells if isinstance(row[column], str) and row[column].strip()]
        paraphrases = self.cached([row[column] for row, column in cells])
        for row, column in cells:
            row[column] = self.chance.choice(paraphrases[row[column]] or [row[column]])
        return self.collate(rows)

    def opened(self) -> sqlite3.Connection:
        """The cache, new or with paraphrases that were made in the same way.

        Raises:
            ValueError: They were not.
        """
        expected = f"{_made_by(self.paraphraser)}, copies {self.copies}, seed {self.seed}"
        connection = sqlite3.connect(self.cache, timeout=600, isolation_level=None)
        connection.execute("CREATE TABLE IF NOT EXISTS said (text TEXT PRIMARY KEY, paraphrases TEXT)")
        connection.execute("CREATE TABLE IF NOT EXISTS made (by TEXT)")
        connection.execute("INSERT INTO made SELECT ? WHERE NOT EXISTS (SELECT 1 FROM made)", [expected])
        (actual,) = connection.execute("SELECT by FROM made").fetchone()
        if actual != expected:
            raise ValueError(
                f"wanted a cache of {expected}, got one of {actual} in {self.cache}: choose another, or delete it"
            )
        return connection

    def cached(self, texts: Sequence[str]) -> dict[str, list[str]]:
        """The paraphrases of each text, from the cache; those that are not there are made and kept."""
        paraphrases: dict[str, list[str]] = {}
        for text in dict.fromkeys(texts):
            row = self.connection.execute("SELECT paraphrases FROM said WHERE text = ?", [text]).fetchone()
            if row is not None:
                paraphrases[text] = json.loads(row[0])
        if new_texts := [text for text in dict.fromkeys(texts) if text not in paraphrases]:
            new_paraphrases = _load_paraphraser(self.paraphraser).paraphrase(
                new_texts, n=self.copies, seed=self.seed, progress=False
            )
            paraphrases |= dict(zip(new_texts, new_paraphrases, strict=True))
            self.connection.executemany(
                "INSERT OR REPLACE INTO said VALUES (?, ?)",
                [(text, json.dumps(paraphrases[text])) for text in new_texts],
            )
        return paraphrases


class TextAugmenter(BaseEstimator):
    """A sampler of texts for scikit-learn: `fit_resample` as imbalanced-learn's pipelines call it.

        texts, labels = TextAugmenter(copies=2).fit_resample(texts, labels)

    A scikit-learn transformer cannot add rows; `AugmentedClassifier` does in any of its tools. `transform` returns the
    texts as they are, because texts that are predicted are not augmented.

    Args:
        copies: New texts for each text, at most.
        paraphraser: A name as `toolkit.Paraphraser` takes it.
        seed: Of the samples.
        stratify: Whether the labels are classes, which all grow by the same share.
        check: A classifier that refuses new texts with another label, as `toolkit.augment` takes it.
    """

    def __init__(
        self,
        copies: int = 1,
        paraphraser: str | Paraphraser = BEST,
        seed: int = 0,
        stratify: bool = False,
        check: str | Classifier | None = None,
    ) -> None:
        self.copies, self.paraphraser, self.seed, self.stratify = copies, paraphraser, seed, stratify
        self.check = check

    def fit_resample(self, X: Iterable[str], y: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """The texts and labels, and after them new texts with the labels of those that they are made of.

        Args:
            X: Texts: a list, a series, an array of shape [n] or [n, 1], or a data frame of one column.
            y: The label of each.

        Raises:
            ValueError: There is more than one column, something else than texts, or not one label for each.
        """
        check_several(y, "a label for each text")
        texts, labels = texts_of(X), np.asarray(y)
        if len(texts) != len(labels):
            raise ValueError(f"wanted a label for each text, got {len(texts)} texts and {len(labels)} labels")
        columns: dict[str, list[Any]] = {"text": texts}
        if has_labels := self.stratify or self.check is not None:
            columns["label"] = labels.tolist()
        augmented_dataset = augment(
            Dataset.from_dict(columns),
            "text",
            copies=self.copies,
            paraphraser=_load_paraphraser(self.paraphraser),
            label="label" if has_labels else None,
            stratify=self.stratify,
            check=self.check,
            provenance=("row", "paraphraser", "score"),
            seed=self.seed,
            progress=False,
        )
        sources = [*range(len(texts)), *augmented_dataset["row"][len(texts) :]]
        return np.array(list(augmented_dataset["text"]), dtype=object), labels[sources]

    def fit(self, X: Iterable[str], y: Sequence[Any] | None = None) -> TextAugmenter:
        """Nothing is learnt."""
        return self

    def transform(self, X: Iterable[str]) -> Iterable[str]:
        """The texts as they are, in one dimension."""
        return np.array(texts_of(X), dtype=object)


class AugmentedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A scikit-learn classifier of texts that is trained with paraphrases of its training texts.

        classifier = make_pipeline(TfidfVectorizer(), LogisticRegression())
        cross_val_score(AugmentedClassifier(classifier, copies=2), texts, labels)

    Only what `fit` is given is augmented, so that no paraphrase of a test text is trained on. All classes grow by the
    same share.

    Args:
        estimator: A classifier of texts, or a pipeline that ends in one.
        copies: New texts for each text, at most.
        paraphraser: A name as `toolkit.Paraphraser` takes it.
        seed: Of the samples.
        check: A classifier that refuses new texts with another label, as `toolkit.augment` takes it.
    """

    def __init__(
        self,
        estimator: Any,
        copies: int = 1,
        paraphraser: str | Paraphraser = BEST,
        seed: int = 0,
        check: str | Classifier | None = None,
    ) -> None:
        self.estimator, self.copies, self.paraphraser, self.seed = estimator, copies, paraphraser, seed
        self.check = check

    def fit(self, X: Iterable[str], y: Sequence[Any]) -> AugmentedClassifier:
        """Train the classifier on the texts and their paraphrases."""
        classes = np.ndim(y) == 1  # of several labels a text, none is a class of its own
        augmenter = TextAugmenter(self.copies, self.paraphraser, self.seed, stratify=classes, check=self.check)
        texts, labels = augmenter.fit_resample(X, y)
        self.estimator_ = clone(self.estimator).fit(texts, labels)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Iterable[str]) -> np.ndarray:
        """The classes of some texts."""
        return self.estimator_.predict(np.array(texts_of(X), dtype=object))

    def predict_proba(self, X: Iterable[str]) -> np.ndarray:
        """The probabilities of the classes of some texts."""
        return self.estimator_.predict_proba(np.array(texts_of(X), dtype=object))


class NlpaugAugmenter:
    """The interface of nlpaug's augmenters, for code that has one.

    >>> NlpaugAugmenter().augment(["The elevator is broken."])                                 # doctest: +SKIP
    ['The elevator is out of order.']

    Args:
        paraphraser: A name as `toolkit.Paraphraser` takes it, or one that is loaded.
        seed: Of the samples.
    """

    def __init__(self, paraphraser: str | Paraphraser = BEST, seed: int = 0) -> None:
        self.paraphraser, self.seed = paraphraser, seed

    def augment(self, data: str | Sequence[str], n: int = 1, num_thread: int = 1) -> list[str]:
        """Augment one text, or each of some texts in one batch.

        Args:
            data: A text, or texts.
            n: The most outputs of one text; of several texts each has one.
            num_thread: Ignored.

        Returns:
            At most n different paraphrases of one text; of several texts one each. The text itself where there is none.

        Raises:
            ValueError: It is neither a text nor texts.
        """
        texts, max_outputs = ([data], n) if isinstance(data, str) else (texts_of(data, may_lack=False), 1)
        nonempty_texts = [text for text in texts if text.strip()]
        outputs = iter(
            _load_paraphraser(self.paraphraser).paraphrase(
                nonempty_texts, n=max_outputs, seed=self.seed, progress=False
            )
        )
        paraphrase_lists = [(next(outputs) if text.strip() else []) or [text] for text in texts]
        return paraphrase_lists[0] if isinstance(data, str) else [paraphrases[0] for paraphrases in paraphrase_lists]


def contrastive_pairs(
    texts: Iterable[str], copies: int = 1, paraphraser: str | Paraphraser = BEST, seed: int = 0
) -> Dataset:
    """Anchors and positives for contrastive training by sentence-transformers, from texts without labels.

        pairs = contrastive_pairs(texts)
        SentenceTransformerTrainer(model, train_dataset=pairs, loss=MultipleNegativesRankingLoss(model)).train()

    Args:
        texts: Texts; empty ones and those without a paraphrase give no pair.
        copies: Pairs of each text, at most.
        paraphraser: A name as `toolkit.Paraphraser` takes it, or one that is loaded.
        seed: Of the samples.

    Returns:
        A data set with the columns "anchor", the text, and "positive", a paraphrase.

    Raises:
        ValueError: Something else than texts is given.
    """
    distinct_texts = [text for text in dict.fromkeys(texts_of(texts)) if text and text.strip()]
    paraphrase_lists = _load_paraphraser(paraphraser).paraphrase(distinct_texts, n=copies, seed=seed)
    pairs = [
        (text, paraphrase)
        for text, paraphrases in zip(distinct_texts, paraphrase_lists, strict=True)
        for paraphrase in paraphrases
    ]
    return Dataset.from_dict(
        {"anchor": [anchor for anchor, _ in pairs], "positive": [positive for _, positive in pairs]}
    )


def _check_text(row: Mapping[str, Any], column: str) -> None:
    """Refuse a row without a column of texts.

    Raises:
        ValueError: The column is missing, or holds neither a text nor None or NaN.
    """
    if column not in row:
        raise ValueError(f"wanted column {column!r}, got the columns {', '.join(row)}")
    value = row[column]
    if not isinstance(value, str) and not (value is None or (isinstance(value, float) and value != value)):
        raise ValueError(f"wanted a text in column {column!r}, got {value!r:.60} ({type(value).__name__})")


def _made_by(paraphraser: str | Paraphraser) -> str:
    """The name of a paraphraser, with a hash of its models, on which its paraphrases depend, and settings."""
    if isinstance(paraphraser, str):
        return _name_with_contents(paraphraser)
    record = json.dumps(paraphraser.record(), sort_keys=True)
    return f"{paraphraser.name} {hashlib.sha256(record.encode()).hexdigest()[:DIGITS]}"


def _name_with_contents(name: str) -> str:
    """The models that a name stands for on this machine, with a hash of their files: its paraphrases depend on both."""
    models = models_of(name)
    critic = installed_critic() if len(models) == len(PIVOT) else None
    files = {"models": map(resolve, [*models, critic] if critic else models)}
    return f"{THEN.join(models)} {hashlib.sha256(contents_of(files)['models'].encode()).hexdigest()[:DIGITS]}"
