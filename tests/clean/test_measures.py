"""Measures of cleaning whose expected values are written by hand."""

import pytest

from toolkit.clean import _measures as measures
from toolkit.clean.texts import Texts


def unencodable(text, lang):
    """The number of characters of one text that the alphabet of its language does not have."""
    return int(measures.unencodable(Texts.of([text]), lang)[0])


@pytest.mark.parametrize(
    ("source", "reference", "source_lang", "lang", "fits"),
    [
        ("Příliš žluťoučký", "Too yellow, café", "cs", "en", True),
        ("Příliš “žluťoučký”", "Too yellow", "cs", "en", False),  # no typographic quotes in latin-2
        ("Привет", "Hello", "cs", "en", False),
        ("Ahoj", "Příliš", "cs", "en", False),
        ("Größe", "Łódź", "de", "pl", True),
        ("cœur à 5 €", "heart", "fr", "en", True),
        ("5 €", "5 euros", "de", "en", False),
        ("știință, ştiinţă", "science", "ro", "en", True),
        ("你好", "Hello", "zh", "en", True),
        ("Hi 🙂", "Hi 🙂", "de", "en", False),
    ],
)
def test_what_the_alphabets_of_both_languages_have(source, reference, source_lang, lang, fits):
    assert (unencodable(source, source_lang) == unencodable(reference, lang) == 0) is fits


@pytest.mark.parametrize(
    ("lang", "alphabet"),
    [
        ("cs", "áčďéěíňóřšťúůýž"),
        ("pl", "ąćęłńóśźż"),
        ("hu", "áéíóöőúüű"),
        ("hr", "čćđšž"),
        ("de", "äöüß"),
        ("fr", "àâæçéèêëîïôœùûüÿ"),
        ("es", "áéíñóúü¿¡"),
        ("et", "äõöüšž"),
        ("fi", "åäöšž"),
        ("lt", "ąčęėįšųūž"),
        ("lv", "āčēģīķļņšūž"),
        ("mt", "ċġħż"),
        ("tr", "çğıöşü"),
        ("sv", "åäö"),
        ("is", "áðéíóúýþæö"),
    ],
)
def test_a_language_fits_its_own_codec(lang, alphabet):
    text = alphabet + alphabet.upper().replace("İ", "I")
    assert unencodable(text, lang) == 0 and unencodable("Ж", lang) == 1
