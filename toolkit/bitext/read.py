"""Read a bitext as a stream of pairs, or of blocks of lines, in constant memory.

It is in text files, Parquet, CSV, JSON lines, TMX, a zip archive of these as OPUS has them, or a dataset.

A line that cannot be used does not stop the stream: its pair carries a `fault`, and `clean` counts it. A bitext that
cannot be used is an error at the call, before the first pair. What it does not do: change a text (`normalize.py`),
except that line feeds within a text become spaces, and tabs of a text in CSV, JSON or TMX.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.bitext._codes import short_code
from toolkit.bitext._records import (
    SAMPLE_RECORDS,
    Record,
    columns_of_records,
    csv_pairs,
    json_pairs,
    named_columns,
    record_names,
)
from toolkit.bitext._sides import Sides
from toolkit.bitext._tmx import read_units
from toolkit.bitext.csv_data_sets import check_folder, csv_options
from toolkit.bitext.text_file import (
    BLOCK_BYTES,
    COMPRESSED,
    LONGEST_FIELD,
    _cut,
    _open_archive,
    _Text,
    _whole_lines,
    checked_path,
    decode,
)
from toolkit.system.contents import STANDARD_INPUT, standard_input_file
from toolkit.system.urls import for_arrow, is_file, matching

SUFFIXES = (".tsv", ".txt", ".parquet")  # of the forms in which pairs are also written
RECORDS: dict[str, Callable[[_Text, Sides], Iterator[Record]]] = {".csv": csv_pairs, ".jsonl": json_pairs}
FORMS = (*SUFFIXES, *RECORDS, ".tmx", ".zip")
LINES = (".tsv", ".txt")  # suffixes of lines of text, with one side or with both between tabs
BOTH_SIDES = frozenset(FORMS) - {*LINES}  # suffixes of files that hold both sides in any case
BLOCK_LINES = 20_000  # ours: of a block of Parquet
BLOCK_RECORDS = 1000  # ours: of a block of a dataset, which may come slowly
DATASET = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?(:[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class Pair:
    """One line of a bitext.

    Attributes:
        line: Its number, from 1; over several Parquet files the count runs on.
        source: The foreign text, as it was read.
        reference: The text that will be paraphrased, as it was read.
        fault: Why the line is unusable: "invalid_utf8" (the bad bytes are U+FFFD in the text) or "columns" (a TSV line
            with too few or too many; `source` holds the line). None for a good line.
    """

    line: int
    source: str
    reference: str
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of a bitext, undecoded.

    Attributes:
        line: The number of the first, from 1.
        sides: The lines of the source and those of the reference, or one text whose lines have TABs between columns;
            every line ends at a line feed.
        columns: In one text, the columns of the source and of the reference, from 0; else None.
        width: In one text, how many columns a line has; another line is a fault. None takes lines that are wider.
    """

    line: int
    sides: tuple[bytes, ...]
    columns: tuple[int, int] | None = None
    width: int | None = None


def read_bitext(
    bitext: Sequence[str],
    source_column: str | int | None = None,
    reference_column: str | int | None = None,
    data_split: str = "train",
    source_lang: str | None = None,
    lang: str | None = None,
) -> Iterator[Pair]:
    r"""The pairs of a bitext, in its order.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "demo.tsv")
    >>> _ = path.write_text("Hallo!\tHello!\nDanke.\tThanks.\n")
    >>> [pair.reference for pair in read_bitext([str(path)])]
    ['Hello!', 'Thanks.']

    Args:
        bitext: Two line-aligned files, source and reference; or files that hold both sides, which are read one after
            the other, sorted: TSV (.tsv, .txt), CSV or TSV with a header, JSON lines, TMX, Parquet, and zip archives
            of two line-aligned files or of one of these; or a local dataset directory, or a Hub id
            ("id:configuration" where it has several). Files may be globs and URLs (`toolkit.system.urls`), and "-" is
            the standard input. Text may be compressed (`toolkit.bitext.text_file`); its lines end at a line feed and
            at no other character.
        source_column: Number of the TSV column, from 0 (default 0), or name of the column (default `source_lang`,
            "source", "src" or "sentence1"). A field of a nested column is "translation.de". Of TMX and of a zip
            archive a language.
        reference_column: The same (default 1, or `lang`, "reference", "target", "tgt" or "sentence2").
        data_split: Which split of a dataset to read; a file has none.
        source_lang: The language of the source, where columns or files are named by languages.
        lang: The language of the references, likewise.

    Returns:
        An iterator of constant memory.

    Raises:
        FileNotFoundError: A file does not exist.
        ValueError: No item, an unknown suffix, a missing column, language or split, an empty bitext; while reading,
            files of unequal length or damaged compression.
    """
    blocks = read_blocks(bitext, source_column, reference_column, data_split, source_lang, lang)
    return chain.from_iterable(map(pairs_of, blocks))


