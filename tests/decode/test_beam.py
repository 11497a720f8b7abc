"""Beam search against transformers' own, against all texts of a toy model, and each search against itself alone."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedModel

from tests import tiny
from tests.ties import Scored, assert_same_hypotheses, assert_same_searches, scored
from toolkit.bitext.words import constraint_words
from toolkit.decode.beam import beam_search
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.engine import _moved
from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.shared import SharedEngine
from toolkit.decode.words import KnownWords, WordTable

LIMIT = 40

# A toy: a table of random logits, by a hash of all that a row has said


@dataclass
class ToyState:
    """A hash of what each row has said."""

    key: torch.Tensor


class Toy:
    """An engine without a model. Rows that are moved or copied wrongly get another row's logits."""

    eos, pad, start_id, given, limit, device = 0, 1, 1, [1], 1000, torch.device("cpu")

    def __init__(self, vocabulary: int, seed: int, eos_bias: float = 0.0):
        self.logits_of = 2 * torch.randn(499, vocabulary, generator=torch.Generator().manual_seed(seed))
        self.logits_of[:, self.eos] += eos_bias

    def start(self, sources, rows_each, steps):
        return ToyState(torch.tensor([s[0] for s, n in zip(sources, rows_each, strict=True) for _ in range(n)]))

    def step(self, state, ids):
        state.key = self.hash_of(state.key, ids)
        return state.key

    def hash_of(self, key, ids):
        return (key * 31 + ids + 7) % len(self.logits_of)

    def logits(self, hidden):
        middle = len(hidden) // 2
        for part in (slice(0, middle), slice(middle, len(hidden))):
            yield part, self.logits_of[hidden[part]]

    def move(self, state, source, target, rows, within_sentences=False):
        state.key = _moved(state.key, source, target, rows)


def all_texts(toy: Toy, source: int, limit: int) -> list[tuple[list[int], float]]:
    """All that a row can say in `limit` tokens, with log-probabilities."""
    logprobs = torch.log_softmax(toy.logits_of, -1).double().tolist()
    texts: list[tuple[list[int], float]] = []

    def go_on(key: int, ids: list[int], logprob: float) -> None:
        key = toy.hash_of(key, ids[-1] if ids else toy.start_id)
        for i in (i for i in range(len(logprobs[0])) if i != toy.pad):
            prefix, score = [*ids, i], logprob + logprobs[key][i]
            if i == toy.eos or len(prefix) == limit:
                texts.append((prefix, score))
            else:
                go_on(key, prefix, score)

    go_on(source, [], 0.0)
    return texts


VOCABULARIES = (
    ["", "", " a", " b", "b", "c", " ,"],  # pieces that glue: " a" + "b" is "ab"
    ["", "", " a", "b", "a.", " (b", "a-b"],  # words that end inside pieces
    ["", "", " A", "a", "...", "字", " a"],
    ["", "", " a", "b", " b"],
    ["", "", " a", "b"],
)
SPACES = {7: 3, 5: 4, 4: 6}  # pieces of a vocabulary to the longest text of which all can be looked at


def spell(phrase: str, surfaces: Sequence[str]) -> list[int] | None:
    """The shortest spelling."""

    def rest(text: str) -> list[int] | None:
        if not text:
            return []
        ways = [(i, rest(text[len(s) :])) for i, s in enumerate(surfaces) if s and text.startswith(s)]
        return min(([i, *more] for i, more in ways if more is not None), key=len, default=None)

    return rest(" " + phrase)


def text_of(ids: Sequence[int], surfaces: Sequence[str]) -> str:
    return "".join(surfaces[i] for i in ids).strip()


def lexical_of(sets: Sequence[ConstraintSet], surfaces: Sequence[str]) -> LexicalConstraints | None:
    return LexicalConstraints.of(sets, WordTable.of(surfaces, Toy.eos), lambda phrase: spell(phrase, surfaces))


