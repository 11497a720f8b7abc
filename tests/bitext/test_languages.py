"""Swapped columns and wrong codes are found; single odd lines and close languages are no reason."""

import pytest

from builders.paranmt import ParaNMTRun
from tests.tiny import pairs
from toolkit.bitext.languages import CODES, check_code, check_languages, main_language, near
from toolkit.bitext.read import Pair
from toolkit.clean.clean_file import CleanFile

DEMO = [Pair(n, *pair) for n, pair in enumerate(pairs(60), 1)]


def test_the_codes_are_those_of_iso_639_1():
    assert len(CODES) == 185
    assert all(len(code) == 2 and code.isalpha() and code.islower() for code in CODES)


@pytest.mark.parametrize("code", ["English", "", "xx", "de AT", "deutsch", "yue", "de-", "dex-AT", "de.UTF-8"])
def test_another_code_is_refused(code):
    with pytest.raises(ValueError, match=f"wanted --lang as a code of ISO 639-1.*got {code!r}"):
        check_code(code, "--lang")


def test_a_name_or_a_slip_is_told_the_code():
    for text, code in (("English", "en"), ("german", "de"), ("Portugese", "pt")):
        with pytest.raises(ValueError, match=f"got {text!r}: did you mean {code!r}"):
            check_code(text, "--lang")
    with pytest.raises(ValueError, match=r"got 'xx'$"):
        check_code("xx", "--lang")


OTHER_CODES = (
    "eng:en EN:en de-AT:de deu:de ger:de zho:zh cmn:zh zh-Hans:zh zh_Hant_TW:zh pt_BR:pt pt_br:pt es-419:es iw:he "
    "ca-valencia:ca sr_Latn:sr no:no nob:nb fil:tl arb:ar"
)


@pytest.mark.parametrize("codes", OTHER_CODES.split())
def test_other_codes_become_those_of_iso_639_1(codes):
    code, short = codes.split(":")
    assert check_code(code, "lang") == short


def test_settings_take_the_normal_form_before_they_are_checked():
    settings = CleanFile(bitext=["a.tsv"], source_lang="zh_Hans", lang="deu", output="b.tsv")
    assert (settings.source_lang, settings.lang) == ("zh", "de")
    run = ParaNMTRun(bitext=["a.tsv"], source_lang="deu", lang="en-GB", forward="a", output_dir="b")  # starter for en
    assert (run.source_lang, run.lang) == ("de", "en")
    with pytest.raises(ValueError, match=r"wanted --source_lang as a code.*'german': did you mean 'de'"):
        CleanFile(bitext=["a.tsv"], source_lang="german", lang="en", output="b.tsv")


def test_the_demo_is_in_its_languages():
    check_languages(DEMO, "de", "en")


def test_swapped_columns_are_named():
    with pytest.raises(
        ValueError, match="wanted the source side in en, got de in 100% of 60 lines: the columns are swapped"
    ):
        check_languages(DEMO, "en", "de")


def test_another_language_is_named():
    with pytest.raises(ValueError, match=r"wanted the reference side in fr, got en.*--no-check_language"):
        check_languages(DEMO, "de", "fr")


def test_a_few_foreign_lines_are_no_reason():
    mixed = [Pair(p.line, p.reference, p.reference) if p.line % 3 == 0 else p for p in DEMO]
    check_languages(mixed, "de", "en")


def test_too_few_lines_say_nothing():
    check_languages(DEMO[:5], "fr", "cs")


def test_a_text_without_a_main_language():
    assert main_language(["Das ist ein Haus.", "This is a house."]) == (None, 0.5)


def test_close_languages_pass():
    assert near("nb", "no") and near("hr", "sr") and not near("en", "de")
