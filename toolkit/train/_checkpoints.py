"""The checkpoints of a training under Accelerate: saved whole, read back, averaged."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, field
from logging import ERROR, getLogger
from pathlib import Path

import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import Module

from toolkit.models.checkpoint import reading_model


@dataclass
class Progress:
    """The position of a training, saved with every checkpoint.

    Attributes:
        epoch: Epochs that are finished.
        batch: Batches of the present epoch that are finished.
        step: Optimizer steps that are taken.
        tokens: Label tokens that were trained on, of all processes.
        seconds: Seconds of all steps and of making their batches, without records and checkpoints.
        log: A record for each checkpoint.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    log: list[dict] = field(default_factory=list)

    def state_dict(self) -> dict:
        """The state that Accelerate saves."""
        return asdict(self)

    def load_state_dict(self, state: dict) -> None:
        """Restore a saved state."""
        for name, value in state.items():
            setattr(self, name, value)


def checkpoints_in(folder: Path) -> list[Path]:
    """The complete checkpoints of a training, the oldest first."""
    return sorted(folder.glob("checkpoint-*[0-9]"))


def load_checkpoint(accelerator: Accelerator, folder: Path) -> None:
    """Restore the state of a checkpoint.

    Raises:
        ValueError: It is damaged.
    """

    def unwrap(models: list[Module], _: str) -> None:
        models[:] = [accelerator.unwrap_model(model) for model in models]

    hook = accelerator.register_load_state_pre_hook(unwrap)
    problem = "which is damaged: delete it, and the training goes on from the one before"
    with reading_model(str(folder), "a checkpoint", problem):
        accelerator.load_state(str(folder))
    hook.remove()


def save_checkpoint(accelerator: Accelerator, folder: Path, step: int, limit: int) -> None:
    """Save the whole state under a temporary name, rename it, and remove old checkpoints.

    The weights have the names of the model itself, so that any number of processes can go on with them, and so that
    they can be averaged.

    Args:
        accelerator: With the prepared model and optimizers, and the progress.
        folder: Output folder of the training.
        step: Optimizer steps that are taken.
        limit: Checkpoints to keep, >= 1.
    """
    temporary, final = folder / "checkpoint-unfinished", folder / f"checkpoint-{step:08d}"
    getLogger("accelerate.utils.other").setLevel(ERROR)  # it warns that the embeddings are shared, which is expected

    def unwrap(models: list[Module], weights: list[dict[str, Tensor]], _: str) -> None:
        weights[:] = [accelerator.unwrap_model(model).state_dict() for model in models]

    hook = accelerator.register_save_state_pre_hook(unwrap)
    accelerator.save_state(str(temporary))
    hook.remove()
    accelerator.wait_for_everyone()  # each process writes a file of its own into the folder, which must not move before
    if accelerator.is_main_process:
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
        for checkpoint in checkpoints_in(folder)[:-limit]:
            shutil.rmtree(checkpoint)
    accelerator.wait_for_everyone()


def average_weights(checkpoints: list[Path]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints, in float32; tied weights are there under one of their names."""
    states = [load_file(path / "model.safetensors") for path in checkpoints]
    return {name: torch.stack([s[name].float() for s in states]).mean(0) for name in states[0]}