def constraints(chance: random.Random, surfaces: Sequence[str], tokens: int, limits=(2, 2, 1)) -> ConstraintSet:
    """A random set that can be required and spelled, with less than so many constraint tokens."""

    def phrase() -> str:
        words = list(constraint_words(text_of([chance.randrange(2, len(surfaces)) for _ in range(4)], surfaces)))
        i = chance.randrange(len(words))
        return " ".join(words[i : i + chance.choice((1, 1, 2))])

    while True:
        try:
            constraint_set = ConstraintSet(*(tuple(phrase() for _ in range(chance.randint(0, n))) for n in limits))
        except ValueError:
            continue
        spelled = [spell(phrase, surfaces) for phrase in constraint_set.positive]
        if all(spelled) and sum(map(len, spelled)) < tokens:
            return constraint_set


TOY_TIE = 1e-6  # the toy has no matrix product: its scores are sums of a few logarithms


def all_scored(searches: Sequence[Sequence[Hypothesis]]) -> list[Scored]:
    return [scored(hypotheses) for hypotheses in searches]


@pytest.mark.parametrize("begin", range(0, 200, 20))
def test_a_beam_as_wide_as_the_space_is_brute_force(begin):
    met = required = 0
    for seed in range(begin, begin + 20):
        chance, surfaces = random.Random(seed), VOCABULARIES[seed % len(VOCABULARIES)]
        limit = SPACES[len(surfaces)]
        constraint_set = constraints(chance, surfaces, limit)
        toy, lexical = Toy(len(surfaces), seed), lexical_of([constraint_set], surfaces)
        texts = all_texts(toy, 5, limit)
        good = [
            (ids, score)
            for ids, score in texts
            if ids[-1] == toy.eos and not constraint_set.unmet(text_of(ids, surfaces))
        ]
        met, required = met + (0 < len(good) < 20), required + bool(constraint_set.positive)
        for penalty in (0.0, 1.0):
            expected = sorted(((score / len(ids) ** penalty, ids) for ids, score in good), reverse=True)
            hypotheses = beam_search(toy, [[5]], len(texts), limit, len(texts), penalty, lexical)[0]
            assert_same_hypotheses(scored([h for h in hypotheses if h.ended]), expected, TOY_TIE)
        if constraint_set.positive:  # the best stands first, though it is all that is asked for and others may be cut
            (best,) = beam_search(toy, [[5]], len(texts), limit, 1, 0.0, lexical)
            expected = sorted(((score, ids) for ids, score in good), reverse=True)[:1]
            assert_same_hypotheses(scored([h for h in best if h.ended]), expected, TOY_TIE)
    assert met > 3 and required > 3, "the sets must leave some texts and take some"


def test_without_constraints_the_space_holds_cut_hypotheses_too():
    toy = Toy(5, 3)
    texts = all_texts(toy, 5, 4)
    hypotheses = beam_search(toy, [[5]], len(texts), 4, len(texts), 0.6)[0]
    expected = sorted(((score / len(ids) ** 0.6, ids) for ids, score in texts), reverse=True)
    assert_same_hypotheses(scored(hypotheses), expected, TOY_TIE)
    assert {h.ended for h in hypotheses} == {True, False}
    assert all(h.ended == (h.ids[-1] == toy.eos) and h.logprob < 0 for h in hypotheses)


@pytest.mark.parametrize("seed", range(25))
def test_a_batch_of_searches_is_each_on_its_own(seed):
    chance, surfaces = random.Random(seed), VOCABULARIES[seed % 3]
    toy, beam = Toy(7, seed, chance.choice((0.0, 2.0))), chance.choice((1, 2, 3, 5))
    each, limits = [chance.choice((0, 1, 1, 3)) for _ in range(6)], [chance.randint(9, 20) for _ in range(6)]
    sets = [constraints(chance, surfaces, 8) if chance.random() < 0.7 else ConstraintSet() for _ in range(sum(each))]
    sources = [[n] for n in range(6)]
    n_best = chance.randint(1, beam)
    together = beam_search(toy, sources, beam, limits, n_best, 1.0, lexical_of(sets, surfaces), each)
    sentence = [n for n, count in enumerate(each) for _ in range(count)]
    assert len(together) == len(sets)
    for n, constraint_set, hypotheses in zip(sentence, sets, together, strict=True):
        assert (
            hypotheses
            == beam_search(toy, [sources[n]], beam, limits[n], n_best, 1.0, lexical_of([constraint_set], surfaces))[0]
        )


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 2, 5, 12])
def test_the_best_hypothesis_says_what_is_required(beam):
    phrases = longer = 0
    for seed in range(30):
        chance, surfaces = random.Random(seed), VOCABULARIES[seed % 3]
        constraint_set = constraints(chance, surfaces, 7, (3, 0, 0))
        lexical = lexical_of([constraint_set], surfaces)
        (hypothesis,) = beam_search(Toy(7, seed, 2.0), [[5]], beam, 30, 1, 1.0, lexical)[0]
        assert hypothesis.ended and not constraint_set.unmet(text_of(hypothesis.ids, surfaces)), constraint_set
        phrases, longer = (
            phrases + len(constraint_set.positive),
            longer + any(len(spell(p, surfaces)) > beam for p in constraint_set.positive),
        )
    assert phrases > 20 and (longer or beam > 2), "among them phrases longer than the beam"


