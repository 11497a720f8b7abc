"""`toolkit.augment` on every kind of data, by the starter and by a paraphraser that only turns words around."""

import json
from collections import Counter
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, IterableDataset, List, Value
from torch.utils.data import DataLoader

import toolkit
from tests import tiny
from tests.augmentation.fake import Rotations
from toolkit.augmentation import _work as work
from toolkit.bitext.subwords import marian_tokenizer, train_pieces

TEXTS = [
    "The elevator is broken.",
    "I have never seen such a beautiful garden before.",
    "Where can I buy a good map of the city?",
    "He has no idea what his wife will give him for Christmas.",
    "We will go home now because it is late.",
]
SETTINGS = {"progress": False, "paraphraser": Rotations()}


@pytest.fixture(scope="module")
def starter():
    return toolkit.Paraphraser("starter/paraphraser")


@pytest.fixture
def train():
    return Dataset.from_dict(
        {"text": TEXTS, "label": [0, 1, 2, 1, 0], "id": [10, 11, 12, 13, 14]},
        features=Features(text=Value("string"), label=ClassLabel(names=["a", "b", "c"]), id=Value("int32")),
    )


@pytest.fixture
def pairs():
    return Dataset.from_dict({"premise": TEXTS[:3], "hypothesis": TEXTS[2:], "label": [0, 1, 2]})


def new_of(data, column="augmented_from"):
    return [row for row in data if row[column] is not None]


def test_classification_by_the_starter(train, starter):
    bigger, summary = toolkit.augment(
        train, columns="text", copies=2, paraphraser=starter, progress=False, with_summary=True
    )
    assert bigger.select_columns(train.column_names)[: len(train)] == train[:]
    new = new_of(bigger)
    assert len(new) == summary.new_rows >= len(train)
    for row in new:
        source = train[row["augmented_from"]]
        assert (row["label"], row["id"]) == (source["label"], source["id"])
        assert row["text"] not in TEXTS and row["text"].strip()
        assert row["paraphraser"] == "starter/paraphraser" and 0.5 <= row["score"] <= 1
    assert max(Counter(row["augmented_from"] for row in new).values()) == 2
    assert {**bigger.features, **train.features} == bigger.features, "the features of the data are unchanged"


@pytest.mark.parametrize(("vary", "changed"), [("separately", 1), ("together", 2)])
def test_pairs_of_texts(pairs, vary, changed):
    bigger = toolkit.augment(pairs, columns=["premise", "hypothesis"], vary=vary, **SETTINGS)
    new = new_of(bigger)
    assert len(new) == (6 if vary == "separately" else 3)
    for row in new:
        source = pairs[row["augmented_from"]]
        assert sum(row[name] != source[name] for name in ("premise", "hypothesis")) == changed
        assert row["label"] == source["label"]


def test_only_one_column_of_a_bitext_changes():
    bitext = Dataset.from_dict({"en": TEXTS, "zh": ["甲", "乙", "丙", "丁", "戊"]})
    bigger = toolkit.augment(bitext, columns="en", **SETTINGS)
    assert [row["zh"] for row in new_of(bigger)] == ["甲", "乙", "丙", "丁", "戊"]


def test_a_chinese_side_is_paraphrased_by_a_model_in_a_folder(tmp_path):
    """Random weights say nothing that a guard would pass; in Chinese there is none, and no cosine."""
    zh = ["我们今天去公园。", "这本书很有意思。", "他每天早上喝咖啡。", "你知道图书馆在哪里吗？"]
    train_pieces(zh * 20, tmp_path / "pieces.spm", vocabulary=45, coverage=1.0)
    tokenizer = marian_tokenizer(tmp_path / "pieces.spm", tmp_path / "pieces.spm", tmp_path / "model")
    tiny.model(len(tokenizer), seed=1).save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "measured.json").write_text('{"lang": "zh", "source_lang": "zh"}')
    bitext = Dataset.from_dict({"zh": zh, "en": TEXTS[:4]})
    bigger = toolkit.augment(bitext, columns="zh", paraphraser=str(tmp_path / "model"), progress=False)
    new = new_of(bigger)
    assert new
    for row in new:
        source = bitext[row["augmented_from"]]
        assert row["en"] == source["en"] and row["zh"] != source["zh"] and row["score"] is None
        assert " " not in row["zh"]


@pytest.mark.parametrize("keep_by", ["select", "constrain"])
def test_keywords_are_in_every_new_row(starter, keep_by):
    data = Dataset.from_dict({"abstract": TEXTS, "keywords": [["elevator"], ["garden"], ["map", "city"], ["wife"], []]})
    settings = {"keep": "keywords", "keep_by": keep_by, "copies": 3, "with_summary": True, "progress": False}
    bigger, summary = toolkit.augment(data, columns="abstract", paraphraser=starter, **settings)
    new = new_of(bigger)
    assert len(new) == summary.new_rows > len(data)
    assert all(word in row["abstract"].lower() for row in new for word in row["keywords"])


