"""Articles by sound, contractions, possessives, and text whose words stand apart."""

import math
from types import SimpleNamespace

import pytest

from toolkit.data.rows import Candidate, Row, Scores
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.paraphraser.english import (
    _misreads_possessive,
    _refuse_no_words,
    _with_articles,
    contraction_key,
    correct_english,
    refuse_english,
)
from toolkit.paraphraser.form import formed, plain
from toolkit.paraphraser.paraphraser import MIN_FORWARD, STARTER, Paraphraser, defaults
from toolkit.paraphraser.pipeline import _check_candidates
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.select.filter import refuse_forward


def row_of(reference, *texts, lang="en"):
    return Row("a-1", "a", None, None, reference, lang, "train", candidates=[Candidate(text, "beam") for text in texts])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is a ecological house.", "It is an ecological house."),
        ("an masterpiece", "a masterpiece"),
        ("How deep is an fathom?", "How deep is a fathom?"),
        ("She is an European with a honest face.", "She is a European with an honest face."),
        ("It took a hour, not an one-hour drive.", "It took an hour, not a one-hour drive."),
        ("a uninteresting and an universal idea", "an uninteresting and a universal idea"),
        ("a FBI man, an BBC film, a MP", "an FBI man, a BBC film, an MP"),
        ("a NATO base, an UNESCO site", "a NATO base, an UNESCO site"),
        ("a 8-year-old, an 12-year-old, a 11th", "an 8-year-old, a 12-year-old, an 11th"),
        ("A apple fell. An dog ate it.", "An apple fell. A dog ate it."),
        ("He has vitamin A in it, and a is a letter.", "He has vitamin A in it, and a is a letter."),
        ("It's a x-ray, and an urn in a urban area.", "It's an x-ray, and an urn in an urban area."),
    ],
)
def test_articles_follow_the_sound(text, expected):
    assert _with_articles(text, "") == expected
    assert _with_articles(expected, "") == expected


def test_an_article_of_the_text_stays():
    assert _with_articles("It was an hotel.", "We saw an hotel.") == "It was an hotel."


def test_articles_are_of_english_alone():
    rows = [row_of("Nous avons un ami.", "Il y a eu un ami.", lang="fr"), row_of("A pear.", "It is a apple.")]
    assert [row.candidates[0].text for row in correct_english(rows)] == ["Il y a eu un ami.", "It is an apple."]


@pytest.mark.parametrize(
    ("text", "paraphrase", "is_same"),
    [
        ("What's X?", "What is X?", True),
        ("I won't go, and you can't.", "I will not go, and you cannot.", True),
        ("They’ve left.", "They have left.", True),
        ("i dont know", "I do not know.", True),
        ("He isn't here.", "He's not here.", True),
        ("The neighbours practised at the theatre.", "Neighbors practiced at a theater.", True),
        ("He said he realised that.", "He said that he realized.", True),
        ("We cancelled our colourful programme.", "We canceled our colorful program.", True),
        ("It took two weeks.", "It took 2 weeks.", True),
        ("I saw four hours of it.", "I saw for hours of it.", False),
        ("What's X?", "What was X?", False),
        ("I'd go.", "I'll go.", False),
    ],
)
def test_contractions_make_no_other_text(text, paraphrase, is_same):
    assert (contraction_key(text) == contraction_key(paraphrase)) is is_same


@pytest.mark.parametrize(
    ("reference", "candidate", "wrong"),
    [
        ("Demme's film is long.", "Demme is a long film.", True),
        ("The tuxedo's 90 minutes of running time.", "The tuxedo is 90 minutes.", False),  # a number tells nothing
        ("Grenada's main commodity is nutmeg.", "Grenada is the main commodity.", True),
        ("Tom's old car broke down.", "Tom has an old car.", True),
        ("Tom's asleep.", "Tom is sleeping.", False),
        ("Tom's leaving tomorrow.", "Tom is going tomorrow.", False),
        ("It's time to go.", "It is time to leave.", False),
        ("What's the name of it?", "What is its name?", False),
        ("Tom's sister left.", "Tom's sister has left.", False),
    ],
)
def test_a_possessive_is_no_verb(reference, candidate, wrong):
    assert _misreads_possessive(reference, candidate) is wrong