def read_blocks(
    bitext: Sequence[str],
    source_column: str | int | None = None,
    reference_column: str | int | None = None,
    data_split: str = "train",
    source_lang: str | None = None,
    lang: str | None = None,
) -> Iterator[Block]:
    """The lines of a bitext in blocks of some megabytes, in its order; `pairs_of` makes pairs of them.

    The arguments, results and errors are otherwise those of `read_bitext`.
    """
    if isinstance(bitext, str) or not bitext:
        raise ValueError(f"wanted a list of one or two files, got {bitext!r}: put the source file before the reference")
    source_code, code = (name and (short_code(name) or name) for name in (source_lang, lang))
    sides = Sides((source_column, reference_column), (source_code, code))
    addresses = [str(standard_input_file()) if address == STANDARD_INPUT else address for address in bitext]
    if len(addresses) == 2 and not all(map(_holds_both_sides, addresses)):
        if sides.columns != (None, None):
            raise ValueError(
                f"wanted no columns with two files, got {source_column!r}, {reference_column!r}: leave the columns out"
            )
        return _with_first_block(_read_aligned(*map(_Text, addresses)), " and ".join(addresses))
    files = sorted(chain.from_iterable(map(_matching_files, addresses)))
    blocks = (block for file in files for block in _read_one(file, sides, data_split))
    return _with_first_block(_renumbered(blocks) if len(files) > 1 else blocks, " and ".join(addresses))


def _holds_both_sides(address: str) -> bool:
    """Whether a file holds source and reference, rather than one: by its suffix, or by TABs in most of its first lines.

    Raises:
        FileNotFoundError: It is to be looked at and does not exist.
    """
    suffix = text_suffix(address)
    if suffix in BOTH_SIDES or (glob.has_magic(address) and not is_file(address)):
        return True
    if suffix not in LINES:
        return False
    sample = [line for line in next(_whole_lines(address), b"").split(b"\n")[:SAMPLE_RECORDS] if line.strip()]
    return 2 * sum(b"\t" in line for line in sample) > len(sample)


def _matching_files(address: str) -> list[str]:
    """The files that a path, a URL or a glob of either names; a dataset is one.

    Raises:
        FileNotFoundError: There is none.
    """
    if glob.has_magic(address) and not Path(address).exists() and not is_file(address):
        return matching(address) or [checked_path(address)]
    return [address]


def read_each(bitexts: Sequence[str], source_lang: str | None = None, lang: str | None = None) -> Iterator[Block]:
    """The lines of several bitexts, one after the other, as if they were one; each has its default columns.

    Args:
        bitexts: For each what `read_blocks` takes as one item.
        source_lang: As for `read_blocks`.
        lang: As for `read_blocks`.

    Raises:
        ValueError: As `read_blocks`, when a bitext is reached.
    """
    columns_and_split = None, None, "train"
    return _renumbered(
        block for bitext in bitexts for block in read_blocks([bitext], *columns_and_split, source_lang, lang)
    )


