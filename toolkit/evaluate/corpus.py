"""Measure how different the paraphrases of a corpus are from their references and from one another.

Texts are read once; only n-gram counts and sums are kept, so memory does not grow with the corpus. Tree edit distance
is measured if the trees of a parser are given.

Source: ParaBank 2 (Hu et al. 2019b), section 3.6, tables 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import sacrebleu
from sacrebleu.metrics import BLEU

from toolkit.bitext.words import spaced
from toolkit.data.rows import Row
from toolkit.evaluate.trees import Parses, _tree_edit_distance, tree_edit_distance_signature
from toolkit.score.overlap import (
    RECENT,
    PieceSplitter,
    intersection_over_union_percentage,
    intersection_over_union_signature,
    without_punctuation,
)

RANKS = 5  # ParaBank 2, section 3.4: n = 5
RANK_PAIRS = ((1, 3), (3, 5), (1, 5))  # ParaBank 2, table 2
BATCH_PAIRS = 1000  # ours: pairs whose n-grams are counted at a time

# ParaBank 2, table 1, "Our work" 1 to 5: (1-BLEU) x 100, intersection/union x 100, length ratio; Czech-English
PAPER_BY_RANK = {
    1: (75.83, 37.75, 1.04),
    2: (76.98, 36.19, 1.05),
    3: (78.29, 35.22, 1.05),
    4: (78.92, 34.49, 1.06),
    5: (81.55, 32.50, 1.09),
}
# ParaBank 2, table 2: (1-BLEU) x 100, intersection/union x 100
PAPER_BETWEEN_RANKS = {(1, 3): (64.16, 52.77), (3, 5): (71.05, 45.00), (1, 5): (69.46, 46.79)}
BLEU_SETTINGS = f"nrefs:1|case:lc|punct:no|tok:space|ngram:4|bp:no|smooth:none|sacrebleu:{sacrebleu.__version__}"
BLEU_SIGNATURE = f"1-BLEU|{BLEU_SETTINGS}|v:1.0.0"
LENGTH_SIGNATURE = "LenRatio|punct:no|tok:space|avg:corpus|v:1.0.0"


@lru_cache(RECENT)
def bare_text(text: str) -> str:
    """The lower-cased words of a text with spaces between them; of Chinese those that jieba cuts."""
    return without_punctuation(spaced(text))


def one_minus_bleu(references: Sequence[str], paraphrases: Sequence[str]) -> float:
    """How much of the paraphrases' wording is new: (1 - BLEU) x 100 without brevity penalty, over all pairs at once.

    >>> round(one_minus_bleu(["We will go home now."], ["We will go home today!"]), 2)
    33.13

    Args:
        references: The reference of each pair.
        paraphrases: The paraphrase of each pair, BLEU's hypothesis.

    Returns:
        A number in [0, 100]. It is 100 if no pair shares four consecutive words, because BLEU is not smoothed.

    Raises:
        ValueError: The lists differ in length, or are empty.

    Source: ParaBank 2, section 3.6; lower case, no punctuation and no brevity penalty as ParaBank (Hu et al. 2019a),
    section 5.4. That n-grams do not cross sentence boundaries is ours.
    """
    _check_pairs(references, paraphrases)
    comparison = Comparison()
    for reference, paraphrase in zip(references, paraphrases, strict=True):
        comparison.add(reference, paraphrase)
    return comparison.measures()["one_minus_bleu"]


def _length_ratio(references: Sequence[str], paraphrases: Sequence[str]) -> float:
    """Words of all paraphrases over words of all references; this average is ours, because the paper names none.

    >>> _length_ratio(["We go home."], ["We will go home now."])
    1.6666666666666667

    Raises:
        ValueError: The lists differ in length, or are empty, or no reference has a word.

    Source: ParaBank 2, table 1, "Len. Ratio".
    """
    _check_pairs(references, paraphrases)
    words = [sum(len(bare_text(text).split()) for text in texts) for texts in (references, paraphrases)]
    return _ratio(words[1], words[0])


def _check_pairs(references: Sequence[str], paraphrases: Sequence[str]) -> None:
    """Refuse lists of different lengths, and empty lists.

    Raises:
        ValueError: The lists differ in length, or are empty.
    """
    if len(references) != len(paraphrases) or not references:
        raise ValueError(
            f"wanted as many paraphrases as references and at least one, got {len(paraphrases)} for "
            f"{len(references)}: give one reference for each paraphrase"
        )


def _ratio(words: int, reference_words: int) -> float:
    """A length ratio from the numbers of words of both sides.

    Raises:
        ValueError: The references have no word.
    """
    if not reference_words:
        raise ValueError("wanted references with words, got punctuation only: leave such lines out")
    return words / reference_words


class Comparison:
    """Measures a stream of pairs in constant memory.

    Args:
        pieces: Splits a text into subword pieces, for intersection/union; None splits at white space.
        parses: The trees of all texts, for the tree edit distance; None leaves it out.
    """

    def __init__(self, pieces: PieceSplitter | None = None, parses: Parses | None = None):
        self.pieces, self.parses = pieces, parses
        self.edits = self.tree_pairs = 0
        self.bleu = BLEU(tokenize="none", smooth_method="none")
        self.correct, self.total = [0] * self.bleu.max_ngram_order, [0] * self.bleu.max_ngram_order
        self.words = self.reference_words = self.pairs = 0
        self.shared = 0.0
        self.buffer: list[tuple[str, str]] = []

    def add(self, reference: str, paraphrase: str) -> None:
        """Add one pair."""
        self.pairs += 1
        self.shared += intersection_over_union_percentage(reference, paraphrase, self.pieces)
        if self.parses is not None:
            self.compare_trees(self.parses, reference, paraphrase)
        self.buffer.append((bare_text(reference), bare_text(paraphrase)))
        if len(self.buffer) == BATCH_PAIRS:
            self.count()

    def compare_trees(self, parses: Parses, reference: str, paraphrase: str) -> None:
        """Add the tree edit distance of a pair, if both texts have a tree."""
        reference_tree, paraphrase_tree = parses.tree(reference), parses.tree(paraphrase)
        if reference_tree is not None and paraphrase_tree is not None:
            self.edits += _tree_edit_distance(reference_tree, paraphrase_tree)
            self.tree_pairs += 1

    def count(self) -> None:
        """Count the n-grams of the buffered pairs, and drop their texts."""
        if self.buffer:
            references, paraphrases = zip(*self.buffer, strict=True)
            score = self.bleu.corpus_score(list(paraphrases), [list(references)])
            self.correct = [a + b for a, b in zip(self.correct, score.counts, strict=True)]
            self.total = [a + b for a, b in zip(self.total, score.totals, strict=True)]
            self.words, self.reference_words = self.words + score.sys_len, self.reference_words + score.ref_len
            self.buffer = []

    def measures(self) -> dict[str, float]:
        """The measures of all pairs so far, by the names of their functions.

        If trees were given, also `tree_pairs`, the number of pairs with two trees, and `_tree_edit_distance`, if there
        are any.

        Raises:
            ValueError: There is no pair, or no reference has a word.
        """
        self.count()
        lengths = _ratio(self.words, self.reference_words)
        bleu = BLEU.compute_bleu(
            self.correct, self.total, sys_len=1, ref_len=1
        )  # equal lengths, so that there is no brevity penalty
        return {
            "one_minus_bleu": max(
                0.0, 100.0 - bleu.score
            ),  # rounding can make the BLEU of equal texts greater than 100
            "intersection_over_union": self.shared / self.pairs,
            "length_ratio": lengths,
            **({"tree_edit_distance": self.edits / self.tree_pairs} if self.tree_pairs else {}),
            **({"tree_pairs": self.tree_pairs} if self.parses is not None else {}),
        }


def fill_ranks(row: Row) -> list[str]:
    """The texts of a row's `RANKS` best paraphrases; missing ranks repeat the last; empty without any.

    Source: ParaBank 2, section 3.4: the last is the one with the highest negative log-likelihood.
    """
    texts = [candidate.text for candidate in row.paraphrases]
    return (texts + texts[-1:] * RANKS)[:RANKS]


def rank_table(rows: Iterable[Row], pieces: PieceSplitter | None = None, parses: Parses | None = None) -> dict:
    """Measure the paraphrases of each rank against their references, and pairs of ranks against each other.

    A rank that a reference lacks is filled with its last paraphrase. Rows without a paraphrase are skipped.

    Args:
        rows: Rows with chosen candidates; read once.
        pieces: Splits a text into subword pieces, for intersection/union; None splits at white space.
        parses: The trees of all references and paraphrases, for the tree edit distance; None leaves it out.

    Returns:
        `references`, the number of rows measured; `by_rank`, a list of the measures of each `rank` (1 is the best);
        `between_ranks`, a list of the measures of each pair of `ranks`, the first of which is BLEU's reference; and
        `signatures`, by measure. Tree edit distance is the mean over the pairs with two trees, `tree_pairs`.

    Raises:
        ValueError: No row has a paraphrase; a text was not parsed.

    Source: ParaBank 2, section 3.4 (filling), tables 1 and 2.
    """
    by_rank = [Comparison(pieces, parses) for _ in range(RANKS)]
    between = {pair: Comparison(pieces, parses) for pair in RANK_PAIRS}
    for row in rows:
        texts = fill_ranks(row)
        for comparison, text in zip(by_rank, texts, strict=False):
            comparison.add(row.reference, text)
        for (first, second), comparison in between.items() if texts else ():
            comparison.add(texts[first - 1], texts[second - 1])
    if not by_rank[0].pairs:
        raise ValueError("wanted rows with paraphrases, got none: select candidates first")
    return {
        "references": by_rank[0].pairs,
        "by_rank": [{"rank": rank, **comparison.measures()} for rank, comparison in enumerate(by_rank, 1)],
        "between_ranks": [{"ranks": list(pair), **comparison.measures()} for pair, comparison in between.items()],
        "signatures": {
            "one_minus_bleu": BLEU_SIGNATURE,
            "intersection_over_union": intersection_over_union_signature(pieces),
            "length_ratio": LENGTH_SIGNATURE,
            **({"tree_edit_distance": tree_edit_distance_signature(parses.parser)} if parses else {}),
        },
    }
