"""From the decoded translations of a row to its candidates: equal texts are one candidate with several origins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolkit.data.rows import Candidate, Origin, Scores
from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.sampling import Sample

MAX_TOKENS_PER_SOURCE_TOKEN, MAX_TOKENS_MORE = 2, 10  # ours: a translation of more than 2 x source + 10 tokens is cut
LONG = 32  # ours: tokens of a source from which on a batch has fewer rows, so that its caches grow no more


def max_output_tokens(source_tokens: int) -> int:
    """The most tokens that the translation of a source may have."""
    return MAX_TOKENS_PER_SOURCE_TOKEN * source_tokens + MAX_TOKENS_MORE


def _rows_at_once(batch_rows: int, source_tokens: int) -> float:
    """How many rows a batch may have, if its longest source has so many tokens.

    The caches of a batch take memory for rows times tokens: without this a few long texts would take as much as a
    thousand usual ones.

    >>> _rows_at_once(2400, 10), _rows_at_once(2400, 64)
    (2400, 1200.0)

    Args:
        batch_rows: The most rows of a batch of sources of at most `LONG` tokens.
        source_tokens: EOS counted.
    """
    return batch_rows if source_tokens <= LONG else batch_rows * LONG / source_tokens


def _even_batches(tokens: Sequence[int], batch_rows: int) -> Iterator[list[int]]:
    """Cut sources into batches of similar length, short ones first; long sources have smaller ones (`_rows_at_once`).

    >>> list(_even_batches([5, 3, 64, 4], 2))
    [[1, 3], [0], [2]]

    Args:
        tokens: Of each source, EOS counted.
        batch_rows: The most sources of a batch.

    Yields:
        Numbers of sources; at least one.
    """
    batch: list[int] = []
    for i in sorted(range(len(tokens)), key=tokens.__getitem__):
        if batch and len(batch) + 1 > _rows_at_once(batch_rows, tokens[i]):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _source_too_long(method: str, generator: str) -> Candidate:
    """The only candidate of a row whose source has more tokens than the model has positions; it has no text."""
    return Candidate("", method, draws=0, generator=generator, reason="source_too_long")


def _merge(
    outputs: Sequence[Sample | Hypothesis],
    texts: Sequence[str],
    origins: Sequence[Origin],
    method: str,
    generator: str,
    unk: int | None = None,
) -> list[Candidate]:
    """One candidate for each distinct text.

    Of equal texts the candidate keeps the scores of the most probable one, of those without a reason where there are
    any; `draws` counts them all and `origins` lists how they were reached. The reason of an empty text is "empty", that
    of one that did not end "unfinished", that of one with the unknown token, which adds nothing to a text,
    "unknown_word", and that of one that never met the constraints it was decoded under "constraint_unmet".

    Args:
        outputs: Ids and log-probabilities of the translations.
        texts: The text of each.
        origins: How each was reached.
        method: "sample", "beam", "constrain" or "infill".
        generator: The translator's signature.
        unk: The unknown token of its output side.
    """
    candidate_by_text: dict[str, Candidate] = {}
    best: dict[str, tuple[bool, float]] = {}
    for output, text, origin in zip(outputs, texts, origins, strict=True):
        reason = _reason(text, output, origin, unk)
        candidate, order = candidate_by_text.get(text), (reason is None, output.logprob)
        if candidate is None:
            candidate = candidate_by_text[text] = Candidate(text, method, [origin], draws=0, generator=generator)
        elif origin is not candidate.origins[-1] and origin not in candidate.origins:
            candidate.origins.append(origin)
        candidate.draws += 1
        if text not in best or order > best[text]:
            best[text], candidate.reason = order, reason
            candidate.scores = Scores(forward_logprob=output.logprob, forward_tokens=len(output.ids))
    return list(candidate_by_text.values())


def _reason(text: str, output: Sample | Hypothesis, origin: Origin, unk: int | None) -> str | None:
    """Why a translation cannot be used; None if it can."""
    if not text:
        return "empty"
    if not output.ended:
        return "unfinished"
    if unk in output.ids:
        return "unknown_word"
    return "constraint_unmet" if origin.unmet else None
