"""The best translations of each row's source, by beam search without constraints (ParaNMT-50M, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from toolkit.data.rows import Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import constrain_rows
from toolkit.translator.load import Translator


def translate_rows(
    rows: Iterable[Row], translator: Translator, beam: int, batch_rows: int, n_best: int = 1
) -> Iterator[Row]:
    """Give every row its best translations.

    Args:
        rows: Rows with a source and no candidates; all of a shard are held at a time.
        translator: Source language to the references' language.
        beam: Hypotheses that a search follows at a time.
        batch_rows: How many hypotheses are decoded at a time.
        n_best: Translations kept of each source.

    Yields:
        The rows in their order, `candidates` filled, best first; reasons as in `constrain_rows`.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 3.1: "beam search with a beam size of 12".
    """
    free_sets = [(None, ConstraintSet())]
    return constrain_rows(rows, translator, lambda _row: free_sets, beam, batch_rows, "beam", n_best)


def sourced_rows(rows: Iterable[Row], translator: Translator, lang: str, beam: int, batch_rows: int) -> Iterator[Row]:
    """Give every row of running text a translation of its reference as its source.

    Args:
        rows: Rows without a source and without candidates; all of a shard are held at a time.
        translator: From the references' language.
        lang: The language that it writes (ISO 639-1).
        beam: Hypotheses that a search follows at a time.
        batch_rows: How many hypotheses are decoded at a time.

    Yields:
        The rows in their order, without candidates. One that cannot be translated has no source, and candidates
        without text that say why.
    """
    for row in translate_rows(rows, translator, beam, batch_rows):
        best = next((candidate for candidate in row.candidates if candidate.reason is None), None)
        if best is None:  # what the candidates say is in the other language
            yield replace(row, candidates=[replace(candidate, text="") for candidate in row.candidates])
        else:
            yield replace(row, source=best.text, source_lang=lang, candidates=[])
