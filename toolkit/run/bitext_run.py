"""The settings of a run that reads a bitext, and its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.split import split_of
from toolkit.clean.bitext import BitextSettings
from toolkit.clean.contamination import Search, search_for
from toolkit.clean.corpus import cleaning_folder
from toolkit.clean.evaluation_sets import read_sets
from toolkit.clean.rules import side_form
from toolkit.data.rows import Row
from toolkit.run.shard_runs import RunSettings
from toolkit.system.outputs import CONTAMINATION
from toolkit.system.whole_files import write_whole

CLEANING = ".cleaning"  # in a run's folder, while its bitext is cleaned


@dataclass(frozen=True, kw_only=True)
class BitextRun(BitextSettings, RunSettings):
    """The settings of the builders that translate a bitext.

    Attributes:
        origin: Name of the corpus, the first part of every row's id; by default the file name of the bitext.
    """

    GROUP = "input"

    origin: str | None = None

    @property
    def inputs(self) -> list[str]:
        """The bitext."""
        return self.bitext

    def check_inputs(self) -> None:
        """Refuse a bitext that cannot be used; as `check_bitext`."""
        read_sets(self.decontaminate)
        self.check_bitext()

    def input_rows(self) -> Iterator[Row]:
        """The pairs of the bitext as rows without candidates; rows that cleaning refuses have a reason."""
        name = Path(self.bitext[0]).name.split(".")[0]
        origin = self.origin or (name if name.strip("*?-") else "bitext")  # not of "-" and of a glob as "*.tsv.gz"
        forms = {side_form(self, lang) for lang in (self.source_lang, self.lang)}
        search = search_for(read_sets(self.decontaminate), forms)
        with cleaning_folder(self.shards_dir / CLEANING) as folder:
            for table in self.cleaned(folder):
                table = _without_evaluation_sets(table, search)
                columns = (table[name].to_pylist() for name in ("line", "source", "reference", "reason"))
                for line, source, reference, reason in zip(*columns, strict=True):
                    split = split_of(reference, self.validation_share, self.test_share)
                    yield Row(
                        f"{origin}-{line}", origin, source, self.source_lang, reference, self.lang, split, reason=reason
                    )
            if self.decontaminate:
                write_whole(self.shards_dir / CONTAMINATION, json.dumps(search.record(self.UNIT), indent=1))


def _without_evaluation_sets(table: pa.Table, search: Search) -> pa.Table:
    """Pairs of which those with a text of an evaluation set on either side have the reason "contaminated".

    Args:
        table: The columns of `toolkit.clean.corpus.SCHEMA`.
        search: The evaluation sets; it counts the pairs.
    """
    usable_positions = np.flatnonzero(pc.is_null(table["reason"]).to_numpy())
    usable_pairs = table.take(pa.array(usable_positions))
    contaminated_positions = usable_positions[search.found(usable_pairs["source"], usable_pairs["reference"])]
    if not len(contaminated_positions):
        return table
    mask = np.zeros(len(table), bool)
    mask[contaminated_positions] = True
    reasons = pc.if_else(pa.array(mask), pa.scalar("contaminated"), table["reason"])
    return table.set_column(table.column_names.index("reason"), "reason", reasons)
