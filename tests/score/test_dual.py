"""Log-likelihoods against the model's own logits, and the dual score with its sign."""

import pytest
import torch

from tests import families
from tests.tiny import pairs, translator
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.likelihood import _batches, log_likelihood
from toolkit.decode.shared import SharedEngine
from toolkit.score.dual import dual_rows
from toolkit.select.filter import refuse_dual


def alone(source: list[int], output: list[int]) -> float:
    """log p(output | source) of one pair without padding, from the logits of the whole model."""
    model = translator("en-de").model
    decoder_ids = torch.tensor([[model.config.decoder_start_token_id, *output[:-1]]])
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=decoder_ids).logits[0].double()
    return sum(logits[step].log_softmax(-1)[token].item() for step, token in enumerate(output))


@pytest.mark.parametrize("batch_tokens", [1, 200, 100_000])
def test_log_likelihood_is_the_models_own(batch_tokens):
    texts = [*pairs(8), ("Ja.", "Yes, of course."), ("Ja.", ""), ("", "Yes."), ("Nein!", "No.")]
    backward = translator("en-de")
    inputs, outputs = backward.source.encode([e for _, e in texts]), backward.target.encode([d for d, _ in texts])
    scores = log_likelihood(SharedEngine(backward.model), inputs, outputs, batch_tokens)
    expected = [alone(source, output) for source, output in zip(inputs, outputs, strict=True)]
    assert scores == pytest.approx(expected, abs=1e-3)
    assert len({round(score, 2) for score in scores}) == len(texts)
    assert max(scores) < 0


def test_nothing_to_score():
    assert log_likelihood(SharedEngine(translator("en-de").model), [], [], 100) == []


def test_batches_hold_their_budget_and_one_output_length():
    lengths = [(n * 7 % 23 + 1, n * 5 % 6 + 1) for n in range(60)]
    inputs, outputs = [[3] * n for n, _ in lengths], [[3] * n for _, n in lengths]
    order = sorted(range(60), key=lambda i: (len(outputs[i]), len(inputs[i])))
    batches = list(_batches(order, inputs, outputs, 50))
    assert [i for batch in batches for i in batch] == order
    for batch in batches:
        assert len({len(outputs[i]) for i in batch}) == 1
        assert len(batch) == 1 or len(batch) * max(max(len(inputs[i]), len(outputs[i])) for i in batch) <= 50
    assert len(batches) < 30


def test_rows_get_backward_scores_of_the_candidates_that_are_in():
    first = Row("a-1", "a", "Ich bin müde.", "de", "I am tired.", "en", "train")
    first.candidates = [Candidate("I'm tired.", "sample"), Candidate("x", "sample", reason="unfinished")]
    second = Row("a-2", "a", "Nein.", "de", "No.", "en", "train", candidates=[Candidate("Not at all.", "sample")])
    backward = translator("en-de")
    rows = list(dual_rows([first, second], backward, 1000))
    assert [row.id for row in rows] == ["a-1", "a-2"]
    for row, candidate in ((first, first.candidates[0]), (second, second.candidates[0])):
        source = backward.target.encode([row.source])[0]
        assert candidate.scores.backward_tokens == len(source)
        expected = alone(backward.source.encode([candidate.text])[0], source)
        assert candidate.scores.backward_logprob == pytest.approx(expected, abs=1e-3)
    assert first.candidates[1].scores == Scores()


