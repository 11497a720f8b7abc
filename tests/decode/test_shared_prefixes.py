"""Every distinct prefix is decoded once, and the samples are those of a row for each sample."""

import pytest
import torch

from tests import families
from tests import firefox_folders as firefox
from tests.decode.plain_sampling import phrases_forbid, plain_sample
from tests.tiny import pairs, translator, wide_translator
from toolkit.decode import _source as source
from toolkit.decode._expanded import ExpandedEngine
from toolkit.decode.engine import Engine
from toolkit.decode.sampling import WHOLE, _branch, _Children, sample
from toolkit.decode.shared import SharedEngine

EACH, LIMIT = 24, 12


@pytest.fixture(scope="module")
def sources() -> list[list[int]]:
    texts = [german for german, _ in pairs(3)]
    return translator("de-en").source.encode([*texts, texts[0], "Ja."])


@pytest.fixture(scope="module", params=["shared", "expanded", "recurrent", "shortlist"])
def engine(request) -> Engine:
    if request.param in ("recurrent", "shortlist"):
        return firefox.wide_engine(request.param == "shortlist")
    model = wide_translator("de-en").model
    return SharedEngine(model) if request.param == "shared" else ExpandedEngine(model)


def phrases_of(engine: Engine, sources: list[list[int]], kind: str) -> list[list[list[int]]]:
    """Lists of phrases, several samples each, of ids that free samples say often."""
    if kind == "none":
        return [[] for _ in sources]
    plain = sample(engine, sources, [[]], list(range(5 * EACH)), 10, LIMIT)
    lists = []
    for n in range(4 * len(sources)):
        ids = plain[6 * n].ids
        lists.append([[ids[0]], ids[1:3] or [7], ids[2:5] or [8]][: n % 4] if kind == "some" else [[i] for i in ids])
    return lists


@pytest.mark.filterwarnings("ignore:.*decode without shared encoder states")
@pytest.mark.parametrize(
    ("kind", "top_k", "min_p"),
    [("none", 10, 0.0), ("some", 10, 0.0), ("many", 10, 0.0), ("some", 3, 0.05), ("some", 1, 0.0), ("many", 10, 0.3)],
)
def test_samples_are_those_of_a_row_for_each(engine, sources, kind, top_k, min_p):
    phrases, keys = phrases_of(engine, sources, kind), [977 * n for n in range(len(sources) * EACH)]
    samples = sample(engine, sources, phrases, keys, top_k, LIMIT, min_p)
    forbids = phrases_forbid(phrases, len(keys))
    expected = plain_sample(engine, sources, forbids, keys, top_k, LIMIT, min_p)
    assert [s.ids for s in samples] == [ids for ids, _ in expected]
    assert [s.logprob for s in samples] == pytest.approx([logprob for _, logprob in expected], abs=1e-5)


class Counting(SharedEngine):
    """An engine that counts the rows that it advances."""

    advanced = 0

    def step(self, state, ids):
        self.advanced += len(ids)
        return super().step(state, ids)


@pytest.mark.parametrize("name", ["marian", "t5"])
def test_sentences_of_other_lengths_are_encoded_apart_and_nothing_changes(name, monkeypatch):
    small_translator = families.translator(name, "de", "en")
    engine = SharedEngine(families.plain_model(small_translator))
    sequences = sorted(small_translator.source.encode([german for german, _ in pairs(80)]), key=len)
    parts = source.runs_of_similar([len(ids) for ids in sequences])
    assert len(parts) > 1 and [n for part in parts for n in range(80)[part]] == list(range(80))
    keys, values, mask = engine.encode(sequences)
    monkeypatch.setattr(source, "RUN", 81)
    for layers, expected_layers in zip((keys, values), engine.encode(sequences), strict=False):
        for layer, expected in zip(layers, expected_layers, strict=True):
            real = (mask[:, 0, 0] == 0)[:, None, :, None]
            torch.testing.assert_close(layer * real, expected * real, atol=1e-3, rtol=1e-3)


def test_a_row_is_a_distinct_prefix(sources):
    engine = Counting(wide_translator("de-en").model)
    samples = sample(engine, sources, [[]], list(range(5 * EACH)), 10, LIMIT)
    prefixes = {
        (n // EACH, tuple(s.ids[:step])) for n, s in enumerate(samples) for step in range(len(s.ids)) if step < LIMIT
    }
    spare = WHOLE * max(len(output.ids) for output in samples)
    assert len(prefixes) <= engine.advanced < 1.15 * len(prefixes) + spare, "and few rows that nothing came of"
    assert engine.advanced < 0.9 * sum(len(s.ids) for s in samples)
    engine.advanced = 0
    (first, *rest) = sample(engine, sources[:1], [[]], list(range(EACH)), 1, LIMIT)
    assert rest == [first] * (EACH - 1) and engine.advanced == len(first.ids)


class Moves:
    """An engine of which only what `move` is given matters: a row is a list of what it said."""

    pad = -7

    def move(self, state, source, target, rows):
        assert not set(source.tolist()) & set(target.tolist())
        prefixes = [state.said[n] if n < len(state.said) else None for n in range(max(rows, len(state.said)))]
        for origin, place in zip(source.tolist(), target.tolist(), strict=True):
            prefixes[place] = state.said[origin]
        state.said, state.sentence = prefixes[:rows], torch.zeros(rows)


class Said:
    def __init__(self, rows: int):
        self.said, self.sentence = [[n] for n in range(rows)], torch.zeros(rows)


@pytest.mark.parametrize("seed", range(30))
def test_branching_keeps_every_samples_prefix(seed):
    chance = torch.Generator().manual_seed(seed)
    rows, samples = 1 + seed % 7, 1 + 3 * seed
    state, row = Said(rows), torch.randint(0, rows, (samples,), generator=chance)
    prefixes = [[int(n)] for n in row]
    for _ in range(6):
        tokens = torch.randint(0, 3, (len(row),), generator=chance)
        alive = torch.rand(len(row), generator=chance) < 0.8
        alive[0] = True
        prefixes = [[*before, int(token)] for before, token in zip(prefixes, tokens, strict=True)]
        children = _Children.of(row, tokens, alive)
        assert sorted(children.samples.tolist()) == torch.nonzero(alive).flatten().tolist()
        prefixes = [prefixes[n] for n in children.samples.tolist()]
        row, last = _branch(Moves(), state, children)
        for place, token in enumerate(last.tolist()):
            if token != Moves.pad:
                state.said[place] = [*state.said[place], token]
        assert [state.said[place] for place in row.tolist()] == prefixes
        distinct = {tuple(prefix) for prefix in prefixes}
        assert len(set(row.tolist())) == len(distinct) and len(distinct) <= len(last) == len(state.sentence)