def test_a_row_whose_phrase_is_not_in_the_text_is_counted_and_named():
    data = Dataset.from_dict({"text": TEXTS[:2], "keywords": [["lift"], ["garden"]]})
    bigger, summary = toolkit.augment(data, columns="text", keep="keywords", with_summary=True, **SETTINGS)
    assert [row["augmented_from"] for row in new_of(bigger)] == [1]
    assert summary.skipped == {"keep_not_said": 1}
    assert summary.first["keep_not_said"].startswith("row 0: wanted the phrase 'lift' in text, got ")


def test_phrases_may_be_given_for_all_rows():
    data = Dataset.from_dict({"text": ["the red car is fast", "a red car is slow now"]})
    bigger = toolkit.augment(data, columns="text", keep=["red car"], copies=9, **SETTINGS)
    assert len(new_of(bigger)) > 4 and all("red car" in row["text"].lower() for row in bigger)


def test_answers_stay_where_the_context_stays():
    qa = Dataset.from_dict(
        {
            "question": TEXTS[:2],
            "context": ["The lift broke in Paris in 1999.", "No."],
            "answers": [{"text": ["Paris"], "answer_start": [18]}, {"text": [], "answer_start": []}],
        }
    )
    questions = toolkit.augment(qa, columns="question", spans={"context": "answers"}, **SETTINGS)
    assert [row["answers"] for row in new_of(questions)] == qa["answers"][:]
    contexts = toolkit.augment(qa, columns="context", spans={"context": "answers"}, copies=5, **SETTINGS)
    new = new_of(contexts)
    assert len(new) == 5 and contexts.features["answers"] == qa.features["answers"]
    for row in new:
        begin = row["answers"]["answer_start"][0]
        assert row["context"][begin:].startswith("Paris")


def test_tokens_and_their_tags_change_together():
    names = ["O", "B-PER", "I-PER", "B-LOC"]
    data = Dataset.from_dict(
        {"tokens": [["Tom", "Smith", "lives", "in", "Rome", "."]], "ner_tags": [[1, 2, 0, 0, 3, 0]]},
        features=Features(tokens=List(Value("string")), ner_tags=List(ClassLabel(names=names))),
    )
    bigger = toolkit.augment(data, columns="tokens", spans={"tokens": "ner_tags"}, copies=9, **SETTINGS)
    new = new_of(bigger)
    assert len(new) >= 2 and bigger.features["ner_tags"] == data.features["ner_tags"]
    for row in new:
        assert len(row["tokens"]) == len(row["ner_tags"])
        tagged = {token: names[tag] for token, tag in zip(row["tokens"], row["ner_tags"], strict=True) if tag}
        assert tagged == {"Tom": "B-PER", "Smith": "I-PER", "Rome": "B-LOC"}


def test_a_data_frame_stays_one():
    frame = pd.DataFrame(
        {"text": TEXTS, "label": pd.Categorical(list("abcab")), "at": pd.Timestamp("2026-01-02")}, index=list("vwxyz")
    )
    bigger = toolkit.augment(frame, columns="text", **SETTINGS)
    assert isinstance(bigger, pd.DataFrame)
    pd.testing.assert_frame_equal(bigger.iloc[:5][list(frame)], frame)
    assert (bigger.dtypes[list(frame)] == frame.dtypes).all()
    new = bigger.iloc[5:]
    assert list(new.index) == list(frame.index[new["augmented_from"].astype(int)])
    assert list(new["label"]) == [frame["label"].iloc[n] for n in new["augmented_from"]]
    bare = toolkit.augment(frame.reset_index(drop=True), columns="text", provenance=(), **SETTINGS)
    assert list(bare.index) == list(range(10)) and list(bare) == list(frame)


def test_an_index_that_counts_goes_on():
    frame = pd.DataFrame({"text": TEXTS[:2]}, index=pd.RangeIndex(100, 104, 2, name="id"))
    bigger = toolkit.augment(frame, columns="text", **SETTINGS)
    pd.testing.assert_index_equal(bigger.index, pd.RangeIndex(100, 108, 2, name="id"), exact=True)


def test_the_classes_of_a_data_frame_become_equally_large():
    frame = pd.DataFrame({"text": TEXTS, "label": pd.Categorical(["no", "yes", "no", "no", "no"])})
    bigger = toolkit.augment(frame, columns="text", label="label", balance=True, **SETTINGS | {"copies": 3})
    assert bigger["label"].dtype == frame["label"].dtype
    assert bigger["label"].value_counts().to_dict() == {"no": 4, "yes": 4}


