"""The adapters, each in the library that it is for."""

import pickle
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from datasets import Dataset
from datasets.fingerprint import Hasher
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sklearn.base import is_classifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from torch.utils.data import DataLoader

import toolkit
from toolkit import starters
from toolkit.augmentation import adapters
from toolkit.augmentation.adapters import (
    AugmentedClassifier,
    CollateAugmenter,
    MapAugmenter,
    NlpaugAugmenter,
    TextAugmenter,
    contrastive_pairs,
)
from toolkit.paraphraser import names
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.starters import STARTERS

TEXTS = [
    "The elevator is broken.",
    "I have never seen such a beautiful garden before.",
    "Where can I buy a good map of the city?",
    "We will go home now because it is late.",
] * 3
LABELS = [0, 1, 1, 0] * 3


@pytest.fixture
def train():
    return Dataset.from_dict({"text": TEXTS, "label": LABELS})


@pytest.mark.slow
@pytest.mark.parametrize("processes", [None, 2])
def test_map(train, processes):
    augmenter = MapAugmenter("text", copies=2)
    assert len(pickle.dumps(augmenter)) < 2000, "a pickle holds no model"
    adapters.loaded("starter/paraphraser")  # a forked process must not wait for the threads of this one
    bigger = train.map(augmenter, batched=True, batch_size=6, num_proc=processes)
    assert bigger.features == train.features and len(bigger) > 2 * len(train)
    assert bigger[:6] == train[:6]
    labels = dict(zip(TEXTS, LABELS, strict=True))
    assert sum(row["text"] not in labels for row in bigger) == len(bigger) - len(train)


@pytest.mark.slow
def test_map_in_two_columns_and_not_in_batches(train):
    pairs = train.add_column("other", TEXTS[::-1])
    bigger = pairs.map(MapAugmenter(["text", "other"], vary="together"), batched=True)
    assert all(row["text"] not in TEXTS and row["other"] not in TEXTS for row in bigger.select(range(12, len(bigger))))
    with pytest.raises(ValueError, match="wanted a batch of rows, got one row: map with batched=True"):
        train.map(MapAugmenter("text"))
    with pytest.raises(ValueError, match="wanted column 'txt', got the columns text, label"):
        train.map(MapAugmenter("txt"), batched=True)


