"""A run: a bitext cut into input shards, a recipe applied to each shard, by however many processes.

The folder of a run holds its settings, its input shards and its finished shards. Whatever process makes a shard, its
bytes are the same, because no batch and no chance crosses a shard.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.bitext.languages import SAMPLE, check_codes, check_languages
from toolkit.bitext.read import Pair, read_bitext
from toolkit.bitext.split import split_of
from toolkit.clean.rules import CleanSettings, clean, judged, none_usable, refusals
from toolkit.contents import with_contents
from toolkit.lock import check_free, held
from toolkit.outputs import check_output_folder
from toolkit.parallel import mine
from toolkit.progress import RowsFailed, rows_bar
from toolkit.rows import Row
from toolkit.settings import (
    DTYPES,
    SETTINGS,
    check_among,
    check_at_least_one,
    check_machine,
    check_record,
    compare_record,
)
from toolkit.shards import (
    INPUTS,
    count_rows,
    input_shards,
    output_of,
    read_inputs,
    read_shard,
    remove_unfinished,
    write_inputs,
    write_shard,
)

if TYPE_CHECKING:
    from accelerate import PartialState

MAX_BEAM = 1000  # ours: the hypotheses of one search are decoded in one batch


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
        check_language: Refuse a bitext of which one side is in another language than said.
        shard_rows: Rows of a shard; what a killed process loses at most.
        processes: Processes on this machine that share the work; a launcher (`accelerate launch`) starts its own.
        threads: Threads of one process on a CPU; a setting of the run, because it can change the last bits of a number.
        dtype: "bfloat16", "float32", "auto" (bfloat16 where the processor has it, else float32), or "int8": the decoder
            that samples in 8 bits, on a CPU with AVX-512 VNNI; the scoring model stays in "auto".
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
    check_language: bool = True
    shard_rows: int = 1000
    processes: int = 1
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
        check_at_least_one(self, "shard_rows")
        check_machine(self)
        check_among(self, "dtype", DTYPES)
        check_codes(self)
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"wanted limit of at least 1, got {self.limit}")
        if not 0 <= self.validation_share + self.test_share < 1 or min(self.validation_share, self.test_share) < 0:
            raise ValueError(
                f"wanted validation_share + test_share in [0, 1), got {self.validation_share} + {self.test_share}"
            )

    @property
    def shards_dir(self) -> Path:
        """The folder of the run."""
        return Path(self.output_dir.rstrip("/") + ".shards")


# These may change between the calls of one run: they do not change a shard.
FREE = {"output_dir", "version", "license", "processes", "check_language"}


def check_run(settings: RunSettings, builder: str, contents: Mapping[str, str]) -> None:
    """Find what would stop a run, before its models are loaded: nothing is written here.

    Args:
        settings: Of the run.
        builder: Its name.
        contents: What its files and models are by their content, by setting (`toolkit.contents`).

    Raises:
        OSError: The output cannot be written or holds other files; the bitext is not there.
        RuntimeError: Another launch works on the run.
        ValueError: The bitext cannot be read, or the run began with other settings or other files.
    """
    check_output_folder(settings.shards_dir, SETTINGS, settings.bitext)
    check_free(settings.shards_dir)
    compare_record(settings.shards_dir / SETTINGS, record_of(settings, builder, contents), FREE)
    if not (settings.shards_dir / INPUTS).exists():
        check_bitext(settings)


def check_bitext(settings: RunSettings) -> None:
    """Refuse a bitext that cannot be read, is in another language than said, or has no usable pair.

    Raises:
        OSError: It is not there.
        ValueError: It cannot be used; the message counts what was refused.
    """
    refused: Counter[str] = Counter()
    usable = clean(read_pairs(settings), settings, settings.source_lang, settings.lang, refused)
    first = list(itertools.islice(usable, SAMPLE))
    if not first:
        raise ValueError(none_usable(settings.bitext, refused))
    if settings.check_language:
        check_languages(first, settings.source_lang, settings.lang)


def record_of(settings: RunSettings, builder: str, contents: Mapping[str, str]) -> dict:
    """What is recorded of a run: its settings, and the content of what they name."""
    return with_contents({"builder": builder} | asdict(settings), contents)


@contextlib.contextmanager
def started(
    settings: RunSettings, builder: str, state: PartialState, contents: Mapping[str, str]
) -> Iterator[list[Path]]:
    """Hold the folder of a run, record its settings, and cut the bitext into input shards unless that is done.

    The main process does it, the others wait. The folder is held until the block ends.

    Yields:
        The paths of the input shards.

    Raises:
        ValueError: The folder holds a run with other settings; the message names the keys.
        RuntimeError: Another launch works on the run.
    """
    with held(settings.shards_dir, state):
        if state.is_main_process:
            prepare(settings, builder, contents)
        state.wait_for_everyone()
        yield input_shards(settings.shards_dir)


def prepare(settings: RunSettings, builder: str, contents: Mapping[str, str]) -> None:
    """What `started` does on the main process, and one line on what became of the bitext's lines."""
    folder = settings.shards_dir
    remove_unfinished(folder)
    check_record(folder / SETTINGS, record_of(settings, builder, contents), FREE)
    write_inputs(folder, bitext_rows(settings), settings.shard_rows)
    counts = read_inputs(folder)
    lines = counts["rows"] + sum(counts["refused"].values())
    told = f"{' '.join(settings.bitext)}: {lines:,} lines read, {counts['rows']:,} kept"
    print(f"{told}, refused: {refusals(counts['refused'])}", file=sys.stderr)


