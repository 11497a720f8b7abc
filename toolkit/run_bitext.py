"""The settings of a run that reads a bitext, and its rows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from toolkit.bitext.split import split_of
from toolkit.clean.bitext import BitextSettings
from toolkit.rows import Row
from toolkit.run import RunSettings

CLEANING = ".cleaning"  # in a run's folder, while its bitext is cleaned


@dataclass(frozen=True, kw_only=True)
class BitextRun(BitextSettings, RunSettings):
    """The settings of the builders that translate a bitext.

    Attributes:
        origin: Name of the corpus, the first part of every row's id; by default the file name of the bitext.
    """

    origin: str | None = None

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is out of its range.
        """
        BitextSettings.__post_init__(self)
        RunSettings.__post_init__(self)

    @property
    def inputs(self) -> list[str]:
        """The bitext."""
        return self.bitext

    def check_inputs(self) -> None:
        """Refuse a bitext that cannot be used; as `check_bitext`."""
        self.check_bitext()

    def input_rows(self) -> Iterator[Row]:
        """The pairs of the bitext as rows without candidates; rows that cleaning refuses have a reason."""
        origin = self.origin or Path(self.bitext[0]).name.split(".")[0]
        folder = self.shards_dir / CLEANING
        shutil.rmtree(folder, ignore_errors=True)  # what a killed process left
        folder.mkdir(parents=True)
        try:
            for table in self.cleaned(folder):
                columns = (table[name].to_pylist() for name in ("line", "source", "reference", "reason"))
                for line, source, reference, reason in zip(*columns, strict=True):
                    split = split_of(reference, self.validation_share, self.test_share)
                    yield Row(
                        f"{origin}-{line}", origin, source, self.source_lang, reference, self.lang, split, reason=reason
                    )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
