"""Sampling against transformers' own generate, the model's own logits, and the distribution computed by hand."""

from collections import Counter

import pytest
import torch
from transformers import BlenderbotSmallConfig, BlenderbotSmallForConditionalGeneration

from tests.tiny import pairs, translator, wide_translator
from toolkit.decode._source import places
from toolkit.decode._top_k import top
from toolkit.decode.constraints import NONE
from toolkit.decode.draw import uniform
from toolkit.decode.sampling import Sample, sample, samples_of
from toolkit.decode.shared import SharedEngine

LIMIT = 40
CHI_SQUARE_9, CHI_SQUARE_15 = 27.88, 37.70  # p = 0.001 with 9 and 15 degrees of freedom (any statistics table)


@pytest.fixture(scope="module")
def engine() -> SharedEngine:
    return SharedEngine(wide_translator("de-en").model)


@pytest.fixture(scope="module")
def sources() -> list[list[int]]:
    """Seven sentences of 1 to 50 tokens, EOS included."""
    texts = [german for german, _ in pairs(4)] + ["Ja.", "", "Nein, danke!"]
    return translator("de-en").source.encode(texts)


def free(rows: int) -> list[list]:
    return [[] for _ in range(rows)]


def next_logprobs(source: list[int], prefix: list[int]) -> torch.Tensor:
    """The model's own log p(next token), (steps + 1, vocabulary), of one pair without padding."""
    model = wide_translator("de-en").model
    start = model.config.decoder_start_token_id
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[start, *prefix]])).logits
    return logits[0].double().log_softmax(-1)


def generate(sources: list[list[int]], **options: object) -> list[list[int]]:
    """transformers' greedy search on one padded batch, cut behind EOS; <pad> is not for saying."""
    model = wide_translator("de-en").model
    pad, eos = model.config.pad_token_id, model.config.eos_token_id
    longest = max(map(len, sources))
    ids = torch.tensor([[*s, *[pad] * (longest - len(s))] for s in sources])
    real = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in sources])
    output = model.generate(
        input_ids=ids,
        attention_mask=real,
        do_sample=False,
        num_beams=1,
        max_new_tokens=LIMIT,
        suppress_tokens=[pad],
        **options,
    )
    rows = [row[1:] for row in output.tolist()]
    return [row[: row.index(eos) + 1] if eos in row else row for row in rows]


def test_top_1_is_transformers_greedy_search(engine, sources):
    ids = [s.ids for s in sample(engine, sources, free(7), list(range(7)), 1, LIMIT)]
    assert len(set(map(len, ids))) > 2, "rows must end at different steps"
    assert ids == generate(sources)


def test_top_1_under_constraints_is_transformers_greedy_search_with_bad_words(engine, sources):
    plain = [s.ids for s in sample(engine, sources, free(7), list(range(7)), 1, LIMIT)]
    longest = max(plain, key=len)
    for phrases in ([[longest[0]]], [longest[:2], longest[1:4]], [[longest[0], longest[0]], longest[2:5]]):
        ids = [s.ids for s in sample(engine, sources, [phrases] * 7, list(range(7)), 1, LIMIT)]
        assert ids == generate(sources, bad_words_ids=phrases)
        assert ids != plain