def test_a_data_frame_with_lists_and_missing_texts():
    frame = pd.DataFrame({"text": [TEXTS[0], None, np.nan], "words": [np.array(["elevator"]), [], []]})
    bigger, summary = toolkit.augment(frame, columns="text", keep="words", with_summary=True, **SETTINGS)
    assert len(bigger) == 4 and summary.skipped == {"no_text": 2}


def test_spans_with_a_name_in_a_data_frame_are_moved_and_stay_lists():
    frame = pd.DataFrame({"text": ["We met Ann today.", "We go home."], "spans": [[[7, 10, "PER"]], []]})
    bigger = toolkit.augment(frame, columns="text", spans={"text": "spans"}, **SETTINGS)
    assert list(bigger["spans"]) == [[[7, 10, "PER"]], [], [[4, 7, "PER"]], []]
    assert bigger["text"].iloc[2] == "met Ann today. We"


def test_a_stream_stays_one_and_gives_the_same_rows(train, monkeypatch):
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    monkeypatch.setattr(work, "SHARD_ROWS", 2)
    whole = toolkit.augment(train, columns="text", copies=2, **SETTINGS)
    stream = toolkit.augment(train.to_iterable_dataset(), columns="text", copies=2, **SETTINGS)
    assert isinstance(stream, IterableDataset)
    for _ in range(2):
        assert list(stream) == list(whole)
    bare = toolkit.augment(iter_of(train), columns="text", provenance=(), **SETTINGS)
    assert next(iter(bare)) == train[0]


def test_a_stream_whose_first_rows_lack_keys(monkeypatch):
    rows = [{"text": TEXTS[0]}, {"label": 1}, {"text": TEXTS[1], "label": 2, "tags": ["a"]}]
    stream = IterableDataset.from_generator(lambda: iter(rows))
    result = list(toolkit.augment(stream, columns="text", provenance=(), **SETTINGS))
    assert result[:3] == [{"text": None, "label": None, "tags": None} | row for row in rows]
    assert [(row["label"], row["tags"]) for row in result[3:]] == [(None, None), (2, ["a"])]
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 1)
    late = toolkit.augment(IterableDataset.from_generator(lambda: iter(rows)), columns="text", **SETTINGS)
    with pytest.raises(ValueError, match=r"wanted rows with the keys text, .* with 'label': state all features"):
        list(late)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "numpy"])
def test_a_stream_by_the_starter_in_any_format(train, starter, kind):
    settings = {"columns": "text", "paraphraser": starter, "progress": False}
    stream = toolkit.augment(train.to_iterable_dataset().with_format(kind), **settings)
    whole = toolkit.augment(train, **settings)
    assert len(whole) > len(train)
    assert [row["text"] for row in stream] == list(whole["text"])


def iter_of(train):
    """A stream that states no features."""

    def rows():
        yield from train

    return IterableDataset.from_generator(rows)


def test_only_the_train_split_grows(train):
    splits = DatasetDict(train=train, test=train.select([0]))
    bigger = toolkit.augment(splits, columns="text", **SETTINGS)
    assert {name: len(split) for name, split in bigger.items()} == {"train": 10, "test": 1}
    assert bigger["test"].features == bigger["train"].features, "so that push_to_hub takes it"
    with pytest.raises(ValueError, match="wanted a split 'train', which is augmented, got test"):
        toolkit.augment(DatasetDict(test=train), columns="text", **SETTINGS)


def test_provenance_may_have_other_names_or_none(train):
    bare = toolkit.augment(train, columns="text", provenance=(), **SETTINGS)
    assert bare.features == train.features and len(bare) == 10
    bigger = toolkit.augment(train, columns="text", provenance=("of", "by", "cosine"), **SETTINGS)
    assert bigger.column_names == [*train.column_names, "of", "by", "cosine"]
    again = toolkit.augment(bigger, columns="text", **SETTINGS)
    assert again.column_names == [*bigger.column_names, "augmented_from", "paraphraser", "score"]
    with pytest.raises(ValueError, match="wanted new names for provenance, got 'of', which the data has"):
        toolkit.augment(bigger, columns="text", provenance=("of", "by", "x"), **SETTINGS)


def test_finished_shards_of_rows_that_have_changed_are_refused(train, tmp_path):
    settings = {"columns": "text", "output_dir": tmp_path / "out", **SETTINGS}
    toolkit.augment(train, **settings)
    for changed in (train.map(lambda row: {"id": row["id"] + 1}), train.add_column("more", [1] * len(train))):
        with pytest.raises(ValueError, match="got other rows or types: choose another output, or delete this one"):
            toolkit.augment(changed, **settings)
    with pytest.raises(ValueError, match="got other rows or types"):
        toolkit.augment(train.cast_column("label", Value("int64")), **settings)


