"""The processes of a launch, the share of each in the shards, and random seeds for each row."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from accelerate import PartialState

PATIENCE = timedelta(days=7)  # ours: processes wait for the slowest, which may have many more shards
T = TypeVar("T")


def processes() -> PartialState:
    """The processes that the launcher started, as Accelerate reports them.

    Raises:
        RuntimeError: The launcher announces several processes but this one finds no other, so each would do all of the
            work.
    """
    import torch  # imported here so that a command's --help does not load it
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    wanted = int(os.environ.get("WORLD_SIZE", "1"))
    # PartialState does not read the variable, and without a GPU it does not look for other processes.
    cpu = parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.accelerator.is_available()
    alone = wanted > 1 and "RANK" not in os.environ
    state = None if alone else PartialState(cpu=cpu, timeout=PATIENCE) if wanted > 1 else PartialState(cpu=cpu)
    if state is None or state.num_processes != wanted:
        raise RuntimeError(
            f"wanted {wanted} processes (WORLD_SIZE), got this one alone: every one would do the whole work; "
            "start them with --processes N, torchrun --nproc_per_node N or accelerate launch --num_processes N"
        )
    return state


def mine(items: Sequence[T], state: PartialState) -> Sequence[T]:
    """The share of this process: every n-th of the items, where n is the number of processes."""
    return items[state.process_index :: state.num_processes]


def row_seed(seed: int, row_id: str, stage: str) -> int:
    """A 63-bit seed for one row in one stage; it does not depend on the batch or the process.

    >>> row_seed(0, "demo-1", "sample") == row_seed(0, "demo-1", "sample")
    True
    """
    return row_seeds(seed, row_id, [stage])[0]


def row_seeds(seed: int, row_id: str, stages: Iterable[str]) -> list[int]:
    """The `row_seed` of one row in each of several stages."""
    row, seeds = hashlib.blake2b(f"{seed}\x1f{row_id}\x1f".encode(), digest_size=8), []
    for stage in stages:
        state = row.copy()
        state.update(stage.encode())
        seeds.append(int.from_bytes(state.digest(), "big") >> 1)
    return seeds
