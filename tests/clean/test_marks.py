"""What a text holds letter for letter, and where a candidate without it is refused."""

import pytest

from toolkit.augmentation.parts import _Part, _SkippedError
from toolkit.clean.marks import lacks_letters, loses_mark
from toolkit.clean.rules import CleanSettings
from toolkit.data.rows import Candidate, Row
from toolkit.generate.backtranslate import _refuse_pairs
from toolkit.paraphraser._masked import _masked
from toolkit.paraphraser.form import plain
from toolkit.paraphraser.paraphraser import _in_form
from toolkit.paraphraser.paraphraser import _Part as _TextPart
from toolkit.score.guards import guard_rows

LOST = [
    ("en", "The $PRICE is {amount} for {{name}}.", "That PRICE is amount for name."),
    ("en", "AT&T and Bell are firms.", "AT T and Bell are companies."),
    ("de", "Müller & Sohn und Meier", "Müller Sohn und Meier"),
    ("en", "Mail me at jo@example.org please.", "example, please."),
    ("en", "%s is at %d.", "s is in d."),
    ("en", "Save it as %(name)s.", "Save it under name."),
    ("en", "See <b>this</b> &amp; that.", "See b amp that."),
    ("en", "Paris is the [MASK] of France.", "Paris is the mask of France."),
    ("en", "See https://example.com/a?b=c&d=e.", "See https://example.com/a."),
    ("en", "Go to example.com/help now.", "Go now."),
    ("en", "Thanks @maria for #BlackFriday!", "Thanks Maria for Black Friday!"),
    ("en", "I love you 😂😂😂", "I love you 😂"),
    ("en", "It rains :-(", "It rains"),
    ("en", "This is **very** important.", "This is very important."),
    ("en", "- Buy milk.", "Purchase milk."),
    ("en", "Run `make` first.", "First run 'make'."),
    ("en", "He left (at last).", "He finally left."),
    ("en", "It costs €25.", "It costs 25."),
    ("en", "She said שלום to him.", "She said hello to him."),
    ("en", "It was 20° outside.", "It was 20 outside."),
    ("de", "Hallo {name}, willkommen!", "Hallo, willkommen!"),
    ("zh", "他在{city}工作。", "他在城市工作。"),
    ("cs", "Pošli to na jan@example.cz.", "Pošli to Janovi."),
]
KEPT = [
    ("en", "Hello {name}, come in.", "Hi {name}, come in."),
    ("en", "It costs $5.", "The price is five dollars."),
    ("en", "It costs €5 or €6.", "It's € 5 or 6."),
    ("en", "Salt & pepper, please.", "Salt and pepper, please."),
    ("en", "Ham & eggs and tea", "Ham and eggs and tea"),
    ("en", "About 50% agreed.", "About 50 percent agreed."),
    ("en", "It’s late, isn`t it?", "It is late, isn't it?"),
    ("en", "See www.example.org.", "Look at www.example.org!"),
    ("en", "`` Go , '' he said .", '"Go," he said.'),
    ("en", "What time is it?", "How late is it?"),
    ("de", "Das sind 5 %.", "Das sind fünf Prozent."),
    ("zh", "他（昨天）来了。", "昨天(他)来了。"),
    ("zh", "我用Google。", "我使用谷歌。"),
]


@pytest.mark.parametrize(("lang", "reference", "candidate"), LOST, ids=lambda value: str(value)[:24])
def test_what_lost_a_mark_is_refused(lang, reference, candidate):
    assert loses_mark(reference, candidate, lang)
    assert not loses_mark(reference, reference, lang)


@pytest.mark.parametrize(("lang", "reference", "candidate"), KEPT, ids=lambda value: str(value)[:24])
def test_what_says_all_marks_is_kept(lang, reference, candidate):
    assert not loses_mark(reference, candidate, lang)


def test_a_text_needs_a_letter():
    assert [lacks_letters("Hi.", text, "en") for text in ("", " ", ".", "12:30", "A.", "你好", "नमस्ते")] == [
        True
    ] * 4 + [False] * 3


def test_every_row_is_asked_without_guards_and_in_any_language():
    texts = {"Ahoj!": "mark", "...": "empty", "Čau, {name}!": None}
    row = Row("a-1", "a", None, None, "Ahoj, {name}!", "cs", "train", candidates=[Candidate(t, "beam") for t in texts])
    (guarded,) = guard_rows([row], ())
    assert [c.reason for c in guarded.candidates] == list(texts.values())


def test_a_paraphrase_keeps_what_the_plain_text_lacks():
    text = "run `make` first"
    candidates = [Candidate("First run 'make'.", "beam", rank=0), Candidate("Run `make` at first.", "beam", rank=1)]
    part = _TextPart(text, _masked(text, (), False), form=plain(text, "en")[1])
    first, second = _in_form(part, candidates, "en")
    assert (first.text, first.rank, first.reason) == ("run `make` at first", 0, None)
    assert (second.rank, second.reason) == (None, "mark")


def test_a_new_row_keeps_the_marks_whatever_its_source():
    part = _Part("text", "Hi {name}!", "Hi {name}!", (), (), None, None, None, "en")
    assert part.changes("Hello {name}!") == {"text": "Hello {name}!"}
    for text in ("Hello name!", "...", ""):
        with pytest.raises(_SkippedError, match="wanted the marks of") as error:
            part.changes(text)
        assert error.value.reason == "mark_lost"


def test_a_back_translation_keeps_the_marks():
    texts = {"Klick hier auf {button}, bitte.": None, "Klick hier auf den Knopf, bitte.": "mark"}
    rows = [
        Row("a-1", "a", None, "de", "Please click on {button} here.", "en", "train", candidates=[Candidate(t, "beam")])
        for t in texts
    ]
    _refuse_pairs(rows, CleanSettings(), "de")
    assert [row.candidates[0].reason for row in rows] == list(texts.values())


@pytest.mark.parametrize(
    ("reference", "translation", "lang", "reference_lang", "is_lost"),
    [
        ("我在家里需要新房子。", "I need the new house at home.", "en", "zh", False),
        ("我读了《红楼梦》。", "I read Dream of the Red Chamber.", "en", "zh", False),
        ("У меня нет книги.", "I don't have the book.", "en", "ru", False),
        (
            "我每天晚上都在家里用 Python 写很多程序。",
            "Every evening I write many programs in Python at home.",
            "en",
            "zh",
            False,
        ),
        ("她昨天在市场上高兴地对他说שלום。", "Yesterday she gladly said hello to him at the market.", "en", "zh", True),
        ("他在{city}工作。", "He works in town.", "en", "zh", True),
        ("Das kostet 5 € (neu).", "It is 5 euros, new.", "en", "de", True),
    ],
)
def test_a_translation_need_not_keep_the_script_of_its_reference(reference, translation, lang, reference_lang, is_lost):
    assert loses_mark(reference, translation, lang, reference_lang) == is_lost
    candidates = [Candidate(translation, "beam")]
    _refuse_pairs(
        [Row("a-0", "a", None, lang, reference, reference_lang, "train", candidates=candidates)], CleanSettings(), lang
    )
    assert candidates[0].reason == ("mark" if is_lost else None)