def read_sentences(texts: Sequence[str], column: str | int | None = None, data_split: str = "train") -> Iterator[Block]:
    r"""The lines of text in one language: pairs of a sentence with itself, so that the rules for pairs can judge them.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "demo.txt")
    >>> _ = path.write_text("Hello!\nThanks.\n")
    >>> [(pair.source, pair.reference) for block in read_sentences([str(path)]) for pair in pairs_of(block)]
    [('Hello!', 'Hello!'), ('Thanks.', 'Thanks.')]

    Args:
        texts: For each what `read_blocks` takes as one item; they are read one after the other.
        column: Of the sentence: a number of a text file (default 0), or a name (default "text").
        data_split: Which split of a dataset to read; a file has none.

    Raises:
        ValueError: As `read_blocks`, when a text is reached.
    """

    def blocks(text: str) -> Iterator[Block]:
        text_column = (0 if text_suffix(text) in LINES else "text") if column is None else column
        return read_blocks([text], text_column, text_column, data_split)

    return _renumbered(block for text in texts for block in blocks(text))


def _renumbered(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same blocks; the numbers of their lines run on from each to the next."""
    line = 1
    for block in blocks:
        yield replace(block, line=line)
        line += block.sides[0].count(b"\n")


def _read_one(address: str, sides: Sides, data_split: str) -> Iterator[Block]:
    """The lines of one file or dataset. Its name, and what is on the disk, decide how it is read."""
    if Path(address).is_dir() or is_dataset(address):
        return _read_dataset(address, _with_names(sides), data_split)
    suffix = text_suffix(address)
    if suffix == ".zip":
        return _read_archive(address, sides)
    if suffix == ".parquet":
        return _read_parquet(checked_path(address), _with_names(sides))
    checked_path(address)
    return _read_text(_Text(address), suffix, sides)


def _read_text(text: _Text, suffix: str, sides: Sides) -> Iterator[Block]:
    """The lines of a text that holds both sides, by the suffix of its form.

    Raises:
        ValueError: There is no such form.
    """
    if suffix in LINES:
        return _read_tsv(text, sides)
    if suffix == ".tmx":
        return _read_tmx(text, _with_names(sides))
    if suffix in RECORDS:
        return _blocks_of(RECORDS[suffix](text, _with_names(sides)))
    raise ValueError(
        f"wanted a bitext in {', '.join(FORMS)} (text also {', '.join(COMPRESSED)}), got {text}: "
        "convert it, or give two line-aligned files"
    )


def _read_archive(path: str, sides: Sides) -> Iterator[Block]:
    """The lines of a zip archive: of two line-aligned files that end in the codes of their languages, or of one file.

    Raises:
        ValueError: It has not exactly one file for each side, or no other that holds a bitext; it is damaged.
    """
    sides = _with_names(sides)
    with _open_archive(path) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
    languages = {name: _bare(name).suffix[1:] for name in names}
    known = sorted({language for language in languages.values() if short_code(language)})
    chosen = [sides.of_language(list(languages.values()), number) for number in (0, 1)]
    if None not in chosen:
        files = [[name for name in names if languages[name] == language] for language in chosen]
        if max(map(len, files)) > 1:
            raise ValueError(f"wanted one file for each side, got {', '.join(chain(*files))} in {path}: unpack it")
        source, reference = (_Text(path, name) for (name,) in files)
        return _read_aligned(source, reference)
    whole = [name for name in names if text_suffix(name) in FORMS and text_suffix(name) not in (".txt", ".zip")]
    if len(whole) == 1 and text_suffix(whole[0]) != ".parquet":
        return _read_text(_Text(path, whole[0]), text_suffix(whole[0]), sides)
    raise _no_language(sides.wanted(chosen.index(None)), known or names, path)


def _no_language(language: str, names: Sequence[str], place: object) -> ValueError:
    """The error of a file that lacks the side of a language."""
    return ValueError(
        f"wanted a side in {language!r}, got only {', '.join(names) or 'none'} in {place}: name the languages of both "
        "sides, or give them as columns"
    )


def _read_tmx(text: _Text, sides: Sides) -> Iterator[Block]:
    """The units of TMX as lines.

    Raises:
        ValueError: None of the first units has a text in one of the languages, and as `read_units`.
    """
    names: dict[str, tuple[int, ...]] = {}

    def sides_of(name: str) -> tuple[int, ...]:
        return tuple(number for number in (0, 1) if sides.of_language([name], number))

    for block in _blocks_of(read_units(text, sides_of, names)):
        for number in (0, 1):
            if not any(number in numbers for numbers in names.values()):
                raise _no_language(sides.wanted(number), sorted(names), text)
        yield block


def _blocks_of(pairs: Iterator[Record]) -> Iterator[Block]:
    """Pairs of texts in blocks of lines; a pair that is None becomes a line that lacks columns."""
    line, parts, size = 1, list[bytes](), 0
    for pair in pairs:
        parts.append(b"\t".join(map(_line_field, pair)) if pair is not None else b"")
        size += len(parts[-1])
        if len(parts) == BLOCK_LINES or size >= BLOCK_BYTES:
            yield Block(line, (b"\n".join([*parts, b""]),), (0, 1), 2)
            line, parts, size = line + len(parts), [], 0
    if parts:
        yield Block(line, (b"\n".join([*parts, b""]),), (0, 1), 2)


def _line_field(text: str) -> bytes:
    """A text as bytes without tabs and line feeds; its surrogates are bytes that are not UTF-8."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # of a JSON escape
        raw = text.encode("utf-8", "surrogatepass")
    return _cut(raw.replace(b"\n", b" ").replace(b"\t", b" "))


def _with_first_block(blocks: Iterator[Block], name: str) -> Iterator[Block]:
    """The same blocks, the first of which has been read already, so that an unusable bitext is an error at once.

    Raises:
        ValueError: There is no first line.
    """
    first = next(blocks, None)
    if first is None:
        raise ValueError(f"wanted a bitext of at least one line, got {name}, which is empty: check the export")
    return chain([first], blocks)


def _read_tsv(text: _Text, sides: Sides) -> Iterator[Block]:
    """The lines of a tab-separated file without quoting; columns count from 0, or have names in the first line.

    All lines have as many columns as most lines of the first block.
    """
    line, width, columns = 1, None, None
    for lines_of_block in _whole_lines(*text):
        if columns is None:
            header, _, rest = lines_of_block.partition(b"\n")
            cells = [decode(cell)[0] for cell in header.rstrip(b"\r").split(b"\t")]
            columns, has_header = _tsv_columns(cells, sides, text)
            if has_header:
                line, lines_of_block = 2, rest
        width = width or _usual_width(lines_of_block, max(columns) + 1)
        if lines_of_block:
            yield Block(line, (lines_of_block,), columns, width)
        line += lines_of_block.count(b"\n")


def _tsv_columns(first_line: list[str], sides: Sides, text: _Text) -> tuple[tuple[int, int], bool]:
    """The columns of source and reference of a TSV file, and whether its first line is a header, which names them.

    Raises:
        ValueError: A column was given that is neither a number nor in the first line, or whose name is there without
            one for the other side.
    """
    names = [cell.strip() for cell in first_line]
    are_numbers = [column is None or str(column).isdecimal() for column in sides.columns]
    source, reference = sides.among(names) if sides.columns == (None, None) or not all(are_numbers) else (None, None)
    if source is not None and reference is not None:
        return (names.index(source), names.index(reference)), True
    if (source is not None and not are_numbers[0]) or (reference is not None and not are_numbers[1]):
        named_columns(sides, names, text)
    return (_column_number(sides.columns[0], 0), _column_number(sides.columns[1], 1)), False


def _usual_width(text: bytes, minimum: int) -> int:
    r"""How many columns most lines have, among those that have at least so many.

    >>> _usual_width(b"a\tb\nc\td\te\nf\tg\n\nh\n\n", 2)
    2

    Args:
        text: Lines that each end at a line feed.
        minimum: What is returned if no line has so many columns.
    """
    points = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(points == ord("\n"))
    tabs = np.searchsorted(np.flatnonzero(points == ord("\t")), ends)
    widths = np.diff(tabs, prepend=0) + 1
    counts = np.bincount(widths[widths >= minimum])
    return int(counts.argmax()) if len(counts) else minimum


def _read_aligned(source: _Text, reference: _Text) -> Iterator[Block]:
    """The lines of two texts; the suffix is free ("corpus.de", "corpus.en").

    Raises:
        ValueError: One text has more lines than the other; raised at the end of the shorter one.
    """
    for path in {source.path, reference.path}:
        if text_suffix(checked_path(path)) == ".parquet":
            raise ValueError(f"wanted two text files, got {path}: give one Parquet file and its columns")
    sources, references, line = _whole_lines(*source), _Lines(_whole_lines(*reference)), 1
    for left in sources:
        source_count = left.count(b"\n")
        right = references.next(source_count)
        if (reference_count := right.count(b"\n")) < source_count:
            longer = line - 1 + source_count + sum(block.count(b"\n") for block in sources)
            raise _unequal(source, longer, reference, line - 1 + reference_count)
        yield Block(line, (left, right))
        line += source_count
    if rest := references.rest():
        raise _unequal(source, line - 1, reference, line - 1 + rest)


class _Lines:
    """Lines that are taken some at a time from blocks of others."""

    def __init__(self, blocks: Iterator[bytes]):
        self.blocks, self.left = blocks, b""

    def next(self, line_count: int) -> bytes:
        """So many lines; fewer at the end."""
        parts, available_count = [self.left], self.left.count(b"\n")
        while available_count < line_count and (block := next(self.blocks, b"")):
            parts.append(block)
            available_count += block.count(b"\n")
        text = b"".join(parts)
        if available_count <= line_count:
            self.left = b""
            return text
        end = int(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))[line_count - 1]) + 1
        self.left = text[end:]
        return text[:end]

    def rest(self) -> int:
        """The number of lines that have not been taken."""
        return self.left.count(b"\n") + sum(block.count(b"\n") for block in self.blocks)


