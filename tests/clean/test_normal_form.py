"""The normal form: by hand, as a property of any text, and many texts at once as one by one."""

import unicodedata

import numpy as np
import pytest
from ftfy.badness import is_bad
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolkit.bitext.normalize import match_key
from toolkit.clean._batch import misread_texts, normal_side
from toolkit.clean._characters import all_characters, match_lengths
from toolkit.clean.normal_form import _NormalForm, _simplifier, _traditional, form_of, normal
from toolkit.clean.texts import Texts

PARAZH = _NormalForm(half_width=True, simplified=True)
FORMS = [
    _NormalForm(),
    PARAZH,
    _NormalForm(punctuation=False, direction=True),
    _NormalForm(entities=False, half_width=True, punctuation=False),
]
# what the steps of the form act on, and what they make of each other's
PIECES = st.sampled_from(
    ["&", "amp;", "lt;", "&copy=", "&#62", "｀", "&#x26;", "＆", "；", "&#12288;", "Ａ", "漢", "語", "坏", "沒", "薴",
     "e", "\u0301", "ﬁ", "…", "—", "„", "«\u00a0", " ", "  ", "\u3000", "\u200f", "\u202e", "\ufeff", "\x00", "\ud800",
     "가", "\u1161", "\u11a8", "ｶﾞ"]
)  # fmt: skip
TEXTS = st.text(st.characters(exclude_characters="\n"), max_size=12) | st.lists(PIECES, max_size=10).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ｑ＆Ａ：　ｆｕｌｌ！", "Q&A: full!"),
        ("你好，世界。「真」", "你好,世界。「真」"),
        ("他说“漢語”……", '他说"汉语"......'),
        ("&lt;b&gt; &#62; &#x3e &quot;x&quot; AT&T", '<b> > > "x" AT&T'),
        ("&amp;amp;lt;", "<"),
        ("＆lt；", "<"),
        ("&#xFF06;lt;", "<"),
        ("&nbsp;a&nbsp;&nbsp;b", "a b"),
        ("沒有問題", "没有问题"),
        ("我没看清自己的坏主意", "我没看清自己的坏主意"),  # Simplified: the potter's clay 坯 would be wrong
        ("a\u202eb\u200f", "ab"),
        ("?a=1&copy=2 rock&reggae", "?a=1&copy=2 rock&reggae"),
    ],
)
def test_by_hand(text, expected):
    assert normal(text, PARAZH) == expected


def test_what_is_off_is_left_alone():
    off = _NormalForm(punctuation=False, entities=False)
    assert normal("„Ｑ＆ampＡ“ &lt; 漢", off) == "„Ｑ＆ampＡ“ &lt; 漢"


def test_languages():
    assert form_of("zh", True, True, False, True) == _NormalForm(punctuation=False, simplified=True)
    assert form_of("zh", True, True, True, False) == _NormalForm(half_width=True)
    assert form_of("en", True, True, True, True) == _NormalForm(half_width=True)
    assert normal("\u200fשלום", form_of("he", True, True, False, False)) == "\u200fשלום"


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
@example("&" + "amp;" * 40 + "lt;")
def test_once_is_enough(form, text):
    once = normal(text, form)
    assert normal(once, form) == once
    assert unicodedata.is_normalized("NFC", once) and "  " not in once and once == once.strip()


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=200, deadline=None)
@given(texts=st.lists(TEXTS, max_size=5))
def test_many_at_once_as_one_by_one(form, texts):
    side = normal_side(Texts.of(texts), "zh", form, 10_000, find_misread=False)
    assert side.strings == [normal(text, form) for text in texts]


@pytest.mark.parametrize("form", FORMS)
def test_every_character_at_once_as_alone(form):
    characters = [character for character in all_characters() if character != "\n"]
    sample = characters[:0x3400] + characters[0x3400::97] + sorted(_traditional())
    for texts in (sample, [f"a{character}b" for character in sample]):
        assert normal_side(Texts.of(texts), "zh", form, 10, find_misread=False).strings == [
            normal(text, form) for text in texts
        ]


def test_a_text_much_longer_than_any_rule_allows_is_left_alone():
    text = "„&amp;“ " * 10
    assert normal_side(Texts.of([text, text[:8]]), "en", _NormalForm(), 50, False).strings == ['"&amp;" ' * 10, '"&"']


def test_simplified_characters_stay():
    simplified = {normal(character, PARAZH) for character in _traditional()}
    assert len(_traditional()) > 3000 and all(_traditional().isdisjoint(text) for text in simplified)
    assert _simplifier()("打坏") != "打坏"  # why text without Traditional characters is not converted


CODECS = (
    "latin-1",
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1257",
    "mac_roman",
    "cp437",
)


@pytest.mark.parametrize("codec", CODECS)
def test_misread_text_is_found_as_ftfy_finds_it(codec):
    texts = [
        "Größe „ja“",
        "« Cœur à 5 € »",
        "Žluťoučký kůň – 20°",
        "你好，世界。",
        "Привет, мир!",
        "Καλημέρα",
        "naïve café",
    ]
    texts += [f"It’s {text}—so {text[:3]}" for text in texts]
    texts += [text.encode().decode(codec, "replace").replace("\n", " ") for text in texts]
    flags = misread_texts(Texts.of(texts)).tolist()
    assert flags == [is_bad(text) for text in texts]
    assert any(flags) and not any(flags[: len(texts) // 2])


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(TEXTS, max_size=5))
def test_misread_text_is_found_in_any_text(texts):
    assert misread_texts(Texts.of(texts)).tolist() == [is_bad(text) for text in texts]


def test_letters_and_digits_are_as_many_as_a_match_key_has():
    for text in ("Don't stop!", "ﬁne ½ Ⅷ", "你好，世界。", "ＡＢ１２", "straße İ", "हिन्दी"):
        texts = Texts.of([unicodedata.normalize("NFC", text)])
        assert texts.count(match_lengths()[texts.points]).tolist() == [len(match_key(text))]


def test_counts_of_texts():
    texts = Texts.of(["", "a b", "", "c  d ", ""])
    assert texts.lengths.tolist() == [0, 3, 0, 5, 0]
    assert texts.count(texts.points == ord(" ")).tolist() == [0, 1, 0, 3, 0]
    assert texts.strings() == ["", "a b", "", "c  d ", ""]
    empty = Texts.of([])
    assert empty.count(empty.points).tolist() == empty.strings() == []
    assert Texts.of(["two\nlines", "\ud800"]).strings() == ["two lines", "\ud800"]
    assert isinstance(texts.lengths, np.ndarray)
