"""Train a paraphrastic sentence encoder on pairs, in as many processes as the launcher started.

All processes hold the whole model and all pairs; `toolkit.train._encoder_steps` divides the work. The result depends on
the number of processes only through the rounding of sums.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from accelerate import PartialState
from tqdm import tqdm

from toolkit.clean.evaluation_sets import read_sets
from toolkit.encoder.modules import ParaphrasticEncoder, sentence_transformer
from toolkit.encoder.network import kind_of
from toolkit.encoder.settings import EncoderTraining
from toolkit.encoder.vocabulary import UNKNOWN, character_trigrams, count_trigrams, count_words, words
from toolkit.encoder.word_vectors import initialise, read_word_vectors
from toolkit.models.checkpoint import read_state, writing
from toolkit.system.whole_files import whole_file
from toolkit.train._encoder_steps import Fitting, mega_batch
from toolkit.train._held_out import outcome_beside, starter_for
from toolkit.train._session import begin
from toolkit.train.encoder_pairs import Pairs, _training_pairs

CHECKPOINT = "checkpoint.pt"
FREE = {"output_dir", "save_every", "processes"}  # may change when a training resumes


def train(settings: EncoderTraining) -> Path:
    """Train an encoder, or resume a killed training, and save it; a finished training is left as it is.

    Returns:
        `output_dir`, which then holds a SentenceTransformer and `training.json`.

    Raises:
        ValueError: There is no usable pair, the folder belongs to a training with other settings, or its checkpoint is
            damaged.
        OSError: The folder is not one to write to (`toolkit.run.workspace.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    session = begin(settings, ("pairs", "word_vectors", "decontaminate"), (), FREE)
    if session.is_finished():
        return session.folder
    pairs = _training_pairs(settings.pairs, settings.max_tokens, read_sets(settings.decontaminate), settings.min_score)
    encoder = new_encoder(settings, pairs.texts)
    with session.in_folder():
        record = fit(encoder, pairs, settings, session.state, session.folder / CHECKPOINT)
        if session.state.is_main_process:
            model = sentence_transformer(encoder)
            model.save(str(session.folder))
            session.finish(record, outcome_beside(model, starter_for(settings.pairs), settings.pairs), CHECKPOINT)
    return session.folder


def new_encoder(settings: EncoderTraining, texts: list[str]) -> ParaphrasticEncoder:
    """An encoder with the vocabulary of the texts, and random or given word vectors."""
    kinds = {kind_of(part) for part in settings.parts}
    word_vectors = read_word_vectors(Path(settings.word_vectors), settings.dimensions) if settings.word_vectors else {}
    vocabularies = {}
    if "word" in kinds:
        frequent = count_words(texts, settings.min_count, settings.max_words - 1, settings.chinese)
        entries = dict.fromkeys([UNKNOWN, *frequent, *(word for word in word_vectors if word != UNKNOWN)])
        vocabularies["word"] = words(list(entries)[: settings.max_words])
    if "trigram" in kinds:
        frequent = count_trigrams(texts, settings.min_count, settings.max_trigrams, settings.chinese)
        vocabularies["trigram"] = character_trigrams(frequent)
    torch.manual_seed(settings.seed)
    encoder = ParaphrasticEncoder(settings.architecture, vocabularies)
    if word_vectors:
        initialise(encoder, word_vectors)
    return encoder


def fit(
    encoder: ParaphrasticEncoder,
    pairs: Pairs,
    settings: EncoderTraining,
    state: PartialState,
    checkpoint: Path | None = None,
) -> dict:
    """Train an encoder in place.

    Args:
        encoder: The encoder; its weights change.
        pairs: Training pairs.
        settings: Settings of the training.
        state: The processes.
        checkpoint: File that the state is saved to every `save_every` mega-batches, and resumed from if it exists.

    Returns:
        A record: settings, pairs, seconds, pairs per second, and the mean loss of every epoch.

    Raises:
        ValueError: The checkpoint is damaged, or belongs to other pairs.
        OSError: A checkpoint cannot be written.
    """
    fitting, content = Fitting(encoder, pairs, settings, state), _content_hash(pairs)
    batch_number, seconds, log = _resume(fitting, checkpoint, content)
    size = settings.batch * settings.mega_batch
    per_epoch = -(-len(pairs) // size)
    with tqdm(
        total=settings.epochs * per_epoch, initial=batch_number, unit="mega-batch", disable=not state.is_main_process
    ) as bar:
        while batch_number < settings.epochs * per_epoch:
            start = time.perf_counter()
            epoch, position = divmod(batch_number, per_epoch)
            order = np.random.default_rng([settings.seed, epoch]).permutation(len(pairs))
            indices = order[position * size : (position + 1) * size]
            log[epoch] += mega_batch(fitting, indices, batch_number, epoch) / len(pairs)
            batch_number += 1
            seconds += time.perf_counter() - start
            mean = log[epoch] * len(pairs) / min((position + 1) * size, len(pairs))
            bar.set_postfix_str(f"loss {mean:.4f}", refresh=False)
            bar.update()
            if checkpoint and batch_number % settings.save_every == 0 and state.is_main_process:
                progress = {"done": batch_number, "seconds": seconds, "log": log, "content": content}
                _save_checkpoint(checkpoint, fitting.checkpoint() | progress)
    fitting.finish()
    return _training_record(fitting, seconds, log)


def _resume(fitting: Fitting, checkpoint: Path | None, content: str) -> tuple[int, float, list[float]]:
    """Take back the state of a checkpoint, if there is one.

    Args:
        fitting: The state of the training, which is replaced.
        checkpoint: File of the checkpoint.
        content: `_content_hash` of the pairs.

    Returns:
        How many mega-batches are done, the seconds they took, and the mean loss of each epoch so far.

    Raises:
        ValueError: The checkpoint is damaged, or belongs to other pairs.
    """
    if not checkpoint or not checkpoint.is_file():
        return 0, 0.0, [0.0] * fitting.settings.epochs
    saved_state = read_state(checkpoint, fitting.state.device)
    if saved_state.get("content") != content:
        raise ValueError(
            f"wanted the pairs that {checkpoint} was trained on, got others: give those, or another --output_dir"
        )
    fitting.restore(saved_state)
    return saved_state["done"], saved_state["seconds"], saved_state["log"]


def _training_record(fitting: Fitting, seconds: float, log: list[float]) -> dict:
    """The record of a finished training: settings, pairs, sizes, speed, and the mean loss of every epoch."""
    settings, pairs = fitting.settings, fitting.pairs
    return {
        "settings": asdict(settings),
        "pairs": len(pairs),
        "texts": len(pairs.texts),
        "columns": pairs.columns,
        "refused": dict(pairs.refused),
        "contamination": pairs.contamination,
        "rows": {part: len(adam.weight) for part, adam in fitting.tables.items()},
        "parameters": sum(weight.numel() for weight in fitting.encoder.parameters()),
        "processes": fitting.state.num_processes,
        "seconds": round(seconds, 1),
        "pairs_per_second": round(settings.epochs * len(pairs) / seconds, 1) if seconds else None,
        "loss": [round(loss, 5) for loss in log],
    }


def _content_hash(pairs: Pairs) -> str:
    """A hash of the pairs and their texts, so that a training does not resume with others."""
    digest = hashlib.sha256()
    for numbers in (pairs.anchor, pairs.positive, pairs.reference, *(pairs.negatives or ())):
        digest.update(numbers.tobytes())
    for text in pairs.texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def _save_checkpoint(path: Path, state: dict) -> None:
    """Write a checkpoint under a temporary name and rename it.

    Raises:
        OSError: It cannot be written; the previous checkpoint is kept.
    """
    with whole_file(path) as temporary, writing(path):
        torch.save(state, temporary)