def _unequal(source: _Text, left: int, reference: _Text, right: int) -> ValueError:
    """The error of two files with different numbers of lines."""
    return ValueError(
        f"wanted files with equally many lines, got {left} in {source} and {right} in {reference}: align them again"
    )


def _read_parquet(path: str, sides: Sides) -> Iterator[Block]:
    """The pairs of a Parquet file, one record batch in memory at a time."""
    record = 1
    with open_parquet(path) as file:
        names = named_columns(sides, _column_names(file.schema_arrow), path)
        for batch in file.iter_batches(BLOCK_LINES, columns=list(names)):
            source, reference = (_join_texts(_column_bytes(batch, name, path)) for name in names)
            yield Block(record, (source, reference))
            record += len(batch)


def _read_dataset(address: str, sides: Sides, data_split: str) -> Iterator[Block]:
    """The pairs of a dataset on the Hub or in a local directory, streamed.

    Raises:
        ValueError: The dataset, its split or a column is not there, or a column holds no text.
    """
    dataset, first, names = _open_dataset(address, data_split, lambda columns: None not in sides.among(columns))
    if not first:
        return
    columns = columns_of_records(sides, names, address)
    top_names = set(chain.from_iterable(first))
    outer = dict.fromkeys(name if name in top_names else name.partition(".")[0] for name in columns)
    records = iter(dataset.select_columns(list(outer)))
    for line in count(1, BLOCK_RECORDS):
        batch = list(islice(records, BLOCK_RECORDS))
        if not batch:
            return
        texts = ([_field_text(record, name, address) for record in batch] for name in columns)
        source, reference = (_join_texts([text.encode("utf-8", "surrogatepass") for text in side]) for side in texts)
        yield Block(line, (source, reference))