def test_logprob_is_the_teacher_forced_number_of_the_same_ids(engine, sources):
    samples = sample(engine, sources, free(42), list(range(42)), 10, LIMIT)
    assert len({len(s.ids) for s in samples}) > 5
    assert sum(s.ended for s in samples) > 30
    for n, output in enumerate(samples):
        logprobs = next_logprobs(sources[n // 6], output.ids[:-1])
        expected = logprobs.gather(1, torch.tensor(output.ids)[:, None]).sum().item()
        assert output.logprob == pytest.approx(expected, abs=1e-3)


def test_a_row_is_cut_at_the_limit(engine, sources):
    samples = sample(engine, sources, free(28), list(range(28)), 10, 3)
    assert {len(s.ids) for s in samples} == {1, 2, 3}
    for output in samples:
        assert output.ended == (output.ids[-1] == engine.eos)
        assert engine.eos not in output.ids[:-1]
    assert any(not s.ended for s in samples)


@pytest.mark.slow
def test_a_batch_is_each_sentence_on_its_own(engine, sources):
    each, words = 6, sorted({i for s in sources for i in s if i > 2})
    phrases = [[[words[(5 * n + m) % len(words)]] for m in range(n % 4)] + [words[n : n + 2]] for n in range(7 * each)]
    sample_keys = [100 + n for n in range(7 * each)]
    together = sample(engine, sources, phrases, sample_keys, 10, LIMIT)
    alone: list[Sample] = []
    for i, source in enumerate(sources):
        part = slice(i * each, (i + 1) * each)
        alone += sample(engine, [source], phrases[part], sample_keys[part], 10, LIMIT)
    assert [s.ids for s in together] == [s.ids for s in alone]
    assert [s.logprob for s in together] == pytest.approx([s.logprob for s in alone], abs=1e-3)
    one_row = [
        sample(engine, [sources[n // each]], [phrases[n]], [sample_keys[n]], 10, LIMIT)[0] for n in range(0, 42, 5)
    ]
    assert [s.ids for s in one_row] == [s.ids for s in together[::5]]


def test_the_seed_decides(engine, sources):
    first = sample(engine, sources, free(14), list(range(14)), 10, LIMIT)
    assert sample(engine, sources, free(14), list(range(14)), 10, LIMIT) == first
    second = sample(engine, sources, free(14), list(range(14, 28)), 10, LIMIT)
    assert sum(a.ids != b.ids for a, b in zip(first, second, strict=True)) > 7


def chi_square(counts: list[int], shares: list[float]) -> float:
    total = sum(counts)
    return sum((n - total * p) ** 2 / (total * p) for n, p in zip(counts, shares, strict=True))


@pytest.mark.parametrize("forbidden", [0, 1, 3])
def test_first_tokens_follow_the_renormalised_top_k(engine, sources, forbidden):
    draws, source = 3000, sources[0]
    logprobs = next_logprobs(source, [])[0]
    order = [i for i in logprobs.argsort(descending=True).tolist() if i != engine.pad]
    banned, tokens = order[:forbidden], order[forbidden : forbidden + 10]
    samples = sample(engine, [source], [[[i] for i in banned]] * draws, list(range(draws)), 10, 1)
    weights = logprobs[tokens].exp()
    shares = (weights / weights.sum()).tolist()
    counts = [sum(s.ids == [i] for s in samples) for i in tokens]
    assert sum(counts) == draws, "only the 10 best that are allowed"
    assert min(shares) * draws >= 5
    assert chi_square(counts, shares) < CHI_SQUARE_9
    assert chi_square(counts, [0.1] * 10) > CHI_SQUARE_9, "the test can tell distributions apart"
    for output in samples[:200]:  # before mask, cut and renormalisation
        assert output.logprob == pytest.approx(logprobs[output.ids[0]].item(), abs=1e-4)


def test_a_forbidden_id_never_appears(engine, sources):
    plain = sample(engine, sources[:2], free(200), list(range(200)), 10, LIMIT)
    tokens = [i for s in plain for i in s.ids if i != engine.eos]
    word = max(set(tokens), key=tokens.count)
    samples = sample(engine, sources[:2], [[[word]]] * 200, list(range(200)), 10, LIMIT)
    assert all(word not in s.ids for s in samples)


def contains(ids: list[int], phrase: list[int]) -> bool:
    return any(ids[i : i + len(phrase)] == phrase for i in range(len(ids)))


def test_a_phrase_never_appears_but_its_last_id_may(engine, sources):
    plain = sample(engine, sources[:2], free(400), list(range(400)), 10, LIMIT)
    spans = [tuple(s.ids[i : i + 2]) for s in plain for i in range(len(s.ids) - 2)]
    phrase = list(max(set(spans), key=spans.count))
    samples = sample(engine, sources[:2], [[phrase]] * 400, list(range(400)), 10, LIMIT)
    assert not any(contains(s.ids, phrase) for s in samples)
    assert any(phrase[-1] in s.ids for s in samples)
    assert any(phrase[0] in s.ids for s in samples)


def test_rows_with_constraints_leave_the_others_alone(engine, sources):
    plain = sample(engine, sources[:2], free(40), list(range(40)), 10, LIMIT)
    word = plain[1].ids[0]
    mixed = sample(engine, sources[:2], [[] if n % 2 else [[word]] for n in range(40)], list(range(40)), 10, LIMIT)
    assert [s.ids for s in mixed[1::2]] == [s.ids for s in plain[1::2]]
    assert all(word not in s.ids for s in mixed[::2])
    assert any(a.ids != b.ids for a, b in zip(mixed[::2], plain[::2], strict=True))


@pytest.mark.parametrize("phrase", [[3] * 60, list(range(3, 40))])
def test_a_phrase_longer_than_the_limit_changes_nothing(engine, sources, phrase):
    plain = sample(engine, sources[:2], free(20), list(range(20)), 10, 8)
    assert sample(engine, sources[:2], [[phrase]] * 20, list(range(20)), 10, 8) == plain


def test_the_same_phrase_twice_is_once(engine, sources):
    phrase = sample(engine, sources[:1], free(1), [3], 1, LIMIT)[0].ids[:2]
    once = sample(engine, sources[:1], [[phrase, [7]]] * 10, list(range(10)), 10, LIMIT)
    assert sample(engine, sources[:1], [[phrase, phrase, [7], [7]]] * 10, list(range(10)), 10, LIMIT) == once


@pytest.mark.parametrize(
    ("sentences", "lists", "sample_keys", "top_k"),
    [(0, 0, 0, 10), (2, 3, 3, 10), (1, 2, 1, 10), (1, 0, 2, 10), (2, 4, 6, 10), (1, 2, 2, 0)],
)
def test_bad_arguments(engine, sources, sentences, lists, sample_keys, top_k):
    with pytest.raises(ValueError, match="wanted as many samples for every sentence"):
        sample(engine, sources[:sentences], free(lists), list(range(sample_keys)), top_k, LIMIT)


def test_an_empty_phrase_is_refused(engine, sources):
    with pytest.raises(ValueError, match="at least one token"):
        sample(engine, sources[:1], [[[]]], [0], 10, LIMIT)


def test_a_limit_beyond_the_model_is_the_models(engine, sources):
    samples = sample(engine, sources[:1], free(1), [0], 1, 10_000)
    assert len(samples[0].ids) < translator("de-en").model.config.max_position_embeddings


def test_the_engine_refuses_another_family():
    config = BlenderbotSmallConfig(vocab_size=50, d_model=16, encoder_layers=1, decoder_layers=1)
    with pytest.raises(ValueError, match=r"wanted a model of one of marian.*got 'blenderbot-small'"):
        SharedEngine(BlenderbotSmallForConditionalGeneration(config))


@pytest.mark.parametrize("vocabulary", [5, 31, 1279, 1280, 1300, 2049, 8003])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_top_is_topk(vocabulary, k):
    scores = torch.randn(17, vocabulary, generator=torch.Generator().manual_seed(vocabulary + k))
    scores[:, ::7] = -torch.inf
    scores[3, 2:] = -torch.inf  # fewer than k are left
    scores[4, : vocabulary - 40] = -torch.inf  # all in the last columns
    scores[5] = scores[5].round(decimals=1)  # ties
    values, indices = top(scores, k)
    expected = scores.topk(min(k, vocabulary), -1).values
    assert torch.equal(values, expected)
    assert torch.equal(scores.gather(1, indices), values)
    assert all(len(set(row)) == len(row) for row in indices.tolist())


def splitmix64(seed: int, step: int) -> float:
    """Number `step` of SplitMix64 (Steele, Lea & Flood 2014, figure 17) in Python's integers."""
    mask = (1 << 64) - 1
    z = (seed + (step + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return ((z ^ (z >> 31)) >> 11) / 2**53


def test_uniform_is_splitmix64():
    assert (
        int(splitmix64(1234567, 0) * 2**53) == 6457827717110365317 >> 11
    )  # rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64
    sample_keys = [0, 1, 7, 1234567, 2**62 + 12345, 2**63 - 1]
    for step in (0, 1, 2, 39, 511):
        assert uniform(torch.tensor(sample_keys), step).tolist() == [splitmix64(seed, step) for seed in sample_keys]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["seed", "step"])
def test_uniform_is_uniform(by):
    if by == "seed":
        numbers = uniform(torch.arange(16_000), 3)
    else:
        numbers = torch.cat([uniform(torch.tensor([42]), step) for step in range(16_000)])
    assert numbers.min() >= 0 and numbers.max() < 1
    assert chi_square(torch.histc(numbers, 16, 0, 1).int().tolist(), [1 / 16] * 16) < CHI_SQUARE_15
    assert len(set(numbers.tolist())) == 16_000
    assert abs(torch.corrcoef(torch.stack([numbers[1:], numbers[:-1]]))[0, 1]) < 0.03


def test_places_number_the_live_rows_of_each_sentence():
    for seed in range(20):
        sentence = torch.randint(0, 5, (23,), generator=torch.Generator().manual_seed(seed))
        place, width = places(sentence, 6)
        numbers = [sum(s == sentence[i] for s in sentence[:i].tolist()) for i in range(23)]
        assert place.tolist() == [int(s) * width + n for s, n in zip(sentence, numbers, strict=True)]
        assert width == max(sentence.tolist().count(s) for s in range(6))
        assert len(set(place.tolist())) == 23


def test_min_p_leaves_out_what_is_far_below_the_best(engine, sources):
    shares = next_logprobs(sources[0], [])[0].exp()
    best = shares.topk(10).values
    min_p = (best[2] / best[0]).item() * 0.999  # the third is just in
    samples = sample(engine, sources[:1], free(600), list(range(600)), 10, 1, min_p)
    assert {s.ids[0] for s in samples} == set(shares.topk(3).indices.tolist())
    assert len({s.ids[0] for s in sample(engine, sources[:1], free(600), list(range(600)), 10, 1)}) > 3


def test_top_p_leaves_the_most_probable_that_have_this_share_together(engine, sources):
    shares = next_logprobs(sources[0], [])[0].exp()
    best = shares.topk(10).values / shares.topk(10).values.sum()
    for left in (1, 3):
        share = best[:left].sum().item() * 0.999  # the last of them is needed
        samples = sample(engine, sources[:1], free(600), list(range(600)), 10, 1, 0.0, share)
        counts = Counter(output.ids[0] for output in samples)
        assert set(counts) == set(shares.topk(left).indices.tolist())
        parts = (best[:left] / best[:left].sum()).tolist()
        for token, part in zip(shares.topk(left).indices.tolist(), parts, strict=True):
            assert abs(counts[token] / 600 - part) < 4 * (part * (1 - part) / 600) ** 0.5 + 1e-9
    whole = sample(engine, sources[:1], free(600), list(range(600)), 10, 3, 0.0, 1.0)
    assert whole == sample(engine, sources[:1], free(600), list(range(600)), 10, 3)


def test_each_sentence_has_its_own_limit(engine, sources):
    samples = sample(engine, sources[:2], free(40), list(range(40)), 10, [3, 6])
    assert max(len(s.ids) for s in samples[:20]) == 3
    assert 3 < max(len(s.ids) for s in samples[20:]) <= 6


def test_equal_samples_of_a_sentence_are_one_object():
    ids = torch.tensor([[5, 0, NONE], [5, 6, 7], [5, 0, NONE], [5, 0, NONE], [8, 0, NONE], [5, 6, 7]])
    logprob = torch.tensor([-1.0, -2.0, -1.0, -1.5, -3.0, -2.5]).double()
    samples = samples_of(ids, logprob, 3, 0)
    assert samples[:3] == [Sample([5, 0], -1.0, True), Sample([5, 6, 7], -2.0, False), Sample([5, 0], -1.0, True)]
    assert samples[3:] == [Sample([5, 0], -1.5, True), Sample([8, 0], -3.0, True), Sample([5, 6, 7], -2.5, False)]
    assert samples[0] is samples[2] and samples[0] is not samples[3]
