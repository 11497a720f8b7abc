"""Classifiers that a study trains: logistic regression on embeddings, a scikit-learn pipeline, a transformer.

A trial is a function of training rows, test rows and a seed that returns the share of right answers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Dataset

from toolkit.augmentation.label_check import features, regression
from toolkit.bitext.words import spaced
from toolkit.models.checkpoint import reading_model
from toolkit.models.trainer_arguments import trainer_arguments
from toolkit.system.extras import naming_extra

with naming_extra():
    from sklearn.base import clone
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline, make_pipeline, make_union

if TYPE_CHECKING:
    from toolkit.score.semantic import Embedder

Trial = Callable[[Dataset, Dataset, int], float]

# ours: on validation rows of four tasks, with 16 and 64 rows of a class and with 500 rows, this was more accurate than
# single words alone, and than frozen embeddings of the starter encoder (research/experiments/study_classifiers.py)
WORDS, LETTERS = (1, 2), (2, 4)  # the fewest and the most words, and letters within a word, of a feature
PENALTY = 10.0  # sklearn's C
ITERATIONS = 2000  # ours: enough for every fit to converge
LEARNING_RATE, WARMUP = 5e-5, 0.1  # Devlin et al. (2018), section A.3


def on_embeddings(encoder: Embedder, columns: Sequence[str], label: str) -> Trial:
    """A logistic regression on frozen embeddings; every text is encoded once in a study.

    Args:
        encoder: A sentence encoder.
        columns: The columns of the texts.
        label: The column of the classes.
    """
    known_vectors: dict[Any, np.ndarray] = {}

    def vectors(rows: Dataset) -> np.ndarray:
        inputs = list(zip(*(rows[column] for column in columns), strict=True))
        new_inputs = [texts for texts in dict.fromkeys(inputs) if texts not in known_vectors]
        if new_inputs:
            known_vectors.update(zip(new_inputs, features(new_inputs, encoder), strict=True))
        return np.stack([known_vectors[texts] for texts in inputs])

    def trial(train: Dataset, test: Dataset, seed: int) -> float:
        model = regression().fit(vectors(train), np.array(train[label]))
        return float(np.mean(model.predict(vectors(test)) == np.array(test[label])))

    return trial


def text_regression(penalty: float = PENALTY) -> Pipeline:
    """A logistic regression on weighted words, pairs of words and parts of words, not trained yet.

    Chinese words are those of jieba.
    """
    words = TfidfVectorizer(
        sublinear_tf=True, preprocessor=lower_spaced, token_pattern=r"(?u)\b\w+\b", ngram_range=WORDS
    )
    letters = TfidfVectorizer(sublinear_tf=True, preprocessor=lower_spaced, analyzer="char_wb", ngram_range=LETTERS)
    return make_pipeline(make_union(words, letters), LogisticRegression(C=penalty, max_iter=ITERATIONS))


def lower_spaced(text: str) -> str:
    """A text in lower case, with spaces between its words."""
    return spaced(text.lower())


def by_estimator(estimator: Any, column: str, label: str) -> Trial:
    """A scikit-learn classifier of texts.

    Args:
        estimator: A classifier or pipeline; its `random_state`, where it has one, is set to the seed.
        column: The column of the texts.
        label: The column of the classes.
    """

    def trial(train: Dataset, test: Dataset, seed: int) -> float:
        model = clone(estimator)
        random_states = {name: seed for name in model.get_params() if name.split("__")[-1] == "random_state"}
        model.set_params(**random_states).fit(list(train[column]), list(train[label]))
        return float(np.mean(np.array(model.predict(list(test[column]))) == np.array(test[label])))

    return trial


def by_trainer(
    checkpoint: str,
    columns: Sequence[str],
    label: str,
    steps: int = 200,
    batch: int = 16,
    learning_rate: float = LEARNING_RATE,
    max_tokens: int = 128,
) -> Trial:
    """A transformer with a new output layer, trained by transformers' `Trainer` for as many steps in every arm.

    Args:
        checkpoint: A Hub id or a folder.
        columns: One or two columns of texts.
        label: The column of the classes.
        steps: Steps of a training, whatever the number of rows.
        batch: Rows of a batch.
        learning_rate: The highest; it falls linearly to zero.
        max_tokens: Longer inputs are cut.

    Raises:
        ValueError: The checkpoint cannot be loaded.
    """
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    with reading_model(checkpoint, "a checkpoint with a tokenizer", ""):
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)

    def tokenized(rows: Dataset, classes: Sequence[Any]) -> Dataset:
        texts = [list(rows[column]) for column in columns]
        encoding = tokenizer(*texts, truncation=True, max_length=max_tokens)
        return Dataset.from_dict({**encoding, "labels": [classes.index(row_label) for row_label in rows[label]]})

    def trial(train: Dataset, test: Dataset, seed: int) -> float:
        classes = sorted({*train[label], *test[label]})
        set_seed(seed)
        model = AutoModelForSequenceClassification.from_pretrained(checkpoint, num_labels=len(classes))
        with tempfile.TemporaryDirectory() as folder:
            options = dict(
                output_dir=folder,
                max_steps=steps,
                per_device_train_batch_size=batch,
                per_device_eval_batch_size=4 * batch,
                learning_rate=learning_rate,
                warmup_steps=int(WARMUP * steps),
                seed=seed,
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
            )
            arguments = trainer_arguments(TrainingArguments, "auto", options)
            collator = DataCollatorWithPadding(tokenizer)
            trainer = Trainer(model, arguments, data_collator=collator, train_dataset=tokenized(train, classes))
            trainer.train()
            output = trainer.predict(tokenized(test, classes))
        return float(np.mean(np.argmax(output.predictions, 1) == output.label_ids))

    return trial
