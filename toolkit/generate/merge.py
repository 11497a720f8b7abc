"""Decoded translations of one row become its candidates: equal texts are one, which names every way it was reached."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.sampling import Sample
from toolkit.rows import Candidate, Origin, Scores

MAX_TOKENS_PER_SOURCE_TOKEN, MAX_TOKENS_MORE = 2, 10  # ours: a translation of more than 2 x source + 10 tokens is cut


def longest(source_tokens: int) -> int:
    """The most tokens that the translation of a source may have."""
    return MAX_TOKENS_PER_SOURCE_TOKEN * source_tokens + MAX_TOKENS_MORE


def too_long(method: str, generator: str) -> Candidate:
    """What stands in a row whose source has more tokens than the model has positions."""
    return Candidate("", method, draws=0, generator=generator, reason="source_too_long")


def merge(
    drawn: Sequence[Sample | Hypothesis], texts: Sequence[str], origins: Sequence[Origin], method: str, generator: str
) -> list[Candidate]:
    """Candidates of distinct text: the most probable draw stays, `draws` and `origins` count them all.

    A text that says nothing has the reason "empty", one that did not end "unfinished", one of which no way met its
    constraints "constraint_unmet"; of equal texts the one without a reason stays.

    Args:
        drawn: Ids and log-probabilities.
        texts: Their texts.
        origins: How each was reached.
        method: "sample", "beam" or "constrain".
        generator: The translator's signature.
    """
    found: dict[str, Candidate] = {}
    for one, text, origin in zip(drawn, texts, origins, strict=True):
        scores = Scores(forward_logprob=one.logprob, forward_tokens=len(one.ids))
        reason = _reason(text, one.ended, origin)
        candidate = found.get(text)
        if candidate is None:
            found[text] = Candidate(text, method, [origin], generator=generator, scores=scores, reason=reason)
            continue
        candidate.draws += 1
        if origin not in candidate.origins:
            candidate.origins.append(origin)
        if (reason is None, one.logprob) > (candidate.reason is None, candidate.scores.forward_logprob):
            candidate.scores, candidate.reason = scores, reason
    return list(found.values())


def _reason(text: str, ended: bool, origin: Origin) -> str | None:
    if not text:
        return "empty"
    if not ended:
        return "unfinished"
    return "constraint_unmet" if origin.unmet else None