def pairs_of(block: Block) -> Iterator[Pair]:
    """The pairs of a block."""
    split = [side.split(b"\n")[:-1] for side in block.sides]
    if block.columns is None:
        for line, (source, reference) in enumerate(zip(*split, strict=True), block.line):
            yield _decoded_pair(line, source, reference)
        return
    needed = max(block.columns) + 1
    for line, raw in enumerate(split[0], block.line):
        columns = raw.rstrip(b"\r").split(b"\t")
        if len(columns) < needed or (block.width is not None and len(columns) != block.width):
            yield Pair(line, decode(raw)[0], "", "columns")
        else:
            yield _decoded_pair(line, *(columns[column] for column in block.columns))


def first_lines(blocks: Iterable[Block], limit: int) -> Iterator[Block]:
    """The first lines of some blocks.

    Args:
        blocks: All lines.
        limit: The most lines, at least 1.
    """
    left = limit
    for block in blocks:
        line_count = block.sides[0].count(b"\n")
        if line_count >= left:
            sides = tuple(b"".join(line + b"\n" for line in side.split(b"\n", left)[:left]) for side in block.sides)
            yield replace(block, sides=sides)
            return
        yield block
        left -= line_count


def _join_texts(texts: Sequence[bytes | None]) -> bytes:
    """Texts as lines; a missing one is an empty line, line feeds within a text are spaces, and long texts are cut."""
    if any(text is not None and len(text) > LONGEST_FIELD for text in texts):
        texts = [text and _cut(text) for text in texts]
    lines_of_texts = b"\n".join([text or b"" for text in texts] + [b""])
    if lines_of_texts.count(b"\n") == len(texts):
        return lines_of_texts
    return b"".join([(text or b"").replace(b"\n", b" ") + b"\n" for text in texts])