def read_pairs(settings: RunSettings) -> Iterator[Pair]:
    """The pairs of the bitext, as many as are to be read."""
    pairs = read_bitext(settings.bitext, settings.source_column, settings.reference_column, settings.data_split)
    return itertools.islice(pairs, settings.limit)


def bitext_rows(settings: RunSettings) -> Iterator[Row]:
    """The pairs of the bitext as rows without candidates; those that cleaning refuses have a reason."""
    origin, lang = settings.origin or Path(settings.bitext[0]).name.split(".")[0], settings.lang
    for pair, reason in judged(read_pairs(settings), settings, settings.source_lang, lang):
        split = split_of(pair.reference, settings.validation_share, settings.test_share)
        row_id = f"{origin}-{pair.line}"
        yield Row(row_id, origin, pair.source, settings.source_lang, pair.reference, lang, split, reason=reason)


def make_shards(
    inputs: list[Path], recipe: Callable[[Iterable[Row]], Iterator[Row]], state: PartialState, stages: int = 1
) -> int:
    """Apply a recipe to this process's share of the shards, skipping what is done.

    Args:
        inputs: Paths of the input shards.
        recipe: Rows of one shard in, the same rows with candidates out.
        state: Accelerate's.
        stages: How many stages of the recipe report their rows (`toolkit.progress`).

    Returns:
        How many shards this process made.

    Raises:
        RuntimeError: A shard failed; the message names it and its row.
    """
    own = mine(inputs, state)
    waiting = [path for path in own if not output_of(path).exists()]
    rows = {path: count_rows(path) for path in own}
    total, open_rows = sum(rows.values()), sum(rows[path] for path in waiting)
    label = "rows" if state.num_processes == 1 else f"rows of process {state.process_index + 1}/{state.num_processes}"
    with rows_bar(total, total - open_rows, stages, label, state.is_local_main_process) as bar:
        done = total - open_rows
        for path in waiting:
            try:
                write_shard(output_of(path), made_of(read_shard(path), recipe))
            except RowsFailed as error:
                raise RuntimeError(f"{path.name}: {failing_alone(path, recipe, error)}") from error
            except (ValueError, RuntimeError, MemoryError) as error:
                raise RuntimeError(f"{path.name}: {error}") from error
            done += rows[path]
            bar.update(done - bar.n)  # a row that a stage passed over has not been reported
    return len(waiting)


def made_of(rows: Iterable[Row], recipe: Callable[[Iterable[Row]], Iterator[Row]]) -> Iterator[Row]:
    """The rows of a shard after a recipe, in their order; those that cleaning has refused pass by it."""
    shard = list(rows)
    made = recipe(row for row in shard if row.reason is None)
    yield from (next(made) if row.reason is None else row for row in shard)


def failing_alone(path: Path, recipe: Callable[[Iterable[Row]], Iterator[Row]], error: RowsFailed) -> RowsFailed:
    """The error of a batch by the rows of it that fail without the others, if not all or none of them do.

    Args:
        path: Of the input shard.
        recipe: What failed.
        error: How it failed.
    """
    ids = []
    for row in read_shard(path):
        if row.id in error.ids:
            try:
                list(recipe([row]))
            except (ValueError, RuntimeError, MemoryError):
                ids.append(row.id)
    named = ids if 0 < len(ids) < len(error.ids) else error.ids
    return RowsFailed(named, error.__cause__ if isinstance(error.__cause__, Exception) else error)