def test_rows_in_the_cache_of_map_are_those_of_the_same_models(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("first")
    augmenter = MapAugmenter("text", paraphraser=str(tmp_path / "model"))
    first = Hasher.hash(augmenter)
    assert Hasher.hash(pickle.loads(pickle.dumps(augmenter))) == first
    (tmp_path / "model" / "weights").write_text("second")
    assert Hasher.hash(augmenter) != first
    starter_only = Hasher.hash(MapAugmenter("text", paraphraser="starter/paraphraser"))
    monkeypatch.setattr(adapters, "models_of", lambda name: ["starter/de-en", "starter/en-de"])
    assert Hasher.hash(MapAugmenter("text", paraphraser="starter/paraphraser")) != starter_only, "other models now"


def collate(examples):
    return [row["text"] for row in examples]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_collating(train, tmp_path, workers, monkeypatch):
    cache = tmp_path / "copies.sqlite"
    torch.manual_seed(0)
    augmenter = CollateAugmenter(collate, "text", share=0.5, cache=cache)
    loader = DataLoader(train, batch_size=4, collate_fn=augmenter, num_workers=workers)
    epochs = [[text for batch in loader for text in batch] for _ in range(4)]
    replaced = [sum(text not in TEXTS for text in epoch) for epoch in epochs]
    assert all(len(epoch) == 12 for epoch in epochs) and 10 < sum(replaced) < 40
    assert len({tuple(epoch) for epoch in epochs}) > 1, "every epoch draws anew"
    monkeypatch.setattr(adapters, "loaded", lambda _name: pytest.fail("all paraphrases are in the cache"))
    assert len(CollateAugmenter(collate, "text", share=1.0, cache=cache)(list(train))) == 12
    with pytest.raises(ValueError, match=r"wanted a cache of .*, copies 2, seed 0, got one of .*, copies 4, seed 0 in"):
        CollateAugmenter(collate, "text", share=1.0, copies=2, cache=cache)(list(train))


@pytest.mark.slow
def test_a_cache_holds_the_paraphrases_of_one_paraphraser_with_its_settings(train, tmp_path):
    cache, settings = tmp_path / "copies.sqlite", Paraphrasing(method="beam", pool=1)
    paraphraser = Paraphraser("starter/paraphraser", settings=settings)
    CollateAugmenter(collate, "text", share=1.0, cache=cache, paraphraser=paraphraser)(list(train)[:2])
    paraphraser.settings = replace(settings, pool=2)
    with pytest.raises(ValueError, match=r"wanted a cache of starter/paraphraser .*, got one of starter/paraphraser "):
        CollateAugmenter(collate, "text", share=1.0, cache=cache, paraphraser=paraphraser)(list(train)[:2])


def test_a_cache_is_not_that_of_a_model_which_was_trained_again(train, tmp_path):
    shutil.copytree(STARTERS / "paraphraser", tmp_path / "mine")
    paraphraser = Paraphraser(str(tmp_path / "mine"), settings=Paraphrasing(method="beam", pool=1))
    augmenter = CollateAugmenter(collate, "text", cache=tmp_path / "copies.sqlite", paraphraser=paraphraser)
    augmenter.opened().close()
    augmenter.opened().close()
    (tmp_path / "mine" / "words.txt").write_text("other\n")
    with pytest.raises(ValueError, match=r"wanted a cache of mine .*, got one of mine "):
        augmenter.opened()


def test_a_cache_of_the_best_paraphraser_is_not_that_of_another_which_is_installed_later(train, tmp_path, monkeypatch):
    augmenter = CollateAugmenter(collate, "text", cache=tmp_path / "copies.sqlite")
    augmenter.opened().close()
    for module in (names, starters):
        monkeypatch.setattr(module, "packaged", lambda name: STARTERS / "en-de")
    with pytest.raises(
        ValueError, match=r"wanted a cache of starter/en-pt > starter/pt-en .*, got one of starter/para"
    ):
        augmenter.opened()


def test_collating_nothing_and_badly(train):
    assert CollateAugmenter(collate, "text", share=0.0)(list(train)) == TEXTS
    assert CollateAugmenter(collate, "text", share=1.0)([{"text": ""}, {"text": None}]) == ["", None]
    with pytest.raises(ValueError, match=r"^wanted a text in column 'text', got \['a'\] \(list\)$"):
        CollateAugmenter(collate, "text")([{"text": ["a"]}])
    with pytest.raises(ValueError, match=r"^wanted column 'txt', got the columns text$"):
        CollateAugmenter(collate, "txt")([{"text": "a"}])
    with pytest.raises(ValueError, match=r"wanted share in \[0, 1\], got 2"):
        CollateAugmenter(collate, "text", share=2)


@pytest.mark.slow
def test_scikit_learn(train):
    texts, labels = TextAugmenter(copies=2).fit_resample(TEXTS, LABELS)
    assert list(texts[:12]) == TEXTS and list(labels[:12]) == LABELS and len(texts) == len(labels) > 24
    texts, labels = TextAugmenter(copies=2, stratify=True).fit_resample(TEXTS, LABELS)
    assert list(texts[:12]) == TEXTS and len(set(Counter(labels.tolist()).values())) == 1 and len(texts) > 14
    safe_texts, safe_labels = TextAugmenter(copies=2, check=lambda texts: [LABELS[0]] * len(texts)).fit_resample(
        TEXTS, LABELS
    )
    assert len(safe_texts) > 12 and set(safe_labels[12:]) == {LABELS[0]}
    classifier = AugmentedClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), copies=1)
    assert cross_val_score(classifier, np.array(TEXTS), np.array(LABELS), cv=2).mean() > 0.9
    assert is_classifier(classifier), "so that folds have all classes"
    words = classifier.estimator[0].fit(TEXTS).vocabulary_
    assert len(classifier.fit(TEXTS, LABELS).estimator_[0].vocabulary_) > len(words)
    none = AugmentedClassifier(classifier.estimator, check=lambda texts: [None] * len(texts)).fit(TEXTS, LABELS)
    assert none.estimator_[0].vocabulary_ == words, "nothing passed the check"
    search = GridSearchCV(classifier, {"copies": [1, 2], "estimator__logisticregression__C": [1.0, 10.0]}, cv=2)
    assert search.fit(np.array(TEXTS), np.array(LABELS)).best_score_ > 0.9
    assert search.best_estimator_.predict_proba(TEXTS[:2]).shape == (2, 2)
    with pytest.raises(ValueError, match="wanted a label for each text, got 12 texts and 3 labels"):
        TextAugmenter().fit_resample(TEXTS, [1, 2, 3])


@pytest.mark.slow
def test_nlpaug():
    augmenter = NlpaugAugmenter(toolkit.Paraphraser("starter/paraphraser"))
    paraphrases = augmenter.augment(TEXTS[1], n=3)
    assert 1 <= len(paraphrases) <= 3 and len(set(paraphrases)) == len(paraphrases) and TEXTS[1] not in paraphrases
    many = augmenter.augment([*TEXTS[:4], "12:30", ""])
    assert len(many) == 6 and many[4:] == ["12:30", ""] and many[1] not in TEXTS


def test_contrastive_training(tmp_path):
    pairs = contrastive_pairs([*TEXTS, "", None], copies=2)
    assert pairs.column_names == ["anchor", "positive"] and 4 < len(pairs) <= 8
    assert all(row["anchor"] in TEXTS and row["positive"] not in TEXTS for row in pairs)
    encoder = toolkit.load_encoder("starter/encoder")
    arguments = SentenceTransformerTrainingArguments(
        str(tmp_path), max_steps=2, per_device_train_batch_size=2, report_to="none", save_strategy="no", use_cpu=True
    )
    loss = MultipleNegativesRankingLoss(encoder)
    result = SentenceTransformerTrainer(encoder, arguments, train_dataset=pairs, loss=loss).train()
    assert result.global_step == 2
