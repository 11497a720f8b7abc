"""BLEU of the best paraphrases against their references, by the length of the reference.

Source: ParaBank (Hu et al. 2019a), section 5.4, table 4, bottom.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolkit.data.rows import Row
from toolkit.evaluate.corpus import BLEU_SETTINGS, Comparison, bare_text

# ours: the least words of a reference for each length; the paper's references have exactly 5, 10, 20 or 40 tokens
LENGTHS = {5: 3, 10: 8, 20: 15, 40: 30}

# ParaBank, table 4, bottom, Czech-English: modified BLEU of ParaNMT, of system 17 and of system 34
PAPER_BY_LENGTH = {
    "ParaNMT": {5: 18.32, 10: 25.49, 20: 32.25, 40: 33.84},
    "ParaBank 17": {5: 9.25, 10: 20.62, 20: 35.76, 40: 41.88},
    "ParaBank 34": {5: 13.22, 10: 24.90, 20: 39.11, 40: 44.67},
}

BY_LENGTH_SIGNATURE = (
    f"BLEU|{BLEU_SETTINGS}|rank:1|words of a reference:{','.join(f'{low}+' for low in LENGTHS.values())}|v:1.0.0"
)


def by_length(rows: Iterable[Row]) -> dict:
    """BLEU (not 1-BLEU) of the best paraphrase of each reference, by the reference's length in words.

    Args:
        rows: Rows with chosen candidates; read once.

    Returns:
        `lengths`, a list with the paper's `length`, the number of `references` assigned to it and, if there are any,
        their `bleu` in [0, 100] without brevity penalty; `average`, the mean over the lengths, if all have a BLEU;
        `shorter`, the number of references that are too short for all lengths; and `signature`.

    Raises:
        ValueError: No row has a paraphrase.

    Source: ParaBank, section 5.4, table 4, bottom. That n-grams do not cross sentence boundaries is ours.
    """
    comparisons, shorter = {length: Comparison() for length in LENGTHS}, 0
    for row in rows:
        for best in row.paraphrases[:1]:
            length = length_class(row.reference)
            shorter += length is None
            if length is not None:
                comparisons[length].add(row.reference, best.text)
    if not shorter and not any(comparison.pairs for comparison in comparisons.values()):
        raise ValueError("wanted rows with paraphrases, got none: select candidates first")
    bleus = {n: 100.0 - c.measures()["one_minus_bleu"] for n, c in comparisons.items() if c.pairs}
    lengths = [{"length": n, "references": c.pairs} for n, c in comparisons.items()]
    return {
        "lengths": [line | ({"bleu": bleus[line["length"]]} if line["length"] in bleus else {}) for line in lengths],
        **({"average": sum(bleus.values()) / len(bleus)} if len(bleus) == len(LENGTHS) else {}),
        "shorter": shorter,
        "signature": BY_LENGTH_SIGNATURE,
    }


def length_class(reference: str) -> int | None:
    """The paper's length that a reference is assigned to by `LENGTHS`; None if it is too short for all.

    >>> length_class("We will go home now."), length_class("Go!")
    (5, None)
    """
    words = len(bare_text(reference).split())
    return max((length for length, low in LENGTHS.items() if low <= words), default=None)
