"""`Paraphraser` by two translators, and the names that stand for paraphrasers."""

import pytest

import toolkit
from tests.tiny import folder, pairs
from toolkit.paraphraser import names
from toolkit.paraphraser.names import BEST, PIVOT, STARTER, models_of
from toolkit.paraphraser.paraphraser import MIN_USABLE, MIN_USABLE_ALONE, defaults
from toolkit.paraphraser.settings import Paraphrasing

SETTINGS = Paraphrasing(n=3, rank_by="dual", guards=(), min_semantic=None, pivots=2, pivot_beam=3, pool=8)


@pytest.fixture(scope="module")
def paraphraser():
    pivot = str(folder() / "en-de"), str(folder() / "de-en")
    return toolkit.Paraphraser(pivot=pivot, lang="en", settings=SETTINGS, dtype="float32")


def test_it_paraphrases_by_way_of_the_other_language(paraphraser):
    texts = [text for _, text in pairs(4)]
    results = paraphraser.candidates(texts)
    for candidates in results:
        paraphrases = [c for c in candidates if c.rank is not None]
        assert [c.rank for c in paraphrases] == list(range(len(paraphrases)))
        assert all(c.method == "pivot" and c.scores.dual is not None for c in paraphrases)
    assert any(results) and paraphraser.paraphrase(texts[:1])[0] == [c.text for c in results[0] if c.rank is not None]


def test_the_bar_ends_with_the_texts(paraphraser, capsys):
    texts = [text for _, text in pairs(4)]
    paraphraser.paraphrase([*texts, *texts], progress=True)
    assert "8/8 rows" in capsys.readouterr().err


def test_more_paraphrases_than_the_beam_of_one_model_may_be_wanted(paraphraser):
    texts = [text for _, text in pairs(4)]
    assert paraphraser.settings.beam < 15  # as a label check, phrases to keep and spans ask for
    assert any(paraphraser.candidates(texts, n=15, method="beam"))


def test_its_name_loads_it_again(paraphraser):
    assert paraphraser.name == "en-de > de-en"
    name = f"{folder() / 'en-de'} > {folder() / 'de-en'}"
    again = toolkit.Paraphraser(name, lang="en", settings=SETTINGS, dtype="float32")
    text = pairs(1)[0][1]
    assert again.paraphrase([text]) == paraphraser.paraphrase([text])


def test_required_and_avoided_words_hold(paraphraser):
    text = pairs(3)[2][1]
    assert all("house" in output.lower() for output in paraphraser.paraphrase([text], require=["house"])[0])
    first = paraphraser.paraphrase([text])[0][0].split()[0].lower().strip(".,")
    assert all(first not in output.lower().split() for output in paraphraser.paraphrase([text], avoid=[first])[0])


def test_what_two_translators_do_not_have_is_refused(paraphraser):
    with pytest.raises(ValueError, match="wanted method auto, sample or beam for two translators, got 'top_p'"):
        paraphraser.paraphrase(["We sleep."], method="top_p")
    with pytest.raises(ValueError, match=r"wanted no template for two translators, got '\(S \(NP\)\)'"):
        paraphraser.paraphrase(["We sleep."], template="(S (NP))")


@pytest.mark.parametrize("lang", ["en", "EN", "en-US", "eng"])
def test_any_code_of_english_takes_what_is_installed_for_it(monkeypatch, lang):
    langs = []

    def models(name, lang):
        langs.append(lang)
        return [STARTER]

    monkeypatch.setattr("toolkit.paraphraser.paraphraser.models_of", models)
    assert toolkit.Paraphraser(lang=lang).lang == "en" and langs == ["en"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pivot": ("a",)}, "wanted two translators as pivot, there and back, got 1: a"),
        ({"pivot": "starter/en-de"}, "two translators as pivot"),
        ({"pivot": ("a", "b"), "model": "c"}, "wanted a model or a pivot, got both"),
        ({"pivot": ("a", "b"), "backward": "c"}, "wanted two translators alone, got backward or prefix, too"),
        ({"model": "a > b > c"}, "wanted a model, or two translators as 'THERE > BACK', got 'a > b > c'"),
        ({"model": "a > "}, "wanted a model, or two translators"),
        ({"pivot": ("starter/de-en", "starter/en-de"), "lang": "en"}, "reads de and writes en"),
    ],
)
def test_what_is_no_pivot_is_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as error:
        toolkit.Paraphraser(**options)
    assert "\n" not in str(error.value)


def test_the_best_is_what_is_installed(monkeypatch):
    monkeypatch.setattr(names, "packaged", lambda name: None)
    assert models_of(BEST) == [STARTER]
    monkeypatch.setattr(names, "packaged", lambda name: folder())
    assert models_of(BEST) == list(PIVOT) == models_of(BEST, "en")
    assert models_of(BEST, "de") == [STARTER]


def test_the_defaults_of_a_pivot_judge_english_and_rank_others_by_both_directions():
    english, german = defaults("en", True, None, True), defaults("de", True, None, True)
    assert (english.rank_by, english.min_usable) == ("usable", MIN_USABLE)
    assert defaults("en", True, None, True, False).min_usable == MIN_USABLE_ALONE < MIN_USABLE
    assert (german.rank_by, german.min_usable) == ("dual", None)
    assert defaults("en", False, None, True).rank_by == "dual"
    assert defaults("en", True, -0.5).rank_by == "forward"
