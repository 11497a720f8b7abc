"""Words that samples must not say: against masks over the whole vocabulary that are read off the text itself."""

import dataclasses
from itertools import pairwise

import pytest
import torch

from tests import families, tiny
from tests import firefox_folders as firefox
from tests.decode.plain_sampling import plain_sample, words_forbid
from tests.decode.test_sampling import CHI_SQUARE_9, chi_square
from tests.decode.test_shared_prefixes import Counting
from toolkit.bitext.words import constraint_words
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.engine import Engine
from toolkit.decode.forbidden import _ForbiddenPhrases, _ForbiddenWords
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.sampling import WHOLE, Sample, sample
from toolkit.decode.words import KnownWords, WordTable
from toolkit.translator.load import Translator, load_translator

EACH, SETS, LIMIT = 16, 4, 8  # samples and sets of a sentence, most tokens
KEYS = [977 * n for n in range(4 * EACH)]


class Spoken:
    """A translator in float64, four sentences of which two are equal, and what it says of them freely."""

    def __init__(self, name: str):
        if name == "firefox":
            translator = self.translator = firefox.wide(firefox.tiny())
        else:
            translator = families.translator(name, "de", "en") if name != "marian" else tiny.translator("de-en")
            self.translator: Translator = dataclasses.replace(
                translator, model=families.plain_model(translator).double()
            )
        self.pieces, self.engine = translator.target, engine_of(self.translator.model)
        texts = [german for german, _ in tiny.pairs(2)]
        self.sources = translator.source.encode([*texts, texts[0], "Ja."])
        self.table = WordTable.of(self.pieces.surfaces(), self.engine.eos)
        self.free = sample(self.engine, self.sources, None, KEYS, 10, LIMIT)

    def texts(self, samples: list[Sample]) -> list[str]:
        return self.pieces.decode([s.ids for s in samples])

    def sets(self) -> list[ConstraintSet]:
        """Sets of words that it says freely, some of two words, some only at the beginning, and none."""
        sets = []
        for n in range(SETS * len(self.sources)):
            texts = self.texts(self.free[n * EACH // SETS :][:3])
            words = [list(constraint_words(text)) for text in texts if text]
            single = tuple(word for text_words in words for word in text_words[: n % 3])
            pairs = tuple(f"{a} {b}" for text_words in words for a, b in pairwise(text_words))[: n % 4]
            sets.append(
                ConstraintSet(negative=single + pairs, not_first=tuple(text_words[0] for text_words in words)[: n % 2])
            )
        return sets

    def constraints(self, sets: list[ConstraintSet]) -> LexicalConstraints:
        lexical = LexicalConstraints.of(sets, self.table, self.pieces.spell)
        assert lexical is not None
        return lexical

    def sample(self, sets: list[ConstraintSet], top_k: int = 10, min_p: float = 0.0) -> list[Sample]:
        return sample(self.engine, self.sources, self.constraints(sets), KEYS, top_k, LIMIT, min_p)


@pytest.fixture(scope="module", params=["marian", "bart", "t5", "firefox"])
def spoken(request) -> Spoken:
    return Spoken(request.param)


@pytest.fixture(scope="module")
def marian() -> Spoken:
    return Spoken("marian")


@pytest.mark.slow
@pytest.mark.parametrize(("top_k", "min_p"), [(10, 0.0), (5, 0.1), (1, 0.0)])
def test_samples_are_those_of_masks_over_the_vocabulary(spoken, top_k, min_p):
    sets = spoken.sets()
    forbids = words_forbid(sets, spoken.pieces.surfaces(), spoken.engine.eos, len(KEYS))
    expected = plain_sample(spoken.engine, spoken.sources, forbids, KEYS, top_k, LIMIT, min_p)
    samples = spoken.sample(sets, top_k, min_p)
    assert [s.ids for s in samples] == [ids for ids, _ in expected]
    assert [s.logprob for s in samples] == pytest.approx([logprob for _, logprob in expected], abs=1e-5)
    if top_k == 10:
        changed = sum(a.ids != b.ids for a, b in zip(samples, spoken.free, strict=True))
        assert changed > len(KEYS) / 4, "the sets must matter"


def test_no_sample_says_a_forbidden_word_not_even_one_that_is_cut(spoken):
    sets = spoken.sets()
    of_sample = [constraint_set for constraint_set in sets for _ in range(EACH // SETS)]
    free = zip(of_sample, spoken.texts(spoken.free), strict=True)
    assert sum(bool(constraint_set.unmet(text)) for constraint_set, text in free) > len(KEYS) / 4
    samples = spoken.sample(sets)
    assert not all(s.ended for s in samples)
    assert not any(
        constraint_set.unmet(text) for constraint_set, text in zip(of_sample, spoken.texts(samples), strict=True)
    )


@pytest.mark.parametrize("more", [0, 1, 60])
@pytest.mark.parametrize("kind", ["words", "phrases"])
def test_how_long_the_short_list_is_changes_nothing(marian, monkeypatch, kind, more):
    sets = marian.sets()
    ids = [[ids[:2] or [5], *([i] for i in ids[2:])] for ids in (s.ids for s in marian.free[:: EACH // SETS])]
    constraints = marian.constraints(sets) if kind == "words" else ids
    samples = sample(marian.engine, marian.sources, constraints, KEYS, 10, LIMIT)
    lists = []

    def looked(self: _ForbiddenWords | _ForbiddenPhrases) -> int:
        lists.append(len(self.state.open_word) if kind == "words" else len(self.lists))
        return more

    forbidden = _ForbiddenWords if kind == "words" else _ForbiddenPhrases
    monkeypatch.setattr(forbidden, "more", property(looked))
    monkeypatch.setattr(forbidden, "more_is_bound", False)
    again = sample(marian.engine, marian.sources, constraints, KEYS, 10, LIMIT)
    assert [s.ids for s in again] == [s.ids for s in samples]
    assert [s.logprob for s in again] == pytest.approx([s.logprob for s in samples], abs=1e-5)
    assert (len(lists) > max(len(s.ids) for s in samples)) == (more < 60), "samples with few tokens left looked again"


@pytest.mark.parametrize("more_is_bound", [True, False])
def test_fewer_tokens_than_the_top_k_are_drawn_with_their_own_probabilities(marian, monkeypatch, more_is_bound):
    logprobs = first_logprobs(marian.engine, marian.sources[0])
    tokens = logprobs.argsort(descending=True)[[0, 4, 9, 30]].tolist()
    forbidden = [[[i] for i in range(len(logprobs)) if i not in tokens]]
    if not more_is_bound:
        monkeypatch.setattr(_ForbiddenPhrases, "more", property(lambda self: 0))
        monkeypatch.setattr(_ForbiddenPhrases, "more_is_bound", False)
    samples = sample(marian.engine, marian.sources[:1], forbidden, list(range(3000)), 10, 1)
    shares = logprobs[tokens].softmax(-1).tolist()
    assert chi_square([sum(s.ids == [i] for s in samples) for i in tokens], shares) < CHI_SQUARE_9


@pytest.mark.slow
def test_more_words_than_all_lists_hold(marian):
    words = tuple(dict.fromkeys(word for text in marian.texts(marian.free) for word in constraint_words(text)))
    marks = tuple(".,!?-'\"")
    sets = [ConstraintSet(negative=words + marks), ConstraintSet()] * 2
    forbids = words_forbid(sets, marian.pieces.surfaces(), marian.engine.eos, len(KEYS))
    expected = plain_sample(marian.engine, marian.sources, forbids, KEYS, 10, 4)
    samples = sample(marian.engine, marian.sources, marian.constraints(sets), KEYS, 10, 4)
    assert [s.ids for s in samples] == [ids for ids, _ in expected]


def test_a_sample_has_the_constraints_of_its_own_set_whatever_the_others_have(marian):
    sets = marian.sets()
    samples = marian.sample([constraint_set if n % 2 else ConstraintSet() for n, constraint_set in enumerate(sets)])
    expected, at = marian.sample(sets), EACH // SETS
    for n in range(len(sets)):
        part = slice(n * at, (n + 1) * at)
        assert [s.ids for s in samples[part]] == [s.ids for s in (expected if n % 2 else marian.free)[part]]


def test_samples_share_rows_whatever_they_must_not_say(marian):
    engine = Counting(marian.translator.model)
    sets = marian.sets()
    samples = sample(engine, marian.sources, marian.constraints(sets), KEYS, 10, LIMIT)
    assert len(set(sets)) > 10
    prefixes = {(n // EACH, tuple(s.ids[:step])) for n, s in enumerate(samples) for step in range(len(s.ids))}
    spare = WHOLE * max(len(s.ids) for s in samples)
    assert len(prefixes) <= engine.advanced < 1.15 * len(prefixes) + spare
    assert engine.advanced < 0.9 * sum(len(s.ids) for s in samples)


def first_logprobs(engine: Engine, source: list[int]) -> torch.Tensor:
    with torch.no_grad():
        state = engine.start([source], 1, 1)
        (_, logits), *_ = engine.logits(engine.step(state, torch.tensor([engine.given[-1]])))
    return logits[0].log_softmax(-1)


def test_first_tokens_follow_the_renormalised_top_k_of_what_may_be_said(marian):
    draws, surfaces, logprobs = 3000, marian.pieces.surfaces(), first_logprobs(marian.engine, marian.sources[0])
    order = [i for i in logprobs.argsort(descending=True).tolist() if i != marian.engine.pad]
    words = [word for i in order[:12] for word in constraint_words(surfaces[i])]
    constraint_set = ConstraintSet(negative=tuple(words[1:4]))
    tokens = [i for i in order if i == marian.engine.eos or not constraint_set.unmet(surfaces[i])][:10]
    assert tokens != order[:10]
    samples = sample(marian.engine, marian.sources[:1], marian.constraints([constraint_set]), list(range(draws)), 10, 1)
    weights = logprobs[tokens].exp()
    shares = (weights / weights.sum()).tolist()
    counts = [sum(s.ids == [i] for s in samples) for i in tokens]
    assert sum(counts) == draws and min(shares) * draws >= 5
    assert chi_square(counts, shares) < CHI_SQUARE_9
    assert chi_square(counts, [0.1] * 10) > CHI_SQUARE_9, "the test can tell distributions apart"
    assert {round(s.logprob, 4) for s in samples} == {round(logprobs[i].item(), 4) for i in tokens}, "before the mask"


def test_a_batch_is_each_sentence_on_its_own(marian):
    sets, samples = marian.sets(), marian.sample(marian.sets())
    for i, source in enumerate(marian.sources):
        part = slice(i * EACH, (i + 1) * EACH)
        constraints = marian.constraints(sets[i * SETS : (i + 1) * SETS])
        alone = sample(marian.engine, [source], constraints, KEYS[part], 10, LIMIT)
        assert [s.ids for s in alone] == [s.ids for s in samples[part]]


def test_what_is_required_is_for_beams(marian):
    table, spell = marian.table, marian.pieces.spell
    required = LexicalConstraints.of([ConstraintSet(("we",), ("go",))], table, spell)
    known = LexicalConstraints.of([ConstraintSet()], table, spell, KnownWords.of(["we"]).with_own([""]))
    for constraints, kind in ((required, "required phrases"), (known, "known words")):
        with pytest.raises(ValueError, match=f"wanted words that samples must not say, got {kind}; use beam_search"):
            sample(marian.engine, marian.sources, constraints, KEYS, 10, LIMIT)


def test_as_many_samples_for_every_set(marian):
    constraints = marian.constraints(marian.sets()[:5])
    with pytest.raises(
        ValueError, match=r"as many for every list of constraints.*got 4 sentences, 64 sample keys, 5 l"
    ):
        sample(marian.engine, marian.sources, constraints, KEYS, 10, LIMIT)


@pytest.mark.slow
def test_the_starter_says_no_forbidden_word_of_real_text():
    starter = load_translator("starter/de-en", "float32")
    engine, table = engine_of(starter.model), WordTable.of(starter.target.surfaces(), starter.target.eos)
    pairs = tiny.pairs(6)
    sources, keys = starter.source.encode([german for german, _ in pairs]), list(range(6 * 40))
    sets = [ConstraintSet(negative=tuple(w for w in constraint_words(english) if w.isalpha())) for _, english in pairs]
    assert all(constraint_set.negative for constraint_set in sets)
    ids = [[starter.target.spell(word) for word in constraint_set.negative] for constraint_set in sets]
    counts = {}
    for name, constraints in (
        ("nothing", None),
        ("ids", ids),
        ("words", LexicalConstraints.of(sets, table, starter.target.spell)),
    ):
        samples = sample(engine, sources, constraints, keys, 10, 30)
        texts = starter.target.decode([s.ids for s in samples])
        counts[name] = sum(bool(sets[n // 40].unmet(text)) for n, text in enumerate(texts))
        assert sum(s.ended for s in samples) > 230
    assert counts["nothing"] > counts["ids"] > 20, "a word comes back in other pieces, or with a capital"
    assert counts["words"] == 0
