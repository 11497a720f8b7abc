"""The page of rows before and after."""

import re

import pytest
from datasets import ClassLabel, Dataset, DatasetDict

import toolkit
from tests.augmentation.fake import Rotations
from tests.pages import TEXTS, check_page
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
    assert "<th class='number'>score</th>" in page and "score: the cosine of both texts" in page
    assert "<ins>" in page and "<del>" in page and "<th>label</th>" in page and "<th>n</th>" not in page


def test_classes_are_named():
    data = Dataset.from_dict({"text": ["we go and sleep", "Where is Tom?"], "label": [1, -1]})
    data = data.cast_column("label", ClassLabel(names=["bad", "good"]))
    html = Preview(toolkit.augment(data, columns="text", paraphraser=Rotations(), progress=False))._repr_html_()
    assert all(re.search(f"<td class='value'[^>]*>{value}</td>", html) for value in ("good", "-1"))


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


def test_tokens_are_joined_as_their_language_is_written():
    rows = {"tokens": [["2024", "年", "的", "北京"], ["2024", "年", "北京", "的"]], "augmented_from": [None, 0]}
    data = Dataset.from_dict(rows | {"paraphraser": [None, "x"], "score": [None, 0.5]})
    assert [Preview(data).changes[0][2:4], Preview(data, lang="en").changes[0][2:4]] == [
        ("2024年的北京", "2024年北京的"),
        ("2024 年的北京", "2024 年北京的"),
    ]


@pytest.mark.slow
def test_the_page_can_be_filtered_and_any_text_is_text(browser, tmp_path):
    texts = [*TEXTS.values()]
    rows = {"text": [*texts, *(f"{text} a" for text in texts)], "augmented_from": [None] * 10 + [*range(10)]}
    Preview(Dataset.from_dict(rows | {"paraphraser": ["x"] * 20, "score": [0.5] * 20})).save(tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(f"file://{tmp_path}/page.html")
    check_page(page)
    cells = page.locator(".augmented td.text:nth-child(2)")
    assert cells.all_text_contents() == texts and page.locator(".augmented del").count() == 0
    assert [mark.strip() for mark in page.locator(".augmented ins").all_text_contents()] == ["a"] * 10
    directions = cells.evaluate_all("all => all.map(one => getComputedStyle(one).direction)")
    assert [lang for lang, direction in zip(TEXTS, directions, strict=True) if direction == "rtl"] == ["ar"]
    assert page.inner_text("#count") == "10 of 10 shown" and "of 10 new rows in all" in page.inner_text("caption")
    page.keyboard.press("Tab")
    page.keyboard.type("<IMG")
    page.keyboard.press("Enter")
    assert page.inner_text("#count") == "1 of 10 shown" and page.url.endswith("page.html")
    assert [text.inner_text() for text in cells.all() if text.is_visible()] == [TEXTS["es"]]
    page.fill("#filter", "")
    page.set_viewport_size({"width": 390, "height": 844})
    long_word = "".join(chr(ord("a") + number % 26) for number in range(30))
    page.locator(".augmented ins").first.evaluate(
        "(mark, text) => { mark.textContent = `many words ${text}`; }", long_word
    )
    lines = "mark => mark.getClientRects().length"
    assert page.locator(".augmented ins").first.evaluate(lines) <= 2, "no word is broken"
    page.close()


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
        ("  हिन्दी 👩‍👩‍👧🇩🇪🇫🇷\u202e x", "\u0301हिन्दी 👍🏽👍 \u200d"),
    ],
)
def test_marks_change_no_text(before, after):
    left, right = _marked(before, after)
    assert re.sub("</?del>", "", left) == before and re.sub("</?ins>", "", right) == after
    assert "".join(_words(before)) == before


def test_marks_are_of_words_not_of_the_spaces_behind_them():
    assert _marked("Who said that ?", "Who said that?") == ("Who said that ?", "Who said that?")
    assert _marked("a\u0301b 👍🏽", "a\u0301c 👍🏿") == (
        "<del>a\u0301b 👍🏽</del>",
        "<ins>a\u0301c 👍🏿</ins>",
    )