@pytest.mark.filterwarnings("ignore:.*decode without shared encoder states")
@pytest.mark.parametrize("batch_tokens", [1, 300])
@pytest.mark.parametrize("name", families.NAMES)
def test_a_backward_translator_of_any_family(name, batch_tokens):
    rows = [Row(f"a-{n}", "a", de, "de", en, "en", "train") for n, (de, en) in enumerate(pairs(4))]
    for row in rows:
        row.candidates = [Candidate(row.reference, "sample"), Candidate("Yes, of course.", "sample")]
    backward = families.translator(name, "en", "de")
    scored = list(dual_rows(rows, backward, batch_tokens))
    assert [row.id for row in scored] == ["a-0", "a-1", "a-2", "a-3"]
    for row in scored:
        ids = backward.target.encode([row.source])[0]
        for candidate in row.candidates:
            prefix = engine_of(backward.model).given
            source = torch.tensor(backward.source.encode([candidate.text]))
            with torch.no_grad():
                read = torch.tensor([[*prefix, *ids[:-1]]])
                logits = backward.model(input_ids=source, decoder_input_ids=read).logits[0, len(prefix) - 1 :].double()
            expected = logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None]).sum().item()
            assert candidate.scores.backward_logprob == pytest.approx(expected, abs=1e-3)
            assert candidate.scores.backward_tokens == len(ids)
            assert ids[-1] == backward.target.eos and not set(prefix) & set(ids[:-1])


@pytest.mark.filterwarnings("ignore:.*decode without shared encoder states")
def test_a_family_has_the_positions_that_it_has():
    long = " ".join(["ja"] * 150)
    for name, reason in (("m2m100", "too_long"), ("t5", None), ("mt5", None)):
        row = Row("a-1", "a", "Ja.", "de", "Yes.", "en", "train", candidates=[Candidate(long, "sample")])
        assert [r.candidates[0].reason for r in dual_rows([row], families.translator(name, "en", "de"), 500)] == [
            reason
        ]


def test_dual_is_forward_plus_backward_per_token():
    assert Scores(-6.0, 3, -5.0, 2).dual == -4.5
    assert Scores(forward_logprob=-6.0, forward_tokens=3).dual is None
    assert Scores(backward_logprob=-6.0, backward_tokens=3).dual is None
    assert Scores(0.0, 3, 0.0, 2).dual == 0.0


def test_dual_prefers_a_long_candidate_that_is_more_probable_per_token():
    short, long = Scores(-4.0, 2, -4.0, 4), Scores(-9.0, 9, -4.0, 4)  # the sum of log-probabilities prefers the short
    assert (short.dual, long.dual) == (-3.0, -2.0)


@pytest.mark.parametrize(
    ("forward", "backward", "reason"),
    [
        ((-1.0, 1), (-1.0, 1), None),  # 2.0 nats
        ((-7.0, 4), (-7.0, 4), None),  # 3.5 nats: not greater
        ((-7.0, 4), (-7.004, 4), "dual"),  # 3.501
        ((-3.6, 1), (0.0, 5), "dual"),
        ((0.0, 1), (-3.6, 1), "dual"),
        ((-30.0, 20), (-30.0, 20), None),  # 60 nats in all, but 3.0 per token
        ((0.0, 1), (0.0, 1), None),  # certain both ways: the best there is
    ],
)
def test_refused_exactly_above_the_limit(forward, backward, reason):
    row = Row(
        "a-1",
        "a",
        "x",
        "de",
        "y",
        "en",
        "train",
        candidates=[Candidate("z", "sample", scores=Scores(*forward, *backward))],
    )
    assert [r.candidates[0].reason for r in refuse_dual([row], 3.5)] == [reason]


def test_a_score_that_is_no_number_is_refused():
    candidate = Candidate("z", "sample", scores=Scores(-1.0, 1, float("nan"), 1))
    row = Row("a-1", "a", "x", "de", "y", "en", "train", candidates=[candidate])
    assert [c.reason for c in next(iter(refuse_dual([row], 3.5))).candidates] == ["dual"]


def test_a_refused_candidate_keeps_its_first_reason():
    bad = Candidate("z", "sample", scores=Scores(-9.0, 1, -9.0, 1), reason="unfinished")
    unmeasured = Candidate("y", "sample")
    row = Row("a-1", "a", "x", "de", "y", "en", "train", candidates=[bad, unmeasured])
    assert [c.reason for c in next(iter(refuse_dual([row], 3.5))).candidates] == ["unfinished", None]
