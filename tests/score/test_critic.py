"""The critic's two scores against one forward pass of transformers for each candidate."""

from difflib import SequenceMatcher

import pytest

from tests.language_models import alone, rows_of, saved, wide
from toolkit.data.progress import RowsFailed
from toolkit.data.rows import Candidate, Row
from toolkit.score.critic import beginning_of, critic_rows, critic_signature, load_critic, read_back_rows

TEXTS = {
    "He left the house.": ["He left home.", "He went out of the house.", "He left the house."],
    "Nobody saw her.": ["No one saw her.", "", "Nobody saw her"],
    "": ["Why?"],
    "It rained.": [],
}


@pytest.fixture(scope="module", params=[("gpt2", True), ("llama", True), ("llama", False)], ids=str)
def model(request, tmp_path_factory):
    kind, begins = request.param
    return wide(kind, tmp_path_factory.mktemp(kind), begins)


def rows():
    """A row for each reference; the last candidate of the first is refused."""
    result = rows_of(TEXTS)
    result[0].candidates[2].reason = "copy"
    return result


def differing(reference, text):
    """Of each token of a text whether it is outside of the blocks that both have."""
    blocks = SequenceMatcher(None, reference, text, autojunk=False).get_matching_blocks()
    return [not any(block.b <= n < block.b + block.size for block in blocks) for n in range(len(text))]


def mean(model, beginning, text):
    total, count = alone(model, beginning, text)
    return total / count if count else None


def test_scores_are_those_of_a_forward_pass_for_each_candidate(model):
    def read(text):
        return model.tokenizer(text, add_special_tokens=False)["input_ids"]

    first = [] if model.tokenizer.bos_token_id is None else [model.tokenizer.bos_token_id]
    for row in critic_rows(rows(), model, 512):
        reference_mean, beginning = mean(model, first, read(row.reference)), read(row.reference + "\n")
        repeated = mean(model, beginning, read(row.reference))
        for candidate in row.candidates:
            scores, text = candidate.scores, candidate.text
            if candidate.reason or not text or not row.reference:
                assert scores.given_reference is scores.relative_fluency is None
                continue
            text_mean = mean(model, beginning, read(text))
            assert scores.given_reference == pytest.approx(text_mean - repeated, abs=2e-6)
            assert abs(scores.given_reference) > 1e-3, "it is no repetition"
            assert scores.after_reference == pytest.approx(text_mean, abs=2e-6)
            differ = differing(read(row.reference), read(text))
            logs = [alone(model, beginning, read(text)[: n + 1])[0] for n in range(len(differ))]
            logs = [log - before for log, before in zip(logs, [0.0, *logs], strict=False)]
            changed = sum(log for log, differs in zip(logs, differ, strict=True) if differs)
            assert scores.changed_words == pytest.approx(changed, abs=2e-6)
            assert scores.unchanged_words == pytest.approx((sum(logs) - changed) / differ.count(False), abs=2e-6)
            behind = [logs[n] for n in range(1, len(logs)) if differ[n - 1] and not differ[n]]
            assert scores.after_changes <= min(behind, default=0.0) + 2e-6
            assert scores.relative_fluency == pytest.approx(mean(model, first, read(text)) - reference_mean, abs=2e-6)


def test_reading_back_scores_the_reference_after_each_candidate(model):
    def read(text):
        return model.tokenizer(text, add_special_tokens=False)["input_ids"]

    for row in read_back_rows(rows(), model, 512):
        for candidate in row.candidates:
            scores, text = candidate.scores, candidate.text
            if candidate.reason or not row.reference:
                assert scores.after_candidate is scores.after_candidate_total is scores.after_candidate_least is None
                continue
            ids = read(row.reference)
            sums = [alone(model, read(text + "\n"), ids[: n + 1])[0] for n in range(len(ids))]
            logs = [total - before for total, before in zip(sums, [0.0, *sums], strict=False)]
            assert scores.after_candidate_total == pytest.approx(sums[-1], abs=2e-6)
            assert scores.after_candidate == pytest.approx(sums[-1] / len(ids), abs=2e-6)
            assert scores.after_candidate_least == pytest.approx(min(logs), abs=2e-6)


def test_a_copy_is_as_probable_and_fluent_as_its_reference(model):
    row = Row("a-1", "a", None, None, "He left.", "en", "train", candidates=[Candidate("He left.", "beam")])
    (result,) = critic_rows([row], model, 512)
    assert result.candidates[0].scores.relative_fluency == result.candidates[0].scores.given_reference == 0


@pytest.mark.parametrize("batch_tokens", [1, 60])
def test_batches_change_nothing(model, batch_tokens):
    def scores(tokens):
        return [
            number
            for row in critic_rows(rows(), model, tokens)
            for candidate in row.candidates
            for number in (candidate.scores.given_reference, candidate.scores.relative_fluency)
            if number is not None
        ]

    assert scores(batch_tokens) == pytest.approx(scores(10_000), abs=2e-6) and len(scores(512)) == 8


@pytest.mark.parametrize("fill", [critic_rows, read_back_rows])
@pytest.mark.parametrize("batch_tokens", [1, 512])
def test_reading_moves_the_progress_bar_by_the_rows_and_an_error_names_them(model, monkeypatch, fill, batch_tokens):
    steps = []
    monkeypatch.setattr("toolkit.data.progress._advance", steps.append)
    shard = rows()
    list(fill(shard, model, batch_tokens))
    assert sum(steps) == pytest.approx(len(shard)) and len(steps) > (batch_tokens == 1)

    def fails(*_):
        raise RuntimeError("no memory")

    monkeypatch.setattr("toolkit.models.token_trees._tree_log_probabilities", fails)
    with pytest.raises(RowsFailed, match=f"row {shard[0].id}.*no memory"):
        list(fill(rows(), model, batch_tokens))


def test_rows_without_candidates_stay_as_they_are(model):
    assert list(critic_rows([], model, 512)) == []
    (row,) = critic_rows([rows()[3]], model, 512)
    assert row == rows()[3]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_loaded_critic_has_faster_layers_and_the_same_numbers(kind, tmp_path):
    critic, plain = load_critic(saved(kind, tmp_path / "m"), "float32", "cpu"), wide(kind, tmp_path / "w")
    for left, right in zip(critic_rows(rows(), critic, 512), critic_rows(rows(), plain, 512), strict=True):
        for a, b in zip(left.candidates, right.candidates, strict=True):
            assert a.scores.given_reference == pytest.approx(b.scores.given_reference, abs=1e-4)
    assert critic_signature(critic).startswith("nats per token|m|0.0M|float32|after:reference and line break")


def test_a_recurrent_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="wanted a model of the kind of Llama, GPT-2 or Qwen"):
        load_critic(saved("mamba", tmp_path / "m"), "float32", "cpu")


def test_a_token_that_ends_texts_does_not_end_the_reference():
    class Ends:
        eos_token_id = 0

        def __call__(self, text, verbose):
            return {"input_ids": [*map(ord, text), 0]}

    assert beginning_of("Hi", Ends()) == [72, 105, 10]
