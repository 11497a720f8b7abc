"""`Paraphraser` with a model of random weights: what holds for any model."""

import json
import pickle
import shutil
import warnings
from dataclasses import replace

import pytest

import toolkit
from tests.tiny import folder, pairs
from toolkit.bitext.normalize import match_key
from toolkit.decode.constraint_set import times_said
from toolkit.paraphraser import paraphraser as module
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.settings import METHODS, Paraphrasing

TEXTS = [reference for _, reference in pairs(12)]
SETTINGS = Paraphrasing(  # random weights pass no guard and no threshold
    n=3,
    rank_by="dual",
    guards=(),
    min_semantic=None,
    max_iou=None,
    max_dual_nll=None,
    pool=0,
    constraint_sets=2,
    samples_per_set=6,
    constraint_rate=0.3,
    min_p=0.05,
    beam=6,
)


@pytest.fixture(scope="module")
def paraphraser():
    return Paraphraser(str(folder() / "de-en"), lang="en", settings=SETTINGS, dtype="float32")


def test_it_is_public():
    assert toolkit.Paraphraser is Paraphraser


def test_a_pickle_holds_where_its_models_are(paraphraser):
    content = pickle.dumps(paraphraser)
    assert len(content) < 2000
    assert pickle.loads(content).paraphrase(TEXTS) == paraphraser.paraphrase(TEXTS)


@pytest.mark.parametrize(("marked", "expected"), [(0.1, "It is late"), (0.9, "It is late."), (None, "It is late.")])
def test_a_text_gets_a_mark_if_the_model_was_trained_on_marked_texts(marked, expected, tmp_path, monkeypatch):
    shutil.copytree(folder() / "de-en", tmp_path / "model")
    (tmp_path / "model" / "measured.json").write_text(json.dumps({"lang": "en", "marked": marked}))
    read, whole = [], module._paraphrase_rows

    def paraphrase_rows(rows, *arguments):
        rows = list(rows)
        read.extend(row.source for row in rows)
        return whole(rows, *arguments)

    monkeypatch.setattr(module, "_paraphrase_rows", paraphrase_rows)
    Paraphraser(str(tmp_path / "model"), settings=SETTINGS, dtype="float32").paraphrase(["it is late"])
    assert read == [expected]


@pytest.mark.parametrize("method", METHODS)
def test_every_text_gets_other_texts_in_order(paraphraser, method):
    results = paraphraser.paraphrase(TEXTS, method=method)
    assert len(results) == len(TEXTS) and max(map(len, results)) == 3
    assert sum(map(len, results)) > 2 * len(TEXTS), "a test that finds nothing would pass"
    for text, paraphrases in zip(TEXTS, results, strict=True):
        keys = [match_key(paraphrase) for paraphrase in paraphrases]
        assert match_key(text) not in keys and len(set(keys)) == len(keys)
        assert all(paraphrase.strip() for paraphrase in paraphrases)


@pytest.mark.slow
def test_a_text_has_the_same_paraphrases_in_any_batch(paraphraser, monkeypatch):
    results = paraphraser.paraphrase(TEXTS, seed=4)
    alone = [paraphraser.paraphrase([text], seed=4)[0] for text in TEXTS]
    agree = sum(set(first) == set(second) for first, second in zip(results, alone, strict=True))
    assert agree >= len(TEXTS) - 1, "rounding turns few draws"
    monkeypatch.setattr(module, "CHUNK", 5)
    assert len(paraphraser.paraphrase(iter([*TEXTS, TEXTS[0]]))) == len(TEXTS) + 1
    twice = paraphraser.paraphrase([TEXTS[0], TEXTS[0]])
    assert twice[0] == twice[1]
    assert paraphraser.paraphrase(TEXTS, seed=5) != results