@pytest.mark.parametrize("beam", [1, 2, 3, 5, 12])
def test_a_word_is_closed_though_the_model_would_go_on_with_it(beam):
    toy, surfaces = Toy(7, 0), ["", "", " a", " b", "b", "c", " ,"]
    toy.logits_of[:] = torch.tensor([1, 0, 0, 0, 9, 8, 0.5])  # "b" and "c" go on with every word
    (hypothesis,) = beam_search(toy, [[5]], beam, 12, 1, 1.0, lexical_of([ConstraintSet(("a",))], surfaces))[0]
    assert not ConstraintSet(("a",)).unmet(text_of(hypothesis.ids, surfaces))


def test_a_phrase_longer_than_the_beam_and_one_wanted_twice():
    surfaces = VOCABULARIES[0]
    for constraint_set in (
        ConstraintSet(("abcbcb",)),
        ConstraintSet(("a b", "a b")),
        ConstraintSet(("b", "b", "b"), ("ac",)),
    ):
        for beam in (1, 2, 5):
            (hypothesis,) = beam_search(
                Toy(7, 1, 2.0), [[5]], beam, 30, 1, 1.0, lexical_of([constraint_set], surfaces)
            )[0]
            assert not constraint_set.unmet(text_of(hypothesis.ids, surfaces))


def test_what_no_text_can_meet_gives_nothing_that_ended():
    surfaces, never = ["", "", " a", "b"], ConstraintSet(("x",))
    lexical = LexicalConstraints.of(
        [never], WordTable.of(surfaces, 0), lambda phrase: [2, 3]
    )  # a tokenizer that says "ab" for "x"
    hypotheses = beam_search(Toy(4, 0), [[5]], 4, 6, 4, 1.0, lexical)[0]
    assert not any(h.ended for h in hypotheses)
    assert all(never.unmet(text_of(h.ids, surfaces)) for h in hypotheses)


def test_a_search_that_can_say_nothing_finds_nothing():
    surfaces = ["", "", " a"]
    lexical = LexicalConstraints.of(
        [ConstraintSet(("x",), (",",)), ConstraintSet()], WordTable.of(surfaces, 0), lambda phrase: [2]
    )
    known = KnownWords.of(["b"]).with_own([""])
    impossible = LexicalConstraints.of([ConstraintSet(("x",))], WordTable.of(surfaces, 0), lambda phrase: [2], known)
    assert beam_search(Toy(3, 0), [[5]], 2, 6, 1, 1.0, impossible) == [[]]
    assert len(beam_search(Toy(3, 0), [[5], [6]], 2, 6, 1, 1.0, lexical)[1]) == 1


def test_known_words_need_no_words_of_a_search():
    surfaces = ["", "", " a", "b", " b"]
    known = KnownWords.of(["a", "ab"])
    lexical = LexicalConstraints.of(
        [ConstraintSet(), ConstraintSet()], WordTable.of(surfaces, 0), lambda phrase: None, known
    )
    for hypotheses in beam_search(Toy(5, 3, 1.0), [[5], [6]], 4, 12, 4, 1.0, lexical):
        texts = [text_of(h.ids, surfaces) for h in hypotheses]
        assert texts and {word.lower() for text in texts for word in constraint_words(text)} <= {"a", "ab"}


