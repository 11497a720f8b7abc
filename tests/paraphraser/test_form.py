"""The form of a text is taken away before a model reads it, and given back to its paraphrases."""

import pytest

from tests.tiny import pairs
from toolkit.paraphraser._sentences import parts_of
from toolkit.paraphraser.form import formed, plain

TEXTS = [reference for _, reference in pairs(60)]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_text_that_comes_back_unchanged_has_its_own_form(lang):
    for text in TEXTS:
        body, form = plain(text, lang)
        assert body == text and formed(body, form) == text


@pytest.mark.parametrize(
    ("text", "body", "answer", "expected"),
    [
        ("THE ELEVATOR IS BROKEN.", "The elevator is broken.", "The lift doesn't work.", "THE LIFT DOESN'T WORK."),
        ("the elevator is broken", "The elevator is broken.", "I think it's broken.", "i think it's broken"),
        ("to go to Boston is fun.", "To go to Boston is fun.", "Going to Boston is fun.", "going to Boston is fun."),
        ("to see Boston is fun.", "To see Boston is fun.", "Boston is fun to see.", "Boston is fun to see."),
        ("i'm here and i.e. you", "I'm here and i.e. you.", "I am here.", "i am here"),
        ("  A “new” one\n", 'A "new" one.', 'One that is "new".', "  One that is “new”\n"),
        ("It’s new.", "It's new.", "It isn't old.", "It isn’t old."),
        ("‘Go,’ he said.", "'Go,' he said.", "He said, 'go, it isn't late.'", "He said, ‘go, it isn’t late.’"),
        ("Wait… what?", "Wait... what?", "Hold on... why?", "Hold on… why?"),
        ("He left — late.", "He left - late.", "He went - late.", "He went — late."),
        ("He left—late.", "He left - late.", "He went - late.", "He went—late."),
        ("He left.  She stayed.", "He left. She stayed.", "He went. She remained.", "He went.  She remained."),
        (
            "She said `` no '' again .",
            'She said " no " again.',
            'She said "no" once more.',
            "She said ``no'' once more .",
        ),
        ("«\u00a0Oui\u00a0», he said", '"Oui", he said.', 'He said "oui".', "He said «\u00a0oui\u00a0»"),
        ("Really?", "Really?", "Is that so?", "Is that so?"),
        ("„Gut“, sagte er.", '"Gut", sagte er.', 'Er sagte "gut".', "Er sagte „gut“."),
    ],
)
def test_the_form_of_a_text_is_that_of_its_paraphrase(text, body, answer, expected):
    read, form = plain(text, "en")
    assert read == body
    assert formed(answer, form) == expected


def test_chinese_keeps_its_marks():
    body, form = plain("“你好！”", "zh")
    assert body == "“你好！”" and formed("您好！", form) == "您好！"
    assert plain("你好", "zh")[0] == "你好。" and plain("你好", "zh", mark=False)[0] == "你好"


def test_a_long_text_is_cut_into_sentences_that_make_it_again():
    text = "  ".join(TEXTS) + '\n\nHe said: "Go. Now!" Then Mr. Smith paid $3.50...\n'
    parts = parts_of(text, "en", lambda part: False)
    assert "".join(parts) == text and len(parts) > 50
    assert parts_of(text, "en", lambda part: True) == text.splitlines(keepends=True), "a paragraph is a part"
    wrapped = "He came, because the\nweather was fine. \nWe left.\n\n  \nWhy?"
    assert parts_of(wrapped, "en", lambda part: True) == [
        "He came, because the\nweather was fine. \n", "We left.\n", "\n", "  \n", "Why?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("where is he", "Where is he?"),
        ("who wrote it", "Who wrote it?"),
        ("isn't it late", "Isn't it late?"),
        ("when he came we left", "When he came we left."),
        ("do not go", "Do not go."),
        ("have a nice day", "Have a nice day."),
    ],
)
def test_a_question_without_a_mark_is_read_as_one(text, read):
    body, form = plain(text, "en")
    assert body == read and formed("What?", form) == "what"