def test_a_finished_shard_whose_rows_stand_elsewhere_now_is_refused(tmp_path):
    rows = {"text": [*TEXTS, "The old bridge was closed.", "Nobody knew the answer."], "label": [0, 0, 0, 0, 0, 1, 1]}
    settings = {"columns": "text", "label": "label", "balance": True, "output_dir": tmp_path / "out", **SETTINGS}
    toolkit.augment(Dataset.from_dict(rows), **settings)
    fewer = Dataset.from_dict({name: values[1:] for name, values in rows.items()})
    with pytest.raises(ValueError, match="got other rows or types: choose another output, or delete this one"):
        toolkit.augment(fewer, **settings)


def test_a_stream_has_one_worker(train):
    stream = toolkit.augment(train.to_iterable_dataset(), columns="text", **SETTINGS)
    assert len(list(DataLoader(stream, batch_size=None, num_workers=1))) == 2 * len(train)
    with pytest.raises(ValueError, match="wanted one worker of a DataLoader for an augmented stream, got 2"):
        list(DataLoader(stream, batch_size=None, num_workers=2))


@pytest.mark.slow
def test_a_data_frame_of_categories_and_of_numbered_columns():
    frame = pd.DataFrame({"text": pd.Categorical(TEXTS)})
    assert toolkit.augment(frame, columns="text", **SETTINGS)["text"].notna().all()
    with pytest.raises(ValueError, match="wanted column '0', got the columns 0"):
        toolkit.augment(pd.DataFrame({0: TEXTS}), columns="0", **SETTINGS)


@pytest.mark.slow
def test_labels_that_are_no_classes(train):
    multi_label = train.remove_columns("label").add_column("label", [[0, 1]] * len(train))
    missing = train.remove_columns("label").add_column("label", ["a", None, "b", "a", "b"])
    numbers = train.remove_columns("label").add_column("label", [0.0, float("nan"), 1.0, 1.0, 0.0])
    unlabelled = train.map(lambda row, number: {"label": -1 if number == 1 else 0}, with_indices=True)
    for options in ({"balance": True}, {"stratify": True}, {"check": "cross_validated"}):
        with pytest.raises(ValueError, match="wanted one class of each row in column 'label', got List"):
            toolkit.augment(multi_label, columns="text", label="label", **options, **SETTINGS)
        for labels, label in ((missing, "None"), (numbers, "nan"), (unlabelled, "-1")):
            with pytest.raises(
                ValueError, match=f"row 1: wanted a class in column 'label', got {label}: leave the row"
            ):
                toolkit.augment(labels, columns="text", label="label", **options, **SETTINGS)
    with pytest.raises(ValueError, match="wanted labels such as 0 from the classifier, got 'a'"):
        toolkit.augment(train, columns="text", label="label", check=lambda texts: ["a"] * len(texts), **SETTINGS)


def test_a_split_that_has_a_column_of_provenance(train):
    splits = DatasetDict(train=train, test=train.add_column("score", [1] * len(train)))
    with pytest.raises(ValueError, match="wanted new names for provenance, got 'score'"):
        toolkit.augment(splits, columns="text", **SETTINGS)


def test_spans_in_another_form_are_refused(train):
    data = Dataset.from_dict({"text": TEXTS[:1], "spans": [{"start": 4, "end": 12}]})
    with pytest.raises(ValueError, match="row 0: column 'spans': wanted spans as"):
        toolkit.augment(data, columns="text", spans={"text": "spans"}, **SETTINGS)
    tags = Dataset.from_dict({"tokens": [["We", "go"]], "tags": [[0, None]]})
    with pytest.raises(ValueError, match="row 0: wanted names or numbers of tags, got None"):
        toolkit.augment(tags, columns="tokens", spans={"tokens": "tags"}, **SETTINGS)


def test_the_format_of_a_data_set_stays(train):
    assert toolkit.augment(train.with_format("numpy"), columns="text", **SETTINGS)["augmented_from"][-1] is not None
    bigger = toolkit.augment(train.with_format("numpy", ["label"]), columns="text", **SETTINGS)
    assert bigger.format["type"] == "numpy" and bigger.format["columns"] == ["label"]
    assert isinstance(bigger[7]["label"], np.integer | np.ndarray)