def _open_dataset(
    address: str, data_split: str, has_columns: Callable[[list[str]], bool]
) -> tuple[Any, list[dict], list[list[str]]]:
    """One split of a dataset as a `datasets` object, streaming, with its first records and their columns.

    Args:
        address: As `_load_dataset` takes it.
        data_split: Which split.
        has_columns: Whether the columns of a record, with the fields of nested ones after a dot, are those to read.

    Returns:
        The object; its first records, none if it is empty, and more than one only until one has the columns; and the
        columns of each of them.

    Raises:
        ValueError: The dataset, its configuration or its split is not there, or its first file is damaged.
    """
    import datasets  # most bitexts are files: they need not wait for this import

    check_folder(address)
    first, names = list[dict](), list[list[str]]()
    try:
        dataset = _load_dataset(address, data_split)
        for record in islice(dataset, SAMPLE_RECORDS):
            first.append(record)
            names.append(_column_names(dataset.features.arrow_schema) if dataset.features else record_names(record))
            if dataset.features or has_columns(names[-1]):
                break
        return dataset, first, names
    except (OSError, ValueError, RuntimeError, StopIteration, datasets.exceptions.DatasetsError) as error:
        reason = str(error).strip().split("\n")[0] or "no records"  # an empty JSON file ends in StopIteration
        raise ValueError(
            f"wanted split {data_split!r} of a dataset, got {address}, which does not load ({reason}): "
            "check the path or Hub id, the configuration (id:configuration) and the split"
        ) from error


def _load_dataset(address: str, data_split: str) -> Any:
    """One split of a dataset on the Hub ("id" or "id:configuration"), in a directory, or written by `save_to_disk`."""
    import datasets

    name, _, configuration = (address, "", "") if Path(address).is_dir() else address.partition(":")
    if Path(name, "dataset_dict.json").exists():
        return datasets.load_from_disk(str(Path(name, data_split)))
    if Path(name, "state.json").exists():
        return datasets.load_from_disk(name)
    options = csv_options(name, configuration or None)
    return datasets.load_dataset(name, configuration or None, split=data_split, streaming=True, **options)


