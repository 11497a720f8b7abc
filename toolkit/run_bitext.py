"""The settings of a run that reads a bitext, and its rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from toolkit.bitext.languages import SAMPLE, check_codes, check_languages
from toolkit.bitext.read import Pair, read_bitext
from toolkit.bitext.split import split_of
from toolkit.clean.rules import CleanSettings, clean, judged, none_usable
from toolkit.rows import Row
from toolkit.run import RunSettings


@dataclass(frozen=True, kw_only=True)
class BitextRun(CleanSettings, RunSettings):
    """The settings of the builders that translate a bitext.

    Attributes:
        bitext: A TSV file (plain, .gz, .zst), Parquet file or dataset, or two line-aligned files: source and reference.
        source_lang: Language of the source (ISO 639-1).
        source_column: Column of the source: a number in a TSV file (0 by default), else a name ("source").
        reference_column: Column of the reference: a number in a TSV file (1 by default), else a name ("reference").
        data_split: Split to read, if the bitext is a dataset.
        origin: Name of the corpus, the first part of every row's id; by default the file name of the bitext.
        limit: Number of lines to read; by default all.
        check_language: Refuse a bitext if one side is not in the language that the settings name.
    """

    bitext: list[str]
    source_lang: str
    source_column: str | None = None
    reference_column: str | None = None
    data_split: str = "train"
    origin: str | None = None
    limit: int | None = None
    check_language: bool = True

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is out of its range.
        """
        CleanSettings.__post_init__(self)
        RunSettings.__post_init__(self)
        check_codes(self)
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"wanted limit of at least 1, got {self.limit}")

    @property
    def inputs(self) -> list[str]:
        """The bitext."""
        return self.bitext

    def check_inputs(self) -> None:
        """Refuse a bitext that cannot be read, is in other languages than the settings name, or has no usable pair.

        Raises:
            OSError: The bitext does not exist.
            ValueError: The bitext cannot be used; the message counts the refused lines by reason.
        """
        refused: Counter[str] = Counter()
        usable = clean(self.read_pairs(), self, self.source_lang, self.lang, refused)
        first_pairs = list(itertools.islice(usable, SAMPLE))
        if not first_pairs:
            raise ValueError(none_usable(self.bitext, refused))
        if self.check_language:
            check_languages(first_pairs, self.source_lang, self.lang)

    def read_pairs(self) -> Iterator[Pair]:
        """The pairs of the bitext, at most `limit`."""
        pairs = read_bitext(self.bitext, self.source_column, self.reference_column, self.data_split)
        return itertools.islice(pairs, self.limit)

    def input_rows(self) -> Iterator[Row]:
        """The pairs of the bitext as rows without candidates; rows that cleaning refuses have a reason."""
        origin = self.origin or Path(self.bitext[0]).name.split(".")[0]
        for pair, reason in judged(self.read_pairs(), self, self.source_lang, self.lang):
            split = split_of(pair.reference, self.validation_share, self.test_share)
            row_id = f"{origin}-{pair.line}"
            yield Row(row_id, origin, pair.source, self.source_lang, pair.reference, self.lang, split, reason=reason)