def test_classes_become_equally_large():
    texts = [f"{word} {text}" for word in ("So", "Well", "Now", "But") for text in TEXTS]
    data = Dataset.from_dict({"text": texts, "label": ["a"] * 12 + ["b"] * 5 + ["c"] * 3})
    bigger, summary = toolkit.augment(
        data, columns="text", copies=4, label="label", balance=True, with_summary=True, **SETTINGS
    )
    assert Counter(bigger["label"]) == {"a": 12, "b": 12, "c": 12}
    assert summary.new_rows == 16 and summary.dropped > 0
    result = toolkit.augment(data, columns="text", copies=4, max_new_rows=7, **SETTINGS)
    assert len(result) == 27


def test_classes_that_stay_smaller_are_named(train):
    data = train.map(lambda row: {"label": 1 if row["id"] == 12 else 0})
    settings = {"columns": "text", "label": "label", "balance": True, "with_summary": True}
    bigger, summary = toolkit.augment(data, **settings, **SETTINGS)
    assert Counter(bigger["label"]) == {0: 4, 1: 2} and summary.smaller == {"b": 2}
    assert "smaller than the largest class: label b by 2 rows; raise copies" in str(summary)
    bigger, summary = toolkit.augment(data, copies=3, **settings, **SETTINGS)
    assert Counter(bigger["label"]) == {0: 4, 1: 4} and not summary.smaller and "smaller" not in str(summary)


def test_rows_are_worked_on_until_there_are_enough_new_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 4)
    texts = [f"{TEXTS[number % 5]} {number}" if number % 8 == 0 else "Stop." for number in range(80)]
    data = Dataset.from_dict({"text": texts, "label": [0] * 40 + [1] * 33 + [2] * 7})
    settings = {"columns": "text", "label": "label", "with_summary": True, "progress": False}
    limited, summary = toolkit.augment(data, max_new_rows=9, paraphraser=Rotations(), **settings)
    assert len(new_of(limited)) == 9 and 27 < summary.rows <= 80
    _, summary = toolkit.augment(data.select(range(73)), balance=True, paraphraser=Rotations(), **settings)
    assert summary.new_rows == 5 and summary.smaller == {"1": 2}
    fewer, summary = toolkit.augment(data, max_new_rows=5, paraphraser=Rotations(), **settings)
    assert len(new_of(fewer)) == 5 and summary.rows < 80

    class Ends(Rotations):
        def candidates(self, *args, **options):
            if len(self.calls) == 3:
                raise KeyboardInterrupt
            return super().candidates(*args, **options)

    settings |= {"max_new_rows": 9, "output_dir": tmp_path / "out"}
    with pytest.raises(KeyboardInterrupt):
        toolkit.augment(data, paraphraser=Ends(), **settings)
    assert toolkit.augment(data, paraphraser=Rotations(), **settings)[0][:] == limited[:]
    last = Rotations()
    assert toolkit.augment(data, paraphraser=last, **settings)[0][:] == limited[:] and not last.calls


