"""Fine-tune any transformer as a sentence encoder on pairs, with sentence-transformers' trainer.

The averaging and recurrent encoders have their own training loop (`toolkit.train.encoder`); here the loop, the
checkpoints and the processes are the library's. Negatives are the other pairs of a batch, of all processes; no two
pairs of a batch share a reference or a text. The cached losses run the transformer twice, on a few pairs at a time, so
a batch may be larger than what fits in memory at once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from accelerate import PartialState
from datasets import Dataset
from transformers import set_seed
from transformers.utils import logging

from toolkit.clean.evaluation_sets import read_sets
from toolkit.encoder.settings import TransformerTraining
from toolkit.models.checkpoint import last_checkpoint, writing
from toolkit.models.precision import default_device
from toolkit.models.trainer_arguments import ResumeCallback, shared_options, trainer_arguments
from toolkit.models.weights import load_whole
from toolkit.starters import shown_name
from toolkit.system.extras import naming_extra
from toolkit.train._held_out import outcome_beside
from toolkit.train._session import CHECKPOINTS, begin
from toolkit.train._transformer_loss import loss_for, margin_labels
from toolkit.train.encoder_pairs import Pairs, _training_pairs

with naming_extra():
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.base.sampler import NoDuplicatesBatchSampler
    from sentence_transformers.sentence_transformer.modules import Transformer

WARMUP = 0.1  # Sentence-BERT (Reimers & Gurevych 2019), section 3.1
LOGGED = 10  # ours: steps
FREE = {"output_dir", "save_every", "mini_batch", "threads", "processes"}  # may change when a training resumes


def train(settings: TransformerTraining) -> Path:
    """Fine-tune a transformer, or resume a killed training, and save it; a finished training is left as it is.

    Returns:
        `output_dir`, which then holds a SentenceTransformer and `training.json`.

    Raises:
        ValueError: There are too few usable pairs, the base model cannot be loaded, or the folder belongs to a training
            with other settings.
        OSError: The folder is not one to write to (`toolkit.run.workspace.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    session = begin(settings, ("pairs", "decontaminate"), ("base_model",), FREE)
    if session.is_finished():
        return session.folder
    pairs = _training_pairs(settings.pairs, settings.max_tokens, read_sets(settings.decontaminate), settings.min_score)
    _check_batch(settings.batch, pairs, session.state.num_processes)
    encoder = _load_base(settings.base_model, settings.max_tokens, settings.seed)
    with session.in_folder():
        record = _fit(encoder, pairs, settings, session.state, session.folder / CHECKPOINTS)
        if session.state.is_main_process:
            encoder.save(str(session.folder))
            base = _load_base(settings.base_model, settings.max_tokens, settings.seed)
            outcome = outcome_beside(encoder, {shown_name(settings.base_model): base}, settings.pairs)
            session.finish(record, outcome, CHECKPOINTS)
    return session.folder


def _check_batch(batch: int, pairs: Pairs, processes: int) -> None:
    """Refuse a batch of more references than there are, or one that the processes cannot share equally.

    Raises:
        ValueError: It is one of these.
    """
    references = len(np.unique(pairs.reference))
    if references < batch:
        raise ValueError(
            f"wanted pairs of at least {batch} references, because a batch has one pair of each, got {references}; "
            "give a smaller --batch"
        )
    if batch % processes:
        raise ValueError(f"wanted a batch that {processes} processes can share, got {batch}")


def _load_base(name: str, max_tokens: int, seed: int) -> SentenceTransformer:
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
        encoder = SentenceTransformer(name, device=str(default_device()))
        if not isinstance(encoder[0], Transformer):
            raise TypeError(f"its first module is {type(encoder[0]).__name__}")
        return encoder

    encoder = load_whole(load, name, "a transformer to begin with", "no folder or Hub id of one")
    model_limit = encoder.max_seq_length
    encoder.max_seq_length = min(max_tokens, model_limit) if model_limit else max_tokens
    return encoder.float()


def _distinct(
    dataset: Dataset,
    batch_size: int,
    drop_last: bool,
    valid_label_columns: list[str] | None = None,
    generator: torch.Generator | None = None,
    seed: int = 0,
) -> NoDuplicatesBatchSampler:
    """The library's sampler of batches without two equal texts, with labels too: a label is a reference."""
    return NoDuplicatesBatchSampler(dataset, batch_size, drop_last, generator=generator, seed=seed)


def _fit(
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
        ValueError: No batch has as many pairs without equal texts as are wanted.
        OSError: A checkpoint cannot be written.
    """
    columns = {"anchor": pairs.anchor, "positive": pairs.positive}
    if pairs.negatives is not None:
        columns["negative"] = _negatives(pairs)
    texts = {name: [pairs.texts[n] for n in numbers] for name, numbers in columns.items()}
    trainer = SentenceTransformerTrainer(
        encoder,
        _training_arguments(settings, checkpoints),
        Dataset.from_dict(texts | {"label": margin_labels(pairs) if settings.loss == "margin" else pairs.reference}),
        loss=loss_for(encoder, settings, state.num_processes > 1),
        callbacks=[ResumeCallback()],
    )
    with writing(checkpoints):
        output = trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    if not trainer.state.global_step:
        raise ValueError(
            f"wanted {settings.batch} pairs without equal texts, got no batch of them: give a smaller --batch"
        )
    return {
        "settings": asdict(settings),
        "pairs": len(pairs),
        "texts": len(pairs.texts),
        "columns": pairs.columns,
        "refused": dict(pairs.refused),
        "contamination": pairs.contamination,
        "processes": state.num_processes,
        "steps": trainer.state.global_step,
        "seconds": round(output.metrics["train_runtime"], 1),
        "loss": [[entry["step"], entry["loss"]] for entry in trainer.state.log_history if "loss" in entry],
    }


def _negatives(pairs: Pairs) -> np.ndarray:
    """A negative of each pair, as indices of texts: a hard one, or of a pair without one the anchor of another.

    The losses of the library want one of every pair. That of another pair is the anchor of the next pair of another
    reference: no batch has two equal texts, so it never stands beside a pair of its own reference. The margin loss does
    not use it (`margin_labels`).
    """
    numbers = np.arange(len(pairs))
    negatives = pairs.negatives_of(numbers, 0)
    is_last = np.append(pairs.reference[1:] != pairs.reference[:-1], pairs.reference[-1:] != pairs.reference[:1])
    ends = np.flatnonzero(is_last)
    if len(ends):
        next_pairs = (np.append(ends, ends[0])[np.searchsorted(ends, numbers)] + 1) % len(pairs)
        return np.where(negatives >= 0, negatives, pairs.anchor[next_pairs])
    return np.where(negatives >= 0, negatives, pairs.anchor[negatives.argmax()])


def _training_arguments(settings: TransformerTraining, checkpoints: Path) -> SentenceTransformerTrainingArguments:
    """The trainer's settings: the processes share a batch; an incomplete last batch of an epoch is dropped."""
    options = shared_options(settings, checkpoints) | dict(
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        accelerator_config={"split_batches": True},
        dataloader_drop_last=True,
        batch_sampler=_distinct,
        warmup_steps=WARMUP,
        logging_steps=LOGGED,
    )
    return trainer_arguments(SentenceTransformerTrainingArguments, settings.dtype, options)
