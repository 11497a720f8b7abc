"""Train a paraphraser on parabanks with `Seq2SeqTrainer`: a new model, or any seq2seq checkpoint, whole or by LoRA."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import torch
from accelerate import PartialState
from datasets import Dataset
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    GenerationConfig,
    MarianTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)

from toolkit.bitext.subwords import marian_tokenizer, train_pieces
from toolkit.bitext.words import write_words
from toolkit.evaluate.ibleu import corpus_ibleu
from toolkit.models.checkpoint import last_checkpoint, whole_checkpoints, writing
from toolkit.models.trainer_arguments import KEPT, ResumeCallback
from toolkit.paraphraser.card import paraphraser_card, stated
from toolkit.paraphraser.form import is_marked
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.run.workspace import Outcome
from toolkit.starters import WORDS, shown_name
from toolkit.system.errors import public_record
from toolkit.system.outputs import MEASURED
from toolkit.system.processes import processes
from toolkit.system.whole_files import write_whole
from toolkit.train._batches import Batches
from toolkit.train._examples import cut_long, ids_of, longer_sides, without_long
from toolkit.train._lora import with_adapters
from toolkit.train._marian import new_model
from toolkit.train._seq2seq import IGNORED, Collate, ParaphraserTrainer, same_draws, training_arguments
from toolkit.train._session import CHECKPOINTS, Session, begin
from toolkit.train._template_pairs import with_templates
from toolkit.train.paraphraser_pairs import (
    _inputs_and_references,
    _PairTable,
    _TrainingPair,
    _TrainingText,
    read_training,
)
from toolkit.translator.load import load_checkpoint, set_languages
from toolkit.translator.settings import SIZES

if TYPE_CHECKING:
    from peft import PeftModel

TOKENIZER, ADAPTERS, TEMPLATES = "tokenizer", "adapters", "templates.json"
# may change when a training resumes; with another number of processes it would skip other pairs than it has read
FREE = {"output_dir", "save_every", "threads", "patience", "license"}


def train(settings: ParaphraserTraining) -> Path:
    """Train a paraphraser, or resume a killed training, and save it; a finished training is left as it is.

    Returns:
        `output_dir`, which then holds the model, its tokenizer and `training.json`; with LoRA the model has the
        adapters merged in, and the folder "adapters" holds them alone.

    Raises:
        ValueError: There are no usable pairs, the base model cannot be loaded or has no layers for adapters, or the
            folder belongs to a training with other settings.
        OSError: The folder is not one to write to (`toolkit.run.workspace.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    settings = replace(settings, processes=processes().num_processes)  # as `accelerate launch` started them
    session = begin(settings, ("pairs", "validation", "decontaminate"), ("base_model",), FREE)
    state, folder = session.state, session.folder
    if session.is_finished():
        return folder
    text = read_training(settings)
    with session.in_folder():
        set_seed(settings.seed)
        if settings.syntax:
            with state.main_process_first():
                pairs = with_templates(text.pairs, settings.syntax, folder / TEMPLATES)
            text = replace(text, pairs=_PairTable(pairs))
        model, tokenizer = _begin(settings, text.pairs, state)
        trainer = _new_trainer(model, tokenizer, settings, state, text)
        other_figures = _figures_of_others(trainer, settings, text)
        checkpoint = last_checkpoint(folder / CHECKPOINTS)
        with writing(folder / CHECKPOINTS):
            trainer.train(resume_from_checkpoint=checkpoint)
        if settings.average > 1:
            _average(trainer, _last_checkpoints(settings))
        if state.is_main_process:
            _save(session, trainer, tokenizer, settings, text, other_figures)
    return folder


def _begin(
    settings: ParaphraserTraining, pairs: Sequence[_TrainingPair], state: PartialState
) -> tuple[PreTrainedModel | PeftModel, PreTrainedTokenizerBase]:
    """The model before its first step, and its tokenizer."""
    if settings.base_model:
        model, tokenizer = load_checkpoint(settings.base_model, torch.float32)
        set_languages(model, tokenizer, settings.lang, settings.lang, settings.base_model)
    else:
        size = SIZES[str(settings.size)]
        folder = Path(settings.output_dir, TOKENIZER)
        with state.main_process_first():
            if state.is_main_process:  # the others read what it has written
                if not (folder / "source.spm").exists():
                    folder.mkdir(parents=True, exist_ok=True)
                    texts = (text for pair in pairs for text in (pair.text, pair.output))
                    train_pieces(texts, folder / "source.spm", size.vocabulary, seed=settings.seed)
                marian_tokenizer(folder / "source.spm", folder / "source.spm", folder)
            tokenizer = MarianTokenizer.from_pretrained(folder)
        model = new_model(size, len(tokenizer), len(tokenizer), dropout=0.1)
        model.generation_config = GenerationConfig.from_model_config(model.config)
    if state.device.type == "cpu":
        model.set_attn_implementation("eager")  # half again as fast in training as sdpa, for short sentences
    if settings.prefix:
        if model.config.model_type == "marian":
            raise ValueError(f"wanted no prefix for a Marian model, which reads no task, got {settings.prefix!r}")
        model.config.task_specific_params = {
            f"translation_{settings.lang}_to_{settings.lang}": {"prefix": settings.prefix}
        }
    if settings.lora:
        return with_adapters(model, settings.lora_rank, settings.lora_alpha), tokenizer
    return model, tokenizer


def _new_trainer(
    model: PreTrainedModel | PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    settings: ParaphraserTraining,
    state: PartialState,
    text: _TrainingText,
) -> ParaphraserTrainer:
    """The trainer with its data; pairs that are too long are counted among those of the text that were left out.

    Raises:
        ValueError: No pair is short enough, or there are fewer batches than processes.
    """
    table = _examples(text.pairs, tokenizer, settings).append_column("weight", text.pairs.table["weight"])
    table = without_long(table, settings.max_tokens)
    text.refused["too_long"] += len(text.pairs) - len(table)
    lengths = longer_sides(table)
    share = state.num_processes * settings.accumulate
    batches = Batches(lengths, settings.epochs, settings.batch_tokens, settings.batch_pairs, share, settings.seed)
    if not len(batches):
        raise ValueError(
            f"wanted at least {share} batches of pairs of up to {settings.max_tokens} pieces, got {len(text.pairs)} "
            "pairs: give more, or smaller batches"
        )
    inputs, references = _inputs_and_references(text.held_out)
    first_pairs = [_TrainingPair(source, group[0], 1.0) for source, group in zip(inputs, references, strict=True)]
    held_out_table = cut_long(_examples(first_pairs, tokenizer, settings), settings.max_tokens)
    validation = Dataset(held_out_table) if first_pairs else None
    trainer = ParaphraserTrainer(
        model,
        _training_arguments(settings, len(batches) // share, _drops_layers(model)),
        Collate(model, tokenizer.pad_token_id),
        Dataset(table),
        validation,
        compute_metrics=lambda prediction: _held_out_ibleu(prediction, tokenizer, inputs, references, settings),
        callbacks=[
            ResumeCallback(),
            *([_EvaluateAtEnd()] if validation else []),
            *([_EarlyStopping(settings.patience)] if settings.patience else []),
        ],
    )
    trainer.batches, trainer.smoothing = batches, settings.label_smoothing
    return trainer


def _figures_of_others(
    trainer: ParaphraserTrainer, settings: ParaphraserTraining, text: _TrainingText
) -> dict[str, float]:
    """The held-out iBLEU of a copy of the text, and of the model before its first step if it is a base model."""
    inputs, references = _inputs_and_references(text.held_out)
    if not inputs:
        return {}
    first_references = [[group[0] for group in references]]
    figures = {"a copy of the text": corpus_ibleu(inputs, first_references, inputs, settings.alpha, settings.lang)[0]}
    if settings.base_model:
        with same_draws(trainer.args.device):  # the training draws as if nothing had been measured
            figures[shown_name(settings.base_model)] = trainer.evaluate()["eval_ibleu"]
    return figures


class _EvaluateAtEnd(TrainerCallback):
    """Evaluates after the last step, too, which the library saves but does not measure."""

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Ask for an evaluation if this was the last step."""
        if state.global_step >= state.max_steps:
            control.should_evaluate = True
        return control


class _EarlyStopping(EarlyStoppingCallback):
    """The library's, which counts anew after a training is resumed; this one counts the checkpoints before it, too."""

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Count the measured checkpoints since the best, and end a training that had ended."""
        figures = [entry["eval_ibleu"] for entry in state.log_history if "eval_ibleu" in entry]
        if figures:
            self.early_stopping_patience_counter = len(figures) - 1 - figures.index(max(figures))
        control.should_training_stop = self.early_stopping_patience_counter >= self.early_stopping_patience
        return control


def _examples(
    pairs: Iterable[_TrainingPair], tokenizer: PreTrainedTokenizerBase, settings: ParaphraserTraining
) -> pa.Table:
    """The ids of both sides of each pair, with the prefix of the settings; see `ids_of`."""
    return ids_of(((settings.prefix + pair.text, pair.output) for pair in pairs), tokenizer)


def _drops_layers(model: PreTrainedModel | PeftModel) -> bool:
    """Whether a step of a training leaves out layers at random, as of M2M100, so that some weights get no gradient."""
    return any(getattr(model.config, f"{side}_layerdrop", 0) for side in ("encoder", "decoder"))


def _training_arguments(
    settings: ParaphraserTraining, steps: int, finds_unused: bool = False
) -> Seq2SeqTrainingArguments:
    """The trainer's settings; the data loader holds all epochs, so the trainer counts one.

    Raises:
        ValueError: There will be fewer checkpoints than are to be averaged.
    """
    steps = min(steps, settings.max_steps) if settings.max_steps else steps
    checkpoints = -(-steps // settings.save_every)  # the last step is one
    if checkpoints < settings.average:
        raise ValueError(
            f"wanted {settings.average} checkpoints to average, got {checkpoints} in {steps} steps: lower --save_every"
        )
    options = dict(
        gradient_accumulation_steps=settings.accumulate,
        ddp_find_unused_parameters=finds_unused,
        weight_decay=settings.weight_decay,
        eval_strategy="steps" if settings.held_out else "no",
        save_total_limit=max(KEPT, settings.average + 1),  # and the best
        load_best_model_at_end=bool(settings.held_out),
        metric_for_best_model="ibleu",
        predict_with_generate=True,
        generation_max_length=settings.max_tokens,
        generation_num_beams=1,
    )
    return training_arguments(settings, steps, options)


def _held_out_ibleu(
    prediction: EvalPrediction,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: ParaphraserTraining,
) -> dict[str, float]:
    """The iBLEU of the greedy outputs for the held-out inputs, and both of its BLEUs, by the first references."""
    ids = np.where(prediction.predictions == IGNORED, tokenizer.pad_token_id, prediction.predictions)
    outputs = tokenizer.batch_decode(ids, skip_special_tokens=True)
    ibleu, bleu, input_bleu = corpus_ibleu(
        outputs, [[group[0] for group in references]], texts, settings.alpha, settings.lang
    )
    return {"ibleu": ibleu, "bleu": bleu, "input_bleu": input_bleu}


def _last_checkpoints(settings: ParaphraserTraining) -> list[str]:
    """The checkpoints whose weights are averaged; fewer than `average` where --patience ended the training early."""
    return whole_checkpoints(Path(settings.output_dir, CHECKPOINTS))[-settings.average :]


def _average(trainer: ParaphraserTrainer, checkpoints: Sequence[str]) -> None:
    """Give the model the mean weights of some checkpoints, and measure it on the held-out pairs, if there are any."""
    model: Any = trainer.accelerator.unwrap_model(trainer.model)
    states = [type(model).from_pretrained(checkpoint, dtype=torch.float32).state_dict() for checkpoint in checkpoints]
    model.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]})
    if trainer.eval_dataset is not None:
        trainer.evaluate()


def _save(
    session: Session,
    trainer: ParaphraserTrainer,
    tokenizer: PreTrainedTokenizerBase,
    settings: ParaphraserTraining,
    text: _TrainingText,
    other_figures: dict[str, float],
) -> None:
    """Write the best model with all that belongs to it; the record of the training is last."""
    folder = session.folder
    model: Any = trainer.accelerator.unwrap_model(trainer.model)
    if settings.lora:
        model.save_pretrained(folder / ADAPTERS)
        model = model.merge_and_unload()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if settings.known_words:
        write_words(folder / WORDS, (side for pair in text.pairs for side in (pair.text, pair.output)))
    record = _training_record(trainer, settings, sum(p.numel() for p in model.parameters()), text)
    write_whole(folder / MEASURED, json.dumps(stated(public_record(asdict(settings)), record["marked"])) + "\n")
    write_whole(folder / "README.md", paraphraser_card(record, model.config.model_type))
    session.finish(record, _held_out_outcome(record, text, other_figures), CHECKPOINTS, TEMPLATES)


def _training_record(
    trainer: ParaphraserTrainer, settings: ParaphraserTraining, parameters: int, text: _TrainingText
) -> dict[str, Any]:
    """What a training did: its settings, its data, its steps, the losses, and the held-out figures."""
    history, pairs = trainer.state.log_history, cast(Dataset, trainer.train_dataset)
    is_averaged = settings.average > 1
    figures = ("ibleu", "bleu", "input_bleu")
    held_out = [
        {"step": entry["step"], **{name: entry[f"eval_{name}"] for name in figures}}
        for entry in history
        if "eval_ibleu" in entry
    ]
    if is_averaged and held_out:
        held_out[-1]["averaged"] = len(_last_checkpoints(settings))
    return {
        "settings": asdict(settings),
        "parameters": parameters,
        "pairs": len(pairs),
        "columns": text.columns,
        "refused": dict(text.refused),
        "contamination": text.contamination,
        "marked": fmean(is_marked(pair.text) for pair in text.pairs),
        "processes": trainer.args.world_size,
        "steps": trainer.state.global_step,
        "best_step": None if is_averaged else trainer.state.best_global_step,
        "loss": [[entry["step"], entry["loss"]] for entry in history if "loss" in entry],
        "held_out": held_out,
    }


def _held_out_outcome(record: dict[str, Any], text: _TrainingText, other_figures: dict[str, float]) -> Outcome:
    """The held-out iBLEU of the saved model beside that of others.

    Args:
        record: Of the training, with the figures of each checkpoint.
        text: What was held out.
        other_figures: `_figures_of_others`.
    """
    entries = record["held_out"]
    saved_scores = [entry["ibleu"] for entry in entries if entry["step"] == record["best_step"] or "averaged" in entry]
    count = len(_inputs_and_references(text.held_out)[0])
    return Outcome("held-out iBLEU", count, "texts", saved_scores[-1] if saved_scores else None, other_figures)