def test_candidates_have_scores_and_reasons(paraphraser):
    for text, candidates in zip(TEXTS, paraphraser.candidates(TEXTS, n=2, max_iou=0.9), strict=True):
        ranks = [candidate.rank for candidate in candidates if candidate.rank is not None]
        assert ranks == list(range(len(ranks))) and len(ranks) <= 2
        assert [candidate.rank for candidate in candidates[: len(ranks)]] == ranks, "the paraphrases come first"
        for candidate in candidates:
            assert (candidate.rank is None) == (candidate.reason is not None)
            if candidate.rank is not None:
                assert candidate.scores.dual is not None and candidate.scores.dual < 0
                assert candidate.scores.intersection_over_union <= 0.9 and -1 <= candidate.scores.semantic <= 1
            if candidate.reason == "copy":
                assert match_key(candidate.text) == match_key(text)


def test_both_methods_of_sampling_draw_equally_many(paraphraser):
    maximum = {}
    for method in ("sample", "top_p"):
        draws = [
            sum(candidate.draws for candidate in candidates)
            for candidates in paraphraser.candidates(TEXTS, method=method)
        ]
        maximum[method] = max(draws)
    assert maximum["sample"] == maximum["top_p"] == SETTINGS.constraint_sets * SETTINGS.samples_per_set


@pytest.mark.slow
def test_only_the_most_probable_are_scored_backward_and_only_where_a_setting_needs_it(paraphraser, monkeypatch):
    def scored(**changed):
        monkeypatch.setattr(paraphraser, "settings", replace(SETTINGS, **changed))
        results = paraphraser.candidates(TEXTS, n=2)
        assert sum(candidate.rank is not None for candidates in results for candidate in candidates) > len(TEXTS)
        return [
            sum(candidate.scores.backward_logprob is not None for candidate in candidates) for candidates in results
        ]

    assert max(scored()) > 4
    assert max(scored(pool=2)) == 4
    assert set(scored(rank_by="forward")) == set(scored(rank_by="semantic")) == {0}
    assert max(scored(rank_by="forward", max_dual_nll=1000.0)) > 4


@pytest.mark.slow
def test_what_is_avoided_is_not_said_and_what_is_required_is(paraphraser):
    words = [text.split()[-1].strip(".!?") for text in TEXTS]
    for method in METHODS:
        for word, texts in zip(
            words, paraphraser.paraphrase(TEXTS, method=method, avoid=[[w] for w in words]), strict=True
        ):
            assert not any(times_said(text, word) for text in texts)
    results = paraphraser.paraphrase(TEXTS, require=["often"], avoid=["the"])
    assert sum(map(len, results)) > len(TEXTS)
    assert all(times_said(text, "often") and not times_said(text, "the") for texts in results for text in texts)


def test_the_form_of_a_text_stays(paraphraser):
    upper, lower, spaced = paraphraser.paraphrase([TEXTS[3].upper(), TEXTS[3].lower(), f"  {TEXTS[3]}\n"])
    assert upper and all(text.isupper() for text in upper)
    assert lower and all(text.islower() for text in lower)
    assert spaced and all(text.startswith("  ") and text.endswith("\n") for text in spaced)


@pytest.mark.slow
def test_a_text_that_is_too_long_is_paraphrased_by_sentence(paraphraser):
    long = "  ".join(TEXTS * 3) + "\n\n12345.\n"
    assert len(paraphraser.model.source.encode([long])[0]) > paraphraser.limit
    (candidates,) = paraphraser.candidates([long], n=2)
    assert [candidate.rank for candidate in candidates] == [0, 1] and candidates[0].scores.dual < 0
    assert all(candidate.text.endswith("\n\n12345.\n") and candidate.text != long for candidate in candidates)
    word = TEXTS[4].split()[-1].strip(".!?")
    (paraphrases,) = paraphraser.paraphrase([long], n=1, require=[word])
    assert paraphrases and times_said(paraphrases[0], word)


