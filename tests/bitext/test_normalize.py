"""Expected texts are written by hand; what must hold for any text is asked of awkward ones."""

import unicodedata

import pytest

from toolkit.bitext.normalize import match_key, normalize

AWKWARD = [
    "",
    " \t\u3000\u2028 ",
    "\x00a\x00",
    "e\u200b\u0301",  # composes once the invisible character is gone
    "\u1fef",  # NFC makes it a backtick
    "“« \u00a0x\u202f»”…",
    "👩‍👩‍👧 🇩🇪 👍🏽",
    "שָׁלוֹם \u200fעולם",
    "مرحبا بالعالم",
    "你好，“世界”……",
    "\ud800 lone",
    "x" * 5000,
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cafe\u0301", "Café"),
        ("  a\tb\r\nc\u2028d\u00a0e\u3000f ", "a b c d e f"),
        ("\ufeffab\x00c\x1bd\u00ade\u200bf", "abcdef"),
        ("‘a’ ‚b‛ ‹c› d′ `e´", "'a' 'b' 'c' d' 'e'"),
        ("“a” „b‟ «c» d″", '"a" "b" "c" d"'),
        ("«\u00a0Oui\u202f»", '"Oui"'),
        ("»Ja« sagte er", '"Ja" sagte er'),
        ("well‐known 1–2 −3", "well-known 1-2 -3"),
        ("so—it seems — yes", "so - it seems - yes"),
        ("wait…", "wait..."),
        ("50 € ½ № ¿Qué?", "50 € ½ № ¿Qué?"),
        ("你好，世界。「真」！", "你好，世界。「真」！"),
        ("👩‍👩‍👧 👍🏽", "👩‍👩‍👧 👍🏽"),
        ("\u200fשלום", "\u200fשלום"),
        ("a\ud800b", "ab"),
        ("", ""),
        (" \u2003\u00a0 ", ""),
    ],
)
def test_normalize(text, expected):
    assert normalize(text) == expected


def test_punctuation_is_left_alone_on_request():
    assert normalize("“你好”—— 世界…… «a»", punctuation=False) == "“你好”—— 世界…… «a»"


@pytest.mark.parametrize("punctuation", [True, False])
@pytest.mark.parametrize("text", AWKWARD)
def test_normalize_once_is_enough(text, punctuation):
    once = normalize(text, punctuation)
    assert normalize(once, punctuation) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once == once.strip() and "  " not in once and "\n" not in once and "\x00" not in once


def test_bare_keeps_letters_and_digits_only():
    assert match_key("Don’t — stop_it 2!") == "dontstopit2"
    assert match_key("你好，世界。") == "你好世界"
    assert match_key("ﬁne") == match_key("FINE")
    assert match_key("…!? 🙂") == ""
    assert match_key("cafe") != match_key("café")


def test_signs_of_words_are_no_punctuation():
    assert match_key("दिन") != match_key("दान") and match_key("ไม่") != match_key("ไม้")
    assert match_key("दिन।") == match_key("“दिन”") and match_key("ไม่ๆ") != match_key("ไม่")
    assert match_key("سَلام") == match_key("سلام"), "vowels that Arabic may leave out"
    assert match_key("e\u0301") == match_key("É") and match_key("❤\ufe0f") == ""
