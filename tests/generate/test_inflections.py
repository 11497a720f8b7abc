"""Inflections of the dictionary, and a tagger against forty sentences tagged by hand, on which no rule was made."""

import sys

import pytest

from toolkit.generate.inflections import PARTS, _inflections, _verb_forms, part_of_speech, spacy_tagger

# n noun, v verb (auxiliaries be, have, do too), a adjective, r adverb, o anything else
TAGGED = """
The/o baker/n sold/v warm/a bread/n to/o his/o neighbours/n ./o
She/o quickly/r closed/v the/o window/n before/o the/o storm/n began/v ./o
We/o hope/v that/o you/o enjoy/v your/o stay/n ./o
Our/o hopes/n were/v never/r very/r high/a ./o
Can/o you/o water/v the/o plants/n while/o I/o travel/v ?/o
Cold/a water/n runs/v down/o the/o hill/n ./o
Two/o runs/n were/v enough/a to/o win/v ./o
They/o work/v at/o night/n and/o sleep/v at/o noon/n ./o
Hard/a work/n tires/v everyone/n ./o
Please/r open/v the/o box/n carefully/r ./o
The/o open/a door/n worried/v him/o ./o
He/o has/v taken/v a/o long/a walk/n ./o
I/o walk/v home/r when/o the/o buses/n stop/v ./o
This/o bus/n stop/n is/v closed/a ./o
The/o children/n were/v playing/v in/o the/o garden/n ./o
Playing/v the/o violin/n demands/v patience/n ./o
Their/o demands/n seem/v reasonable/a ./o
A/o strange/a noise/n woke/v the/o guards/n ./o
The/o soldier/n guards/v an/o empty/a palace/n ./o
You/o should/o answer/v every/o letter/n politely/r ./o
No/o answer/n came/v from/o the/o office/n ./o
It/o rained/v all/o day/n ,/o so/o we/o stayed/v inside/r ./o
The/o film/n that/o they/o show/v tonight/r is/v French/a ./o
Her/o show/n ended/v with/o a/o dance/n ./o
Do/v not/r dance/v on/o the/o table/n !/o
Birds/n fly/v south/r in/o autumn/n ./o
A/o fly/n sat/v on/o the/o cheese/n ./o
The/o judge/n decided/v to/o free/v the/o prisoner/n ./o
Free/a tickets/n attract/v large/a crowds/n ./o
I/o bought/v this/o heavy/a book/n for/o my/o sister/n ./o
They/o always/r book/v a/o room/n near/o the/o beach/n ./o
Who/o painted/v the/o fence/n ?/o
The/o painted/a fence/n looks/v new/a ./o
One/o look/n was/v sufficient/a ./o
My/o uncle/n trains/v horses/n ./o
Late/a trains/n annoy/v busy/a people/n ./o
He/o left/v early/r because/o he/o felt/v ill/a ./o
Turn/v left/r at/o the/o church/n ./o
Nobody/n believed/v what/o the/o witness/n said/v ./o
The/o old/a clock/n has/v stopped/v again/r ./o
"""
LETTER = dict(zip("nvaro", PARTS, strict=True))


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("told", ["tell", "telling", "tells", "told"]),
        ("mean", ["mean", "meaner", "meanest", "meaning", "means", "meant"]),  # ParaBank, table 1, and the adjective
        ("children", ["child", "children"]),
        ("proud", ["proud", "prouder", "proudest"]),
        ("saw", ["saw", "sawed", "sawing", "sawn", "saws", "see", "seeing", "seen", "sees"]),  # of both verbs
        ("to", ["to"]),
        ("blorf", ["blorf"]),
    ],
)
def test_inflections_are_all_forms_of_all_lemmas(word, forms):
    assert _inflections(word) == forms


def test_forms_that_are_not_single_words_are_left_out():
    assert _inflections("okay") == ["okay", "okayed", "okaying", "okays"]  # the dictionary has "o.k.'d" too


def test_a_verb_has_the_forms_of_the_papers_footnote():
    assert _verb_forms("took") == ["take", "taken", "takes", "taking", "took"]  # ParaBank, table 3, footnote 5


def test_verb_forms_are_of_one_verb_in_its_first_spelling():
    assert _verb_forms("work") == ["work", "worked", "working", "works"]
    assert _verb_forms("left") == ["leave", "leaves", "leaving", "left"]
    assert _verb_forms("travelled") == ["travel", "traveled", "traveling", "travelled", "travels"]
    assert _verb_forms("table") == ["table", "tabled", "tables", "tabling"]
    assert _verb_forms("myth") == ["myth"]


def test_the_tagger_is_as_good_as_it_says():
    pairs = []
    for line in TAGGED.split("\n")[1:-1]:
        words, letters = zip(*(token.rsplit("/", 1) for token in line.split()), strict=True)
        pairs += [(LETTER[letter], got) for letter, got in zip(letters, part_of_speech(words), strict=True)]
    assert len(TAGGED.split("\n")[1:-1]) == 40 and len(pairs) > 250
    right = sum(wanted == got for wanted, got in pairs) / len(pairs)
    verbs = [got for wanted, got in pairs if wanted == "VERB"]
    called = [wanted for wanted, got in pairs if got == "VERB"]
    found, true = verbs.count("VERB") / len(verbs), called.count("VERB") / len(called)
    assert right > 0.93 and found > 0.94 and true > 0.94, (right, found, true)


def test_every_word_gets_a_tag_whatever_it_is():
    words = ["", "’s", "3rd", "\x00", "😀", "Tom", "didn’t", "go", "ZZZ", "字", "naïve"]
    assert len(part_of_speech(words)) == len(words) and set(part_of_speech(words)) <= set(PARTS)
    assert part_of_speech(words)[6:8] == ["OTHER", "VERB"]
    assert part_of_speech([]) == []


def test_a_word_after_an_adverb_is_seen_as_after_the_word_before_it():
    assert part_of_speech(["you", "should", "not", "quickly", "answer"])[-1] == "VERB"
    assert part_of_speech(["the", "really", "quick", "answer"])[-1] == "NOUN"


def test_without_spacy_the_tagger_by_name_is_one_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)  # what Python makes of a library that must not be imported
    with pytest.raises(ValueError, match=r"wanted spaCy and its model 'en_core_web_sm', got .*: pip install spacy"):
        spacy_tagger("en_core_web_sm")
