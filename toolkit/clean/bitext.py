"""The settings of whatever reads a bitext and cleans it, and the check that it can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from toolkit.bitext.languages import SAMPLE, Language, check_languages
from toolkit.bitext.read import Block, Pair, first_lines, pairs_of, read_blocks
from toolkit.clean.corpus import clean_corpus
from toolkit.clean.rules import CleanSettings, clean, none_usable
from toolkit.system.ranges import Count


@dataclass(frozen=True, kw_only=True)
class BitextSettings(CleanSettings):
    """Which bitext is read.

    Attributes:
        bitext: Two line-aligned files, source and reference; or files or globs of files that hold both sides: TSV,
            CSV, JSON lines, TMX (plain or compressed), Parquet, a zip archive of OPUS; or a dataset. Files may be
            URLs, such as "s3://bucket/my.tsv.zst"; "-" is the standard input, as TSV.
        source_lang: Language of the source, as a code of ISO 639 or BCP 47 ("de", "deu", "de-AT").
        lang: Language of the references, as a code of ISO 639 or BCP 47 ("en", "eng", "en-US").
        source_column: Column of the source: a number in a TSV file (0 by default), else a name (by default the
            language, "source", "src" or "sentence1").
        reference_column: Column of the reference: a number in a TSV file (1 by default), else a name (by default the
            language, "reference", "target", "tgt" or "sentence2").
        data_split: Split to read, if the bitext is a dataset.
        limit: Number of lines to read; by default all.
        check_language: Refuse a bitext if one side is not in the language that the settings name.
    """

    GROUP = "input"

    bitext: list[str]
    source_lang: Language
    lang: Language
    source_column: str | None = None
    reference_column: str | None = None
    data_split: str = "train"
    limit: Count | None = None
    check_language: bool = True

    def read(self) -> Iterator[Block]:
        """The lines of the bitext, at most `limit`."""
        columns = self.source_column, self.reference_column
        blocks = read_blocks(self.bitext, *columns, self.data_split, self.source_lang, self.lang)
        return blocks if self.limit is None else first_lines(blocks, self.limit)

    def check_bitext(self) -> None:
        """Refuse a bitext that cannot be read, is in other languages than the settings name, or has no usable pair.

        Raises:
            OSError: The bitext does not exist.
            ValueError: The bitext cannot be used; the message counts the refused lines by reason.
        """
        refused: Counter[str] = Counter()
        first_pairs = list(islice(self.usable(refused), SAMPLE))
        if not first_pairs:
            raise ValueError(none_usable(self.bitext, refused))
        if self.check_language:
            check_languages(first_pairs, self.source_lang, self.lang)

    def usable(self, refused: Counter[str]) -> Iterator[Pair]:
        """The pairs that the rules for a pair keep, as a stream, for those who need only the first; as `clean`."""
        pairs = (pair for block in self.read() for pair in pairs_of(block))
        return clean(pairs, self, self.source_lang, self.lang, refused)

    def cleaned(self, folder: Path, processes: int | None = None) -> Iterator[pa.Table]:
        """The pairs of the bitext in normal form, with the reasons of those that are refused; as `clean_corpus`."""
        return clean_corpus(self.read(), self, self.source_lang, self.lang, folder, processes)
