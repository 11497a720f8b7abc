"""Each rule has a pair that it refuses and a near one that it must not; then their order and the counts."""

import sys
from collections import Counter
from dataclasses import replace

import pytest

from toolkit.bitext.languages import CODES
from toolkit.bitext.read import Pair, read_bitext
from toolkit.clean import language
from toolkit.clean._measures import script_shares, widths
from toolkit.clean.rules import RULES, CleanSettings, clean
from toolkit.clean.texts import Texts

DEFAULT = CleanSettings()


def cleaned(pairs, settings=DEFAULT, source_lang="de", lang="en"):
    """The kept pairs as (source, reference), and the counts of the refused."""
    counts = Counter()
    stream = [Pair(line, *pair) for line, pair in enumerate(pairs, 1)]
    rows = [(p.source, p.reference) for p in clean(stream, settings, source_lang, lang, counts)]
    assert len(rows) + counts.total() == len(pairs)  # nothing vanishes uncounted
    return rows, dict(counts)


def reason_for(source, reference, settings=DEFAULT, source_lang="de", lang="en"):
    """The one reason for which a pair is refused; None if it is kept."""
    _, counts = cleaned([(source, reference)], settings, source_lang, lang)
    return next(iter(counts), None)


@pytest.mark.parametrize(
    ("source", "reference", "reason"),
    [
        ("Guten Morgen", "Good morning", None),
        ("", "Good morning", "empty"),
        ("Guten Morgen", " \t\u3000\u2028", "empty"),
        ("Guten Morgen", "\x00\x00", "empty"),
        ("Guten \x00Morgen", "Good\x00 morning", None),
        ("wort " * 200, "word " * 200, None),
        ("wort " * 201, "word " * 200, "too_long"),
        ("wort " * 2000, "word " * 2000, "too_long"),
        ("x" * 1000, "y" * 1000, None),
        ("x" * 1000, "y" * 1001, "too_long"),
        ("Ja.", "Yes, of course.", None),
        ("x" * 20, "y" * 70, None),
        ("x" * 20, "y" * 71, "length_ratio"),
        ("x" * 71, "y" * 20, "length_ratio"),
        ("Hotel", "HOTEL!", "same_text"),
        ("„Rock ’n’ Roll“", "rock-n-roll", "same_text"),
        ("Hotel 1", "Hotel 2", None),
        ("🙂", "🙃", "same_text"),  # neither has a letter
        ("Prima 🙂", "Great 🙂", None),
        ("Привет, как дела?", "Hello, how are you?", "wrong_script"),
        ("Hallo Путин", "Hello Путин", None),  # a name is less than half
        ("42 %", "42 per cent", None),
        ("Słowo “ž” 5 €", "A word for 5 €", None),
    ],
)
def test_rules(source, reference, reason):
    assert reason_for(source, reference) == reason


def test_right_to_left_text():
    settings = replace(DEFAULT, latin=True)
    assert reason_for("مرحبا بالعالم 🙂", "Hello world", settings, "ar", "en") is None
    assert reason_for("\u200fשלום עולם", "Hello world", settings, "he", "en") is None
    assert reason_for("مرحبا بالعالم", "Hello world", settings, "he", "en") == "wrong_script"


def test_faults_of_reading_are_counted_under_their_name():
    pairs = [("caf\ufffd", "coffee", "invalid_utf8"), ("no tab", "", "columns"), ("Ja", "Yes")]
    assert cleaned(pairs) == ([("Ja", "Yes")], {"invalid_utf8": 1, "columns": 1})