@pytest.mark.parametrize("seed", range(10))
def test_only_known_words_are_said(seed):
    chance, surfaces = random.Random(seed), VOCABULARIES[seed % 2]
    known = KnownWords.of(["a", "ab", "c", "bb", "ba"]).with_own(["abb", ""])
    sets = [constraints(chance, surfaces, 5, (0, 1, 1)) for _ in range(2)]
    lexical = LexicalConstraints.of(sets, WordTable.of(surfaces, 0), lambda phrase: spell(phrase, surfaces), known)
    searches = beam_search(Toy(7, seed, 2.0), [[3]], 6, 12, 6, 1.0, lexical, [2])
    for own_word, hypotheses in zip(("abb", None), searches, strict=True):
        assert any(h.ended for h in hypotheses)
        for text in (text_of(h.ids, surfaces) for h in hypotheses if h.ended):
            assert {word for word in constraint_words(text) if word.isalpha()} <= {"a", "ab", "c", "bb", "ba", own_word}


# The tiny translator


class Counting(SharedEngine):
    """An engine that counts how often rows leave."""

    left = 0

    def move(self, state, source, target, rows, within_sentences=False):
        self.left += rows < len(state.sentence)
        super().move(state, source, target, rows, within_sentences)


@pytest.fixture(scope="module")
def engine() -> Counting:
    return Counting(tiny.wide_translator("de-en").model)


@pytest.fixture(scope="module")
def never() -> SharedEngine:
    """One that does not end its sentences."""
    return SharedEngine(tiny.model(len(tiny.translator("de-en").target), 17, -50.0).double())


@pytest.fixture(scope="module")
def sources() -> list[list[int]]:
    return tiny.translator("de-en").source.encode([german for german, _ in tiny.pairs(12)] + ["Ja.", ""])


def generated(
    model: PreTrainedModel, sources: Sequence[list[int]], beam: int, limit: int, n_best: int, penalty: float
) -> list[list[tuple[float, list[int]]]]:
    """transformers' beam search on one padded batch: scores and ids, cut behind EOS."""
    pad, eos, longest = model.config.pad_token_id, model.config.eos_token_id, max(map(len, sources))
    output = model.generate(
        input_ids=torch.tensor([[*s, *[pad] * (longest - len(s))] for s in sources]),
        attention_mask=torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in sources]),
        do_sample=False,
        num_beams=beam,
        num_return_sequences=n_best,
        length_penalty=penalty,
        max_new_tokens=limit,
        early_stopping=False,
        bad_words_ids=[[pad]],
        forced_eos_token_id=None,
        return_dict_in_generate=True,
        output_scores=True,
    )
    rows = [row[1:] for row in output.sequences.tolist()]
    rows = [row[: row.index(eos) + 1] if eos in row else [i for i in row if i != pad] for row in rows]
    scored = list(zip(output.sequences_scores.tolist(), rows, strict=True))
    return [scored[n : n + n_best] for n in range(0, len(scored), n_best)]


@pytest.mark.parametrize(
    ("beam", "n_best", "penalty", "limit"),
    [
        (1, 1, 1.0, LIMIT),
        (2, 1, 1.0, LIMIT),
        (4, 4, 1.0, 30),
        (5, 3, 0.0, 30),
        (12, 12, 0.6, LIMIT),
        (3, 3, 2.0, 20),
        (4, 4, 1.0, 5),  # most are cut
        (6, 2, 0.6, 2),
        (3, 3, 1.0, 1),
    ],
)
def test_beam_search_is_that_of_transformers(engine, sources, beam, n_best, penalty, limit):
    searches = beam_search(engine, sources, beam, limit, n_best, penalty)
    model = tiny.wide_translator("de-en").model
    if beam > 1:
        assert_same_searches(all_scored(searches), generated(model, sources, beam, limit, n_best, penalty))
    for hypothesis in (h for hypotheses in searches for h in hypotheses):
        assert hypothesis.ended == (hypothesis.ids[-1] == engine.eos)
        assert hypothesis.score == pytest.approx(hypothesis.logprob / len(hypothesis.ids) ** penalty)
    assert len({h.ended for hypotheses in searches for h in hypotheses}) == 2, "some end, some are cut"


