"""The settings of a run that reads running text, and its rows."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from toolkit.bitext.books import read_books
from toolkit.bitext.languages import SAMPLE, check_language
from toolkit.bitext.passages import CONTEXT, MAX_CHARS, MIN_CHARS, Passage, draw_key, drawn, read_passages
from toolkit.bitext.split import split_of
from toolkit.clean.contamination import search_for
from toolkit.clean.evaluation_sets import read_sets
from toolkit.data.rows import Row
from toolkit.run.shard_runs import RunSettings
from toolkit.system.outputs import CONTAMINATION
from toolkit.system.ranges import Count, Seed
from toolkit.system.settings import SETTINGS
from toolkit.system.whole_files import write_whole


@dataclass(frozen=True, kw_only=True)
class TextRun(RunSettings):
    """The settings of the builders that need text alone.

    Attributes:
        text: Running text such as books: files (.txt, also compressed), folders, globs, also at URLs, or datasets with
            a book in each record.
        text_column: Column of the text in a dataset.
        data_split: Split to read, if the text is a dataset.
        references: Number of sentences that are drawn from the whole text; by default all that have the length.
        min_chars: Fewest characters of a reference; one of Chinese, Japanese or Korean counts as three.
        max_chars: Most characters of a reference, likewise.
        context: Most characters of the text before a reference, and of that after it.
        normalize_punctuation: Typographic marks to ASCII, but not in Chinese, Japanese and Korean.
        check_language: Refuse a text that is not in the language that the settings name.
        seed: Seed of the draw, and of everything random that follows.
    """

    UNIT: ClassVar[str] = "sentences"
    GROUP = "input"

    text: list[str]
    text_column: str = "text"
    data_split: str = "train"
    references: Count | None = None
    min_chars: Count = MIN_CHARS
    max_chars: int = MAX_CHARS
    context: int = CONTEXT
    normalize_punctuation: bool = True  # ours
    check_language: bool = True
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse lengths that no sentence has."""
        super().__post_init__()
        if self.max_chars < self.min_chars or self.context < 0:
            lengths = f"{self.max_chars}, {self.min_chars} and {self.context}"
            raise ValueError(f"wanted max_chars of at least min_chars and context of at least 0, got {lengths}")

    @property
    def inputs(self) -> list[str]:
        """The text."""
        return self.text

    def check_inputs(self) -> None:
        """Refuse a text that cannot be read, is in another language, or has no sentence of the length.

        Raises:
            OSError: The text does not exist.
            ValueError: The text cannot be used.
        """
        read_sets(self.decontaminate)
        first = [passage.sentence for passage in itertools.islice(self.passages(), SAMPLE)]
        if not first:
            raise ValueError(
                f"wanted sentences of {self.min_chars} to {self.max_chars} characters with a mark at their end, got "
                f"none in {' '.join(self.text)}: check the text, or change --min_chars and --max_chars"
            )
        if self.check_language:
            check_language(first, self.lang)

    def passages(self) -> Iterator[Passage]:
        """The sentences of the text that have the length, with their context."""
        books = read_books(self.text, self.lang, self.text_column, self.data_split, self.normalize_punctuation)
        return read_passages(books, self.lang, self.min_chars, self.max_chars, self.context)

    def input_rows(self) -> Iterator[Row]:
        """The drawn sentences as rows without candidates; one that was there before is refused as "duplicate".

        The text is read twice if sentences are drawn. Memory is needed for a hash of each sentence, some 80 bytes, not
        for its text.
        """
        drawn_keys = None
        if self.references is not None:
            drawn_keys = drawn((passage.sentence for passage in self.passages()), self.references, self.seed)
            if len(drawn_keys) < self.references:
                print(
                    f"wanted {self.references:,} references, got a text with {len(drawn_keys):,} different sentences "
                    f"of {self.min_chars} to {self.max_chars} characters: all of them are taken",
                    file=sys.stderr,
                )
        seen_keys: set[bytes] = set()
        search = search_for(read_sets(self.decontaminate))
        for passage in self.passages():
            key = draw_key(passage.sentence, self.seed)
            if drawn_keys is not None and key not in drawn_keys:
                continue
            reason = "duplicate" if key in seen_keys else None
            seen_keys.add(key)
            if reason is None and self.decontaminate and search.found(pa.array([passage.sentence])).any():
                reason = "contaminated"
            split, context = (
                split_of(passage.sentence, self.validation_share, self.test_share),
                (passage.before, passage.after),
            )
            row_id = f"{passage.origin}-{passage.number}"
            yield Row(row_id, passage.origin, None, None, passage.sentence, self.lang, split, *context, reason=reason)
        is_run = (self.shards_dir / SETTINGS).is_file()  # else somebody only reads the rows
        if self.decontaminate and is_run:
            write_whole(self.shards_dir / CONTAMINATION, json.dumps(search.record(self.UNIT), indent=1))