def test_no_round_is_begun_after_the_minutes(monkeypatch, tmp_path):
    clock = count(0, 50)
    monkeypatch.setattr(work.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    data = Dataset.from_dict({"text": ["Stop.", "Go."] * 20 + TEXTS[:1]})
    settings = {"columns": "text", "max_new_rows": 1, "output_dir": tmp_path / "out", "with_summary": True, **SETTINGS}
    bigger, summary = toolkit.augment(data, minutes=1, **settings)
    assert len(bigger) == len(data) and summary.rows == 3 and summary.skipped["out_of_time"] == 1
    assert len(toolkit.augment(data, **settings)[0]) == len(data) + 1


def test_classes_keep_their_proportions():
    texts = [f"{word} {text}" for word in ("So", "Well", "Now", "But") for text in TEXTS]
    data = Dataset.from_dict({"text": texts, "label": ["a"] * 12 + ["b"] * 4 + ["c"] * 4})
    settings = {"columns": "text", "copies": 3, "keep": ["broken", "garden", "map"], "label": "label", "stratify": True}
    bigger, summary = toolkit.augment(data.map(lambda row: row), with_summary=True, **settings | SETTINGS)
    assert bigger.num_rows == data.num_rows and summary.new_rows == summary.dropped == 0, "no text says all three"
    del settings["keep"]
    one_sided = data.map(lambda row: {"text": "Stop." if row["label"] == "c" and "map" in row["text"] else row["text"]})
    bigger, summary = toolkit.augment(one_sided, with_summary=True, **settings | SETTINGS)
    grown = Counter(bigger["label"])
    assert "left out: all classes grow by the share of 'c', which has " in str(summary)
    assert grown["a"] == 3 * grown["b"] == 3 * grown["c"] == 12 + 3 * summary.new_rows / 5 and summary.dropped
    result, summary = toolkit.augment(data, max_new_rows=11, with_summary=True, **settings | SETTINGS)
    assert "left out: more than were wanted" in str(summary)
    assert Counter(result["label"]) == {"a": 12 + 6, "b": 4 + 2, "c": 4 + 2}


def test_a_classifier_refuses_what_has_another_label(train):
    def first_word(texts):
        return [0 if text.split()[0] in ("The", "We", "elevator") else 1 for text in texts]

    bigger, summary = toolkit.augment(
        train, columns="text", copies=2, label="label", check=first_word, with_summary=True, **SETTINGS
    )
    texts_by_row = {}
    for row in new_of(bigger):
        texts_by_row.setdefault(row["augmented_from"], []).append(row["text"])
    assert texts_by_row[0] == ["elevator is broken. The"] and len(texts_by_row[1]) == 2
    assert not {2, 4} & set(texts_by_row) and summary.skipped == {"label_changed": 2}
    assert "wanted label 2, got another" in summary.first["label_changed"]
    with pytest.raises(ValueError, match=r"wanted \d+ labels from the classifier, got 1"):
        toolkit.augment(train, columns="text", label="label", check=lambda texts: [0], **SETTINGS)


def test_a_cross_validated_classifier(starter):
    good = ["I love this phone.", "It is a wonderful film.", "What a beautiful day.", "I like my new house."]
    bad = ["I hate this phone.", "It is a terrible film.", "What an awful day.", "I dislike my old house."]
    data = Dataset.from_dict({"text": good * 3 + bad * 3, "label": ["good"] * 12 + ["bad"] * 12})
    settings = {"columns": "text", "copies": 3, "paraphraser": starter, "label": "label", "progress": False}
    checked, summary = toolkit.augment(data, check="cross_validated", with_summary=True, **settings)
    assert len(new_of(checked)) > 12
    assert summary.rows == 24
    with pytest.raises(ValueError, match="wanted an encoder for check 'cross_validated'"):
        toolkit.augment(data, check="cross_validated", **settings | SETTINGS)


def test_paraphrases_may_be_looked_up(train, tmp_path, demo_parabank):
    file = tmp_path / "bank.tsv"
    file.write_text("the elevator is broken\tThe lift is out of order.\tThe elevator has broken down.\n")
    bigger, summary = toolkit.augment(train, columns="text", copies=2, pairs=file, progress=False, with_summary=True)
    assert [row["text"] for row in new_of(bigger)] == ["The lift is out of order.", "The elevator has broken down."]
    file.write_text("the elevator is broken\t\tThe lift is out of order.\n")
    result = toolkit.augment(train, columns="text", copies=2, pairs=file, progress=False)
    assert [row["text"] for row in new_of(result)] == ["The lift is out of order."], "no empty text"
    assert new_of(bigger)[0]["paraphraser"] == "bank.tsv" and summary.skipped == {"not_in_pairs": 4}
    data = Dataset.from_dict({"text": ["THE HOUND IS ASLEEP", "Once again there is rain."]})
    result = toolkit.augment(data, columns="text", pairs=str(demo_parabank), progress=False)
    assert [row["text"] for row in new_of(result)] == ["THE DOG SLEEPS", "It is raining again."]


@pytest.mark.parametrize("text", ["where are you", "Press “exit”", "I wo n't go .", " a text\t", "Where are you?"])
def test_pairs_of_the_very_same_text_are_found(tmp_path, text):
    file = tmp_path / "bank.jsonl"
    file.write_text(json.dumps({"sentence1": text, "sentence2": "Something quite different."}))
    result = toolkit.augment(Dataset.from_dict({"text": [text]}), columns="text", pairs=file, progress=False)
    assert len(new_of(result)) == 1


def test_what_must_be_kept_and_avoided_is_counted_and_the_other_rows_are_made():
    data = Dataset.from_dict({"text": TEXTS[:3], "keep": [["broken"], ["garden"], []]})
    settings = {"keep": "keep", "keep_by": "constrain", "avoid": ["broken"], "with_summary": True}
    bigger, summary = toolkit.augment(data, columns="text", **settings, **SETTINGS)
    assert summary.skipped == {"keep_avoided": 1} and {row["augmented_from"] for row in new_of(bigger)} == {1, 2}


def test_a_span_of_white_space_requires_no_word(starter):
    data = Dataset.from_dict({"text": TEXTS[1:2], "spans": [[[1, 2]]]})
    settings = {"spans": {"text": "spans"}, "keep_by": "constrain", "progress": False}
    assert len(new_of(toolkit.augment(data, columns="text", paraphraser=starter, **settings))) == 1


def test_the_rows_do_not_depend_on_the_size_of_a_shard(train, monkeypatch):
    whole = toolkit.augment(train, columns="text", copies=2, **SETTINGS)
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    assert toolkit.augment(train, columns="text", copies=2, **SETTINGS)[:] == whole[:]


def test_a_call_that_was_ended_goes_on(train, tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    settings = {"columns": "text", "copies": 2, "progress": False, "output_dir": tmp_path / "out"}
    whole = toolkit.augment(train, **{k: v for k, v in settings.items() if k != "output_dir"}, paraphraser=Rotations())

    class Ends(Rotations):
        def candidates(self, *args, **options):
            if self.calls:
                raise KeyboardInterrupt
            return super().candidates(*args, **options)

    with pytest.raises(KeyboardInterrupt):
        toolkit.augment(train, paraphraser=Ends(), **settings)
    assert [path.name for path in sorted((tmp_path / "out").glob("new-*.json"))] == ["new-00000.json"]
    rest = Rotations()
    bigger, summary = toolkit.augment(train, paraphraser=rest, with_summary=True, **settings)
    assert rest.calls == [2, 1], "the first shard is not made again"
    assert bigger[:] == whole[:] and summary.rows == 5 and summary.new_rows == 10
    with pytest.raises(ValueError, match=r"holds a run with other settings: copies was 2, now 3"):
        toolkit.augment(train, paraphraser=rest, **settings | {"copies": 3})
    new_data = train.map(lambda row: {"text": row["text"] + " Yes."})
    with pytest.raises(ValueError, match=r"wanted the data of which .*new-00000\.json was made, got other rows"):
        toolkit.augment(new_data, paraphraser=rest, **settings)


def test_a_stream_goes_on_too(train, tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    folder, rest = tmp_path / "out", Rotations()
    settings = {"columns": "text", "progress": False, "output_dir": folder}
    whole = list(toolkit.augment(train.to_iterable_dataset(), paraphraser=Rotations(), **settings))
    assert list(toolkit.augment(train.to_iterable_dataset(), paraphraser=rest, **settings)) == whole
    assert not rest.calls and len(whole) == 10


def test_the_record_names_the_model_and_its_settings(train, tmp_path):
    toolkit.augment(train, columns="text", output_dir=tmp_path / "out", **SETTINGS)
    record = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert record["paraphraser"] == "rotations" and record["settings"]["top_k"] and record["columns"] == ["text"]


def test_a_failing_paraphraser_names_the_rows(train, monkeypatch):
    class Fails(Rotations):
        def candidates(self, texts, **options):
            if TEXTS[3] in texts:
                raise RuntimeError("out of memory")
            return super().candidates(texts, **options)

    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    with pytest.raises(RuntimeError, match=r"^rows 2 to 3: out of memory$"):
        toolkit.augment(train, columns="text", paraphraser=Fails(), progress=False)


def test_after_the_minutes_nothing_is_begun(train, monkeypatch, tmp_path):
    clock = count(0, 50)
    monkeypatch.setattr(work.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    bigger, summary = toolkit.augment(train, columns="text", minutes=1, with_summary=True, **SETTINGS)
    assert len(new_of(bigger)) == 2 and summary.skipped == {"out_of_time": 3} and summary.rows == 5
    settings = {"output_dir": tmp_path / "out", "with_summary": True}
    bigger, summary = toolkit.augment(train, columns="text", minutes=1, **settings, **SETTINGS)
    assert len(new_of(bigger)) == 2 and summary.skipped == {"out_of_time": 3} and summary.rows == 5
    bigger, summary = toolkit.augment(train, columns="text", **settings, **SETTINGS)
    assert len(new_of(bigger)) == 5 and not summary.skipped, "another call goes on, with or without a limit"


def test_long_texts_are_paraphrased_by_sentence(starter):
    data = Dataset.from_dict({"text": [" ".join(TEXTS * 100)]})  # 5,000 words
    assert len(data[0]["text"].split()) > 4000
    bigger = toolkit.augment(data, columns="text", paraphraser=starter, progress=False)
    assert len(bigger) == 2 and len(bigger[1]["text"].split()) > 3000


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"columns": "txt"}, "wanted column 'txt', got the columns text, label, id"),
        ({"columns": "id"}, "wanted texts in column 'id', got int32"),
        ({"columns": []}, r"wanted the names of different columns, got \[\]"),
        ({"keep": "words"}, "wanted column 'words', got the columns text, label, id"),
        ({"keep": "id"}, r"row 0: wanted words or phrases to keep in column 'id', got 10"),
        ({"spans": {"text": "spans"}}, "wanted column 'spans', got"),
        ({"copies": 0}, "wanted copies of at least 1, got 0"),
        ({"vary": "both"}, "wanted vary of separately, together, got 'both'"),
        ({"keep_by": "luck"}, "wanted keep_by of select, constrain, got 'luck'"),
        ({"balance": True}, "wanted label, the column of the classes, for balance, got None"),
        ({"stratify": True}, "wanted label, the column of the classes, for stratify, got None"),
        ({"balance": True, "stratify": True, "label": "label"}, "wanted either balance or stratify, got both"),
        ({"check": len}, "wanted label, the column of the classes, for check, got None"),
        ({"check": "mine", "label": "label"}, "wanted check 'cross_validated' or a function from texts to labels"),
        ({"label": "klass"}, "wanted column 'klass', got"),
        ({"copies": 1.5}, r"wanted whole numbers of rows, got 1.5 and None"),
        ({"max_new_rows": 0}, "wanted max_new_rows of at least 1, got 0"),
        ({"minutes": -1}, "wanted minutes above 0, got -1"),
        ({"min_semantic": 2}, r"wanted min_semantic in \[-1, 1\], got 2"),
        ({"provenance": ("a", "b")}, r"wanted three different names as provenance, or none, got \['a', 'b'\]"),
        ({"seed": -1}, r"wanted seed in \[0, 4294967296\), got -1"),
        (
            {"paraphraser": "starter/nothing"},
            "wanted a starter model of de-en, en-de, encoder, infiller, paraphraser, rewriter, got 'nothing'",
        ),
        ({"pairs": "nowhere.tsv"}, "nowhere.tsv"),
    ],
    ids=str,
)
def test_bad_settings_are_one_line(train, changed, message):
    with pytest.raises((ValueError, OSError), match=message) as error:
        toolkit.augment(train, **{"columns": "text", **SETTINGS, **changed})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([{"text": "a"}], "wanted a Dataset, DatasetDict, IterableDataset or DataFrame, got list"),
        (pd.DataFrame({"text": [1, 2]}), "wanted texts in column 'text', got int64"),
        (pd.DataFrame({"text": ["a", 2]}), "wanted values of one type in each of"),
        (pd.DataFrame({"body": ["a"]}), "wanted column 'text', got the columns body"),
        (Dataset.from_dict({"text": [["a", "b"]]}), "wanted spans={'text': the column of tags}, because column 'text'"),
    ],
    ids=["list", "numbers", "mixed", "no column", "tokens"],
)
def test_bad_data_is_one_line(data, message):
    with pytest.raises((ValueError, TypeError), match=message) as error:
        toolkit.augment(data, columns="text", **SETTINGS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spans", "first"),
    [
        ([[0, 99]], "row 0: column 'spans': wanted the span (0, 99) at 0 of the text"),
        ([[5, 3]], "row 0: column 'spans': wanted the span (5, 3) at 5 of the text"),
    ],
)
def test_bad_spans_are_counted_and_named(spans, first):
    data = Dataset.from_dict({"text": [TEXTS[0]], "spans": [spans]})
    bigger, summary = toolkit.augment(data, columns="text", spans={"text": "spans"}, with_summary=True, **SETTINGS)
    assert len(bigger) == 1 and summary.skipped == {"bad_spans": 1} and summary.first["bad_spans"].startswith(first)


