"""The engine of Firefox translators: its searches against those of the equations in numpy, and alone as in a batch."""

from collections.abc import Sequence

import pytest
import torch

from tests import firefox_folders as firefox
from tests.models.ssru_reference import Reference
from tests.ties import Scored, assert_same_searches, scored
from tests.tiny import pairs
from toolkit.bitext.subwords import EOS, UNK
from toolkit.bitext.words import constraint_words
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.likelihood import log_likelihood
from toolkit.decode.recurrent import RecurrentEngine
from toolkit.decode.sampling import Sample, sample
from toolkit.decode.words import KnownWords, WordTable
from toolkit.translator.int8 import has_int8

LIMIT, EACH = 14, 16
SAME = 2e-5  # nats of a sum: the model is in float64, the softmax of the attention in float32

needs_int8 = pytest.mark.skipif(not has_int8(), reason="this processor has no 8-bit products")


@pytest.fixture(scope="module", params=[False, True], ids=["vocabulary", "shortlist"])
def engine(request) -> RecurrentEngine:
    return firefox.wide_engine(request.param)


@pytest.fixture(scope="module")
def made():
    return firefox.wide(firefox.tiny())


@pytest.fixture(scope="module")
def sources(made) -> list[list[int]]:
    return [*made.source.encode([german for german, _ in pairs(12)]), [EOS], [UNK, UNK, EOS]]


def plain_beam(reference: Reference, source: Sequence[int], beam: int, limit: int) -> Scored:
    """Beam search as `transformers` defines it, one hypothesis at a time, scores divided by the tokens."""
    encoded = reference.encode(source)
    running, finished = [(0.0, [], None)], []
    for length in range(1, limit + 1):
        candidates = []
        for score, ids, memory in running:
            logprobs, after = reference.next(encoded, ids, memory)
            said = (token for token in range(len(logprobs)) if token != UNK)
            candidates += [(score + float(logprobs[token]), [*ids, token], after) for token in said]
        candidates = sorted(candidates, key=lambda one: -one[0])[: 2 * beam]
        ended = [one for one in candidates[:beam] if one[1][-1] == EOS or length == limit]
        finished = sorted([*finished, *((score / length, ids) for score, ids, _ in ended)], key=lambda one: -one[0])
        finished, running = finished[:beam], [one for one in candidates if one[1][-1] != EOS][:beam]
        if len(finished) == beam and running[0][0] / length <= finished[-1][0]:
            break
    return finished


def test_an_engine_for_the_model(made):
    assert type(engine_of(made.model)) is RecurrentEngine


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_a_beam_is_that_of_the_equations(made, sources, beam):
    reference = Reference.of(firefox.tiny())
    wanted = [plain_beam(reference, source, beam, LIMIT) for source in sources]
    found = beam_search(RecurrentEngine(made.model), sources, beam, LIMIT, n_best=beam)
    assert_same_searches([scored(one) for one in found], wanted)
    best = [one[0].ids for one in found]
    assert len({tuple(ids) for ids in best}) > len(sources) / 2 and any(ids[-1] == EOS for ids in best)
    assert len({len(ids) for ids in best}) > 2, "rows must end at different steps"


@pytest.mark.slow
def test_greedy_samples_are_those_of_the_equations(made, sources):
    reference = Reference.of(firefox.tiny())
    found = sample(RecurrentEngine(made.model), sources, None, [0] * len(sources), 1, LIMIT)
    for source, one in zip(sources, found, strict=True):
        ((_, ids),) = plain_greedy(reference, source)
        assert one.ids == ids


def plain_greedy(reference: Reference, source: Sequence[int]) -> Scored:
    """The most probable token at every step."""
    encoded, ids, total, memory = reference.encode(source), [], 0.0, None
    while len(ids) < LIMIT and EOS not in ids:
        logprobs, memory = reference.next(encoded, ids, memory)
        logprobs[UNK] = -float("inf")
        ids = [*ids, int(logprobs.argmax())]
        total += float(logprobs[ids[-1]])
    return [(total, ids)]


