"""A new row never says what a row of the data, or of another split, says already."""

import pytest
from datasets import Dataset, DatasetDict

import toolkit
from tests.augmentation.fake import Rotations
from toolkit.augmentation._known_rows import known_rows

SETTINGS = {"progress": False, "with_summary": True, "paraphraser": Rotations()}


def new_texts(data, column="text"):
    return [row[column] for row in data if row["augmented_from"] is not None]


def test_no_new_row_equals_a_row_with_another_label():
    data = Dataset.from_dict({"text": ["a b", "B a!", "one two three"], "label": [0, 1, 1]})
    bigger, summary = toolkit.augment(data, "text", **SETTINGS)
    assert new_texts(bigger) == ["two three one"] and summary.skipped == {"already_there": 2}
    assert summary.first["already_there"] == "row 0: wanted texts that no row has, got ['b a']"
    assert "every paraphrase makes a row that the data, or another split of it, has already" in str(summary)


def test_another_paraphrase_is_taken_instead():
    data = Dataset.from_dict({"text": ["one two three", "two three one"]})
    bigger, summary = toolkit.augment(data, "text", copies=2, **SETTINGS)
    assert new_texts(bigger) == ["three one two", "three one two"] and not summary.skipped


def test_no_new_row_equals_a_row_of_a_test_set():
    train, other = Dataset.from_dict({"text": ["a b"], "label": [0]}), Dataset.from_dict({"words": ["b a"]})
    for test, count in ((Dataset.from_dict({"text": [None, "b  a."]}), 0), (other, 1)):
        bigger, summary = toolkit.augment(DatasetDict(train=train, test=test), "text", **SETTINGS)
        assert len(new_texts(bigger["train"])) == count == 1 - summary.skipped["already_there"]


def test_a_pair_is_another_where_one_of_its_texts_is():
    rows = {"one": ["a b", "b a", "b a"], "two": ["c d", "c d", "e f"]}
    bigger, summary = toolkit.augment(Dataset.from_dict(rows), ["one", "two"], **SETTINGS)
    new_pairs = list(zip(new_texts(bigger, "one"), new_texts(bigger, "two"), strict=True))
    assert new_pairs == [("a b", "d c"), ("b a", "d c"), ("a b", "e f"), ("b a", "f e")]
    assert summary.skipped == {"already_there": 2}


def test_a_question_of_another_context_is_new():
    rows = {"context": ["In Paris.", "In Rome."], "question": ["where she", "she where"], "spans": [[[3, 8]], [[3, 7]]]}
    data = Dataset.from_dict(rows)
    bigger, _ = toolkit.augment(data, "question", spans={"context": "spans"}, **SETTINGS)
    assert new_texts(bigger, "question") == ["she where", "where she"]


def test_tokens_are_compared_without_spaces():
    data = Dataset.from_dict({"tokens": [["go", "home"], ["homego"]], "tags": [["O", "O"], ["O"]]})
    bigger, summary = toolkit.augment(data, "tokens", spans={"tokens": "tags"}, **SETTINGS)
    assert len(bigger) == 2 and summary.skipped == {"already_there": 1, "no_paraphrase": 1}


def test_finished_shards_of_other_rows_elsewhere_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("toolkit.augmentation.containers.SHARD_ROWS", 2)
    rows = [{"text": f"this is text {number}", "label": number % 2} for number in range(4)]
    settings = {"output_dir": tmp_path / "out", "label": "label", **SETTINGS}
    splits = DatasetDict(train=Dataset.from_list(rows), test=Dataset.from_list(rows[:1]))
    toolkit.augment(splits, "text", **settings)
    other_label = Dataset.from_list([*rows[:3], rows[3] | {"label": 7}])
    more = Dataset.from_list([*rows, rows[0], rows[1]])
    for train, test in ((other_label, splits["test"]), (more, splits["test"]), (splits["train"], more)):
        with pytest.raises(ValueError, match=r"wanted the data of which .*new-00000\.json was made, got other rows"):
            toolkit.augment(DatasetDict(train=train, test=test), "text", **settings)


def test_a_row_needs_eight_bytes():
    data = Dataset.from_dict({"text": ["Yes.", "yes", "No", None, "!!", "??"]})
    known = known_rows(data, [], ["text"])
    assert known.keys.dtype == "uint64" and len(known.keys) == 5
    assert known.have({"text": "YES!"}) and not known.have({"text": "Maybe."})
