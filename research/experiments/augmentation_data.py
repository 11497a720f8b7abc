"""The tasks of `augmentation_table.py`, and the new texts of each arm, which are made once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from datasets import Dataset
from sacremoses import MosesDetokenizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from toolkit.augmentation.allot import same_share, wanted_rows
from toolkit.augmentation.label_check import LabelCheck, cross_validated
from toolkit.augmentation.parts import NewRow
from toolkit.augmentation.summary import Summary
from toolkit.evaluate.transfer import classification_file, read_labelled
from toolkit.study.study import Arm
from toolkit.study.trials import ITERATIONS, lower_spaced
from toolkit.system.whole_files import write_whole

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TASKS = {  # training file, and test file; without one, TEST_ROWS random rows are the test
    "TREC": ("TREC.train.all", None),
    "SST-2": ("stsa.binary.train", "stsa.binary.dev"),
    "SUBJ": ("subj.all", None),
    "CR": ("custrev.all", None),
}
FIVE_CLASSES = {"SST-5": ("stsa.fine.train", "stsa.fine.dev")}  # by name alone: its sentences are those of SST-2
TEST_ROWS = 1000
NEGATED = (" n 't", " n't", "n 't")  # as the files cut "don't"

Texts = Mapping[str, Sequence[str]]  # the new texts of each text, best first


def task(data: Path, name: str) -> tuple[Dataset, Dataset]:
    """The training and the test rows of a task, as running text: the files hold tokens with spaces between them."""
    train_file, test_file = (TASKS | FIVE_CLASSES)[name]
    train = rows(data, train_file)
    if test_file is not None:
        return dataset(train), dataset(rows(data, test_file))
    random.Random(0).shuffle(train)
    return dataset(train[TEST_ROWS:]), dataset(train[:TEST_ROWS])


def rows(data: Path, name: str) -> list[tuple[str, int]]:
    """The different texts of a file with their labels."""
    path = classification_file(data / "classification", name)
    assert path is not None, name
    texts, labels = read_labelled(path)
    return list({running(text): int(label) for text, label in zip(texts, labels, strict=True)}.items())


def dataset(pairs: Sequence[tuple[str, int]]) -> Dataset:
    """Rows with the columns text and label."""
    return Dataset.from_dict({"text": [text for text, _ in pairs], "label": [label for _, label in pairs]})


def running(text: str) -> str:
    r"""Tokens as people write them.

    >>> running("the film does n't work , it 's \\/ was bad .")
    "the film doesn't work, it's / was bad."
    """
    plain = text.replace("\\/", "/").replace("`` ", '"').replace(" ''", '"')
    for parted in NEGATED:
        plain = plain.replace(parted, "n't")
    return MosesDetokenizer(lang="en").detokenize(plain.split())


def pool(file: Path, texts: Sequence[str], make: Callable[[Sequence[str]], Sequence[Sequence[str]]]) -> Texts:
    """The new texts of all texts; a file keeps those that are made."""
    known: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if missing := [text for text in texts if text not in known]:
        known |= zip(missing, map(list, make(missing)), strict=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(known, ensure_ascii=False))
    return known


def from_pool(new: Texts, copies: int, stratify: bool = True) -> Arm:
    """An arm: the rows, and at most so many new texts of each; stratified as by `toolkit.augment`."""

    def arm(train: Dataset, seed: int) -> Dataset:
        rows = list(zip(train["text"], train["label"], strict=True))
        sources = [n for n, (text, _) in enumerate(rows) for _ in new[text][:copies]]
        new_rows = [(new_text, label) for text, label in rows for new_text in new[text][:copies]]
        if stratify:
            labels = [label for _, label in rows]
            numbers = wanted_rows(sources, len(rows), labels, same_share(labels, sources, None), None, seed)
            new_rows = [new_rows[n] for n in numbers]
        return dataset([*rows, *new_rows])

    return arm


class Remembering:
    """A sentence encoder that encodes no text twice: the arms and seeds of a task have many texts in common."""

    def __init__(self, encoder: SentenceTransformer):
        self.encoder = encoder
        self.known: dict[str, np.ndarray] = {}

    def encode(self, texts: Sequence[str], batch_size: int, show_progress_bar: bool) -> np.ndarray:
        """The embeddings (texts, width); the parameters are those of sentence-transformers."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            embeddings = self.encoder.encode(new, batch_size=batch_size, show_progress_bar=show_progress_bar)
            self.known.update(zip(new, embeddings, strict=True))
        return np.stack([self.known[text] for text in texts])


def word_regression() -> Pipeline:
    """A logistic regression on weighted words, not trained yet."""
    words = TfidfVectorizer(sublinear_tf=True, preprocessor=lower_spaced)
    return make_pipeline(words, LogisticRegression(max_iter=ITERATIONS))


def checked(new: Texts, copies: int, encoder: SentenceTransformer) -> Arm:
    """The same arm with `check="cross_validated"`, on embeddings of this encoder."""

    def arm(train: Dataset, seed: int) -> Dataset:
        check = LabelCheck(cross_validated(train["text"], train["label"], encoder, seed), ("text",), "label", "en")
        new_rows = [
            [NewRow(n, {"text": new_text}, None) for new_text in new[text]] for n, text in enumerate(train["text"])
        ]
        checked_rows = check.kept(new_rows, dict(enumerate(train)), Summary())
        texts = [[new_row.changes["text"] for new_row in rows_of_text] for rows_of_text in checked_rows]
        return from_pool(dict(zip(train["text"], texts, strict=True)), copies)(train, seed)

    return arm
