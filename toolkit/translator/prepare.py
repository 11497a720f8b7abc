"""The text of a training: cleaned pairs as Arrow files, and the SentencePiece models that segment them.

`prepare` writes both once per training; the training reads the pairs memory-mapped.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.languages import SAMPLE, check_languages
from toolkit.bitext.read import read_bitext, read_blocks
from toolkit.bitext.split import split_of
from toolkit.bitext.subwords import train_pieces
from toolkit.clean.corpus import clean_corpus
from toolkit.clean.rules import CleanSettings, clean, none_usable
from toolkit.shards import write_whole
from toolkit.translator.settings import SIZES, Size, TrainingSettings

PREPARED = "prepared.json"  # written last of what `prepare` writes
PAIRS = pa.schema({"source": pa.large_string(), "reference": pa.large_string()})
VALIDATION_SHARE = 0.01  # ours: of the references, where no validation bitext is given


def check_bitext(settings: TrainingSettings, bitext: list[str]) -> None:
    """Refuse a bitext without a usable pair, or in other languages than the settings say.

    Raises:
        ValueError: It is one of these, or cannot be read.
    """
    refused: Counter[str] = Counter()
    pairs = read_bitext(bitext, settings.source_column, settings.reference_column)
    sample = list(islice(clean(pairs, CleanSettings(), settings.source_lang, settings.lang, refused), SAMPLE))
    if not sample:
        raise ValueError(none_usable(bitext, refused))
    if settings.check_language:
        check_languages(sample, settings.source_lang, settings.lang)


def prepare(settings: TrainingSettings) -> dict[str, int]:
    """Write `train.arrow`, `validation.arrow` and the SentencePiece models to `output_dir`, unless they are there.

    Returns:
        How many pairs each split has, and how many were refused for which reason.

    Raises:
        ValueError: No pair is left to train on.
    """
    folder = Path(settings.output_dir)
    if (folder / PREPARED).exists():
        return json.loads((folder / PREPARED).read_text())
    folder.mkdir(parents=True, exist_ok=True)
    counts = write_splits(settings, folder)
    write_pieces(SIZES[settings.size], folder, settings.seed)
    write_whole(folder / PREPARED, json.dumps(counts, indent=1))
    return counts


def write_splits(settings: TrainingSettings, folder: Path) -> dict[str, int]:
    """Write the pairs to train on and those that are held out, as Arrow files.

    Returns:
        As `prepare`.

    Raises:
        ValueError: No pair is left to train on.
    """
    refused: Counter[str] = Counter()
    with pair_file(folder / "train.arrow") as train, pair_file(folder / "validation.arrow") as validation:
        for table in cleaned_tables(settings, settings.bitext, folder, refused):
            if settings.validation:
                train(table)
                continue
            splits = [split_of(reference, VALIDATION_SHARE, 0.0) for reference in table["reference"].to_pylist()]
            for split, write in (("train", train), ("validation", validation)):
                write(table.filter(pa.array([one == split for one in splits], pa.bool_())))
        if settings.validation:
            for table in cleaned_tables(settings, settings.validation, folder, refused):
                validation(table)
    counts = {split: len(open_pairs(folder / f"{split}.arrow")) for split in ("train", "validation")}
    if not counts["train"]:
        raise ValueError(none_usable(settings.bitext, refused))
    return {**counts, **refused}


def write_pieces(size: Size, folder: Path, seed: int) -> None:
    """Train the SentencePiece models of a size on the pairs to train on: one of both sides, or one of each."""
    table = open_pairs(folder / "train.arrow")
    columns = {"source.spm": ["source", "reference"]}
    if not size.joint:
        columns = {"source.spm": ["source"], "target.spm": ["reference"]}
    for name, sides in columns.items():
        sentences = (text.as_py() for side in sides for text in table[side])
        train_pieces(sentences, folder / name, size.vocabulary, seed=seed)


def cleaned_tables(
    settings: TrainingSettings, bitext: list[str], folder: Path, refused: Counter[str]
) -> Iterator[pa.Table]:
    """The pairs of a bitext that no rule refuses, as tables of source and reference; refusals are counted by reason."""
    blocks = read_blocks(bitext, settings.source_column, settings.reference_column)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".cleaning-") as parts:
        for table in clean_corpus(blocks, CleanSettings(), settings.source_lang, settings.lang, Path(parts)):
            refused.update(table["reason"].drop_null().to_pylist())
            yield table.filter(pc.is_null(table["reason"])).select(PAIRS.names).cast(PAIRS)


@contextmanager
def pair_file(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """A function that appends tables to an Arrow file with the columns of `PAIRS`."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, PAIRS) as writer:
        yield writer.write_table


def open_pairs(path: Path) -> pa.Table:
    """The pairs of a file, memory-mapped: their text stays on disk."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