def drawn(engine: RecurrentEngine, sources: list[list[int]], numbers: list[int], **how) -> list[Sample]:
    """Samples of the sentences of these numbers; a sample's key is of its sentence."""
    keys = [1000 * n + i for n in numbers for i in range(EACH)]
    return sample(engine, [sources[n] for n in numbers], None, keys, how.pop("top_k", 8), LIMIT, **how)


@pytest.mark.parametrize("how", [{}, {"min_p": 0.1}, {"top_p": 0.7}, {"top_k": 1}], ids=str)
def test_samples_are_the_same_in_any_batch(engine, sources, how):
    everything = list(range(len(sources)))
    whole = drawn(engine, sources, everything, **dict(how))
    alone = [one for n in everything for one in drawn(engine, sources, [n], **dict(how))]
    backwards = drawn(engine, sources, everything[::-1], **dict(how))
    backwards = [one for n in everything[::-1] for one in backwards[n * EACH : (n + 1) * EACH]]
    assert [one.ids for one in whole] == [one.ids for one in alone] == [one.ids for one in backwards]
    assert [one.logprob for one in whole] == pytest.approx([one.logprob for one in alone], abs=SAME)
    if not how:
        assert len({tuple(one.ids) for one in whole}) > len(whole) / 2


def test_a_forced_score_is_the_sum_of_what_the_samples_gained(engine, sources):
    samples = drawn(engine, sources, list(range(len(sources))))
    inputs = [source for source in sources for _ in range(EACH)]
    scores = log_likelihood(engine, inputs, [one.ids for one in samples], 500)
    assert scores == pytest.approx([one.logprob for one in samples], abs=SAME)
    hypotheses = beam_search(engine, sources, 3, LIMIT, n_best=1)
    scores = log_likelihood(engine, sources, [one.ids for (one,) in hypotheses], 500)
    assert scores == pytest.approx([one.logprob for (one,) in hypotheses], abs=SAME)


# The shortlist


def test_a_sentence_says_only_what_its_own_shortlist_permits(made, sources):
    engine = firefox.wide_engine(True)
    permitted = [set(engine.shortlist.permitted(source, engine.tokens).nonzero()[0].tolist()) for source in sources]
    assert len({frozenset(some) for some in permitted}) >= len(sources) - 1, "the one without a word may be another's"
    samples = drawn(engine, sources, list(range(len(sources))), top_k=40)
    beams = beam_search(engine, sources, 4, LIMIT, n_best=4)
    free = drawn(RecurrentEngine(made.model), sources, list(range(len(sources))), top_k=40)
    for n, allowed in enumerate(permitted):
        of_sentence = slice(n * EACH, (n + 1) * EACH)
        said = {token for one in [*samples[of_sentence], *beams[n]] for token in one.ids}
        assert said <= allowed and len(said) > 2
        assert not {token for one in free[of_sentence] for token in one.ids} <= allowed, "it must matter"


def test_with_a_shortlist_a_beam_in_a_batch_is_that_of_the_sentence_alone(sources):
    engine = firefox.wide_engine(True)
    together = beam_search(engine, sources, 4, LIMIT, n_best=4)
    alone = [beam_search(engine, [source], 4, LIMIT, n_best=4)[0] for source in sources]
    assert_same_searches([scored(one) for one in together], [scored(one) for one in alone])


def test_probabilities_are_those_among_the_tokens_of_the_shortlist(made, sources):
    engine, plain = firefox.wide_engine(True), RecurrentEngine(made.model)
    permitted = [i for i, may in enumerate(engine.shortlist.permitted(sources[0], engine.tokens)) if may]
    outside = next(i for i in range(engine.tokens) if i not in permitted)
    every = [[i] for i in permitted]
    within, whole = (one.likelihoods([sources[0]] * len(every), every)[:, 0] for one in (engine, plain))
    assert float(within.exp().sum()) == pytest.approx(1)
    torch.testing.assert_close(within, torch.log_softmax(whole, 0), atol=SAME, rtol=0)
    assert engine.likelihoods([sources[0]], [[outside]]).item() == -float("inf")


