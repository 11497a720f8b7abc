"""Pairs as Arrow tables with one set of columns: what is checked of all of them, whatever file they are from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.package.pair_columns import _is_paraphrase, check_texts

PAIRS = pa.schema(
    [("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string()), ("semantic", pa.float64())]
)
LABELLED_0 = "label 0"  # the reason of pairs that are no paraphrases by their label


def labelled_pairs(
    pairs: pa.Table, labels: Sequence[object] | None, numbers: Sequence[int], path: str | Path, refused: Counter[str]
) -> pa.Table:
    """The pairs that are paraphrases by their labels; all of them without labels. The others are counted.

    Raises:
        ValueError: A label is neither 0 nor 1; the message names the line.
    """
    if labels is None:
        return pairs
    paraphrase_mask: list[bool] = []
    for number, label in zip(numbers, labels, strict=True):
        try:
            paraphrase_mask.append(_is_paraphrase(label))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}: correct it") from None
    refused[LABELLED_0] += paraphrase_mask.count(False)
    return pairs.filter(pa.array(paraphrase_mask, pa.bool_()))


def check_scores(pairs: pa.Table, numbers: Sequence[int], path: str | Path) -> None:
    """Refuse scores that are not finite.

    Raises:
        ValueError: A score is not finite; the message names the line.
    """
    is_wrong = pc.fill_null(pc.invert(pc.is_finite(pairs["semantic"])), False).to_numpy()
    if is_wrong.any():
        first = int(is_wrong.argmax())
        score = pairs["semantic"][first].as_py()
        raise ValueError(
            f"{path}, line {numbers[first]}: wanted a finite score, got {score}: correct it, or leave it out"
        )


def check_both_texts(pairs: pa.Table, reference: str, paraphrase: str, path: str | Path) -> None:
    """Refuse pairs of which a side holds numbers or ids.

    Raises:
        ValueError: One does.
    """
    check_texts(pairs["sentence1"].combine_chunks(), f"column {reference!r}", path)
    check_texts(pairs["sentence2"].combine_chunks(), f"column {paraphrase!r}", path)