def test_overlapping_spans_are_kept_as_one(train):
    data = Dataset.from_dict({"text": ["Yes, the New York Times wrote that."], "spans": [[[9, 17], [13, 23], [9, 23]]]})
    bigger = toolkit.augment(data, columns="text", spans={"text": "spans"}, copies=9, **SETTINGS)
    new = new_of(bigger)
    assert new
    for row in new:
        assert [row["text"][b:e] for b, e in row["spans"]] == ["New York", "York Times", "New York Times"]


def test_rows_without_text_stay_and_are_counted():
    data = Dataset.from_dict({"text": [None, "", "  ", TEXTS[0]]})
    bigger, summary = toolkit.augment(data, columns="text", with_summary=True, **SETTINGS)
    assert bigger["text"][:4] == data["text"][:] and len(bigger) == 5
    assert summary.skipped == {"no_text": 3}
    assert "3 skipped" in str(summary) and "row 0: wanted a text in column 'text', got None" in str(summary)


def test_no_rows(train):
    empty = train.select([])
    assert len(toolkit.augment(empty, columns="text", **SETTINGS)) == 0
    assert toolkit.augment(empty, columns="text", **SETTINGS).column_names[-1] == "score"


def test_streams_refuse_what_needs_all_rows(train):
    for settings in ({"balance": True}, {"stratify": True}, {"max_new_rows": 3}, {"check": "cross_validated"}):
        with pytest.raises(ValueError, match="wanted a Dataset for balance, stratify, max_new_rows and check"):
            toolkit.augment(train.to_iterable_dataset(), columns="text", label="label", **SETTINGS, **settings)


def test_a_folder_of_others_is_refused(train, tmp_path: Path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OSError, match="wanted a new folder, or one that this toolkit made"):
        toolkit.augment(train, columns="text", output_dir=tmp_path, **SETTINGS)
