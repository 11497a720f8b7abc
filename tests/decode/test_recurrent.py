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
def translator():
    return firefox.wide(firefox.tiny())


@pytest.fixture(scope="module")
def sources(translator) -> list[list[int]]:
    return [*translator.source.encode([german for german, _ in pairs(12)]), [EOS], [UNK, UNK, EOS]]


def plain_beam(reference: Reference, source: Sequence[int], beam: int, limit: int) -> Scored:
    """Beam search as `transformers` defines it, one hypothesis at a time, scores divided by the tokens."""
    encoded = reference.encode(source)
    running, hypotheses = [(0.0, [], None)], []
    for length in range(1, limit + 1):
        candidates = []
        for score, ids, memory in running:
            logprobs, after = reference.next(encoded, ids, memory)
            tokens = (token for token in range(len(logprobs)) if token != UNK)
            candidates += [(score + float(logprobs[token]), [*ids, token], after) for token in tokens]
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * beam]
        complete = [candidate for candidate in candidates[:beam] if candidate[1][-1] == EOS or length == limit]
        hypotheses = sorted(
            [*hypotheses, *((score / length, ids) for score, ids, _ in complete)], key=lambda hypothesis: -hypothesis[0]
        )
        hypotheses, running = (
            hypotheses[:beam],
            [candidate for candidate in candidates if candidate[1][-1] != EOS][:beam],
        )
        if len(hypotheses) == beam and running[0][0] / length <= hypotheses[-1][0]:
            break
    return hypotheses


def test_an_engine_for_the_model(translator):
    assert type(engine_of(translator.model)) is RecurrentEngine


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_a_beam_is_that_of_the_equations(translator, sources, beam):
    reference = Reference.of(firefox.tiny())
    expected = [plain_beam(reference, source, beam, LIMIT) for source in sources]
    searches = beam_search(RecurrentEngine(translator.model), sources, beam, LIMIT, n_best=beam)
    assert_same_searches([scored(hypotheses) for hypotheses in searches], expected)
    best = [hypotheses[0].ids for hypotheses in searches]
    assert len({tuple(ids) for ids in best}) > len(sources) / 2 and any(ids[-1] == EOS for ids in best)
    assert len({len(ids) for ids in best}) > 2, "rows must end at different steps"


@pytest.mark.slow
def test_greedy_samples_are_those_of_the_equations(translator, sources):
    reference = Reference.of(firefox.tiny())
    samples = sample(RecurrentEngine(translator.model), sources, None, [0] * len(sources), 1, LIMIT)
    for source, output in zip(sources, samples, strict=True):
        ((_, ids),) = plain_greedy(reference, source)
        assert output.ids == ids


def plain_greedy(reference: Reference, source: Sequence[int]) -> Scored:
    """The most probable token at every step."""
    encoded, ids, total, memory = reference.encode(source), [], 0.0, None
    while len(ids) < LIMIT and EOS not in ids:
        logprobs, memory = reference.next(encoded, ids, memory)
        logprobs[UNK] = -float("inf")
        ids = [*ids, int(logprobs.argmax())]
        total += float(logprobs[ids[-1]])
    return [(total, ids)]


def draw(engine: RecurrentEngine, sources: list[list[int]], numbers: list[int], **how) -> list[Sample]:
    """Samples of the sentences of these numbers; a sample's key is of its sentence."""
    keys = [1000 * n + i for n in numbers for i in range(EACH)]
    return sample(engine, [sources[n] for n in numbers], None, keys, how.pop("top_k", 8), LIMIT, **how)


@pytest.mark.parametrize("how", [{}, {"min_p": 0.1}, {"top_p": 0.7}, {"top_k": 1}], ids=str)
def test_samples_are_the_same_in_any_batch(engine, sources, how):
    numbers = list(range(len(sources)))
    whole = draw(engine, sources, numbers, **dict(how))
    alone = [output for n in numbers for output in draw(engine, sources, [n], **dict(how))]
    backwards = draw(engine, sources, numbers[::-1], **dict(how))
    backwards = [output for n in numbers[::-1] for output in backwards[n * EACH : (n + 1) * EACH]]
    assert [output.ids for output in whole] == [output.ids for output in alone] == [output.ids for output in backwards]
    assert [output.logprob for output in whole] == pytest.approx([output.logprob for output in alone], abs=SAME)
    if not how:
        assert len({tuple(output.ids) for output in whole}) > len(whole) / 2


def test_a_forced_score_is_the_sum_of_what_the_samples_gained(engine, sources):
    samples = draw(engine, sources, list(range(len(sources))))
    inputs = [source for source in sources for _ in range(EACH)]
    scores = log_likelihood(engine, inputs, [output.ids for output in samples], 500)
    assert scores == pytest.approx([output.logprob for output in samples], abs=SAME)
    hypotheses = beam_search(engine, sources, 3, LIMIT, n_best=1)
    scores = log_likelihood(engine, sources, [hypothesis.ids for (hypothesis,) in hypotheses], 500)
    assert scores == pytest.approx([hypothesis.logprob for (hypothesis,) in hypotheses], abs=SAME)


# The shortlist


