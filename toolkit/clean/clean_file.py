"""Clean a bitext from file to file: the pairs that are kept, and if asked those that are refused with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.bitext.read import SUFFIXES, text_suffix
from toolkit.clean.bitext import BitextSettings
from toolkit.clean.corpus import cleaning_folder
from toolkit.clean.rules import none_usable
from toolkit.system.outputs import check_output_file
from toolkit.system.ranges import Threads
from toolkit.system.whole_files import whole_file

CODECS = {".gz": "gzip", ".zst": "zstd"}  # of an output, as Arrow names them
BREAKS = "[\t\n\r]"  # in a text of a line, these are spaces


@dataclass(frozen=True, kw_only=True)
class CleanFile(BitextSettings):
    """The settings of `clean_file`.

    Attributes:
        output: File of the pairs that are kept, in normal form: source TAB reference (.tsv, also .gz or .zst) or
            Parquet (.parquet), which has the numbers of the lines, too.
        refused: File of the refused pairs, likewise, with the line and the reason of each; by default none.
        workers: Processes that share the work; by default one for each core.
    """

    output: str
    refused: str | None = None
    workers: Threads | None = None

    def __post_init__(self) -> None:
        """Refuse outputs with an unknown suffix, and two that are one file."""
        super().__post_init__()
        check_names(self.output, self.refused)


def check_names(output: str, refused: str | None) -> None:
    """Refuse names of files of pairs that do not tell how these are to be written, and one name for two files.

    Raises:
        ValueError: A suffix is unknown, or both are the same file.
    """
    for path in filter(None, (output, refused)):
        check_suffix(path)
    if refused and Path(refused).resolve() == Path(output).resolve():
        raise ValueError(f"wanted two files, got {output} and {refused}, which are one: choose another --refused")


def check_suffix(path: str) -> None:
    """Refuse a file of pairs whose suffix does not tell how it is to be written.

    Raises:
        ValueError: The suffix is unknown.
    """
    suffix, last_suffix = text_suffix(path), Path(path).suffix.lower()
    if suffix not in SUFFIXES or (suffix != last_suffix and (suffix == ".parquet" or last_suffix not in CODECS)):
        raise ValueError(f"wanted a file in {', '.join(SUFFIXES)} (text also .gz, .zst), got {path}: rename it")


def clean_file(settings: CleanFile) -> Counter[str]:
    """Clean a bitext and write it; the outputs get their names when they are complete.

    Returns:
        The numbers of refused lines by reason, and of kept ones as "kept".

    Raises:
        OSError: The bitext does not exist, or an output cannot be written.
        ValueError: The bitext cannot be used, or no pair is left.
    """
    outputs = [Path(path) for path in (settings.output, settings.refused) if path]
    for path in outputs:
        check_output_file(path, settings.bitext)
    settings.check_bitext()
    with cleaning_folder(outputs[0].with_name(f".{outputs[0].name}.cleaning")) as folder:
        return write_judged(settings.cleaned(folder, settings.workers), outputs, settings.bitext)


def write_judged(tables: Iterable[pa.Table], outputs: Sequence[Path], bitext: Sequence[str]) -> Counter[str]:
    """Write pairs to files by their reasons; the files get their names when they are complete.

    Args:
        tables: `line`, `source`, `reference`, `reason`, and what else Parquet is to have of them.
        outputs: The file of the pairs without a reason and, if asked, that of the others.
        bitext: Where they are from, for the error.

    Returns:
        The numbers of refused pairs by reason, and of kept ones as "kept".

    Raises:
        OSError: A file cannot be written.
        ValueError: No pair is left.
    """
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        # the file of the refused pairs gets its name last
        writers = [stack.enter_context(writer(path, path != outputs[0])) for path in reversed(outputs)][::-1]
        for table in tables:
            usable_rows = table.filter(pc.is_null(table["reason"])).drop_columns("reason")
            refused_rows = table.filter(pc.is_valid(table["reason"]))
            counts.update(refused_rows["reason"].to_pylist())
            counts["kept"] += len(usable_rows)
            for write_rows, rows in zip(writers, (usable_rows, refused_rows), strict=False):
                write_rows(rows)
        if not counts["kept"]:
            raise ValueError(none_usable(bitext, +counts))
    return counts


@contextmanager
def writer(path: Path, with_reasons: bool) -> Iterator[Callable[[pa.Table], None]]:
    """A function that appends tables to a file, which gets its name at the end of the block, if no error ends it.

    Args:
        path: The file.
        with_reasons: Whether text has the number of the line and the reason before source and reference.
    """
    with whole_file(path) as temporary, ExitStack() as stack:
        if path.suffix.lower() == ".parquet":
            yield _parquet_rows(temporary, stack)
        else:
            codec = CODECS.get(path.suffix.lower())
            file = stack.enter_context(pa.output_stream(str(temporary), compression=codec))
            columns = ["line", "reason", "source", "reference"] if with_reasons else ["source", "reference"]
            yield lambda table: file.write(_encode_lines(table.select(columns), with_reasons))


def _parquet_rows(path: Path, stack: ExitStack) -> Callable[[pa.Table], None]:
    """A function that appends tables to a Parquet file."""
    opened: list[pq.ParquetWriter] = []

    def write(table: pa.Table) -> None:
        if not opened:
            opened.append(stack.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd")))
        opened[0].write_table(table)

    return write


def _encode_lines(table: pa.Table, with_breaks: bool) -> bytes:
    """The rows of a table as lines with TABs between the columns.

    Args:
        table: Columns of texts and numbers.
        with_breaks: Whether a text may have TABs and line ends, as of refused pairs; they become spaces.
    """
    large = pa.large_string()
    columns = [column.cast(large) for column in table.columns]
    if with_breaks:
        columns = [pc.replace_substring_regex(column, BREAKS, " ") for column in columns]
    between, end, empty = (pa.scalar(mark, large) for mark in ("\t", "\n", ""))
    rows = pc.binary_join_element_wise(pc.binary_join_element_wise(*columns, between), empty, end)
    return b"".join(_text_bytes(chunk) for chunk in rows.chunks)


def _text_bytes(texts: pa.LargeStringArray) -> bytes:
    """The texts of an array, one after the other, as they lie in its memory."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)
    first, last = int(offsets[texts.offset]), int(offsets[texts.offset + len(texts)])
    return texts.buffers()[2].slice(first, last - first).to_pybytes() if last > first else b""