def test_searches_that_end_at_very_different_times_leave(engine, sources):
    engine.left = 0
    searches = beam_search(engine, sources, 4, LIMIT, 4)
    assert engine.left > 2
    assert len({len(hypotheses[-1].ids) for hypotheses in searches}) > 3
    alone = [beam_search(engine, [source], 4, LIMIT, 4)[0] for source in sources]
    assert_same_searches(all_scored(searches), all_scored(alone))


def test_a_language_token_is_said_first():
    torch.manual_seed(0)
    sizes = {f"{side}_{part}": n for side in ("encoder", "decoder") for part, n in (("layers", 1), ("ffn_dim", 32))}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64}
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
    config = AutoConfig.for_model("m2m_100", vocab_size=60, d_model=16, init_std=0.5, **sizes, **heads, **ids)
    model = AutoModelForSeq2SeqLM.from_config(config).eval().double()
    model.generation_config.forced_bos_token_id = 7
    sources = [[5, 9, 11, 30, 2], [17, 2]]
    searches = beam_search(SharedEngine(model), sources, 4, 11, 4)  # the forced token is given, not said
    expected = generated(model, sources, 4, 12, 4, 1.0)
    assert {ids[0] for hypotheses in expected for _, ids in hypotheses} == {7}
    assert_same_searches(
        all_scored(searches), [[(score, ids[1:]) for score, ids in hypotheses] for hypotheses in expected]
    )


@pytest.mark.slow
def test_a_beam_of_one_is_greedy_search(engine, sources):
    model = tiny.wide_translator("de-en").model
    for source, (hypothesis,) in zip(sources, beam_search(engine, sources, 1, LIMIT), strict=True):
        ids: list[int] = []
        logprob = 0.0
        while len(ids) < LIMIT and engine.eos not in ids:
            with torch.no_grad():
                start = torch.tensor([[engine.given[-1], *ids]])
                logits = model(input_ids=torch.tensor([source]), decoder_input_ids=start).logits[0, -1]
            logprobs = logits.double().log_softmax(-1)
            logprobs[engine.pad] = -torch.inf
            ids.append(int(logprobs.argmax()))
            logprob += float(logprobs.max())
        assert hypothesis.ids == ids
        assert hypothesis.logprob == pytest.approx(logprob, abs=1e-3)


def lexical_for(sets: Sequence[ConstraintSet]) -> LexicalConstraints | None:
    target = tiny.translator("de-en").target
    return LexicalConstraints.of(sets, WordTable.of(target.surfaces(), target.eos), target.spell)


def ids_of(searches: Sequence[Sequence[Hypothesis]]) -> list[list[list[int]]]:
    return [[h.ids for h in hypotheses] for hypotheses in searches]


def references(tokens: int, count: int = 12) -> list[ConstraintSet]:
    """For each of the first sentences, words of its reference to require, of at most so many pieces, and to forbid."""
    target, chance, sets = tiny.translator("de-en").target, random.Random(1), []
    for _, reference in tiny.pairs(count):
        words = list(dict.fromkeys(word for word in constraint_words(reference) if word.isalpha()))
        chance.shuffle(words)
        required: list[str] = []
        for word in words:
            if len(target.spell(" ".join([*required, word]))) <= tokens:
                required.append(word)
        rest = [word for word in words if word.lower() not in {r.lower() for r in required}]
        sets.append(ConstraintSet(tuple(required), tuple(rest[:2]), (reference.split()[0],)))
    return sets


@pytest.mark.parametrize("beam", [1, 2, 5, 12])
def test_the_best_translation_meets_its_constraints(sources, beam):
    target, sets = tiny.translator("de-en").target, references(6)
    ready = SharedEngine(tiny.model(len(target), 17, 7.5).double())  # ends its sentences soon
    lexical = lexical_for(sets)
    assert max(lexical.tokens.tolist()) == 6
    searches = beam_search(ready, sources[:12], beam, LIMIT, 1, 1.0, lexical)
    texts = target.decode([h.ids for (h,) in searches])
    assert [constraint_set.unmet(text) for constraint_set, text in zip(sets, texts, strict=True)] == [[]] * 12
    assert all(h.ended for (h,) in searches)
    free = target.decode([h.ids for (h,) in beam_search(ready, sources[:12], beam, LIMIT)])
    assert all(constraint_set.unmet(text) for constraint_set, text in zip(sets, free, strict=True)), "not met by chance"


