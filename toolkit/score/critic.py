"""What a causal language model says of a candidate: how probable it is after its reference, and how natural beside it.

Both are measures of ours. A small model that has read the reference is sure of a candidate that is grammatical and says
much the same; without the reference it only knows the grammar. A fluent text about something else may score as high as
a freely worded paraphrase, so the first score goes with one of meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import torch

from toolkit.data.progress import parts_at_hand
from toolkit.data.rows import Row
from toolkit.models.language_model import LanguageModel, beginning_of, load_language_model
from toolkit.models.token_trees import check_reads_trees, log_probabilities_after
from toolkit.score.judge import BOTH_WAYS, WITH_CRITIC, judge_rows, read_judge
from toolkit.translator.packed import pack_layers

Working = Callable[[Sequence[int]], AbstractContextManager[object]]  # of `log_probabilities_after`
DECIMALS = 6  # ours: further digits differ from batch to batch


def load_critic(name: str, dtype: str, device: torch.device | str | None = None) -> LanguageModel:
    """Load a causal language model that scores or writes: on a CPU its layers become faster ones (`packed.py`).

    Args:
        name: A Hub id, a local path or "starter/rewriter".
        dtype: See `load_language_model`.
        device: Device on which it computes; None is a GPU where there is one.

    Raises:
        ValueError: See `load_language_model`, or its attention follows no given mask (recurrent models).
    """
    model = load_language_model(name, dtype, device)
    if model.model.device.type == "cpu":
        pack_layers(model.model)
    check_reads_trees(model)
    return model


def critic_signature(model: LanguageModel) -> str:
    """The settings of both scores."""
    settings = f"after:reference and line break|less:repetition|eos:no|decimals:{DECIMALS}|v:1.2.0"
    return f"nats per token|{model.signature}|{settings}"


def critic_rows(
    rows: Iterable[Row], model: LanguageModel, batch_tokens: int, relative_fluency: bool = True
) -> Iterator[Row]:
    """Fill `given_reference`, `after_reference` and its parts and, unless it is not wanted, `relative_fluency`.

    These are filled of every candidate without a reason. The parts are `changed_words`, `after_changes` and
    `unchanged_words` (`_change_scores`).

    `given_reference` is relative to a repetition of the reference, whose probability differs from text to text, as the
    model knows its words. A reference, and the words with which several of its candidates begin, are read once
    (`token_trees.py`). Where a text or its reference has no tokens, there is no score.

    Args:
        rows: Rows with candidates; all of a shard are held at a time.
        model: What `load_critic` returns.
        batch_tokens: Tokens that are read at a time, at least those of one reference with its candidates.
        relative_fluency: Whether that score is filled, which takes as much time again.
    """
    shard = list(rows)
    candidate_lists = [[candidate for candidate in row.candidates if candidate.reason is None] for row in shard]
    scored_rows = [row for row, candidates in zip(shard, candidate_lists, strict=True) if candidates]
    candidate_lists = [candidates for candidates in candidate_lists if candidates]
    texts = [
        [row.reference, *(c.text for c in candidates)]
        for row, candidates in zip(scored_rows, candidate_lists, strict=True)
    ]
    working = parts_at_hand(shard, scored_rows, sum(map(len, texts)))
    token_scores = _token_scores(texts, model, batch_tokens, True, working)
    for candidates, (repetition, *candidate_scores) in zip(candidate_lists, token_scores, strict=True):
        for candidate, text in zip(candidates, candidate_scores, strict=True):
            if repetition.logs and text.logs:
                mean, scores = text.mean(), candidate.scores
                scores.given_reference, scores.after_reference = round(mean - repetition.mean(), DECIMALS), mean
                parts = _change_scores(repetition.ids, text)
                scores.changed_words, scores.after_changes, scores.unchanged_words = parts
    fluencies = _token_scores(texts, model, batch_tokens, False) if relative_fluency else []
    for candidates, (reference, *candidate_scores) in zip(candidate_lists, fluencies, strict=relative_fluency):
        for candidate, text in zip(candidates, candidate_scores, strict=True):
            if reference.logs and text.logs:
                candidate.scores.relative_fluency = round(text.mean() - reference.mean(), DECIMALS)
    yield from shard


def read_back_rows(rows: Iterable[Row], model: LanguageModel, batch_tokens: int) -> Iterator[Row]:
    """Fill `after_candidate`, `after_candidate_total` and `after_candidate_least` of candidates without a reason.

    They say how probable the reference is to a model that has read the candidate: what the candidate left out, or
    replaced by something that means more than it, is improbable. What is scored has no beginning in common, so a
    candidate takes several times as long as by `critic_rows`.

    Args:
        rows: See `critic_rows`.
        model: Likewise.
        batch_tokens: Likewise.
    """
    shard = list(rows)
    pairs = [(row, c) for row in shard for c in row.candidates if c.reason is None]
    tokenizer: Any = model.tokenizer
    queries = [
        (
            beginning_of(c.text, tokenizer),
            [tokenizer(row.reference, add_special_tokens=False, verbose=False)["input_ids"]],
        )
        for row, c in pairs
    ]
    working = parts_at_hand(shard, [row for row, _ in pairs], len(pairs))
    scores = log_probabilities_after(queries, model, batch_tokens, working)
    for (_, candidate), (logs,) in zip(pairs, scores, strict=True):
        if logs:
            total = math.fsum(logs)
            candidate.scores.after_candidate = round(total / len(logs), DECIMALS)
            candidate.scores.after_candidate_total = round(total, DECIMALS)
            candidate.scores.after_candidate_least = round(min(logs), DECIMALS)
    yield from shard


def judge_by_reading(
    rows: Iterable[Row], model: LanguageModel, batch_tokens: int, cut: Callable[[Iterable[Row]], Iterable[Row]]
) -> Iterator[Row]:
    """Fill the scores of a language model, and by them `usable`, of candidates without a reason.

    Args:
        rows: English rows whose candidates have the other scores of the judge.
        model: See `critic_rows`.
        batch_tokens: Likewise.
        cut: Refuses candidates, by `usable` as the judge has it before they are read back, which takes longest.
    """
    scored_rows = critic_rows(rows, model, batch_tokens, relative_fluency=False)
    read_back = read_back_rows(cut(judge_rows(scored_rows, read_judge(WITH_CRITIC))), model, batch_tokens)
    return judge_rows(read_back, read_judge(BOTH_WAYS))


class _TokenScores(NamedTuple):
    """A text as a language model reads it.

    Attributes:
        ids: Its tokens, those that have a probability.
        logs: Their log-probabilities in nats, <= 0.
    """

    ids: Sequence[int]
    logs: Sequence[float]

    def mean(self) -> float:
        """The log-probability in nats per token."""
        return round(math.fsum(self.logs) / len(self.logs), DECIMALS)


def _change_scores(reference: Sequence[int], text: _TokenScores) -> tuple[float, float, float]:
    """How probable a text is where it differs from its reference, right behind, and elsewhere.

    A word that does not fit is improbable, and so is what follows it.

    >>> _change_scores([1, 2, 3, 4], _TokenScores([1, 9, 3, 4], [-0.5, -4.0, -2.0, -0.5]))
    (-4.0, -2.0, -1.0)

    Args:
        reference: The tokens of the reference.
        text: A candidate after it.

    Returns:
        The sum over the tokens that the reference lacks, in nats; the least of a token that follows a difference; and
        the mean of those that are no difference; 0 where there are none.
    """
    edits = SequenceMatcher(None, reference, text.ids, autojunk=False).get_opcodes()
    changed_positions = {
        position for kind, _, _, begin, end in edits if kind != "equal" for position in range(begin, end)
    }
    following_logs = [text.logs[end] for kind, _, _, _, end in edits if kind != "equal" and end < len(text.logs)]
    unchanged_logs = [log for position, log in enumerate(text.logs) if position not in changed_positions]
    total = round(math.fsum(text.logs[position] for position in changed_positions), DECIMALS)
    mean = round(math.fsum(unchanged_logs) / len(unchanged_logs), DECIMALS) if unchanged_logs else 0.0
    return total, round(min(following_logs, default=0.0), DECIMALS), mean


def _token_scores(
    texts: Sequence[Sequence[str]],
    model: LanguageModel,
    batch_tokens: int,
    after_reference: bool,
    working: Working = nullcontext,
) -> list[list[_TokenScores]]:
    """Tokens with their log-probabilities.

    Args:
        texts: References, each followed by its candidates.
        model: What `load_critic` returns.
        batch_tokens: See `critic_rows`.
        after_reference: Whether each text is read after its reference and a line break, or else after the token that
            begins texts (or the one that ends them; without either the first token of a text is not counted).
        working: See `log_probabilities_after`.

    Returns:
        For each reference its own and those of its candidates.
    """
    tokenizer: Any = model.tokenizer
    begin = next(
        (token_id for token_id in (tokenizer.bos_token_id, tokenizer.eos_token_id) if token_id is not None), None
    )
    first = [] if begin is None else [begin]
    queries: list[tuple[list[int], list[list[int]]]] = []
    for reference, *candidates in texts:
        token_ids = tokenizer([reference, *candidates], add_special_tokens=False, verbose=False)["input_ids"]
        queries.append(((beginning_of(reference, tokenizer) if after_reference else []) or first, token_ids))
    log_probabilities = log_probabilities_after(queries, model, batch_tokens, working)
    return [
        [
            _TokenScores(ids[0 if beginning else 1 :][: len(logs)], logs)  # without a beginning the first has no number
            for ids, logs in zip(token_ids, text_logs, strict=True)
        ]
        for (beginning, token_ids), text_logs in zip(queries, log_probabilities, strict=True)
    ]
