"""The steps of a training of a translator: its state, one epoch, and the held-out likelihood at every checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import torch
from accelerate import Accelerator
from torch import Tensor
from tqdm import tqdm

from toolkit.bitext.subwords import PAD, Pieces
from toolkit.train._checkpoints import Progress, save_checkpoint
from toolkit.train._translator_batches import batches, pack, padded_pairs, segmented
from toolkit.train.optimizer import _learning_rate
from toolkit.train.translator_loss import TranslationLoss, token_places
from toolkit.translator.settings import TrainingSettings


@dataclass(frozen=True)
class Text:
    """The prepared text of a training.

    Attributes:
        train: The pairs to train on.
        validation: The held-out pairs.
        source: Pieces of the source side.
        target: Pieces of the reference side.
    """

    train: pa.Table
    validation: pa.Table
    source: Pieces
    target: Pieces


@dataclass
class Training:
    """The state of a training.

    Attributes:
        settings: Its settings.
        text: What it reads.
        accelerator: The processes.
        loss_of: The model with its loss, prepared by the accelerator.
        optimizers: Those of all parameters, likewise.
        progress: Its position.
        recent: Sum of the loss and number of tokens since the last record, (2,).
        begun: When the work of the next record began, in seconds of a clock; None before the first step of this launch.
    """

    settings: TrainingSettings
    text: Text
    accelerator: Accelerator
    loss_of: torch.nn.Module
    optimizers: list[torch.optim.Optimizer]
    progress: Progress
    recent: Tensor
    begun: float | None = None


def run_epoch(training: Training, bar: tqdm) -> None:
    """Take the steps that are left of an epoch, or of the training where it ends first.

    Raises:
        ValueError: No pair of a whole epoch is short enough for a step.
    """
    settings, progress = training.settings, training.progress
    for finished_batches, batch in _steps_of_epoch(training):
        if training.begun is None:  # what a launch skips of an epoch is no work of it
            training.begun = time.perf_counter()
        training.recent += _one_step(training, batch)
        progress.batch = finished_batches
        progress.step += 1
        bar.update()
        if progress.step % 10 == 0:
            _show_rate(training, bar)
        if progress.step % settings.save_every == 0 or progress.step == settings.max_steps:
            _record_progress(training, bar)
            folder = Path(settings.output_dir)
            save_checkpoint(training.accelerator, folder, progress.step, max(1, settings.average))
            training.begun = time.perf_counter()
        if progress.step == settings.max_steps:
            return
    if not progress.batch:
        raise ValueError(
            f"wanted pairs of at most {settings.max_tokens} pieces a side for {training.accelerator.num_processes} "
            "processes, got too few for one step; raise --max_tokens or give more text"
        )
    progress.epoch, progress.batch = progress.epoch + 1, 0


def _steps_of_epoch(training: Training) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """This process's batch for each step that is left of an epoch.

    A step takes a batch for each process; batches at the end of an epoch that are too few for a step are dropped.

    Yields:
        How many batches of the epoch are finished after the step, and the source and label ids of this process.
    """
    text, accelerator, finished_batches = training.text, training.accelerator, training.progress.batch
    group: list[tuple[Tensor, Tensor]] = []
    ranks = {"rank": accelerator.process_index, "ranks": accelerator.num_processes}
    epoch = batches(text.train, text.source, text.target, training.settings, training.progress.epoch, **ranks)
    for number, batch in enumerate(epoch, 1):
        if number > finished_batches:
            group.append(batch)
        if len(group) == accelerator.num_processes:
            yield number, group[accelerator.process_index]
            group = []


def _one_step(training: Training, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Take one optimizer step on this process's batch.

    Returns:
        The sum of its loss and the number of its tokens, (2,).
    """
    accelerator, loss_module = training.accelerator, training.loss_of
    source, labels, places = _on_device(*batch, accelerator.device)
    tokens = len(places)
    for group in (group for optimizer in training.optimizers for group in optimizer.param_groups):
        group["lr"] = _learning_rate(training.progress.step, training.settings)
    with accelerator.autocast():
        loss = loss_module(source, labels, None, places)
    accelerator.backward(loss / tokens)
    accelerator.clip_grad_norm_(loss_module.parameters(), 1.0)
    for optimizer in training.optimizers:
        optimizer.step()
        optimizer.zero_grad()
    return torch.stack([loss.detach().float(), loss.new_full((), tokens, dtype=torch.float32)])


def _on_device(source: Tensor, labels: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """A batch of the CPU, and the places of its tokens, on a device; the host does not wait for the copies."""
    tensors = source, labels, token_places(labels, PAD)
    if device.type == "cpu":
        return tensors
    first, second, third = (tensor.pin_memory().to(device, non_blocking=True) for tensor in tensors)
    return first, second, third


def _show_rate(training: Training, bar: tqdm) -> None:
    """Show the mean loss and the tokens per second since the last record, the making of the batches included."""
    loss, tokens = training.recent.tolist()  # which waits for a device that is behind the host
    rate = tokens * training.accelerator.num_processes / _seconds_since_record(training)
    bar.set_postfix_str(f"loss {loss / tokens:.3f}, {rate:,.0f} tokens/s", refresh=False)


def _seconds_since_record(training: Training) -> float:
    """Seconds of the steps since the last record and of their batches; for the steps of a GPU, wait for it before."""
    assert training.begun is not None, "a step was taken"
    return time.perf_counter() - training.begun


def _record_progress(training: Training, bar: tqdm) -> None:
    """Log the position, the loss since the last record and the held-out likelihood; a new record begins."""
    progress, recent = training.progress, training.recent
    progress.tokens += int(training.accelerator.reduce(recent.clone())[1])  # which waits for a device behind the host
    progress.seconds += _seconds_since_record(training)
    loss_module = training.accelerator.unwrap_model(training.loss_of)
    record = {
        "step": progress.step,
        "epoch": progress.epoch,
        "seconds": round(progress.seconds, 1),
        "loss": round((recent[0] / recent[1]).item(), 4),
        "held_out_nats_per_token": round(likelihood(loss_module, training.text, training.settings), 4),
    }
    progress.log.append(record)
    bar.write(json.dumps(record))
    training.recent = torch.zeros_like(recent)


@torch.no_grad()
def likelihood(loss_module: TranslationLoss, text: Text, settings: TrainingSettings) -> float:
    """Negative log-likelihood per token (nats, EOS counted) of the held-out pairs, on their Viterbi segmentation.

    Pairs with more pieces than the model can read are left out.
    """
    loss_module.eval()
    pairs = segmented(text.validation, text.source, text.target)
    pairs = [pair for pair in pairs if max(map(len, pair)) <= loss_module.model.config.max_position_embeddings]
    device = next(loss_module.parameters()).device
    total, tokens = 0.0, 0
    for batch in pack(pairs, settings.batch_tokens):
        source, labels, places = _on_device(*padded_pairs(batch), device)
        total += loss_module(source, labels, 0.0, places).item()
        tokens += len(places)
    loss_module.train()
    return total / max(1, tokens)