def test_the_reasons_and_what_is_asked_for():
    texts = {"What is Tom's job?": "trivial", "Tom is a job.": "possessive", "What does Tom do?": None}
    for allow, trivial in ((False, "trivial"), (True, None)):
        (row,) = refuse_english([row_of("What's Tom's job?", *texts)], allow)
        assert [c.reason for c in row.candidates] == [trivial, "possessive", None]
    (row,) = refuse_english([row_of("C'est Tom's.", "C'est Tom's.", lang="fr")], False)
    assert row.candidates[0].reason is None


@pytest.mark.parametrize(
    ("text", "read", "answer", "expected"),
    [
        ("I wo n't go .", "I won't go.", "I won't leave, you can't stay.", "I wo n't leave , you ca n't stay ."),
        ("what is tom 's job ?", "What is tom's job?", "What's tom's work?", "what 's tom 's work ?"),
        ("Who is it ?", "Who is it?", "Who's there?", "Who's there ?"),
        ("I won't go.", "I won't go.", "I'm not going.", "I'm not going."),
        ("It costs 2.50 , not 3 .", "It costs 2.50, not 3.", "It's 2.50, not 3.", "It's 2.50 , not 3 ."),
    ],
)
def test_words_apart_stay_apart(text, read, answer, expected):
    body, form = plain(text, "en")
    assert body == read
    assert formed(answer, form) == expected


def test_french_marks_stay_as_they_are():
    assert plain("Qui est-ce ?", "fr")[0] == "Qui est-ce ?"


def test_a_correction_must_not_bring_an_avoided_word_back():
    row = Row("a", "", None, None, "The sky has a lovely colour.", "en", "")
    row.candidates = [Candidate("The sky has a nice color.", "beam"), Candidate("The sky is nice.", "beam")]
    constraints = ConstraintSet((), ("colour",))

    def lost_reason(row_id, text):
        return "constraint_unmet" if constraints.unmet(text) else None

    settings = Paraphrasing(guards=())
    (checked,) = _check_candidates([row], lost_reason, frozenset(), None, settings)
    assert [(c.text, c.reason) for c in checked.candidates] == [
        ("The sky has a nice colour.", "constraint_unmet"),
        ("The sky is nice.", None),
    ]


def test_a_floor_of_the_forward_score():
    row = row_of("A.", "B.", "C.", "D.")
    for candidate, sum_ in zip(row.candidates, (-1.0, -4.0, math.nan), strict=True):
        candidate.scores = Scores(forward_logprob=sum_, forward_tokens=4)
    list(refuse_forward([row], -0.5))
    assert [c.reason for c in row.candidates] == [None, "forward", "forward"]


def test_one_output_is_searched_and_several_are_sampled():
    assert Paraphrasing().searches and not Paraphrasing(n=2).searches
    assert Paraphrasing(n=2, method="beam").searches and not Paraphrasing(method="sample").searches


def test_the_floor_is_of_the_starter():
    assert defaults("en", True).min_forward is None
    assert Paraphraser(STARTER).settings.min_forward == MIN_FORWARD


@pytest.mark.parametrize(
    ("text", "paraphrase", "reason"),
    [
        ("A boy kicks the ball.", "One boy kicks a ball.", "article"),
        ("One boy kicks the ball.", "One lad kicks the ball.", None),
        ("The chargers are broken.", "The charger are broken.", "form"),
        ("Two climbers were killed.", "Two climber were killed.", "form"),
        ("The narrator never stops talking.", "The storyteller never stop talking.", "form"),
        ("The prices have risen.", "The prices rose.", None),
        ("They began measuring it.", "They began to measure it.", None),
        ("We went home.", "We went to our house.", None),
    ],
)
def test_numbers_for_articles_and_other_forms_are_no_paraphrases(text, paraphrase, reason):
    (row,) = refuse_english([row_of(text, paraphrase)], allow_trivial=False, forms=True)
    assert row.candidates[0].reason == reason
    (row,) = refuse_english([row_of(text, paraphrase)], allow_trivial=False)
    assert row.candidates[0].reason == (reason if reason == "article" else None)


def test_words_that_do_not_exist_are_refused_but_those_of_the_text_and_single_pieces_stay():
    texts = {
        "He wokwed up early.": "unknown_word",
        "He rose early and grabbed his gizmox.": "unknown_word",
        "He got up early, didn't he?": None,
        "He surfaced early at Wokwed's.": None,
        "He surfaced with his blorp.": None,
        "He surfaced and googlewhacked.": None,
    }
    pieces = SimpleNamespace(vocabulary={"▁googlewhacked": 5})
    for text, reason in texts.items():
        (row,) = _refuse_no_words([row_of("He woke up early with his blorp.", text)], pieces)
        assert row.candidates[0].reason == reason, text
