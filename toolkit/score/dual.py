"""The backward half of the dual score: the likelihood of the source given a candidate (ParaBank 2, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from toolkit.data.progress import parts_at_hand
from toolkit.data.rows import Candidate, Row
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.likelihood import log_likelihood
from toolkit.translator.load import Translator


def dual_rows(rows: Iterable[Row], backward: Translator, batch_tokens: int) -> Iterator[Row]:
    """Fill `backward_logprob` and `backward_tokens` of every candidate without a reason.

    Both sides are segmented by Viterbi. A candidate gets the reason "too_long" if it or its source has more tokens than
    the model has positions.

    Args:
        rows: Rows with a source; all of a shard are held at a time.
        backward: A translator from the references' language to the source language.
        batch_tokens: Greatest size of a batch: pairs times the longer side's tokens.

    Source: ParaBank 2 (Hu et al. 2019b), section 2.2.
    """
    shard = list(rows)
    sources = backward.target.encode([row.source or "" for row in shard])
    indexed_candidates = [(i, c) for i, row in enumerate(shard) for c in row.candidates if c.reason is None]
    inputs = backward.source.encode([c.text for _, c in indexed_candidates])
    likelihoods = _likelihoods(
        shard, indexed_candidates, inputs, [sources[i] for i, _ in indexed_candidates], backward, batch_tokens
    )
    for candidate, score, tokens in likelihoods:
        candidate.scores.backward_logprob, candidate.scores.backward_tokens = score, tokens
    yield from shard


def forward_rows(rows: Iterable[Row], forward: Translator, batch_tokens: int) -> Iterator[Row]:
    """Fill `forward_logprob` and `forward_tokens` of every candidate without a reason: of one that no translator wrote.

    Args:
        rows: Rows with a source; all of a shard are held at a time.
        forward: A translator from the source language to the references' language.
        batch_tokens: See `dual_rows`, which also refuses longer pairs as "too_long".
    """
    shard = list(rows)
    sources = forward.source.encode([row.source or "" for row in shard])
    indexed_candidates = [(i, c) for i, row in enumerate(shard) for c in row.candidates if c.reason is None]
    outputs = forward.target.encode([c.text for _, c in indexed_candidates])
    likelihoods = _likelihoods(
        shard, indexed_candidates, [sources[i] for i, _ in indexed_candidates], outputs, forward, batch_tokens
    )
    for candidate, score, tokens in likelihoods:
        candidate.scores.forward_logprob, candidate.scores.forward_tokens = score, tokens
    yield from shard


def _likelihoods(
    shard: Sequence[Row],
    indexed_candidates: Sequence[tuple[int, Candidate]],
    inputs: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    model: Translator,
    batch_tokens: int,
) -> Iterator[tuple[Candidate, float, int]]:
    """The log-likelihood of each output given its input; what is longer than the model gets the reason "too_long".

    Args:
        shard: The rows.
        indexed_candidates: Numbers of rows with one of their candidates.
        inputs: Ids for each of them.
        outputs: Likewise.
        model: It scores.
        batch_tokens: Greatest size of a batch.

    Yields:
        The candidates that are not too long, the log-likelihood, and the number of tokens of the output.
    """
    engine = engine_of(model.model)
    longest_output = engine.limit - len(engine.given) + 1  # the decoder reads the given tokens, and not the last token
    fits = [
        len(input_ids) <= engine.limit and len(output_ids) <= longest_output
        for input_ids, output_ids in zip(inputs, outputs, strict=True)
    ]
    for fit, (_, candidate) in zip(fits, indexed_candidates, strict=True):
        candidate.reason = None if fit else "too_long"
    indexed_candidates = list(compress(indexed_candidates, fits))
    inputs, outputs = list(compress(inputs, fits)), list(compress(outputs, fits))
    working = parts_at_hand(shard, [shard[i] for i, _ in indexed_candidates], len(indexed_candidates))
    scores = log_likelihood(engine, inputs, outputs, batch_tokens, working)
    for output, (_, candidate), score in zip(outputs, indexed_candidates, scores, strict=True):
        yield candidate, score, len(output)
