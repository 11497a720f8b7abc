"""Train a static encoder: one vector for each piece of a word, and a sentence is their mean.

WORD of ParaNMT-50M with pieces in place of words: every text has vectors, and the folder is a StaticEmbedding of
sentence-transformers, which loads without this package. What a piece counts falls with its frequency (SIF, Arora et al.
2017, section 3) and is part of its vector, in training and in the folder. The loss is that of ranking, for the whole
vector and for its beginnings (Matryoshka); with a teacher, the cosines of its vectors are learned beside it.

The loop is ours: a step reads few rows, all texts are cut into pieces once, and the teacher's vectors are found by the
number of a text, which a loss of the library's trainer is not told. All processes hold the whole model and all pairs;
each takes its share of the anchors of a step, against all positives, and gradients are summed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object, reduce
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize
from tqdm import tqdm

from toolkit.clean.evaluation_sets import read_sets
from toolkit.encoder.load import load_encoder
from toolkit.encoder.settings import StaticTraining
from toolkit.models.checkpoint import read_state
from toolkit.starters import shown_name
from toolkit.system.extras import naming_extra
from toolkit.train._encoder_loss import ranking_of_cosines
from toolkit.train._encoder_steps import _process_share
from toolkit.train._held_out import outcome_beside, starter_for
from toolkit.train._negatives import no_negatives
from toolkit.train._session import begin
from toolkit.train.encoder import CHECKPOINT, _content_hash, _save_checkpoint
from toolkit.train.encoder_pairs import Pairs, Ragged, _take, _training_pairs

with naming_extra():
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

FREE = {"output_dir", "save_every", "threads", "processes"}  # may change when a training resumes
UNKNOWN = "[UNK]"  # its vector is zero
CONTINUES = "##"  # WordPiece's mark of a piece that does not begin a word
LONGEST_WORD = 100  # BERT's: a word with more letters is unknown
WARMUP = 0.1  # ours: as of a transformer
RANDOM_SIZE, TAUGHT_SIZE = 0.015, 0.1  # ours: standard deviation of the first numbers, by which the rate is small
PROJECTED = 20_000  # ours: texts that the directions of the teacher's vectors are computed from
OTHERS = 10.0  # ours: weight of the mean squared error of all cosines beside that of the pairs' own
TEACHER_BATCH = 256  # ours


class _Student:
    """The vectors of the pieces under training, and the texts as pieces.

    Attributes:
        tokenizer: Cuts texts into pieces.
        rows: The pieces of all texts.
        weight: (pieces, dimensions), the vectors before they are multiplied by `counts`.
        counts: (pieces,) what a piece counts in a sentence, in [0, 1].
    """

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], smoothing: float, device: torch.device) -> None:
        """Cut the texts; the weights are left to the caller."""
        self.tokenizer, self.device = tokenizer, device
        self.rows = _pieces(tokenizer, texts)
        self.counts = torch.from_numpy(_piece_counts(tokenizer, self.rows[0], smoothing)).to(device)
        self.weight = torch.zeros(0, device=device)

    def sums(self, texts: np.ndarray) -> Tensor:
        """The weighted sums of the vectors of some texts' pieces, (texts, dimensions)."""
        rows, ends = (torch.from_numpy(array).to(self.device) for array in _take(self.rows, texts))
        return embedding_bag(rows, self.weight, ends[:-1], mode="sum", per_sample_weights=self.counts[rows])

    def model(self, dtype: torch.dtype) -> SentenceTransformer:
        """The trained vectors as a model of sentence-transformers, on the CPU."""
        vectors = (self.weight.detach() * self.counts[:, None]).cpu()
        module = StaticEmbedding(self.tokenizer, embedding_weights=vectors.to(dtype))
        return SentenceTransformer(modules=[module], device="cpu", similarity_fn_name="cosine")