def test_texts_without_letters_have_no_paraphrase(paraphraser):
    assert paraphraser.paraphrase(["12345", "!?", "👍"]) == [[], [], []]
    assert paraphraser.paraphrase([]) == []


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["Yes.", None], {}, "wanted a text at index 1, got None"),
        (["Yes.", "No.", 3], {}, "wanted a text at index 2, got int"),
        ([""], {}, "wanted a text at index 0, got an empty string"),
        ([" \n"], {}, "wanted a text at index 0, got white space"),
        ("Yes.", {}, "wanted texts, got a str: put one text in a list"),
        (["Yes."], {"n": 0}, "wanted n of at least 1, got 0"),
        (["Yes."], {"method": "magic"}, "wanted method of auto, sample, beam, top_p, got 'magic'"),
        (["Yes."], {"method": "beam", "n": 7}, "wanted a beam of at least n, got beam 6 and n 7"),
        (["Yes."], {"min_semantic": 2}, "wanted min_semantic in [-1, 1], got 2"),
        (["Yes."], {"max_iou": -0.1}, "wanted max_iou in [0, 1], got -0.1"),
        (["Yes."], {"avoid": "yes"}, "wanted a list of phrases to avoid, got a str: put one text in a list"),
        (["Yes."], {"avoid": [["a"], ["b"]]},
         "wanted phrases to avoid for all texts, or a list for each of 1 texts, got 2 items"),
        (["Yes."], {"avoid": ["yes"], "require": ["yes"]},
         "wanted phrases that are required or forbidden, got 'yes' required and 'yes' forbidden; drop one of them"),
        (["Yes."], {"avoid": [" "]}, "wanted words in every negative phrase, got ' '; drop it"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(paraphraser, texts, options, message):
    with pytest.raises(ValueError) as error:
        paraphraser.paraphrase(texts, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rank_by": "luck"},
            "wanted rank_by of dual, forward, semantic, usable, draws, entailment, parapluie, rubric, got 'luck'",
        ),
        ({"pool": -1}, "wanted pool of at least 0, got -1"),
        ({"max_dual_nll": -0.5}, "wanted max_dual_nll of at least 0, got -0.5"),
        ({"min_p": 2}, "wanted min_p in [0, 1], got 2"),
        ({"samples_per_set": 0}, "wanted samples_per_set of at least 1, got 0"),
    ],
)
def test_settings_out_of_range_are_one_line(options, message):
    with pytest.raises(ValueError) as error:
        Paraphrasing(**options)
    assert str(error.value) == message


def test_texts_of_another_language_warn_once(paraphraser):
    german = ["Gestern war ich mit meinen Freunden in der Stadt und habe viel gesehen."] * 2
    paraphraser.warned = False
    with pytest.warns(UserWarning, match="paraphrases 'en', and most texts seem to be in 'de'"):
        paraphraser.paraphrase(german)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paraphraser.paraphrase(german)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "/nowhere"}, "wanted a translator, got '/nowhere', which is neither"),
        ({"lang": "english"}, "wanted lang as a code of ISO 639-1"),
        ({"prefix": "paraphrase: "}, "wanted no prefix for"),
        ({"encoder": "/nowhere"}, "wanted a sentence encoder, got '/nowhere'"),
        ({"lang": "cs", "settings": Paraphrasing()}, "wanted no guards for language 'cs'"),
    ],
)
def test_a_paraphraser_that_cannot_be_is_one_line(options, message):
    arguments = {"model": str(folder() / "de-en"), "lang": "en", **options}
    with pytest.raises(ValueError) as error:
        Paraphraser(**arguments)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


def test_defaults_are_those_that_the_language_has():
    english, czech = module.defaults("en", True), module.defaults("cs", False)
    assert english == Paraphrasing() and english.guards
    assert czech == replace(english, guards=(), min_semantic=None)


def test_where_nothing_measures_meaning_a_line_says_so_once(capsys):
    module._tell_unmeasured.cache_clear()
    for _ in range(2):
        Paraphraser(str(folder() / "de-en"), lang="de", settings=SETTINGS, dtype="float32")
    message = "no sentence encoder for 'de': what paraphrases mean is not measured; give an encoder\n"
    assert capsys.readouterr().err == message
    Paraphraser(str(folder() / "de-en"), lang="en", settings=SETTINGS, dtype="float32")
    assert capsys.readouterr().err == ""


def test_without_an_encoder_there_is_no_floor():
    german = Paraphraser(str(folder() / "de-en"), lang="de", settings=SETTINGS, dtype="float32")
    assert german.encoder is None
    with pytest.raises(ValueError, match="wanted an encoder for the cosine in 'de', got none"):
        german.paraphrase(["Hallo!"], min_semantic=0.5)