def test_a_sentence_says_only_what_its_own_shortlist_permits(translator, sources):
    engine = firefox.wide_engine(True)
    permitted = [set(engine.shortlist.permitted(source, engine.tokens).nonzero()[0].tolist()) for source in sources]
    assert len({frozenset(tokens) for tokens in permitted}) >= len(sources) - 1, (
        "the one without a word may be another's"
    )
    samples = draw(engine, sources, list(range(len(sources))), top_k=40)
    beams = beam_search(engine, sources, 4, LIMIT, n_best=4)
    free = draw(RecurrentEngine(translator.model), sources, list(range(len(sources))), top_k=40)
    for n, allowed in enumerate(permitted):
        of_sentence = slice(n * EACH, (n + 1) * EACH)
        output_tokens = {token for output in [*samples[of_sentence], *beams[n]] for token in output.ids}
        assert output_tokens <= allowed and len(output_tokens) > 2
        assert not {token for output in free[of_sentence] for token in output.ids} <= allowed, "it must matter"


def test_with_a_shortlist_a_beam_in_a_batch_is_that_of_the_sentence_alone(sources):
    engine = firefox.wide_engine(True)
    together = beam_search(engine, sources, 4, LIMIT, n_best=4)
    alone = [beam_search(engine, [source], 4, LIMIT, n_best=4)[0] for source in sources]
    assert_same_searches([scored(hypotheses) for hypotheses in together], [scored(hypotheses) for hypotheses in alone])


def test_probabilities_are_those_among_the_tokens_of_the_shortlist(translator, sources):
    engine, plain = firefox.wide_engine(True), RecurrentEngine(translator.model)
    permitted = [i for i, may in enumerate(engine.shortlist.permitted(sources[0], engine.tokens)) if may]
    outside = next(i for i in range(engine.tokens) if i not in permitted)
    outputs = [[i] for i in permitted]
    within, whole = (scorer.likelihoods([sources[0]] * len(outputs), outputs)[:, 0] for scorer in (engine, plain))
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


def words_said(translator, engine: RecurrentEngine, sources: list[list[int]]) -> list[list[str]]:
    """The words of the best translation of each sentence."""
    best = beam_search(engine, sources, 4, LIMIT)
    return [
        list(constraint_words(text)) for text in translator.target.decode([hypothesis.ids for (hypothesis,) in best])
    ]


def test_beams_say_what_is_required_and_nothing_that_is_forbidden(translator, sources):
    engine = RecurrentEngine(translator.model)
    words = words_said(translator, engine, sources)
    sets = [
        ConstraintSet(positive=("dog",), negative=tuple(word for word in translation if word != "dog"))
        for translation in words
    ]
    assert sum(bool(constraints.negative) for constraints in sets) > len(sets) / 2
    table = WordTable.of(translator.target.surfaces(), translator.target.eos)
    lexical = LexicalConstraints.of(sets, table, translator.target.spell)
    searches = beam_search(engine, sources, 6, 30, constraints=lexical)
    texts = translator.target.decode([hypothesis.ids for (hypothesis,) in searches])
    ended = [
        (constraints, text) for constraints, text, (best,) in zip(sets, texts, searches, strict=True) if best.ended
    ]
    assert len(ended) > len(sets) / 2
    assert not any(constraints.unmet(text) for constraints, text in ended)


def test_samples_and_beams_say_only_known_words(translator, sources):
    engine = RecurrentEngine(translator.model)
    words = ["the", "dog", "house", "is", "in", "a", "he", "she", "we", "they", "no"]
    table, free = (
        WordTable.of(translator.target.surfaces(), translator.target.eos),
        words_said(translator, engine, sources),
    )
    known = KnownWords.of(words).with_own([""] * len(sources))
    lexical = LexicalConstraints.of([ConstraintSet()] * len(sources), table, translator.target.spell, known)
    searches = beam_search(engine, sources, 4, LIMIT, constraints=lexical)
    ended = [hypothesis.ids for hypotheses in searches for hypothesis in hypotheses if hypothesis.ended]
    output_words = {
        word for text in translator.target.decode(ended) for word in constraint_words(text) if word.isalpha()
    }
    assert ended and {word.lower() for word in output_words} <= set(words)
    assert not {word for translation in free for word in translation if word.isalpha()} <= set(words), (
        "they must matter"
    )


# Other numbers


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("int8", marks=needs_int8), "float32"])
def test_other_numbers_are_near(translator, sources, dtype):
    rounded, exact = RecurrentEngine(firefox.translator(dtype).model), RecurrentEngine(translator.model)
    outputs = [output.ids for output in draw(exact, sources, list(range(len(sources))))]
    inputs = [source for source in sources for _ in range(EACH)]
    rounded_scores, exact_scores = (log_likelihood(scorer, inputs, outputs, 500) for scorer in (rounded, exact))
    apart = [abs(a - b) / len(ids) for a, b, ids in zip(rounded_scores, exact_scores, outputs, strict=True)]
    bound = {"float32": 1e-4, "bfloat16": 0.2, "int8": 0.3}[dtype]
    assert 0 < sum(apart) / len(apart) < bound
    samples = [draw(sampler, sources, list(range(len(sources)))) for sampler in (rounded, exact)]
    means = [sum(output.logprob for output in batch) / sum(len(output.ids) for output in batch) for batch in samples]
    assert means[0] == pytest.approx(means[1], rel=0.1)
