"""Count the sentences of a training corpus that contain each word: the IDF table for the recipes of ParaBank.

parabank count idf --bitext deu-eng.train.tsv.gz --reference_column 1 --output idf.tsv.gz
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from toolkit.bitext.idf import MIN_DF, count_idf, is_idf, write_idf
from toolkit.bitext.read import Pair, read_bitext
from toolkit.system.command import run_script
from toolkit.system.outputs import check_output_file

PROGRAM = "parabank count idf"


@dataclass(frozen=True)
class _CountSettings:
    """The settings of the count.

    Attributes:
        bitext: Training corpus: one file, glob or dataset, or two line-aligned files.
        output: File of the table; compressed if it ends in .gz.
        reference_column: Column of the language that is counted; by default 1 or "reference".
        source_column: Column of the other language; by default that which is counted if it is given, else 0 or
            "source".
        data_split: Split to read, if the bitext is a dataset.
    """

    bitext: list[str]
    output: str
    reference_column: str | None = None
    source_column: str | None = None
    data_split: str = "train"


def references(pairs: Iterable[Pair], faults: list[int]) -> Iterator[str]:
    """Yield the references of usable lines; append the numbers of unusable lines to `faults`."""
    for pair in pairs:
        if pair.fault:
            faults.append(pair.line)
        else:
            yield pair.reference


def main(arguments: list[str]) -> int:
    """Parse the command line, count and write; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", _CountSettings, _work, arguments)


def _work(s: _CountSettings) -> None:
    """Count and write.

    Raises:
        ValueError: The bitext cannot be read, or has no usable line.
        OSError: The table cannot be written there.
    """
    check_output_file(Path(s.output), s.bitext, is_idf)
    faults: list[int] = []
    source_column = s.reference_column if s.source_column is None else s.source_column
    idf = count_idf(references(read_bitext(s.bitext, source_column, s.reference_column, s.data_split), faults))
    if not idf.sentences:
        raise ValueError(
            f"wanted usable lines, got none in {' and '.join(s.bitext)} ({len(faults)} unusable): name its columns"
        )
    write_idf(Path(s.output), idf)
    words = sum(df >= MIN_DF for df in idf.df.values())
    print(f"{s.output}: {words} words of {idf.sentences} sentences, {len(faults)} unusable lines left out")
