"""ParaPLUIE: by how much a language model rather says "Yes" than "No", asked whether two texts are paraphrases.

Nothing is generated: the score takes as long as to read the question. It is above 0 where the model holds "Yes" for
more probable. The examples and the wording of the question are ours.

Source: Lemesle et al. (2025), "Paraphrase Generation Evaluation Powered by an LLM: A Semantic Metric, Not a Lexical
One", COLING.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkit.chat.requests import Message
from toolkit.data.rows import Row
from toolkit.models.language_model import LanguageModel
from toolkit.score._answers import answer_ids, answer_log_probabilities

ANSWERS = YES, NO = ("Yes", "No")
QUESTION = "Text: {}\nRewritten: {}\nDoes the rewritten text mean the same as the text? Answer with Yes or No."
EXAMPLES = (  # ours
    ("The shop opens at nine.", "The store is open from nine o'clock.", YES),
    ("She sold her car to a neighbour.", "A neighbour sold her a car.", NO),
)
DECIMALS = 4  # ours: further digits differ from batch to batch


def parapluie_signature(model: LanguageModel) -> str:
    """The settings of the score."""
    return f"log-odds of {YES} and {NO}|{model.signature}|examples:{len(EXAMPLES)}|decimals:{DECIMALS}|v:1.0.0"


def parapluie_rows(rows: Iterable[Row], model: LanguageModel, batch_tokens: int) -> Iterator[Row]:
    """Fill `parapluie` of every candidate without a reason.

    A question that the model cannot read whole has no score.

    Args:
        rows: Rows with candidates; all of a shard are held at a time.
        model: What `toolkit.score.critic.load_critic` returns.
        batch_tokens: Tokens that are read at a time.

    Raises:
        ValueError: "Yes" and "No" begin with the same token of the model.

    Source: Lemesle et al. (2025).
    """
    shard = list(rows)
    yes, no = answer_ids(ANSWERS, model)
    for candidate, logs in answer_log_probabilities(shard, question, (yes, no), model, batch_tokens):
        candidate.scores.parapluie = round(logs[0] - logs[1], DECIMALS)
    yield from shard


def question(row: Row, text: str) -> list[Message]:
    """The chat that asks for one candidate."""
    examples = [
        message
        for first, second, answer in EXAMPLES
        for message in (Message("user", QUESTION.format(first, second)), Message("assistant", answer))
    ]
    return [*examples, Message("user", QUESTION.format(row.reference, text))]