def test_chinese_is_as_wide_as_its_translation():
    source, reference = "我昨天在图书馆遇见了一位老朋友。", "I met an old friend of mine at the library yesterday."
    assert len(reference) > 3 * len(source)  # refused, were characters not weighed
    assert reason_for(source, reference, source_lang="zh") is None
    assert reason_for(source, reference * 4, source_lang="zh") == "length_ratio"
    assert widths(Texts.of(["abc", "äöü", "你好，", "ねこ", "고양이"]), 3).tolist() == [3, 3, 7, 6, 9]


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("Größe", "de", True),
        ("Příliš žluťoučký", "cs", True),
        ("Tiếng Việt", "vi", True),
        ("Ελληνικά", "el", True),
        ("українська їжак", "uk", True),
        ("हिन्दी में लिखा", "hi", True),
        ("ภาษาไทย", "th", True),
        ("日本語のテキスト", "ja", True),
        ("カタカナ", "ja", True),
        ("한국어", "ko", True),
        ("中文", "zh", True),
        ("中文", "ko", False),
        ("かな", "zh", False),
        ("OK", "zh", False),
        ("Beograd", "sr", True),
        ("Београд", "sr", True),
        ("abжд", "en", True),  # exactly half
        ("abжде", "en", False),
        ("ab жде 12345 !?", "en", False),
        ("12345 !? 🙂", "ru", True),
        ("", "ru", True),
        ("anything", "xx", True),
    ],
)
def test_the_share_of_a_script(text, lang, expected):
    assert (script_shares(Texts.of([text]), lang) >= DEFAULT.min_script_share).tolist() == [expected]


def test_duplicates_are_found_after_normalising_and_the_first_stays():
    pairs = [("Ja", "Yes"), ("Ja", "Yes."), ("Ja ", "“Yes”"), ("Ja", '"Yes"'), ("Ja", "Yes"), ("Jau", "Yes")]
    assert cleaned(pairs) == ([("Ja", "Yes"), ("Ja", "Yes."), ("Ja", '"Yes"'), ("Jau", "Yes")], {"duplicate": 2})
    assert cleaned(pairs, replace(DEFAULT, deduplicate=False))[1] == {}


def test_the_border_between_the_sides_counts():
    assert cleaned([("ab", "c"), ("a", "bc")])[1] == {}


@pytest.mark.parametrize(
    ("change", "source", "reference", "off"),
    [
        ({"min_script_share": 0.0}, "Привет мир", "Hello world", "wrong_script"),
        ({"drop_same_text": False}, "Hotel", "Hotel", "same_text"),
        ({"max_chars": 2000}, "x" * 1500, "y" * 1500, "too_long"),
        ({"max_words": 300}, "a " * 250, "b " * 250, "too_long"),
        ({"max_length_ratio": 5.0}, "x" * 20, "y" * 80, "length_ratio"),
    ],
)
def test_each_setting_loosens_its_own_rule(change, source, reference, off):
    assert reason_for(source, reference) == off
    assert reason_for(source, reference, replace(DEFAULT, **change)) is None


def test_settings_that_are_off_by_default():
    assert reason_for("Ja", "Yes", replace(DEFAULT, min_chars=3)) == "empty"
    assert reason_for("Hi 🙂 du", "Hi 🙂 you") is None
    assert reason_for("Hi 🙂 du", "Hi 🙂 you", replace(DEFAULT, latin=True)) == "latin"
    assert reason_for("„Ja“ – „nein“ …", "“Yes” – “no” …", replace(DEFAULT, latin=True)) is None
    plain = replace(DEFAULT, latin=True, normalize_punctuation=False)
    assert reason_for("„Ja“", "“Yes”", plain) == "latin"


def test_punctuation_becomes_ascii_but_chinese_keeps_its_own():
    assert cleaned([("“你好”……", "“Hello”…")], source_lang="zh")[0] == [("“你好”……", '"Hello"...')]
    assert cleaned([("„Ja“", "“Yes”")], replace(DEFAULT, normalize_punctuation=False))[0] == [("„Ja“", "“Yes”")]


def test_one_pair_has_one_reason_the_first():
    worst = ("Ж " * 2000, "", "invalid_utf8")
    assert cleaned([worst])[1] == {"invalid_utf8": 1}
    assert cleaned([worst[:2]])[1] == {"empty": 1}
    assert cleaned([("Ж " * 2000, "Ж")])[1] == {"too_long": 1}
    assert cleaned([("Ж" * 200, "Ж")])[1] == {"length_ratio": 1}
    assert cleaned([("Ж", "Ж"), ("Ж", "Ж")])[1] == {"same_text": 2}  # not "duplicate"
    assert list(RULES) == [
        "empty",
        "too_long",
        "misread",
        "length_ratio",
        "same_text",
        "english",
        "wrong_script",
        "latin",
        "wrong_language",
    ]
    assert all(rule.__name__ == f"_{reason}" for reason, rule in RULES.items())


