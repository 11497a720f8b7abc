"""What a setting must be, declared on its field: `beam: Annotated[int, at_least(1)] = 12`, or an alias of that type.

A marker of a field is a function of the field's name, its value and all settings; it refuses a value by a `ValueError`,
or puts the value into its normal form.
`Settings` calls the markers of all fields; what holds between fields is checked by the `__post_init__` of a dataclass.
The dataclasses at the end are settings that many commands share.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar

from toolkit.system.errors import check_lists

Marker = Callable[[str, Any, Any], object]
SEEDS = 2**32  # seeds must be below this number, because numpy's generators require it
DTYPES = ("auto", "bfloat16", "float32", "int8")  # arithmetic in which a translator is loaded
MAX_THREADS = 1024  # ours: more than any machine has cores; with a hundred thousand threads the process crashes


@dataclass(frozen=True)
class Range:
    """The range of a setting.

    Attributes:
        wanted: What is wanted, for the error; "{}" is the name of the setting.
        contains: Whether a value is in the range.
        remedy: What follows the value in the error.
        shown: Names of the settings whose values the error shows, if it speaks of several.
        show: How the error shows a value.
        note: The range for the help of a flag, where `wanted` does not begin with the name; "" for none.
    """

    wanted: str
    contains: Callable[[Any], bool]
    remedy: str = ""
    shown: tuple[str, ...] = ()
    show: Callable[[Any], object] = lambda value: repr(value) if isinstance(value, str) else value
    note: str | None = None

    def __call__(self, name: str, value: Any, settings: object) -> None:
        """Refuse a value outside of the range.

        Raises:
            ValueError: The value is refused; the message names the setting.
        """
        if not self.contains(value):
            *values, last = [str(getattr(settings, other)) for other in self.shown] or [str(self.show(value))]
            before = f"{', '.join(values)} and " if values else ""
            raise ValueError(f"wanted {self.wanted.format(name)}, got {before}{last}{self.remedy}")

    def __str__(self) -> str:
        """The range for the help of a flag.

        >>> str(at_least(1)), str(between(0, 1)), str(one_of(["pieces", "words"]))
        ('at least 1', 'in [0, 1]', 'pieces, words')
        """
        return self.wanted.removeprefix("{} ").removeprefix("of ") if self.note is None else self.note


def at_least(minimum: float, remedy: str = "") -> Range:
    """The range of the numbers from a minimum; NaN is none."""
    return Range(f"{{}} of at least {minimum}", lambda number: number >= minimum, remedy)


def at_most(maximum: int) -> Range:
    """The range of the numbers up to a maximum, such as what would need more memory than any machine has."""
    return Range(f"{{}} of at most {maximum:,}", lambda number: number <= maximum, show="{:,}".format)


def between(minimum: float, maximum: float) -> Range:
    """A closed range; NaN is outside."""
    return Range(f"{{}} in [{minimum:g}, {maximum:g}]", lambda number: minimum <= number <= maximum)


def _from_to(minimum: int, maximum: int) -> Range:
    """A closed range of whole numbers, which its error prints in full."""
    return Range(f"{{}} from {minimum} to {maximum}", lambda number: minimum <= number <= maximum)


def one_of(choices: Collection[str], word: str = "of", separator: str = ", ") -> Range:
    """The range of some texts."""
    return Range(f"{{}} {word} {separator.join(choices)}", lambda text: text in tuple(choices))


@dataclass(frozen=True)
class NormalForm:
    """The marker of a setting whose value may be given in several forms; it takes their normal form before all checks.

    Attributes:
        normalize: The normal form of a value, by the name of the setting and the value; a ValueError refuses it.
    """

    normalize: Callable[[str, Any], Any]

    def __call__(self, name: str, value: Any, settings: object) -> None:
        """Put the normal form in the place of the value, which only `Settings` itself may do."""
        object.__setattr__(settings, name, self.normalize(name, value))


def checked_by(check: Callable[[Any], object]) -> Marker:
    """The marker of a setting that a function of its value checks, by a `ValueError`."""
    return lambda name, value, settings: check(value)


Finite = Annotated[float, Range("a finite {}", math.isfinite, note="finite")]
Count = Annotated[int, at_least(1)]
CountOrZero = Annotated[int, at_least(0)]
Share = Annotated[float, between(0, 1)]
Positive = Annotated[float, Range("{} above 0", lambda number: 0 < number < math.inf)]
Seed = Annotated[int, _from_to(0, SEEDS - 1)]
Threads = Annotated[int, _from_to(1, MAX_THREADS)]
Dtype = Annotated[str, one_of(DTYPES)]


def _markers_of(hint: Any) -> Iterator[Marker]:
    """The markers of a field's type, `Annotated[int | None, at_least(1)]` or `Annotated[int, at_least(1)] | None`."""
    for part in (hint, *typing.get_args(hint)):
        yield from filter(callable, getattr(part, "__metadata__", ()))


@cache
def _markers(cls: type) -> list[tuple[str, bool, Marker]]:
    """For each marker of a dataclass the name of its field, whether that may be None, and the marker.

    Normal forms come first, because a check may look at several settings.
    """
    hints = typing.get_type_hints(cls, include_extras=True), typing.get_type_hints(cls)
    markers = [
        (name, type(None) in typing.get_args(hints[1][name]), marker)
        for name, hint in hints[0].items()
        for marker in _markers_of(hint)
    ]
    return sorted(markers, key=lambda entry: not isinstance(entry[2], NormalForm))


@dataclass(frozen=True)
class Settings:
    """A dataclass whose values are checked by the markers of their fields.

    `CPU_BATCHES` has the batch sizes on a CPU of the fields that leave them open with None (`models.batch_sizes`).
    """

    CPU_BATCHES: ClassVar[Mapping[str, int]] = {}

    @property
    def batch_sizes(self) -> dict[str, int]:
        """The batch sizes by field; those of a CPU where they are left open."""
        return {name: size if (own := getattr(self, name)) is None else own for name, size in self.CPU_BATCHES.items()}

    def __post_init__(self) -> None:
        """Refuse a value that a marker of its field refuses, and a text where a list of texts is wanted."""
        check_lists(self)
        for name, may_be_none, marker in _markers(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is not None or not may_be_none:
                marker(name, value, self)


@dataclass(frozen=True, kw_only=True)
class Processes(Settings):
    """The processes of a command.

    Attributes:
        processes: Processes to start on this machine, which share the work.
    """

    GROUP = "run"

    processes: Threads = 1


@dataclass(frozen=True, kw_only=True)
class Machine(Processes):
    """How a command uses a machine.

    Attributes:
        threads: Threads of each process on a CPU.
    """

    GROUP = "run"

    threads: Threads = 2


@dataclass(frozen=True, kw_only=True)
class Training(Processes):
    """The settings that all trainings share.

    Attributes:
        output_dir: Where the model goes.
        seed: Of everything random.
    """

    GROUP = "run"

    output_dir: str
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class PairTraining(Training, Machine):
    """The settings of the trainings that read parabanks.

    Attributes:
        pairs: Parabanks: folders, Hub names, runs' folders of shards, data sets (save_to_disk folders, folders of data
            files, owner/name:configuration:split), and .parquet, .tsv, .csv or .jsonl files.
        min_score: The least human score (STS) of a paraphrase, of files and data sets that have such scores; without
            it they are refused.
        decontaminate: Evaluation sets whose texts must not be trained on: files, globs or data sets. A pair with a
            sentence that equals such a text, or contains nearly all of it, is left out.
    """

    GROUP = "run"

    pairs: list[str]
    min_score: float | None = None
    decontaminate: list[str] = field(default_factory=list)
