"""The page of rows before and after."""

import re

import pytest
from datasets import ClassLabel, Dataset, DatasetDict

import toolkit
from tests.augmentation.fake import Rotations
from toolkit.augmentation.preview import Preview, _marked, _words


@pytest.fixture
def bigger():
    data = Dataset.from_dict({"text": ["we <b>go</b> & sleep", "Where is Tom?"], "label": [3, 4], "n": ["x" * 99] * 2})
    return toolkit.augment(data, columns="text", copies=2, paraphraser=Rotations(), progress=False)


def test_texts_are_shown_with_marks_and_nothing_is_html_by_itself(bigger, tmp_path):
    Preview(bigger).save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and page.count("<tr>") == 5
    assert "&lt;" in page and "<b>" not in page and "&amp;" in page
    assert "<ins>" in page and "<del>" in page and "<th>label</th>" in page and "<th>n</th>" not in page


def test_classes_are_named():
    data = Dataset.from_dict({"text": ["we go and sleep", "Where is Tom?"], "label": [1, -1]})
    data = data.cast_column("label", ClassLabel(names=["bad", "good"]))
    shown = Preview(toolkit.augment(data, columns="text", paraphraser=Rotations(), progress=False))._repr_html_()
    assert "<td class='value'>good</td>" in shown and "<td class='value'>-1</td>" in shown


def test_a_notebook_shows_it(bigger):
    assert Preview(bigger, rows=1)._repr_html_().count("<tr>") == 2
    assert Preview(DatasetDict(train=bigger))._repr_html_() == Preview(bigger)._repr_html_()
    assert Preview(bigger.to_pandas())._repr_html_() == Preview(bigger)._repr_html_()


def test_new_rows_that_changed_another_column_do_not_count():
    data = Dataset.from_dict({"one": ["we go and sleep"], "two": ["Where is Tom now?"]})
    bigger = toolkit.augment(data, columns=["one", "two"], paraphraser=Rotations(), progress=False)
    assert Preview(bigger, columns="two", rows=1)._repr_html_().count("<tr>") == 2
    with pytest.raises(ValueError, match="wanted column 'three', got the columns one, two"):
        Preview(bigger, columns="three")


def test_what_cannot_be_shown_is_refused(bigger):
    with pytest.raises(ValueError, match="wanted the column 'augmented_from' of augmented data, got text"):
        Preview(bigger.select_columns(["text"]))
    with pytest.raises(ValueError, match="wanted new rows to show, got none"):
        Preview(bigger.select([0, 1]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The lift is broken.", "Is the elevator broken?"),
        ("电梯坏了。", "电梯又坏了。"),
        ("", "New."),
        ("Same.", "Same."),
        ("It's  two\nlines", "It is two lines"),
    ],
)
def test_marks_change_no_text(before, after):
    left, right = _marked(before, after)
    assert re.sub("</?del>", "", left) == before and re.sub("</?ins>", "", right) == after
    assert "".join(_words(before)) == before