def test_clean_streams_and_keeps_line_numbers():
    def endless():
        line = 0
        while True:
            line += 1
            yield Pair(line, "" if line % 2 else f"Satz {line}", f"Sentence {line}")

    counts = Counter()
    stream = clean(endless(), DEFAULT, "de", "en", counts)
    assert [next(stream).line for _ in range(3)] == [2, 4, 6]
    assert counts == {"empty": 3}


def test_from_file_to_clean_pairs(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes("\ufeffGuten Tag\tGood day\r\n".encode() + b"caf\xe9\tcoffee\nno tab\n \t \nGuten Tag\tGood day\n")
    counts = Counter()
    pairs = list(clean(read_bitext([str(path)]), DEFAULT, "de", "en", counts))
    assert pairs == [Pair(1, "Guten Tag", "Good day")]
    assert counts == {"invalid_utf8": 1, "columns": 1, "empty": 1, "duplicate": 1}


@pytest.mark.parametrize(
    "wrong", [{"min_chars": 0}, {"max_chars": 0}, {"min_chars": 5, "max_chars": 4}, {"max_words": 0}]
)
def test_settings_that_pass_nothing(wrong):
    with pytest.raises(ValueError, match=r"^wanted .*, got .*: raise"):
        CleanSettings(**wrong)


def test_length_ratio_below_one_is_refused():
    with pytest.raises(ValueError, match=r"^wanted .*max_length_ratio.*, got 200 and 0\.5: raise them$"):
        CleanSettings(max_length_ratio=0.5)


@pytest.mark.parametrize("wrong", [{"max_english": 1.5}, {"min_script_share": -1}, {"max_rare_share": 2}])
def test_a_share_is_between_0_and_1(wrong):
    with pytest.raises(ValueError, match=r"^wanted \w+ in \[0, 1\], got"):
        CleanSettings(**wrong)


def test_english_in_chinese():
    half = replace(DEFAULT, max_english=0.6, min_script_share=0.0)
    assert reason_for("我用iPhone", "I use an iPhone", half, "zh", "en") == "english"  # six of eight characters
    assert reason_for("我喜欢iPad", "I like the iPad", half, "zh", "en") is None  # four of seven
    assert reason_for("I use", "Ich nutze", half, "en", "de") is None
    assert reason_for("我用iPhone", "I use an iPhone", replace(half, max_english=1.0), "zh", "en") is None
    assert reason_for("Ina kwana, yaya aiki?", "Good morning, how is work?", half, "ha", "en") is None


@pytest.mark.slow
def test_a_side_that_is_surely_in_another_language():
    from_30 = replace(DEFAULT, identify_from=30)
    german, english = "Das ist ein schönes altes Haus am Meer.", "This is a beautiful old house at the seaside."
    assert reason_for(german, english, from_30) is None
    assert reason_for(german, "Questa è una bella vecchia casa sul mare.", from_30) == "wrong_language"
    assert reason_for(german, "Questa è una bella vecchia casa sul mare.") is None
    assert reason_for("Das ist gut.", "Questo è buono.", from_30) is None  # too short to be sure
    assert reason_for("这是海边的一座漂亮的老房子。", english, from_30, "zh", "en") is None
    assert (
        reason_for("Det er et smukt gammelt hus ved havet.", english, from_30, "nb", "en") is None
    )  # Danish: too near


def test_the_identifier_knows_its_own_labels():
    known = set(language._identifier().get_confidence_all())
    assert all(labels <= known for labels in language.LABELS.values())
    assert language.LABELS.keys() <= CODES and set(language.UNSURE) <= known
    groups = [code for group in language.NEAR for code in group.split()]
    assert set(groups) <= language.LABELS.keys()


def test_without_the_identifier_or_its_language_the_error_says_what_to_do(monkeypatch):
    with pytest.raises(ValueError, match="wanted languages that heliport knows, got 'na': leave --identify_from out"):
        language._check_identifier("en", "na")
    monkeypatch.setitem(sys.modules, "heliport", None)
    with pytest.raises(ModuleNotFoundError, match=r"wanted the package heliport, got none: pip install"):
        language._check_identifier("en")
