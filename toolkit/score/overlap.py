"""Lexical overlap of candidate and reference: shared word trigrams, and intersection over union of words or pieces."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from toolkit.bitext.words import spaced
from toolkit.data.rows import Row

if TYPE_CHECKING:
    from toolkit.bitext.subwords import Pieces
    from toolkit.bitext.words import WordPieces

ORDER = 3  # ParaNMT-50M, section 5.4, footnote 6
DECIMALS = 6  # ours: a ratio of small counts; the last bits say nothing
TRIGRAM_SIGNATURE = "TriOverlap|case:lc|tok:13a|over:fewer|short:0|v:1.0.0"
RECENT = 64  # ours: a reference and its paraphrases are compared with one another several times, one after another
PIECES = 1 << 15  # ours: most of a vocabulary; a language's pieces come again and again
SPACE = "\u2581"  # SentencePiece's white space symbol
tokenized = Tokenizer13a()

PieceSplitter = Callable[[str], list[str]]  # cuts a text into subword pieces


def trigram_overlap(reference: str, candidate: str) -> float:
    """The number of shared word trigrams, divided by the number of trigrams of the text that has fewer.

    A trigram that occurs twice counts twice, and is shared as often as it occurs in both texts. Texts are lower-cased
    and tokenised, as in the paper (by sacreBLEU's 13a: punctuation marks are words; Chinese is cut by jieba before). A
    text of fewer than three words has no trigram, and the overlap is 0 then, also of equal texts: this is ours, the
    paper does not say.

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
    reference_trigrams, candidate_trigrams = _trigrams(reference), _trigrams(candidate)
    fewer = min(reference_trigrams.total(), candidate_trigrams.total())
    return round((reference_trigrams & candidate_trigrams).total() / fewer, DECIMALS) if fewer else 0.0


def _trigrams(text: str) -> Counter[tuple[str, ...]]:
    """The word trigrams of a text, counted; none if it has fewer than three words."""
    words = tokenized(spaced(text.lower())).split()
    return Counter(zip(*(words[n:] for n in range(ORDER)), strict=False))


def trigram_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Fill `trigram_overlap` of every candidate without a reason.

    Args:
        rows: Rows with candidates.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 5.4.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.scores.trigram_overlap = trigram_overlap(row.reference, candidate.text)
        yield row


class _KeptCharacters(dict[int, int | None]):
    """A table for `str.translate` without Unicode punctuation (category P) and SentencePiece's space symbol."""

    def __missing__(self, point: int) -> int | None:
        deleted = point == ord(SPACE) or unicodedata.category(chr(point)).startswith("P")
        return self.setdefault(point, None if deleted else point)


_kept_characters = _KeptCharacters()  # fills itself: a table over all of Unicode would take longer than most texts


def without_punctuation(text: str) -> str:
    """A text in lower case, without punctuation, with one space between words.

    >>> without_punctuation("Don't go, she said!")
    'dont go she said'
    """
    return " ".join(text.lower().translate(_kept_characters).split())


bare_piece = lru_cache(PIECES)(without_punctuation)


def intersection_over_union_signature(pieces: PieceSplitter | None = None) -> str:
    """The settings of `intersection_over_union`, averaged over a corpus."""
    return f"IoU|unit:{'word' if pieces is None else 'piece'}|case:lc|punct:no|avg:pair|v:1.0.0"


def intersection_over_union(reference: str, paraphrase: str, pieces: PieceSplitter | None = None) -> float:
    """The words that two texts share, over all words of either, as sets.

    >>> intersection_over_union("We go home.", "We go now!")
    0.5

    Args:
        reference: A text.
        paraphrase: Another.
        pieces: Cuts a text into subword pieces, which are compared in place of words; None cuts at white space, and
            Chinese by jieba.

    Returns:
        A share in [0, 1]; 1 where neither text has a word.

    Source: ParaBank 2, section 3.6, "Lexical diversity".
    """
    return intersection_over_union_percentage(reference, paraphrase, pieces) / 100


def intersection_over_union_percentage(reference: str, paraphrase: str, pieces: PieceSplitter | None = None) -> float:
    """`intersection_over_union` as a percentage, which the measures of a corpus average, as the paper's tables do.

    >>> intersection_over_union_percentage("We go home.", "We go now!")
    50.0

    Returns:
        A number in [0, 100]. The share is made of it, not it of the share: so both keep the digits that they had.
    """
    reference_pieces, paraphrase_pieces = _piece_set(reference, pieces), _piece_set(paraphrase, pieces)
    union = reference_pieces | paraphrase_pieces
    return 100.0 * len(reference_pieces & paraphrase_pieces) / len(union) if union else 100.0


@lru_cache(RECENT)
def _piece_set(text: str, pieces: PieceSplitter | None) -> frozenset[str]:
    """The lower-cased pieces of a text, without punctuation and SentencePiece's white space symbol."""
    if pieces is None:
        return frozenset(without_punctuation(spaced(text)).split())
    return frozenset(map(bare_piece, pieces(text))) - {""}


def overlap_rows(rows: Iterable[Row], pieces: Pieces | WordPieces) -> Iterator[Row]:
    """Fill `intersection_over_union` of every candidate without a reason.

    Args:
        rows: Rows with candidates.
        pieces: Pieces, or words, of the references' language.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.6.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                shared = intersection_over_union(row.reference, candidate.text, pieces.split)
                candidate.scores.intersection_over_union = shared
        yield row
