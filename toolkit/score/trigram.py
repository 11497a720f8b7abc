"""How much of a candidate's wording is the reference's: the trigram overlap of ParaNMT-50M, section 5.4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from toolkit.rows import Row

ORDER = 3  # ParaNMT-50M, section 5.4, footnote 6
DECIMALS = 6  # ours: a ratio of small counts; the last bits say nothing
TRIGRAM_SIGNATURE = "TriOverlap|case:lc|tok:13a|over:fewer|short:0|v:1.0.0"
tokenized = Tokenizer13a()


def trigram_overlap(reference: str, candidate: str) -> float:
    """Shared word trigrams over the trigrams of whichever text has fewer.

    A trigram said twice counts twice, and is shared as often as both texts say it. The paper's texts are lower-cased
    and tokenised; so are ours (sacreBLEU's 13a: punctuation marks are words). A text of fewer than three words has no
    trigram, and the overlap is 0, also of equal texts: ours, the paper is silent.

    >>> trigram_overlap("It was a long day.", "Yes, it was a long week.")
    0.5
    >>> trigram_overlap("Hello!", "Hello!")
    0.0

    Args:
        reference: The human sentence.
        candidate: A translation of its source.

    Returns:
        A share in [0, 1].

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 5.4, footnote 6.
    """
    ours, theirs = trigrams(reference), trigrams(candidate)
    fewer = min(ours.total(), theirs.total())
    return round((ours & theirs).total() / fewer, DECIMALS) if fewer else 0.0


def trigrams(text: str) -> Counter[tuple[str, ...]]:
    """The word trigrams of a text, counted; none if it has fewer than three words."""
    words = tokenized(text.lower()).split()
    return Counter(zip(*(words[n:] for n in range(ORDER)), strict=False))


def trigram_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Fill `trigram_overlap` of every candidate that is still in.

    Args:
        rows: Rows with candidates.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 5.4.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.scores.trigram_overlap = trigram_overlap(row.reference, candidate.text)
        yield row