@torch.inference_mode()
def test_to_score_does_not_change_a_search_in_flight(sources):
    engine = firefox.wide_engine(True)
    state = engine.start(sources, 1, LIMIT)
    hidden = engine.step(state, torch.full((len(sources),), engine.given[-1]))
    before = torch.cat([logits.clone() for _, logits in engine.logits(hidden)])
    engine.likelihoods([sources[-1]], [[5, EOS]])
    torch.testing.assert_close(torch.cat([logits for _, logits in engine.logits(hidden)]), before)


# Constraints


def words_said(made, engine: RecurrentEngine, sources: list[list[int]]) -> list[list[str]]:
    """The words of the best translation of each sentence."""
    best = beam_search(engine, sources, 4, LIMIT)
    return [list(constraint_words(text)) for text in made.target.decode([one.ids for (one,) in best])]


def test_beams_say_what_is_required_and_nothing_that_is_forbidden(made, sources):
    engine = RecurrentEngine(made.model)
    words = words_said(made, engine, sources)
    sets = [ConstraintSet(positive=("dog",), negative=tuple(word for word in said if word != "dog")) for said in words]
    assert sum(bool(one.negative) for one in sets) > len(sets) / 2
    table = WordTable.of(made.target.surfaces(), made.target.eos)
    lexical = LexicalConstraints.of(sets, table, made.target.spell)
    found = beam_search(engine, sources, 6, 30, constraints=lexical)
    texts = made.target.decode([one.ids for (one,) in found])
    ended = [(one, text) for one, text, (best,) in zip(sets, texts, found, strict=True) if best.ended]
    assert len(ended) > len(sets) / 2
    assert not any(one.unmet(text) for one, text in ended)


def test_samples_and_beams_say_only_known_words(made, sources):
    engine = RecurrentEngine(made.model)
    words = ["the", "dog", "house", "is", "in", "a", "he", "she", "we", "they", "no"]
    table, free = WordTable.of(made.target.surfaces(), made.target.eos), words_said(made, engine, sources)
    known = KnownWords.of(words).with_own([""] * len(sources))
    lexical = LexicalConstraints.of([ConstraintSet()] * len(sources), table, made.target.spell, known)
    found = beam_search(engine, sources, 4, LIMIT, constraints=lexical)
    ended = [one.ids for some in found for one in some if one.ended]
    said = {word for text in made.target.decode(ended) for word in constraint_words(text) if word.isalpha()}
    assert ended and {word.lower() for word in said} <= set(words)
    assert not {word for some in free for word in some if word.isalpha()} <= set(words), "they must matter"


# Other numbers


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("int8", marks=needs_int8), "float32"])
def test_other_numbers_are_near(made, sources, dtype):
    rounded, exact = RecurrentEngine(firefox.translator(dtype).model), RecurrentEngine(made.model)
    outputs = [one.ids for one in drawn(exact, sources, list(range(len(sources))))]
    inputs = [source for source in sources for _ in range(EACH)]
    found, wanted = (log_likelihood(one, inputs, outputs, 500) for one in (rounded, exact))
    apart = [abs(a - b) / len(ids) for a, b, ids in zip(found, wanted, outputs, strict=True)]
    most = {"float32": 1e-4, "bfloat16": 0.2, "int8": 0.3}[dtype]
    assert 0 < sum(apart) / len(apart) < most
    samples = [drawn(one, sources, list(range(len(sources)))) for one in (rounded, exact)]
    means = [sum(one.logprob for one in some) / sum(len(one.ids) for one in some) for some in samples]
    assert means[0] == pytest.approx(means[1], rel=0.1)
