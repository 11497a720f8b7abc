"""The text of a back-translation: its settings, and its sentences as rows, cleaned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, ClassVar

from toolkit.bitext.languages import SAMPLE, Language, check_language
from toolkit.bitext.read import Block, first_lines, pairs_of, read_sentences
from toolkit.clean.clean_file import check_suffix
from toolkit.clean.corpus import clean_corpus, cleaning_folder
from toolkit.clean.rules import CleanSettings, clean, refusals
from toolkit.data.rows import Row
from toolkit.run.bitext_run import CLEANING
from toolkit.system.ranges import Count, Dtype, Machine, at_least, at_most, checked_by

MAX_ROWS = 100_000  # ours: sentences in a batch; even with the smallest model their caches fill a large machine


@dataclass(frozen=True, kw_only=True)
class BackTranslation(CleanSettings, Machine):
    """The settings of a back-translation. Languages are named as for the training that reads its pairs.

    Attributes:
        model: Translator that reads the language of the text: a Hub id, a local path or "starter/en-de".
        text: Text with a sentence in each line, files (.txt or .tsv, also compressed) or .parquet, or data sets.
        output: File of the pairs, translation TAB sentence (.tsv, also .gz or .zst) or Parquet (.parquet); the shards
            are in the folder of the same name with ".shards".
        source_lang: Language of the translations (ISO 639-1), which the trained translator will read.
        lang: Language of the text (ISO 639-1), which it will write.
        text_column: Column of the text: a number in a text file (0 by default), else a name ("text").
        data_split: Split to read, if the text is a data set.
        limit: Number of lines to read; by default all.
        check_language: Refuse a text that is not in the language that the settings name.
        batch_rows: Sentences in a decoding batch; of long ones there are fewer. None is 512 on a CPU, and by its memory
            on a GPU.
        shard_rows: Sentences of a shard; a killed process loses at most the work on one shard.
        dtype: Arithmetic of the model: auto, bfloat16, float32 or int8.
    """

    CPU_BATCHES: ClassVar = {"batch_rows": 512}

    model: str
    text: list[str]
    output: Annotated[str, checked_by(check_suffix)]
    source_lang: Language
    lang: Language
    text_column: str | None = None
    data_split: str = "train"
    limit: Count | None = None
    check_language: bool = True
    batch_rows: Annotated[int, at_least(1), at_most(MAX_ROWS)] | None = None
    shard_rows: Count = 10_000
    dtype: Dtype = "auto"

    @property
    def shards_dir(self) -> Path:
        """The folder of the shards."""
        return Path(self.output + ".shards")

    def read(self) -> Iterator[Block]:
        """The lines of the text, at most `limit`, as pairs of a sentence with itself."""
        blocks = read_sentences(self.text, self.text_column, self.data_split)
        return blocks if self.limit is None else first_lines(blocks, self.limit)

    @property
    def of_sentences(self) -> CleanSettings:
        """The rules for a sentence alone: it is judged as a pair with itself."""
        return replace(self, drop_same_text=False)

    def check_text(self) -> None:
        """Refuse a text that cannot be read, has no usable sentence, or is in another language than said.

        Raises:
            OSError: A text does not exist.
            ValueError: The text cannot be used.
        """
        for text in self.text:
            next(read_sentences([text], self.text_column, self.data_split))
        refused: Counter[str] = Counter()
        pairs = (pair for block in self.read() for pair in pairs_of(block))
        first = list(islice(clean(pairs, self.of_sentences, self.lang, self.lang, refused), SAMPLE))
        if not first:
            raise ValueError(
                f"wanted at least one usable sentence in {' '.join(self.text)}, got none of {refused.total()} lines: "
                f"{refusals(refused)}; check the file"
            )
        if self.check_language:
            check_language([pair.reference for pair in first], self.lang)

    def input_rows(self) -> Iterator[Row]:
        """The sentences in normal form as rows without a source; those that a rule refuses have a reason."""
        origin = Path(self.text[0]).name.split(".")[0]
        with cleaning_folder(self.shards_dir / CLEANING) as folder:
            for table in clean_corpus(self.read(), self.of_sentences, self.lang, self.lang, folder):
                columns = (table[name].to_pylist() for name in ("line", "reference", "reason"))
                for line, sentence, reason in zip(*columns, strict=True):
                    yield Row(f"{origin}-{line}", origin, None, None, sentence, self.lang, "train", reason=reason)
