"""Fine-tune any transformer as a sentence encoder on pairs, with sentence-transformers' trainer.

The averaging and recurrent encoders have their own training loop (`toolkit.encoder.training`); here the loop, the
checkpoints and the processes are the library's. Negatives are the other pairs of a batch, of all processes; no two
pairs of a batch share a reference or a text. The cached losses run the transformer twice, on a few pairs at a time, so
a batch may be larger than what fits in memory at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.losses.gradcache import CachedLossMixin
from sentence_transformers.base.sampler import NoDuplicatesBatchSampler
from sentence_transformers.sentence_transformer.losses import (
    CachedMultipleNegativesRankingLoss,
    MultipleNegativesRankingLoss,
)
from sentence_transformers.sentence_transformer.modules import Transformer
from sentence_transformers.util import all_gather, all_gather_with_grad
from torch import Tensor, nn
from transformers import set_seed
from transformers.utils import logging

from toolkit.encoder.loss import SCALE, margin_loss
from toolkit.encoder.negatives import nearest
from toolkit.encoder.pairs import Pairs, number_pairs, read_pairs
from toolkit.encoder.settings import TransformerTraining
from toolkit.models.checkpoint import last_checkpoint, writing
from toolkit.models.precision import has_bfloat16
from toolkit.models.weights import load_whole
from toolkit.parallel import processes
from toolkit.training import check_folder, finish, in_folder, is_finished

WARMUP = 0.1  # Sentence-BERT (Reimers & Gurevych 2019), section 3.1
KEPT = 2  # ours: checkpoints; the newest may be half written when a run is killed
LOGGED = 10  # ours: steps
CHECKPOINTS = "checkpoints"
FREE = {"output_dir", "save_every", "mini_batch", "threads", "processes"}  # may change when a training resumes


def train(settings: TransformerTraining) -> Path:
    """Fine-tune a transformer, or resume a killed training, and save it; a finished training is left as it is.

    Returns:
        `output_dir`, which then holds a SentenceTransformer and `training.json`.

    Raises:
        ValueError: There are too few usable pairs, the base model cannot be loaded, or the folder belongs to a training
            with other settings.
        OSError: The folder is not one to write to (`toolkit.training.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    state, folder = processes(), Path(settings.output_dir)
    models = {"base_model": settings.base_model}
    settings_record = check_folder(folder, settings, {"pairs": settings.pairs}, models, FREE, state)
    if is_finished(folder):
        return folder
    torch.set_num_threads(settings.threads)
    pairs = number_pairs(read_pairs(settings.pairs), settings.max_tokens)
    check_batch(settings.batch, len(pairs), state.num_processes)
    encoder = load_base(settings.base_model, settings.max_tokens, settings.seed)
    with in_folder(folder, settings_record, FREE, state):
        record = fit(encoder, pairs, settings, state, folder / CHECKPOINTS)
        if state.is_main_process:
            encoder.save(str(folder))
            finish(folder, record, [folder / CHECKPOINTS])
    return folder


def check_batch(batch: int, pairs: int, processes: int) -> None:
    """Refuse a batch of more pairs than there are, or one that the processes cannot share equally.

    Raises:
        ValueError: It is one of these.
    """
    if pairs < batch:
        raise ValueError(f"wanted at least {batch} pairs, got {pairs}; give a smaller --batch")
    if batch % processes:
        raise ValueError(f"wanted a batch that {processes} processes can share, got {batch}")


def load_base(name: str, max_tokens: int, seed: int) -> SentenceTransformer:
    """A transformer as a sentence encoder, in float32.

    Args:
        name: A folder or a Hub id; a model that was not saved as a sentence encoder gets mean pooling.
        max_tokens: The most pieces it reads of a text; fewer where the model itself reads fewer.
        seed: Seed of weights that the checkpoint does not have.

    Raises:
        ValueError: It is no transformer, or a tensor of it is missing or not finite.
    """
    logging.disable_progress_bar()
    set_seed(seed)

    def load() -> SentenceTransformer:
        encoder = SentenceTransformer(name, device="cuda" if torch.cuda.is_available() else "cpu")
        if not isinstance(encoder[0], Transformer):
            raise TypeError(f"its first module is {type(encoder[0]).__name__}")
        return encoder

    encoder = load_whole(load, name, "a transformer to begin with", "no folder or Hub id of one")
    own = encoder.max_seq_length
    encoder.max_seq_length = min(max_tokens, own) if own else max_tokens
    return encoder.float()


class MegaBatchMargin(CachedLossMixin, nn.Module):
    """`margin_loss` against the nearest sentences of a batch, for the library's trainer.

    The negatives of both sides are chosen among the sentences of all processes that have another reference.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.7; ParaNMT-50M, section 4.
    """

    def __init__(self, model: nn.Module, margin: float, mini_batch: int, gather: bool) -> None:
        """Store the settings.

        Args:
            model: The sentence encoder.
            margin: As of `margin_loss`.
            mini_batch: Pairs that the model encodes at a time.
            gather: Whether negatives come from the batches of all processes.
        """
        super().__init__()
        self.model, self.margin, self.mini_batch_size, self.gather = model, margin, mini_batch, gather

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """The mean loss of this process's pairs; `labels` are the indices of the references."""
        return self.forward_cached(sentence_features, labels)

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Tensor | None = None, *, with_backward: bool = False
    ) -> Tensor:
        """The same from the vectors of both sides, mini-batch by mini-batch; the library's interface."""
        anchors, positives = (torch.cat(side).float() for side in reps)
        first, count = 0, len(anchors)
        assert labels is not None
        if self.gather:
            first = torch.distributed.get_rank() * count
            anchors, positives = all_gather_with_grad(anchors), all_gather_with_grad(positives)
            labels = all_gather(labels)
        loss = nearest_margin(anchors, positives, labels.cpu().numpy(), first, first + count, self.margin).mean()
        if with_backward:
            loss.backward()
        return loss.detach() if with_backward else loss

    def get_config_dict(self) -> dict[str, Any]:
        """The settings that the library writes into the model card."""
        return {"margin": self.margin, "mini_batch": self.mini_batch_size, "gather": self.gather}


def nearest_margin(
    anchors: Tensor, positives: Tensor, references: np.ndarray, first: int, last: int, margin: float
) -> Tensor:
    """The margin loss of some pairs of a batch, against the nearest of all its sentences.

    Args:
        anchors: (pairs, dimensions) vectors of the anchors.
        positives: (pairs, dimensions) vectors of the positives.
        references: (pairs,) indices of the references; pairs of one reference are no negatives of each other.
        first: The first pair whose loss is computed.
        last: The end of the range of pairs, exclusive.
        margin: As of `margin_loss`.

    Returns:
        (last - first,) losses.
    """
    vectors, count = torch.cat([anchors, positives]), len(anchors)
    keys = [np.tile(references, 2)]
    negatives, positives_negatives = (
        torch.from_numpy(nearest(vectors.detach(), keys, side + first, side + last, torch.float32)).to(vectors.device)
        for side in (0, count)
    )
    return margin_loss(
        anchors[first:last], positives[first:last], vectors[negatives], vectors[positives_negatives], margin
    )


def loss_for(encoder: SentenceTransformer, settings: TransformerTraining, gather: bool) -> nn.Module:
    """The loss of a training; with `gather`, negatives come from the batches of all processes."""
    if settings.loss == "margin":
        return MegaBatchMargin(encoder, settings.margin, settings.mini_batch, gather)
    if settings.loss == "ranking":
        return MultipleNegativesRankingLoss(encoder, scale=SCALE, gather_across_devices=gather)
    return CachedMultipleNegativesRankingLoss(
        encoder, scale=SCALE, mini_batch_size=settings.mini_batch, gather_across_devices=gather
    )


def distinct(
    dataset: Dataset,
    batch_size: int,
    drop_last: bool,
    valid_label_columns: list[str] | None = None,
    generator: torch.Generator | None = None,
    seed: int = 0,
) -> NoDuplicatesBatchSampler:
    """The library's sampler of batches without two equal texts, with labels too: a label is a reference."""
    return NoDuplicatesBatchSampler(dataset, batch_size, drop_last, generator=generator, seed=seed)


def fit(
    encoder: SentenceTransformer, pairs: Pairs, settings: TransformerTraining, state: PartialState, checkpoints: Path
) -> dict:
    """Train an encoder in place, or resume from the last checkpoint.

    Args:
        encoder: The encoder; its weights change.
        pairs: Training pairs.
        settings: Settings of the training.
        state: The processes.
        checkpoints: Folder of the checkpoints.

    Returns:
        A record: settings, pairs, the seconds of this call, and the mean loss between the steps that were logged.

    Raises:
        ValueError: There are fewer pairs than a batch has, or the processes cannot share a batch equally.
        OSError: A checkpoint cannot be written.
    """
    check_batch(settings.batch, len(pairs), state.num_processes)
    columns = {"anchor": pairs.anchor, "positive": pairs.positive}
    texts = {name: [pairs.texts[n] for n in numbers] for name, numbers in columns.items()}
    trainer = SentenceTransformerTrainer(
        encoder,
        training_arguments(settings, checkpoints),
        Dataset.from_dict(texts | {"label": pairs.reference}),
        loss=loss_for(encoder, settings, state.num_processes > 1),
    )
    with writing(checkpoints):
        output = trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    return {
        "settings": asdict(settings),
        "pairs": len(pairs),
        "texts": len(pairs.texts),
        "refused": dict(pairs.refused),
        "processes": state.num_processes,
        "steps": trainer.state.global_step,
        "seconds": round(output.metrics["train_runtime"], 1),
        "loss": [[entry["step"], entry["loss"]] for entry in trainer.state.log_history if "loss" in entry],
    }


def training_arguments(settings: TransformerTraining, checkpoints: Path) -> SentenceTransformerTrainingArguments:
    """The trainer's settings: the processes share a batch; an incomplete last batch of an epoch is dropped."""
    return SentenceTransformerTrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        accelerator_config={"split_batches": True},
        dataloader_drop_last=True,
        dataloader_pin_memory=torch.cuda.is_available(),
        batch_sampler=distinct,
        learning_rate=settings.learning_rate,
        warmup_steps=WARMUP,
        seed=settings.seed,
        bf16=settings.dtype == "bfloat16" or (settings.dtype == "auto" and has_bfloat16()),
        use_cpu=not torch.cuda.is_available(),
        save_steps=settings.save_every,
        save_total_limit=KEPT,
        logging_steps=LOGGED,
        report_to="none",
    )