def train(settings: StaticTraining) -> Path:
    """Train a static encoder, or resume a killed training, and save it; a finished training is left as it is.

    Returns:
        `output_dir`, which then holds a SentenceTransformer and `training.json`.

    Raises:
        ValueError: There is no usable pair, the teacher's vectors are shorter than `dimensions`, the folder belongs to
            a training with other settings, or its checkpoint is damaged.
        OSError: The folder is not one to write to (`toolkit.run.workspace.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    session = begin(settings, ("pairs", "decontaminate"), ("teacher",), FREE)
    if session.is_finished():
        return session.folder
    pairs = _training_pairs(settings.pairs, settings.max_tokens, read_sets(settings.decontaminate), settings.min_score)
    teacher = _load_teacher(settings)
    with session.in_folder():
        model, record = fit(pairs, settings, session.state, teacher, session.folder / CHECKPOINT)
        if session.state.is_main_process:
            model.save(str(session.folder))
            others = starter_for(settings.pairs)
            if settings.teacher and teacher:
                others[shown_name(settings.teacher)] = teacher
            session.finish(record, outcome_beside(model.float(), others, settings.pairs), CHECKPOINT)
    return session.folder


def _load_teacher(settings: StaticTraining) -> SentenceTransformer | None:
    """The teacher, if there is one.

    Raises:
        ValueError: It is no sentence encoder, or its vectors are shorter than `dimensions`.
    """
    if settings.teacher is None:
        return None
    teacher = load_encoder(settings.teacher)
    size = teacher.get_embedding_dimension()
    if size is not None and size < settings.dimensions:
        raise ValueError(
            f"wanted dimensions of at most {size}, as the vectors of {settings.teacher} have, got "
            f"{settings.dimensions}; give a smaller --dimensions"
        )
    return teacher


def fit(
    pairs: Pairs,
    settings: StaticTraining,
    state: PartialState,
    teacher: SentenceTransformer | None = None,
    checkpoint: Path | None = None,
) -> tuple[SentenceTransformer, dict]:
    """Train a static encoder.

    Args:
        pairs: Training pairs.
        settings: Settings of the training.
        state: The processes.
        teacher: The loaded `settings.teacher`.
        checkpoint: File that the state is saved to every `save_every` steps, and resumed from if it exists.

    Returns:
        The encoder, in the dtype of the settings, and a record: settings, pairs, pieces, seconds, and the mean loss of
        every epoch.

    Raises:
        ValueError: The checkpoint is damaged, or belongs to other pairs.
        OSError: A checkpoint cannot be written.
    """
    content = _content_hash(pairs)
    saved = _read_checkpoint(checkpoint, content, state)
    student = _begin(pairs.texts, settings, state, teacher, saved)
    teacher_vectors = _text_vectors(teacher, pairs.texts, state) if teacher else None
    adam = torch.optim.Adam([student.weight], settings.learning_rate)
    progress: dict[str, Any] = {"done": 0, "seconds": 0.0, "log": [0.0] * settings.epochs}
    if saved:
        adam.load_state_dict(saved["adam"])
        progress = {name: saved[name] for name in progress}
    per_epoch = -(-len(pairs) // settings.batch)
    steps = settings.epochs * per_epoch
    bar = tqdm(total=steps, initial=progress["done"], unit="step", disable=not state.is_main_process)
    with bar:
        while progress["done"] < steps:
            start = time.perf_counter()
            epoch, position = divmod(progress["done"], per_epoch)
            order = np.random.default_rng([settings.seed, epoch]).permutation(len(pairs))
            batch = np.array_split(order, per_epoch)[position]
            adam.param_groups[0]["lr"] = settings.learning_rate * _rate(progress["done"], steps)
            adam.zero_grad()
            loss = _loss(student, pairs, batch, epoch, settings, state, teacher_vectors)
            loss.backward()
            if state.num_processes > 1:
                student.weight.grad = reduce(student.weight.grad, "sum")
                loss = reduce(loss.detach(), "sum")
            adam.step()
            progress["log"][epoch] += loss.item() * len(batch) / len(pairs)
            progress["done"] += 1
            progress["seconds"] += time.perf_counter() - start
            bar.update()
            if checkpoint and progress["done"] % settings.save_every == 0 and state.is_main_process:
                weights = {"weight": student.weight.detach(), "adam": adam.state_dict()}
                whole = {"content": content, "tokenizer": student.tokenizer.to_str()}
                _save_checkpoint(checkpoint, progress | weights | whole)
    record = _training_record(pairs, settings, state, student, progress)
    return student.model(getattr(torch, settings.dtype)), record


def _read_checkpoint(checkpoint: Path | None, content: str, state: PartialState) -> dict | None:
    """The state of a checkpoint; None where there is none.

    Raises:
        ValueError: It is damaged, or belongs to other pairs.
    """
    if not checkpoint or not checkpoint.is_file():
        return None
    saved = read_state(checkpoint, state.device)
    if saved.get("content") != content:
        raise ValueError(
            f"wanted the pairs that {checkpoint} was trained on, got others: give those, or another --output_dir"
        )
    return saved


def _begin(
    texts: Sequence[str],
    settings: StaticTraining,
    state: PartialState,
    teacher: SentenceTransformer | None,
    saved: dict | None,
) -> _Student:
    """The student with its first weights, or with those of a checkpoint.

    The main process cuts the vocabulary and sends it with the weights: neither may differ between the processes.
    """
    sent = [saved and (saved["tokenizer"], saved["weight"].cpu())]
    if not saved and state.is_main_process:
        tokenizer = _trained_tokenizer(texts, settings.vocabulary)
        student = _Student(tokenizer, texts, settings.smoothing, torch.device("cpu"))
        if teacher:
            student.weight = _taught_weight(student, teacher, settings.dimensions)
        else:
            generator = torch.Generator().manual_seed(settings.seed)
            shape = tokenizer.get_vocab_size(), settings.dimensions
            student.weight = torch.randn(shape, generator=generator) * RANDOM_SIZE
        sent = [(tokenizer.to_str(), student.weight)]
    if state.num_processes > 1:
        broadcast_object_list(sent)
    serialized, weight = sent[0] or ("", torch.zeros(0))
    student = _Student(Tokenizer.from_str(serialized), texts, settings.smoothing, state.device)
    student.weight = weight.to(state.device).requires_grad_()
    return student


def _trained_tokenizer(texts: Sequence[str], size: int) -> Tokenizer:
    """A WordPiece tokenizer of lower-cased texts, with at most `size` pieces, or with as many as there are letters.

    The library's trainer numbers letters within words as its hash table has them, which is another order in every call,
    and merges equally frequent pieces in that order; so they are numbered before it begins.
    """
    tokenizer = _word_pieces({UNKNOWN: 0})
    cut, normalized = tokenizer.pre_tokenizer.pre_tokenize_str, tokenizer.normalizer.normalize_str
    between_spaces = {word for text in texts for word in text.split()}
    letters = {letter for words in between_spaces for word, _ in cut(normalized(words)) for letter in word[1:]}
    numbered = [UNKNOWN, *(CONTINUES + letter for letter in sorted(letters))]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=numbered, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return _word_pieces(tokenizer.get_vocab())  # without what the numbered letters are to a text: words of their own


def _word_pieces(vocabulary: dict[str, int]) -> Tokenizer:
    """A tokenizer of lower-cased texts with these pieces."""
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> Ragged:
    """The pieces of all texts, and where those of each text begin, with the end."""
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    lengths = [len(encoding.ids) for encoding in encodings]
    rows = np.fromiter((row for encoding in encodings for row in encoding.ids), np.int64, sum(lengths))
    return rows, np.append(0, np.cumsum(lengths, dtype=np.int64))


def _piece_counts(tokenizer: Tokenizer, rows: np.ndarray, smoothing: float) -> np.ndarray:
    """What each piece counts in a sentence, (pieces,) float32: smoothing / (smoothing + its share of all pieces).

    The unknown piece counts nothing, as nothing was learned of it.

    Source: Arora et al. 2017, A Simple but Tough-to-Beat Baseline for Sentence Embeddings, algorithm 1.
    """
    frequencies = np.bincount(rows, minlength=tokenizer.get_vocab_size())
    counts = smoothing / (smoothing + frequencies / max(len(rows), 1))
    counts[tokenizer.token_to_id(UNKNOWN)] = 0
    return counts.astype(np.float32)


def _taught_weight(student: _Student, teacher: SentenceTransformer, dimensions: int) -> Tensor:
    """The teacher's vectors of the pieces in the directions in which the texts' vectors are longest, longest first.

    Args:
        student: With the pieces of the texts, and without weights, which it is given.
        teacher: A sentence encoder.
        dimensions: How many directions are kept, so that the beginning of a vector says the most of it.

    Returns:
        (pieces, dimensions), of the standard deviation `TAUGHT_SIZE`.
    """
    vocabulary = student.tokenizer.get_vocab()
    surfaces = [piece.removeprefix(CONTINUES) for piece in sorted(vocabulary, key=vocabulary.__getitem__)]
    student.weight = torch.from_numpy(_encoded(teacher, surfaces, normalized=False))
    count = len(student.rows[1]) - 1
    vectors = normalize(student.sums(np.arange(0, count, -(-count // PROJECTED))), dim=1).double()
    directions = torch.linalg.eigh(vectors.T @ vectors).eigenvectors.flip(1)[:, :dimensions].float()
    weight = student.weight @ directions
    return weight * (TAUGHT_SIZE / weight.std())


def _encoded(teacher: SentenceTransformer, texts: list[str], normalized: bool) -> np.ndarray:
    """The teacher's vectors of some texts, (texts, dimensions) float32."""
    vectors = teacher.encode(texts, batch_size=TEACHER_BATCH, show_progress_bar=False, normalize_embeddings=normalized)
    return np.asarray(vectors, np.float32)


