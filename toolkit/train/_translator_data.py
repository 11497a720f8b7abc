"""The text of a training: cleaned pairs as Arrow files, and the SentencePiece models that segment them.

Back-translated pairs stand after those of the bitext in the file to train on. `prepare` writes all once per training;
the training reads the pairs memory-mapped.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.languages import SAMPLE, check_languages
from toolkit.bitext.read import Block, pairs_of, read_blocks, read_each
from toolkit.bitext.split import split_of
from toolkit.bitext.subwords import train_pieces
from toolkit.clean.corpus import clean_corpus
from toolkit.clean.rules import CleanSettings, clean, none_usable
from toolkit.system.whole_files import write_whole
from toolkit.translator.settings import DEFAULT_SIZE, SIZES, Size, TrainingSettings

PARTS = ("bitext", "validation", "synthetic")  # the settings that name text
PREPARED = "prepared.json"  # written last of what `prepare` writes
PAIRS = pa.schema({"source": pa.large_string(), "reference": pa.large_string()})
VALIDATION_SHARE = 0.01  # ours: of the references, where no validation bitext is given


def check_bitexts(settings: TrainingSettings) -> None:
    """Refuse text without a usable pair, or in other languages than the settings say.

    Raises:
        ValueError: A bitext is one of these, or cannot be read.
    """
    for part in PARTS[:2]:
        if bitext := getattr(settings, part):
            _check_bitext(_read(bitext, settings), bitext, settings)
    for file in settings.synthetic:
        _check_bitext(read_each([file], settings.source_lang, settings.lang), [file], settings)


def _read(bitext: list[str], settings: TrainingSettings) -> Iterator[Block]:
    """The lines of a bitext with the columns and the languages of the settings."""
    columns, languages = (settings.source_column, settings.reference_column), (settings.source_lang, settings.lang)
    return read_blocks(bitext, *columns, "train", *languages)


def _check_bitext(blocks: Iterable[Block], bitext: list[str], settings: TrainingSettings) -> None:
    """Refuse a bitext by its first lines, as `check_bitexts`."""
    refused: Counter[str] = Counter()
    pairs = (pair for block in blocks for pair in pairs_of(block))
    sample = list(islice(clean(pairs, CleanSettings(), settings.source_lang, settings.lang, refused), SAMPLE))
    if not sample:
        raise ValueError(none_usable(bitext, refused))
    if settings.check_language:
        check_languages(sample, settings.source_lang, settings.lang)


def prepare(settings: TrainingSettings) -> dict[str, Any]:
    """Write `train.arrow`, `validation.arrow` and the SentencePiece models to `output_dir`, unless they are there.

    A training with a base model needs no SentencePiece models of its own.

    Returns:
        How many pairs of the bitext each split has, and how many were refused for which reason; under "synthetic" the
        same of the back-translated pairs, if there are any.

    Raises:
        ValueError: No pair is left to train on.
    """
    folder = Path(settings.output_dir)
    if (folder / PREPARED).exists():
        return json.loads((folder / PREPARED).read_text())
    folder.mkdir(parents=True, exist_ok=True)
    counts = _write_splits(settings, folder)
    if not settings.base_model:
        _write_pieces(SIZES[settings.size or DEFAULT_SIZE], folder, settings.seed)
    write_whole(folder / PREPARED, json.dumps(counts, indent=1))
    return counts


def _write_splits(settings: TrainingSettings, folder: Path) -> dict[str, Any]:
    """Write the pairs to train on and those that are held out, as Arrow files.

    A back-translated pair is never held out. Where references are, it is left out if its reference would be one.

    Returns:
        As `prepare`.

    Raises:
        ValueError: No pair is left to train on.
    """
    counts: Counter[str] = Counter(train=0, validation=0)
    synthetic: Counter[str] = Counter(train=0)
    share = 0.0 if settings.validation else VALIDATION_SHARE
    with _pair_file(folder / "train.arrow") as train, _pair_file(folder / "validation.arrow") as validation:
        for table in _cleaned_tables(_read(settings.bitext, settings), settings, folder, counts):
            held_out = _is_held_out(table, share)
            for split, write, mask in (("train", train, pc.invert(held_out)), ("validation", validation, held_out)):
                write(split_rows := table.filter(mask))
                counts[split] += len(split_rows)
        if not counts["train"]:
            del counts["train"], counts["validation"]
            raise ValueError(none_usable(settings.bitext, counts))
        if settings.validation:
            for table in _cleaned_tables(_read(settings.validation, settings), settings, folder, counts):
                validation(table)
                counts["validation"] += len(table)
        if settings.synthetic:
            for table in _cleaned_tables(
                read_each(settings.synthetic, settings.source_lang, settings.lang), settings, folder, synthetic
            ):
                train(usable_rows := table.filter(pc.invert(_is_held_out(table, share))))
                synthetic["train"] += len(usable_rows)
                synthetic["held_out"] += len(table) - len(usable_rows)
    return {**counts, **({"synthetic": dict(synthetic)} if settings.synthetic else {})}


def _is_held_out(table: pa.Table, share: float) -> pa.BooleanArray:
    """Whether the reference of each pair is among the share of references that are held out."""
    if not share:
        return pa.array([False] * len(table), pa.bool_())
    return pa.array(
        [split_of(reference, share, 0.0) == "validation" for reference in table["reference"].to_pylist()], pa.bool_()
    )


def _write_pieces(size: Size, folder: Path, seed: int) -> None:
    """Train the SentencePiece models of a size on the pairs to train on: one of both sides, or one of each."""
    table = open_pairs(folder / "train.arrow")
    columns = {"source.spm": ["source", "reference"]}
    if not size.joint:
        columns = {"source.spm": ["source"], "target.spm": ["reference"]}
    for name, sides in columns.items():
        sentences = (text.as_py() for side in sides for text in table[side])
        train_pieces(sentences, folder / name, size.vocabulary, seed=seed)


def _cleaned_tables(
    blocks: Iterator[Block], settings: TrainingSettings, folder: Path, refused: Counter[str]
) -> Iterator[pa.Table]:
    """The pairs of a bitext that no rule refuses, as tables of source and reference; refusals are counted by reason."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".cleaning-") as parts:
        for table in clean_corpus(blocks, CleanSettings(), settings.source_lang, settings.lang, Path(parts)):
            refused.update(table["reason"].drop_null().to_pylist())
            yield table.filter(pc.is_null(table["reason"])).select(PAIRS.names).cast(PAIRS)


@contextmanager
def _pair_file(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """A function that appends tables to an Arrow file with the columns of `PAIRS`."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, PAIRS) as writer:
        yield writer.write_table


def upsampled(table: pa.Table, pairs: int, times: int) -> pa.Table:
    """A table whose first pairs, those of the bitext, come several times; no text is copied.

    Args:
        table: The pairs to train on.
        pairs: How many of them are of the bitext.
        times: How often these come.
    """
    return pa.concat_tables([table.slice(0, pairs)] * (times - 1) + [table])


def open_pairs(path: Path) -> pa.Table:
    """The pairs of a file, memory-mapped: their text stays on disk."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
