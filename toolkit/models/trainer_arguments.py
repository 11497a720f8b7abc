"""The arguments of the library's trainers: those that depend on the machine, and those that most trainings share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from torch.utils.data import DataLoader
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from toolkit.models.precision import default_device, in_bfloat16

Arguments = TypeVar("Arguments", bound=TrainingArguments)
KEPT = 2  # ours: checkpoints; the newest may be half written when a run is killed
LOGGED = 50  # ours: steps


def shared_options(settings: Any, checkpoints: Path) -> dict[str, Any]:
    """The options that all trainings with checkpoints share.

    Args:
        settings: The dataclass of the training, with `learning_rate`, `seed` and `save_every`.
        checkpoints: Folder of the checkpoints.
    """
    return {
        "output_dir": str(checkpoints),
        "learning_rate": settings.learning_rate,
        "seed": settings.seed,
        "save_steps": settings.save_every,
        "save_total_limit": KEPT,
        "logging_steps": LOGGED,
    }


class ResumeCallback(TrainerCallback):
    """Two things that the library's trainers do not do when a training is resumed."""

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """The intervals of checkpoints and records are those of this call, not those of the checkpoint."""
        state.compute_steps(args, state.max_steps)
        return control

    def on_epoch_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        train_dataloader: DataLoader | None = None,
        **_: Any,
    ) -> TrainerControl:
        """An epoch has its own order also for several processes, whose sampler is wrapped more than once."""
        sampler: Any = getattr(train_dataloader, "batch_sampler", None)
        while sampler is not None:
            parts: tuple[Any, Any] = sampler, getattr(sampler, "sampler", None)
            for part in parts:
                if hasattr(part, "set_epoch"):
                    part.set_epoch(int(state.epoch or 0))
            sampler = getattr(sampler, "batch_sampler", None)
        return control


def trainer_arguments(kind: type[Arguments], dtype: str, options: Mapping[str, Any]) -> Arguments:
    """The arguments of a trainer whose process computes on one GPU, or on the processor where there is none.

    Without a launcher the library would spread a model over all GPUs that it sees (`nn.DataParallel`), with another
    batch size than the settings say.

    Args:
        kind: The trainer's class of arguments.
        dtype: "bfloat16", "float32" or "auto"; see `in_bfloat16`.
        options: All other arguments, by name.
    """
    device = default_device()
    cpu = device.type == "cpu"
    arguments = kind(
        bf16=in_bfloat16(dtype, device),
        use_cpu=cpu,
        dataloader_pin_memory=not cpu,
        report_to="none",
        **options,
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments
