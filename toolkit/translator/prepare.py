"""The text of a training: cleaned pairs as Arrow files, and the SentencePiece models that segment them.

`prepare` writes both once per training; the training reads the pairs memory-mapped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from toolkit.bitext.languages import SAMPLE, check_languages
from toolkit.bitext.read import Pair, read_bitext
from toolkit.bitext.split import split_of
from toolkit.bitext.subwords import train_pieces
from toolkit.clean.rules import CleanSettings, clean, none_usable
from toolkit.shards import write_whole
from toolkit.translator.settings import SIZES, Size, TrainingSettings

PREPARED = "prepared.json"  # written last of what `prepare` writes
VALIDATION_SHARE = 0.01  # ours: of the references, where no validation bitext is given


def check_bitext(settings: TrainingSettings, bitext: list[str]) -> None:
    """Refuse a bitext without a usable pair, or in other languages than the settings say.

    Raises:
        ValueError: It is one of these, or cannot be read.
    """
    refused: Counter[str] = Counter()
    sample = list(islice(cleaned_pairs(settings, bitext, refused), SAMPLE))
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
    if settings.validation:
        write_pairs(folder / "train.arrow", cleaned_pairs(settings, settings.bitext, refused))
        write_pairs(folder / "validation.arrow", cleaned_pairs(settings, settings.validation, refused))
    else:
        for split in ("train", "validation"):
            refused.clear()  # both splits read the whole bitext
            pairs = cleaned_pairs(settings, settings.bitext, refused)
            in_split = (p for p in pairs if split_of(p.reference, VALIDATION_SHARE, 0.0) == split)
            write_pairs(folder / f"{split}.arrow", in_split)
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


def cleaned_pairs(settings: TrainingSettings, bitext: list[str], refused: Counter[str]) -> Iterator[Pair]:
    """The pairs of a bitext that no rule refuses; refusals are counted by reason."""
    pairs = read_bitext(bitext, settings.source_column, settings.reference_column)
    return clean(pairs, CleanSettings(), settings.source_lang, settings.lang, refused)


def write_pairs(path: Path, pairs: Iterable[Pair], chunk: int = 50_000) -> None:
    """Write a stream of pairs to an Arrow file with the columns source and reference, `chunk` pairs at a time."""
    schema = pa.schema({"source": pa.large_string(), "reference": pa.large_string()})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        rows: list[tuple[str, str]] = []
        for pair in pairs:
            rows.append((pair.source, pair.reference))
            if len(rows) == chunk:
                writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=schema))
                rows = []
        if rows:
            writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=schema))


def open_pairs(path: Path) -> pa.Table:
    """The pairs of a file, memory-mapped: their text stays on disk."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
