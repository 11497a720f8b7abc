"""Texts that are too long for a model, in sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from sentencex import segment

from toolkit.data.rows import Candidate, Scores
from toolkit.paraphraser.form import CLOSING, MARKS

Span = tuple[int, int]


def parts_of(text: str, lang: str, fits: Callable[[str], bool], kept: Sequence[Span] = ()) -> list[str]:
    r"""The paragraphs of a text that fit as they are, and the sentences of the others, with their white space.

    A paragraph ends where a line ends with a mark, or is empty; other lines are taken as wrapped.

    >>> parts_of("He left.\n\nShe stayed. They\ncame.", "en", lambda text: len(text) < 12)
    ['He left.\n', '\n', 'She stayed. ', 'They\ncame.']

    Args:
        text: Any text.
        lang: Its language (ISO 639-1).
        fits: Whether a text is short enough.
        kept: Spans in order that no part ends within; a paragraph with one is cut into sentences, so that the others
            do not depend on it.

    Returns:
        The parts, which make the text if they are joined. A part may be white space alone, or may not fit.
    """
    parts, paragraph, place = [], "", 0
    for line in text.splitlines(keepends=True):
        paragraph += line
        if not line.strip() or line.rstrip().rstrip(CLOSING).endswith(MARKS):
            parts.append(paragraph)
            paragraph = ""
    parts += [paragraph] if paragraph else []
    sentences: list[str] = []
    for whole in parts:
        index = bisect_right(kept, place, key=itemgetter(1))  # the first that ends later
        holds = index < len(kept) and kept[index][0] < place + len(whole)
        sentences += [whole] if fits(whole) and not holds else segment(lang, whole)
        place += len(whole)
    return list(_whole(sentences, kept))


def _whole(parts: Sequence[str], kept: Sequence[Span]) -> Iterator[str]:
    """Parts of a text, those joined that end within a span."""
    joined, place = "", 0
    for part in parts:
        joined, place = joined + part, place + len(part)
        index = bisect_right(kept, place, key=itemgetter(1))
        if index == len(kept) or kept[index][0] >= place:
            yield joined
            joined = ""
    if joined:
        yield joined


def join(parts: Sequence[str], paraphrases: Sequence[Sequence[Candidate]], n: int) -> list[Candidate]:
    """Paraphrases of a text from those of its parts: the first of every part, then the second of every part.

    A part with fewer paraphrases begins again with its first, and one without any stays as it is.

    >>> candidates = join(["A. ", "B. ", "C."], [[Candidate("a1. ", "beam"), Candidate("a2. ", "beam")], [], []], 2)
    >>> [candidate.text for candidate in candidates]
    ['a1. B. C.', 'a2. B. C.']

    Args:
        parts: Of the text.
        paraphrases: The paraphrases of each part, best first.
        n: How many paraphrases of the text are wanted.

    Returns:
        At most n candidates with distinct texts; none if no part has a paraphrase. Their log-likelihoods are the sums
        of those of the parts that changed, and their cosines the least of these.
    """
    candidates: dict[str, Candidate] = {}
    for i in range(min(n, max(map(len, paraphrases), default=0))):
        picked = [
            part_paraphrases[i % len(part_paraphrases)] if part_paraphrases else None
            for part_paraphrases in paraphrases
        ]
        changed = [candidate for candidate in picked if candidate is not None]
        text = "".join(
            part if candidate is None else candidate.text for part, candidate in zip(parts, picked, strict=True)
        )
        if text not in candidates:
            origins = [origin for candidate in changed for origin in candidate.origins]
            scores = _join_scores([candidate.scores for candidate in changed])
            candidates[text] = replace(
                changed[0], text=text, origins=origins, scores=scores, rank=len(candidates), cluster=None
            )
    return list(candidates.values())


def _join_scores(scores: Sequence[Scores]) -> Scores:
    """The log-likelihoods and tokens of several texts together, and their least cosine; None where one lacks it.

    >>> joined = _join_scores([Scores(forward_logprob=-2.0, semantic=0.7), Scores(forward_logprob=-1.0, semantic=0.9)])
    >>> joined.forward_logprob, joined.semantic, _join_scores([Scores(semantic=0.7), Scores()]).semantic
    (-3.0, 0.7, None)
    """
    names = ("forward_logprob", "forward_tokens", "backward_logprob", "backward_tokens", "semantic")
    values = {name: [getattr(part_scores, name) for part_scores in scores] for name in names}
    return Scores(
        **{
            name: None if None in numbers else min(numbers) if name == "semantic" else sum(numbers)
            for name, numbers in values.items()
        }
    )
