"""A run: a bitext cut into input shards, a recipe applied to each shard, by however many processes.

The folder of a run holds its settings, its input shards and its finished shards. Whatever process makes a shard, its
bytes are the same, because no batch and no chance crosses a shard.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from accelerate import PartialState
from tqdm import tqdm

from toolkit.bitext.clean import CleanSettings, clean, none_usable
from toolkit.bitext.read import Pair, read_bitext
from toolkit.bitext.split import split_of
from toolkit.parallel import mine
from toolkit.rows import Row
from toolkit.settings import check_record
from toolkit.shards import input_shards, output_of, read_shard, write_inputs, write_shard


@dataclass(frozen=True, kw_only=True)
class RunSettings(CleanSettings):
    """What every builder's command line has.

    Attributes:
        bitext: One TSV (plain, .gz, .zst), Parquet file or dataset, or two line-aligned files: source and reference.
        source_lang: Language of the source (ISO 639-1).
        lang: Language of the reference and of the paraphrases.
        output_dir: Where the parabank goes; the shards of the run go to the same name with ".shards".
        source_column: Column of the source: a number in a TSV (0), else a name ("source").
        reference_column: Column of the reference: a number in a TSV (1), else a name ("reference").
        data_split: Split of a dataset that is read.
        origin: Name of the corpus, the first part of every row's id; the bitext's file name unless given.
        validation_share: Share of references in the validation split.
        test_share: Share of references in the test split.
        limit: Read only so many lines.
        shard_rows: Rows of a shard; what a killed process loses at most.
        threads: Threads of one process on a CPU; a setting, because it can change the last bits of a number.
        dtype: "bfloat16", "float32", "auto" (bfloat16 where the processor has it), or "int8": the sampling decoder in 8
            bits, half again as fast on a CPU with VNNI; the scoring model stays in "auto".
        version: Version of the data set that is packaged, MAJOR.MINOR.PATCH.
        license: Licence of the bitext, for the card.
    """

    bitext: list[str]
    source_lang: str
    lang: str
    output_dir: str
    source_column: str | None = None
    reference_column: str | None = None
    data_split: str = "train"
    origin: str | None = None
    validation_share: float = 0.01
    test_share: float = 0.01
    limit: int | None = None
    shard_rows: int = 1000
    threads: int = 2
    dtype: str = "auto"
    version: str = "1.0.0"
    license: str = "unknown"

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: One is out of its range.
        """
        super().__post_init__()
        if self.shard_rows < 1 or self.threads < 1 or (self.limit is not None and self.limit < 1):
            raise ValueError(
                "wanted shard_rows, threads and limit of at least 1, "
                f"got {self.shard_rows}, {self.threads} and {self.limit}"
            )
        if not 0 <= self.validation_share + self.test_share < 1:
            raise ValueError(
                f"wanted validation_share + test_share in [0, 1), got {self.validation_share} + {self.test_share}"
            )

    @property
    def shards_dir(self) -> Path:
        """The folder of the run."""
        return Path(self.output_dir.rstrip("/") + ".shards")


FREE = {"output_dir", "version", "license"}  # may change between the calls of one run: they do not change a shard


def start(settings: RunSettings, builder: str, state: PartialState) -> list[Path]:
    """Check that the folder is this run's, cut the bitext into input shards unless that is done, and return them.

    The main process does it, the others wait.

    Raises:
        ValueError: The folder holds a run with other settings; the message names the keys. Or no pair was usable.
    """
    if state.is_main_process:
        prepare(settings, builder)
    state.wait_for_everyone()
    return input_shards(settings.shards_dir)


def prepare(settings: RunSettings, builder: str) -> None:
    """What `start` does on the main process."""
    folder = settings.shards_dir
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink()
    check_record(folder / "settings.json", {"builder": builder} | asdict(settings), FREE)
    refused: Counter[str] = Counter()
    if not write_inputs(folder, bitext_rows(settings, refused), settings.shard_rows, refused):
        raise ValueError(none_usable(settings.bitext, refused))


def bitext_rows(settings: RunSettings, refused: Counter[str]) -> Iterator[Row]:
    """The cleaned pairs of the bitext as rows without candidates; refusals are counted by reason."""
    origin = settings.origin or Path(settings.bitext[0]).name.split(".")[0]
    pairs: Iterable[Pair] = read_bitext(
        settings.bitext, settings.source_column, settings.reference_column, settings.data_split
    )
    if settings.limit is not None:
        pairs = itertools.islice(pairs, settings.limit)
    for pair in clean(pairs, settings, settings.source_lang, settings.lang, refused):
        split = split_of(pair.reference, settings.validation_share, settings.test_share)
        yield Row(
            f"{origin}-{pair.line}", origin, pair.source, settings.source_lang, pair.reference, settings.lang, split
        )


def make_shards(inputs: list[Path], recipe: Callable[[Iterable[Row]], Iterator[Row]], state: PartialState) -> int:
    """Apply a recipe to this process's share of the shards, skipping what is done.

    Args:
        inputs: Paths of the input shards.
        recipe: Rows of one shard in, the same rows with candidates out.
        state: Accelerate's.

    Returns:
        How many shards this process made.

    Raises:
        RuntimeError: A shard failed; the message names it and its rows.
    """
    waiting = [path for path in mine(inputs, state) if not output_of(path).exists()]
    bar = tqdm(waiting, unit="shard", disable=not state.is_local_main_process)
    for path in bar:
        rows = list(read_shard(path))
        try:
            write_shard(output_of(path), recipe(rows))
        except (ValueError, RuntimeError, OSError) as error:
            raise RuntimeError(f"{path.name} failed in rows {rows[0].id} to {rows[-1].id}: {error}") from error
    return len(waiting)