def _text_vectors(teacher: SentenceTransformer, texts: Sequence[str], state: PartialState) -> Tensor:
    """The teacher's vectors of all texts, of length 1, (texts, dimensions) float16; every process encodes a share."""
    share = _encoded(teacher, list(texts[_process_share(len(texts), state)]), normalized=True).astype(np.float16)
    shares = gather_object([share]) if state.num_processes > 1 else [share]
    return torch.from_numpy(np.concatenate(shares))


def _rate(step: int, steps: int) -> float:
    """The learning rate of a step as a share of the highest: up in a line, then down in a line."""
    warmup = WARMUP * steps
    return min((step + 1) / max(warmup, 1), (steps - step) / max(steps - warmup, 1), 1.0)


def _loss(
    student: _Student,
    pairs: Pairs,
    batch: np.ndarray,
    epoch: int,
    settings: StaticTraining,
    state: PartialState,
    teacher_vectors: Tensor | None,
) -> Tensor:
    """This process's part of the mean loss of a batch, summed over the beginnings of the vectors.

    Args:
        student: The vectors of the pieces.
        pairs: All pairs.
        batch: (batch,) indices of the pairs of a step.
        epoch: From 0; a pair with several hard negatives has another one in each.
        settings: Settings of the training.
        state: The processes.
        teacher_vectors: (texts, dimensions) of length 1, on the CPU; None without a teacher.
    """
    anchors, positives = pairs.anchor[batch], pairs.positive[batch]
    hard = pairs.negatives_of(batch, epoch)
    hard = hard[hard >= 0]
    share = _process_share(len(batch), state)
    forbidden = torch.from_numpy(no_negatives(pairs.reference[batch], anchors, positives, hard)[share])
    indices = torch.arange(len(batch))[share]
    forbidden, indices = forbidden.to(student.device), indices.to(student.device)
    anchor_vectors, other_vectors = student.sums(np.concatenate([anchors, positives, hard])).tensor_split([len(batch)])
    wanted = None
    if teacher_vectors is not None:
        sides = (teacher_vectors[texts] for texts in (anchors[share], np.concatenate([positives, hard])))
        anchors_taught, others_taught = (side.to(student.device).float() for side in sides)
        wanted = anchors_taught @ others_taught.T
    total = torch.zeros((), device=student.device)
    for size in settings.prefixes:
        cosines = normalize(anchor_vectors[share, :size], dim=1) @ normalize(other_vectors[:, :size], dim=1).T
        if wanted is None:
            total = total + ranking_of_cosines(cosines, indices, forbidden).sum()
            continue
        errors = (cosines - wanted).square()
        total = total + OTHERS * errors.mean(1).sum() + errors.gather(1, indices[:, None]).sum()
        if settings.ranking:
            total = total + settings.ranking * ranking_of_cosines(cosines, indices, forbidden).sum()
    return total / len(batch)


def _training_record(
    pairs: Pairs, settings: StaticTraining, state: PartialState, student: _Student, progress: dict
) -> dict:
    """The record of a finished training: settings, pairs, pieces, speed, and the mean loss of every epoch."""
    seconds = progress["seconds"]
    return {
        "settings": asdict(settings),
        "pairs": len(pairs),
        "texts": len(pairs.texts),
        "columns": pairs.columns,
        "refused": dict(pairs.refused),
        "contamination": pairs.contamination,
        "pieces": len(student.counts),
        "prefixes": settings.prefixes,
        "parameters": student.weight.numel(),
        "processes": state.num_processes,
        "steps": progress["done"],
        "seconds": round(seconds, 1),
        "pairs_per_second": round(settings.epochs * len(pairs) / seconds, 1) if seconds else None,
        "loss": [round(loss, 5) for loss in progress["log"]],
    }
