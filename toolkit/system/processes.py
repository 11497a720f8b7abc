"""The processes of a launch, the share of each in the shards, and random seeds for each row."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from accelerate import PartialState

PATIENCE = timedelta(days=7)  # ours: processes wait for the slowest, which may have many more shards
T = TypeVar("T")


def processes(exchange: bool = True, computes: bool = True) -> PartialState:
    """The processes that the launcher started, as Accelerate reports them.

    Args:
        exchange: Whether they send each other tensors, as in a training: with NCCL, which wants a GPU for each. Others
            only wait for each other (`wait`), with Gloo, so that several may share a GPU.
        computes: Whether models compute in them; others leave the GPUs and their memory alone.

    Raises:
        RuntimeError: The launcher announces several processes but this one finds no other, so each would do all of the
            work; or there are too few GPUs for processes that send each other tensors.
    """
    import torch  # imported here so that a command's --help does not load it
    from accelerate import PartialState

    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    # PartialState does not read the variable, and without a GPU it does not look for other processes.
    cpu = not computes or stays_on_cpu() or not torch.accelerator.is_available()
    alone = world_size > 1 and "RANK" not in os.environ
    options: dict[str, Any] = {"timeout": PATIENCE} if world_size > 1 else {}
    if world_size > 1 and not cpu and torch.cuda.is_available():
        if exchange:
            _check_gpus(int(os.environ.get("LOCAL_WORLD_SIZE", world_size)), int(os.environ.get("LOCAL_RANK", "0")))
        else:
            options["backend"] = "gloo"
    state = None if alone else PartialState(cpu=cpu, **options)
    if state is None or state.num_processes != world_size:
        raise RuntimeError(
            f"wanted {world_size} processes (WORLD_SIZE), got this one alone: every one would do the whole work; "
            "start them with --processes N, torchrun --nproc_per_node N or accelerate launch --num_processes N"
        )
    if exchange:
        tell_idle_gpus()
    return state


def stays_on_cpu() -> bool:
    """Whether the launch asks for the processor where there is a GPU, by Accelerate's variable."""
    from accelerate.utils import parse_flag_from_env

    return bool(parse_flag_from_env("ACCELERATE_USE_CPU"))


def _check_gpus(count: int, number: int) -> None:
    """Refuse more processes on this machine than it has GPUs.

    Args:
        count: The processes on this machine.
        number: The number of this process among them.

    Raises:
        RuntimeError: This process is the first without a GPU. The others wait for it until the launcher ends them, so
            that there is one error.
    """
    import torch

    gpus = torch.cuda.device_count()
    if number == gpus < count:
        raise RuntimeError(
            f"wanted a GPU for each of {count} processes of a training, got {gpus}: start it with --processes {gpus}"
        )


def tell_idle_gpus() -> None:
    """Say so, once, where a process without a launcher leaves GPUs of this machine idle."""
    import torch

    alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
    if alone and not stays_on_cpu() and torch.cuda.is_available() and torch.cuda.device_count() > 1:
        _tell_idle(torch.cuda.device_count())


@functools.cache
def _tell_idle(gpus: int) -> None:
    """Print the line; a second call does nothing."""
    print(f"{gpus} GPUs, one is used: --processes {gpus}", file=sys.stderr)


def wait(state: PartialState) -> None:
    """Wait for all processes of the launch.

    Accelerate's own barrier names a GPU by the number of the process, which is none where several share one.
    """
    import torch

    if state.num_processes > 1 and state.backend == "gloo":
        torch.distributed.barrier()
    else:
        state.wait_for_everyone()


def from_main(value: T, state: PartialState) -> T:
    """What the main process has, in all processes of the launch, which all call this.

    Args:
        value: On the main process what all get; on the others anything.
        state: The processes.
    """
    import torch

    values = [value]
    if state.num_processes > 1:
        torch.distributed.broadcast_object_list(values)
    return values[0]


def begin_wait(state: PartialState) -> Callable[[], bool]:
    """Begin to wait for all processes of the launch, which all call this, without being held up.

    Returns:
        Whether all have come; it raises RuntimeError where another one has ended. It is never true with processes that
        exchange tensors on GPUs, which have no such wait.
    """
    import torch

    if state.num_processes == 1:
        return lambda: True
    if state.backend != "gloo":
        return lambda: False
    waiting = torch.distributed.barrier(async_op=True)

    def all_came() -> bool:
        return waiting.is_completed() and waiting.wait()

    return all_came


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
