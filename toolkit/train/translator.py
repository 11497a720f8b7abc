"""Train a translator, a Marian model of any size, on a bitext under Accelerate.

The text is prepared once (`translator_data.py`). Every epoch (`translator_steps.py`) reads it in batches
(`translator_batches.py`) with newly sampled segmentations. The result is a `MarianMTModel` with its `MarianTokenizer`.
A training that begins with such a model (`marian.py`) keeps its pieces. Not here: translation (`generate/`) and BLEU
(`evaluate/translation.py`).
"""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import sentencepiece
import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import set_seed
from tqdm import tqdm
from transformers import GenerationConfig, MarianMTModel, MarianTokenizer

from toolkit.bitext.subwords import marian_tokenizer, pieces_of
from toolkit.bitext.words import write_words
from toolkit.models.precision import has_bfloat16
from toolkit.run.workspace import RECORD, Outcome
from toolkit.starters import WORDS, shown_name
from toolkit.system.contents import CONTENT
from toolkit.system.whole_files import read_record
from toolkit.train._checkpoints import Progress, average_weights, checkpoints_in, load_checkpoint
from toolkit.train._marian import load_base, new_model, size_of
from toolkit.train._session import Session, begin
from toolkit.train._translator_batches import segmented
from toolkit.train._translator_data import PARTS, PREPARED, check_bitexts, open_pairs, prepare, upsampled
from toolkit.train._translator_steps import Text, Training, likelihood, run_epoch
from toolkit.train.optimizer import optimizers
from toolkit.train.translator_loss import TranslationLoss
from toolkit.translator.settings import DEFAULT_SIZE, SIZES, TrainingSettings

COUNTED = 50_000  # ours: pairs that are segmented at a time to be counted
# may change when a training resumes; its length too
FREE = {"max_steps", "cooldown_steps", "save_every", "average", "output_dir", "processes", "check_language"}


def train(settings: TrainingSettings) -> Path:
    """Train a translator, or resume a killed training, and save it; one that has all its steps is left as it is.

    Returns:
        `output_dir`; its folder "model" then holds a `MarianMTModel`, its `MarianTokenizer` and `training.json`.

    Raises:
        ValueError: The bitext has no usable pair, the base model cannot be used, or the output folder belongs to a
            training with other settings.
        OSError: The folder is not one to write to (`toolkit.run.workspace.check_folder`), or the disk is full.
        RuntimeError: The launcher's processes do not see each other, or another launch works in the folder.
    """
    if not settings.base_model:
        settings = replace(settings, size=settings.size or DEFAULT_SIZE)
    # until the text is prepared, nothing depends on a setting, so all of them may change
    is_prepared = Path(settings.output_dir, PREPARED).exists()
    free_settings = FREE if is_prepared else {field.name for field in fields(settings)}
    session = begin(settings, PARTS, ("base_model",), free_settings, "model")
    if session.is_finished() and read_record(session.model / RECORD)["progress"]["step"] >= settings.max_steps:
        return session.folder
    check_bitexts(settings)
    base = load_base(settings) if settings.base_model else None
    with session.in_folder():
        _fit(settings, session, base)
    session.state.destroy_process_group()
    return session.folder


def _fit(settings: TrainingSettings, session: Session, base: tuple[MarianMTModel, MarianTokenizer] | None) -> None:
    """Prepare the text, train or resume, and save the model.

    Args:
        settings: Of the training.
        session: Its launch.
        base: The model that it begins with, and the tokenizer of that; None is a new one.
    """
    folder = session.folder
    accelerator = Accelerator(mixed_precision="bf16" if has_bfloat16(PartialState().device) else "no")
    set_seed(settings.seed + accelerator.process_index)
    sentencepiece.set_random_generator_seed(settings.seed + accelerator.process_index)
    with accelerator.main_process_first():
        counts = prepare(settings)
    with accelerator.main_process_first():
        if accelerator.is_main_process:  # the others read what it has written
            _save_tokenizer(settings, session, base[1] if base else None)
        tokenizer = MarianTokenizer.from_pretrained(session.model)
    pairs = upsampled(open_pairs(folder / "train.arrow"), counts["train"], settings.upsample)
    text = Text(pairs, open_pairs(folder / "validation.arrow"), *pieces_of(tokenizer))
    training = _begin(settings, accelerator, text, base[0] if base else None)
    if checkpoints := checkpoints_in(folder):
        load_checkpoint(accelerator, checkpoints[-1])
    _run(training)
    if accelerator.is_main_process:
        _save(session, training, tokenizer, counts)


def _save_tokenizer(settings: TrainingSettings, session: Session, base: MarianTokenizer | None) -> None:
    """Save the tokenizer of the pieces that were trained, or of the base model, in the folder of the model."""
    if base is not None:
        base.save_pretrained(session.model)
        return
    source, target = "source.spm", "source.spm" if SIZES[str(settings.size)].joint else "target.spm"
    marian_tokenizer(session.folder / source, session.folder / target, session.model)


