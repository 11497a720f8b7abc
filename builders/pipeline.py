"""A paper's pipeline with its models, and what makes the shards of a run by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.data.rows import Row
from toolkit.system.contents import contents_of

if TYPE_CHECKING:
    from toolkit.score.overlap import PieceSplitter


@dataclass(frozen=True)
class Pipeline:
    """The pipeline of a paper with its loaded models.

    Attributes:
        recipe: Takes the rows of one shard and yields the same rows with candidates.
        pieces: Cuts a text into the pieces in which the card measures overlap; None cuts into words.
        models: For each model its description on the card: role, name, licence and quality.
        stages: The number of stages of the recipe that report their rows (`toolkit.data.progress`).
    """

    recipe: Callable[[Iterable[Row]], Iterator[Row]]
    pieces: PieceSplitter | None
    models: list[dict]
    stages: int = 1


@dataclass(frozen=True)
class Making:
    """What makes the shards of a run, with the models loaded.

    Attributes:
        make: Makes the shards of these input shards that are not finished, and calls a function with each.
        pieces: As of the pipeline.
        models: As of the pipeline.
        sizes: The batch sizes of the run, by setting.
    """

    make: Callable[[list[Path], Callable[[Path], None]], None]
    pieces: PieceSplitter | None
    models: list[dict]
    sizes: dict[str, Any]


def contents_of_run(files: Mapping[str, list[str | Path]], models: Mapping[str, str]) -> dict[str, str]:
    """What the files and models of a run are known by, by setting.

    Raises:
        ValueError: There is no such model.
    """
    from toolkit.models.checkpoint import fingerprint

    return contents_of(files) | {setting: fingerprint(model) for setting, model in models.items()}