def _decoded_pair(line: int, source: bytes | None, reference: bytes | None) -> Pair:
    """A pair from the bytes of its two sides; a missing value is an empty text."""
    source_text, source_fault = decode(source or b"")
    reference_text, reference_fault = decode(reference or b"")
    return Pair(line, source_text, reference_text, source_fault or reference_fault)


def open_parquet(path: str) -> pq.ParquetFile:
    """A Parquet file, open.

    Raises:
        ValueError: It is not Parquet, or cut short.
    """
    try:
        return pq.ParquetFile(for_arrow(checked_path(path)))
    except pa.ArrowInvalid as error:
        raise ValueError(f"wanted a Parquet file, got {path}, which is none ({error}): write it again") from error


def _column_bytes(batch: pa.RecordBatch, name: str, path: str) -> list[bytes | None]:
    """A text column of a batch, undecoded, because Parquet does not promise that text is UTF-8.

    Raises:
        ValueError: The column does not hold text.
    """
    outer, _, inner = name.partition(".")
    column = batch.column(name) if name in batch.schema.names else pc.struct_field(batch.column(outer), inner)
    try:
        return column.cast(pa.large_binary()).to_pylist()
    except pa.ArrowException:
        raise ValueError(
            f"wanted text in column {name!r}, got {column.type} in {path}: choose another column"
        ) from None


def _field_text(record: dict, name: str, address: str) -> str:
    """A text of a record, by the name of its column; None is an empty text.

    Raises:
        ValueError: The column does not hold text.
    """
    outer, _, inner = name.partition(".")
    value = record[name] if name in record else (record[outer] or {}).get(inner)
    if not isinstance(value, str | None):
        raise ValueError(
            f"wanted text in column {name!r}, got {type(value).__name__} in {address}: choose another column"
        )
    return value or ""


def _column_names(schema: pa.Schema) -> list[str]:
    """The columns of a schema, and the fields of nested ones after a dot."""
    return [
        f"{field.name}.{child.name}" if child else field.name
        for field in schema
        for child in (field.type if pa.types.is_struct(field.type) else [None])
    ]


def _with_names(sides: Sides) -> Sides:
    """The sides themselves, if no column is a number.

    Raises:
        ValueError: One is.
    """
    for column in sides.columns:
        if isinstance(column, int):
            raise ValueError(f"wanted the name of a column, got the number {column}: only TSV columns have numbers")
    return sides


def _column_number(column: str | int | None, default: int) -> int:
    """The number of a column of a TSV file, from 0; it may be a string of digits, as from the command line.

    Raises:
        ValueError: It is no number.
    """
    if column is None:
        return default
    if not str(column).isdecimal():
        raise ValueError(f"wanted the number of a TSV column, from 0, got {column!r}: the first line lacks this name")
    return int(column)


def text_suffix(path: str) -> str:
    """The suffix of a path before that of its compression, in small letters.

    >>> text_suffix("corpus.tsv.gz"), text_suffix("CORPUS.TSV")
    ('.tsv', '.tsv')
    """
    return _bare(path).suffix.lower()


def _bare(path: str) -> Path:
    """A path without the suffix of its compression."""
    return Path(path).with_suffix("") if Path(path).suffix.lower() in COMPRESSED else Path(path)


def is_dataset(address: str) -> bool:
    """Whether an address that is not on the disk looks like a Hub id rather than like a missing file.

    >>> is_dataset("Helsinki-NLP/opus-100:de-en"), is_dataset("lost/corpus.tsv"), is_dataset("./lost")
    (True, False, False)
    """
    is_file_name = Path(address).suffix.lower() in (*FORMS, *COMPRESSED)
    return not Path(address).exists() and not is_file_name and DATASET.fullmatch(address) is not None