@pytest.mark.slow
def test_constrained_in_a_batch_is_constrained_one_by_one(engine, sources):
    sets, each = references(5), [3, 1, 0, 2, 1, 1, 1, 1, 1, 0, 0, 1]
    all_sets = [sets[n] if k != 1 else ConstraintSet(negative=("the",)) for n, c in enumerate(each) for k in range(c)]
    together = beam_search(engine, sources[:12], 5, LIMIT, 3, 1.0, lexical_for(all_sets), each)
    sentence = [n for n, count in enumerate(each) for _ in range(count)]
    alone = [
        beam_search(engine, [sources[n]], 5, LIMIT, 3, 1.0, lexical_for([constraint_set]))[0]
        for n, constraint_set in zip(sentence, all_sets, strict=True)
    ]
    assert_same_searches(all_scored(together), all_scored(alone))
    assert len({tuple(h[0].ids) for h in together[:2]}) == 2


def test_searches_without_constraints_are_free_beside_those_with(engine, sources):
    sets = [constraint_set if n % 2 else ConstraintSet() for n, constraint_set in enumerate(references(5))]
    mixed = beam_search(engine, sources[:12], 4, LIMIT, 4, 1.0, lexical_for(sets))
    plain = beam_search(engine, sources[:12], 4, LIMIT, 4)
    assert lexical_for([ConstraintSet()] * 12) is None
    assert_same_searches(all_scored(mixed[::2]), all_scored(plain[::2]))
    assert all(a != b for a, b in zip(ids_of(mixed)[1::2], ids_of(plain)[1::2], strict=True))


def test_a_forbidden_word_is_in_no_hypothesis_however_it_is_spelled(engine, sources):
    target = tiny.translator("de-en").target
    plain = beam_search(engine, sources, 5, LIMIT, 5)
    texts = target.decode([h.ids for hypotheses in plain for h in hypotheses])
    word = max(words := [w for text in texts for w in constraint_words(text) if w.islower()], key=words.count)
    constraint_set = ConstraintSet(negative=(word,))
    searches = beam_search(engine, sources, 5, LIMIT, 5, 1.0, lexical_for([constraint_set] * len(sources)))
    texts = target.decode([h.ids for hypotheses in searches for h in hypotheses if h.ended])
    assert len(texts) > 40
    assert not any(constraint_set.unmet(text) for text in texts)


def test_each_sentence_has_its_own_limit(never, sources):
    searches = beam_search(never, sources[:3], 4, [3, 7, 5], 4, searches_each=[1, 2, 1])
    assert [[len(h.ids) for h in hypotheses] for hypotheses in searches] == [[3] * 4, [7] * 4, [7] * 4, [5] * 4]
    assert_same_searches(all_scored(searches[1:2]), all_scored(beam_search(never, sources[1:2], 4, 7, 4)))


def test_a_limit_beyond_the_model_is_the_models(never):
    (hypothesis,) = beam_search(never, [[5, 6, 0]], 2, 10_000)[0]
    assert len(hypothesis.ids) == 127 and not hypothesis.ended


def test_no_search_no_hypothesis(engine, sources):
    assert beam_search(engine, [], 4, LIMIT) == []
    assert beam_search(engine, sources[:2], 4, LIMIT, searches_each=[0, 0]) == []


@pytest.mark.parametrize(("beam", "n_best"), [(0, 0), (0, 1), (4, 5), (4, 0), (-1, -1)])
def test_a_beam_that_is_none(engine, sources, beam, n_best):
    with pytest.raises(ValueError, match=f"wanted 1 <= n_best <= beam, got n_best {n_best} and beam {beam}"):
        beam_search(engine, sources, beam, LIMIT, n_best)


def test_more_constraint_tokens_than_tokens(engine, sources):
    lexical = lexical_for([ConstraintSet(), ConstraintSet(("a", "a", "a"))])
    count = int(lexical.tokens[1])
    message = (
        rf"wanted fewer constraint tokens than a hypothesis may have, got {count} of them and at most {count} tokens "
        "with EOS in search 1; require less or raise max_tokens"
    )
    with pytest.raises(ValueError, match=message):
        beam_search(engine, sources[:2], 4, count, constraints=lexical)
    beam_search(engine, sources[:2], 4, count + 1, constraints=lexical)
