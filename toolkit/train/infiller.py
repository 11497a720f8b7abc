"""Train an infiller with `Seq2SeqTrainer`: a new T5 model, or any T5-type checkpoint."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import PartialState
from datasets import Dataset
from sentencepiece import SentencePieceProcessor
from transformers import (
    Adafactor,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
    set_seed,
)

from toolkit.bitext.passages import MAX_CHARS, MIN_CHARS, Passage
from toolkit.bitext.subwords import train_pieces
from toolkit.data.rows import Row
from toolkit.generate.infill import Search, search, searches_of, texts_of
from toolkit.generate.keywords import keywords
from toolkit.generate.sentinels import SENTINELS, load_infiller, sentinels_in
from toolkit.models.checkpoint import last_checkpoint, writing
from toolkit.models.trainer_arguments import ResumeCallback
from toolkit.paraphraser.card import stated
from toolkit.run.workspace import Outcome
from toolkit.starters import shown_name
from toolkit.system.errors import public_record
from toolkit.system.outputs import MEASURED
from toolkit.system.processes import processes
from toolkit.system.whole_files import write_whole
from toolkit.train._batches import Batches
from toolkit.train._examples import ids_of, longer_sides, without_long
from toolkit.train._infiller_card import infiller_card
from toolkit.train._infiller_examples import examples, read_training
from toolkit.train._seq2seq import Collate, ParaphraserTrainer, same_draws, training_arguments
from toolkit.train._session import CHECKPOINTS, Session, begin
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.translator.load import load_checkpoint

PATHS = ("text", "sentences", "output_dir")  # of this machine, which no record or card needs
PIECES = "pieces.model"
HEAD = 64  # T5: width of a head
SPECIALS = (1, 2, 0)  # of </s>, <unk> and <pad> in T5's vocabularies
FREE = {"output_dir", "save_every", "threads", "license", "source"}
SHOWN, BEAM = 6, 4  # ours: held-out sentences that the card shows, and the beam size


def train(settings: InfillerTraining) -> Path:
    """Train an infiller, or resume a killed training, and save it; a finished training is left as it is.

    Returns:
        `output_dir`, which then holds the model, its tokenizer, its card and `training.json`.

    Raises:
        FileNotFoundError: There is no such text.
        ValueError: A text cannot be read or has too few sentences, the base model cannot be loaded, or the folder
            belongs to a training with other settings.
        OSError: The folder is not one to write to (`toolkit.run.workspace.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    settings = replace(settings, processes=processes().num_processes)  # as `accelerate launch` started them
    session = begin(settings, ("text", "sentences"), ("base_model",), FREE)
    state, folder = session.state, session.folder
    if session.is_finished():
        return folder
    passages, held_out = read_training(settings)
    base = _load_base(settings.base_model) if settings.base_model else None
    with session.in_folder():
        set_seed(settings.seed)
        model, tokenizer = base or _begin(settings, passages, state)
        if state.device.type == "cpu":
            model.set_attn_implementation("eager")  # half again as fast as sdpa in training, for short sentences
        trainer, too_long = _new_trainer(model, tokenizer, settings, state, passages, held_out)
        other_losses = {}
        if settings.base_model:
            with same_draws(state.device):  # the training draws as if nothing had been measured
                other_losses[shown_name(settings.base_model)] = trainer.evaluate()["eval_loss"]
        with writing(folder / CHECKPOINTS):
            trainer.train(resume_from_checkpoint=last_checkpoint(folder / CHECKPOINTS))
        held_out_loss = trainer.evaluate()["eval_loss"]  # by all processes, which share the sentences
        if state.is_main_process:
            outcome = Outcome(
                "held-out loss", len(held_out), "sentences", held_out_loss, other_losses, lower_is_better=True
            )
            counts = {"sentences": len(passages), "too_long": too_long}
            _save(session, trainer, tokenizer, settings, counts, held_out, outcome)
    return folder


def _load_base(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model that a training begins with, and its tokenizer.

    Raises:
        ValueError: It cannot be loaded, or is not T5-like.
    """
    model, tokenizer = load_checkpoint(name, torch.float32)
    sentinels_in(tokenizer.get_vocab(), name)
    return model, tokenizer


def _begin(
    settings: InfillerTraining, passages: Sequence[Passage], state: PartialState
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A new model before its first step, and its tokenizer, trained on the sentences."""
    pieces = Path(settings.output_dir, PIECES)
    with state.main_process_first():
        if not pieces.exists():
            sentences = (passage.sentence for passage in passages)
            train_pieces(sentences, pieces, settings.vocabulary, seed=settings.seed, specials=SPECIALS)
    processor = SentencePieceProcessor(model_file=str(pieces))
    scored = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(processor.get_piece_size())]
    tokenizer = T5Tokenizer(vocab=scored, extra_ids=SENTINELS)
    return _new_model(settings, len(tokenizer)), tokenizer


def _new_model(settings: InfillerTraining, vocabulary: int) -> T5ForConditionalGeneration:
    """A T5 model with random weights; it has no dropout, because it is small for its text."""
    eos, _, pad = SPECIALS
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=vocabulary,
            d_model=settings.width,
            d_kv=HEAD,
            d_ff=settings.feed_forward,
            num_heads=max(1, settings.width // HEAD),
            num_layers=settings.encoder_layers,
            num_decoder_layers=settings.decoder_layers,
            dropout_rate=0.0,
            feed_forward_proj="relu",
            pad_token_id=pad,
            eos_token_id=eos,
            decoder_start_token_id=pad,  # type: ignore[call-arg] # any field of a configuration may be given
        )
    )


def _new_trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    settings: InfillerTraining,
    state: PartialState,
    passages: Sequence[Passage],
    held_out: Sequence[Passage],
) -> tuple[ParaphraserTrainer, int]:
    """The trainer with its data, the examples of all epochs, of which each is read once; and how many are too long.

    Raises:
        ValueError: There are fewer batches than processes, or all held-out sentences are too long.
    """
    epochs = (examples(passages, settings, epoch) for epoch in range(settings.epochs))
    every_example = ids_of(chain.from_iterable(epochs), tokenizer)
    table = without_long(every_example, settings.max_tokens)
    held_out_table = without_long(ids_of(examples(held_out, settings, 0), tokenizer), settings.max_tokens)
    if not len(held_out_table):
        raise ValueError(
            f"wanted held-out sentences of at most {settings.max_tokens} pieces with their context, got none of "
            f"{len(held_out)}: give a greater --max_tokens"
        )
    batches = Batches(
        longer_sides(table), 1, settings.batch_tokens, settings.batch_tokens, state.num_processes, settings.seed
    )
    if not len(batches):
        raise ValueError(f"wanted a batch for each of {state.num_processes} processes, got {len(table)} examples")
    steps = len(batches) // state.num_processes
    steps = min(steps, settings.max_steps) if settings.max_steps else steps
    trainer = ParaphraserTrainer(
        model,
        training_arguments(settings, steps, {"lr_scheduler_type": "cosine"}),
        Collate(model, cast(int, tokenizer.pad_token_id)),
        Dataset(table),
        Dataset(held_out_table),
        callbacks=[ResumeCallback()],
        optimizers=(_new_optimizer(model, settings), None),
    )
    trainer.batches, trainer.smoothing = batches, 0.0
    return trainer, len(every_example) - len(table)


def _new_optimizer(model: PreTrainedModel, settings: InfillerTraining) -> Adafactor:
    """T5's own optimizer: its steps are in proportion to the weights, some of which begin large and others small."""
    return Adafactor(
        model.parameters(), lr=settings.learning_rate, scale_parameter=True, relative_step=False, warmup_init=False
    )


def _save(
    session: Session,
    trainer: ParaphraserTrainer,
    tokenizer: PreTrainedTokenizerBase,
    settings: InfillerTraining,
    counts: dict[str, int],
    held_out: Sequence[Passage],
    outcome: Outcome,
) -> None:
    """Write the model in float16 with all that belongs to it; the record of the training is last."""
    folder = session.folder
    model: Any = trainer.accelerator.unwrap_model(trainer.model)
    model.eval().half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    history = trainer.state.log_history
    record: dict[str, Any] = {
        "settings": {name: value for name, value in asdict(settings).items() if name not in PATHS},
        "parameters": sum(p.numel() for p in model.parameters()),
        **counts,
        "examples": len(cast(Dataset, trainer.train_dataset)),
        "processes": trainer.args.world_size,
        "steps": trainer.state.global_step,
        "loss": [[entry["step"], entry["loss"]] for entry in history if "loss" in entry],
        "held_out_loss": outcome.model,
    }
    write_whole(
        folder / MEASURED, json.dumps(stated(public_record(asdict(settings))) | {"license": settings.license}) + "\n"
    )
    record["shown"] = _shown(folder, held_out, settings)
    write_whole(folder / "README.md", infiller_card(record))
    session.finish(record, outcome, CHECKPOINTS, PIECES)


def _shown(folder: Path, held_out: Sequence[Passage], settings: InfillerTraining) -> list[dict[str, Any]]:
    """What the model makes of held-out sentences with their context: of their keywords in order, and in another.

    Returns:
        Dictionaries with `reference`, and with `in_order` and `in_another`: the keywords, and what was made of them.
    """
    infiller, rng = load_infiller(str(folder), settings.dtype, "cpu", settings.lang), random.Random(settings.seed)
    passages = [passage for passage in held_out if passage.before and MIN_CHARS <= len(passage.sentence) <= MAX_CHARS]
    rows = [
        Row("", "", None, None, passage.sentence, settings.lang, "", passage.before, passage.after)
        for passage in passages[:SHOWN]
    ]
    searches: list[Search] = []
    for number, row in enumerate(rows):
        keyword_texts = [keyword.text for keyword in keywords(row.reference)]
        searches += searches_of(
            row,
            number,
            [keyword_texts, rng.sample(keyword_texts, len(keyword_texts))] if keyword_texts else [],
            infiller,
        )
    records = []
    for row, pairs in zip(rows, search(rows, searches, infiller, BEAM, SHOWN * BEAM), strict=True):
        columns = [", ".join(order) for order, _ in pairs], texts_of(row.reference, pairs, infiller)
        kinds = zip(("in_order", "in_another"), *columns, strict=False)
        records.append(
            {"reference": row.reference}
            | {kind: {"keywords": keyword_line, "text": text} for kind, keyword_line, text in kinds}
        )
    return records