def _begin(
    settings: TrainingSettings, accelerator: Accelerator, text: Text, base: MarianMTModel | None = None
) -> Training:
    """The state of a training before its first step."""
    model = base
    if model is None:
        model = new_model(SIZES[str(settings.size)], len(text.source), len(text.target), settings.dropout)
    if accelerator.device.type == "cpu":
        model.set_attn_implementation("eager")  # half again as fast in training as sdpa, for short sentences
    loss_module = TranslationLoss(model, settings.label_smoothing).to(accelerator.device)  # whose Muon it is
    prepared_objects = accelerator.prepare(loss_module, *optimizers(model, settings.learning_rate, settings.optimizer))
    progress = Progress()
    accelerator.register_for_checkpointing(progress)
    recent = torch.zeros(2, device=accelerator.device)
    return Training(settings, text, accelerator, prepared_objects[0], list(prepared_objects[1:]), progress, recent)


def _run(training: Training) -> None:
    """Take the steps that are left, with a record and a checkpoint every `save_every` steps.

    Raises:
        ValueError: No pair is short enough for a step.
    """
    progress, steps = training.progress, training.settings.max_steps
    main = training.accelerator.is_main_process
    with tqdm(total=steps, initial=progress.step, unit="step", disable=not main) as bar:
        while progress.step < steps:
            run_epoch(training, bar)


def _save(session: Session, training: Training, tokenizer: MarianTokenizer, counts: dict[str, Any]) -> None:
    """Write the model, the words of its text, and the record of the training; the tokenizer is there."""
    settings, progress = training.settings, training.progress
    model = training.accelerator.unwrap_model(training.loss_of).model
    held_out = _keep_better_weights(model, training.text, settings, checkpoints_in(session.folder))
    model.generation_config = GenerationConfig.from_model_config(model.config)
    model.eval().save_pretrained(session.model)
    write_words(session.model / WORDS, (reference.as_py() for reference in training.text.train["reference"]))
    record = {
        "settings": asdict(settings),
        "contents": {
            name.removeprefix(CONTENT): text
            for name, text in session.settings_record.items()
            if name.startswith(CONTENT) and text
        },
        "size": asdict(SIZES[settings.size] if settings.size else size_of(model)),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "pairs": counts
        | {"too_long": _count_long(open_pairs(session.folder / "train.arrow"), training.text, settings)},
        "held_out_nats_per_token": held_out,
        "progress": {name: value for name, value in asdict(progress).items() if name != "log"},
        "log": progress.log,
    }
    session.finish(record, _held_out_outcome(held_out, training))


def _count_long(pairs: pa.Table, text: Text, settings: TrainingSettings) -> int:
    """How many pairs have more pieces on one side than a training takes, in their most probable segmentation."""
    pools = (pairs.slice(begin, COUNTED) for begin in range(0, len(pairs), COUNTED))
    ids = (pair for pool in pools for pair in segmented(pool, text.source, text.target))
    return sum(max(map(len, pair)) > settings.max_tokens for pair in ids)


def _keep_better_weights(
    model: MarianMTModel, text: Text, settings: TrainingSettings, checkpoints: list[Path]
) -> dict[str, float]:
    """Give a model the better of its last weights and the average of its last checkpoints, by held-out likelihood.

    Returns:
        The negative log-likelihood per token of both, "last" and "average".
    """
    loss_module = TranslationLoss(model, 0.0)
    last_weights = {name: tensor.clone() for name, tensor in loss_module.state_dict().items()}
    held_out = {"last": likelihood(loss_module, text, settings)}
    names = loss_module.load_state_dict(average_weights(checkpoints), strict=False)
    assert not names.unexpected_keys, "a checkpoint has other weights than its model"
    held_out["average"] = likelihood(loss_module, text, settings)
    if held_out["last"] < held_out["average"]:
        loss_module.load_state_dict(last_weights)
    return held_out


def _held_out_outcome(held_out: dict[str, float], training: Training) -> Outcome:
    """The held-out likelihood of the better weights, beside that of the base model.

    Args:
        held_out: Return value of `_keep_better_weights`.
        training: The finished training.
    """
    settings, text, other_losses = training.settings, training.text, {}
    count = len(text.validation)
    if settings.base_model and count:
        base = TranslationLoss(load_base(settings)[0].to(training.accelerator.device), 0.0)
        other_losses[shown_name(settings.base_model)] = likelihood(base, text, settings)
    model = min(held_out.values()) if count else None
    return Outcome("held-out nats per token", count, "pairs", model, other_losses, lower_is_better=True)
