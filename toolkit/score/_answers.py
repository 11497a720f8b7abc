"""The log-probabilities of some short answers of a language model to a question about each candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from toolkit.chat.requests import Message
from toolkit.data.progress import parts_at_hand
from toolkit.data.rows import Candidate, Row
from toolkit.models.language_model import LanguageModel, chat_ids
from toolkit.models.token_trees import log_probabilities_after, longest_beginning


def answer_ids(answers: Sequence[str], model: LanguageModel) -> list[int]:
    """The first token of each answer, by which the answers are told apart.

    Raises:
        ValueError: Two answers begin with the same token.
    """
    ids = [model.tokenizer(answer, add_special_tokens=False)["input_ids"][0] for answer in answers]
    if len(set(ids)) < len(ids):
        raise ValueError(
            f"wanted a language model that tells {', '.join(answers)} apart by a token, got {model.name}: give another"
        )
    return ids


def answer_log_probabilities(
    rows: Sequence[Row],
    question: Callable[[Row, str], Sequence[Message]],
    answers: Sequence[int],
    model: LanguageModel,
    batch_tokens: int,
) -> Iterator[tuple[Candidate, list[float]]]:
    """The candidates without a reason, each with the log-probabilities of the answers, in nats.

    A candidate whose question is too long for the model is left out.

    Args:
        rows: Rows with candidates.
        question: The chat that asks for a candidate of a row.
        answers: The token of each answer.
        model: The model, in whose template the chat is put.
        batch_tokens: Tokens that are read at a time.
    """
    pairs = [(row, candidate) for row in rows for candidate in row.candidates if candidate.reason is None]
    prompts = [chat_ids(question(row, candidate.text), model.tokenizer) for row, candidate in pairs]
    limit = longest_beginning(model)
    numbers = [number for number, prompt in enumerate(prompts) if len(prompt) <= limit]
    queries = [(prompts[number], [[answer] for answer in answers]) for number in numbers]
    working = parts_at_hand(rows, [pairs[number][0] for number in numbers], len(numbers) * len(answers))
    for number, logs in zip(numbers, log_probabilities_after(queries, model, batch_tokens, working), strict=True):
        yield pairs[number][1], [log for (log,) in logs]
