"""Training a translator: a Marian model of any size from a bitext, under Accelerate.

`prepare` writes the cleaned text once, as Arrow, with its SentencePiece models; `train` reads it memory-mapped, samples
a new segmentation of every sentence in every epoch, and saves a `MarianMTModel` with its `MarianTokenizer`. It does
not translate (`generate/`) and measures no BLEU (`evaluate/translation.py`).
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import sentencepiece
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from safetensors.torch import load_file
from torch import Tensor
from tqdm import tqdm
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

from toolkit.bitext.languages import SAMPLE, check_languages
from toolkit.bitext.read import Pair, read_bitext
from toolkit.bitext.split import split_of
from toolkit.bitext.subwords import EOS, PAD, Pieces, marian_tokenizer, pieces_of, train_pieces
from toolkit.bitext.words import write_words
from toolkit.clean.rules import CleanSettings, clean, none_usable
from toolkit.errors import named_line
from toolkit.models.checkpoint import DAMAGED, NOT_A_CHECKPOINT, writing
from toolkit.models.padding import pad
from toolkit.models.precision import has_bfloat16
from toolkit.parallel import processes
from toolkit.shards import write_whole
from toolkit.starters import WORDS
from toolkit.training import check_folder, in_folder
from toolkit.translator.loss import TranslationLoss
from toolkit.translator.optimizer import optimizers
from toolkit.translator.settings import SIZES, Size, TrainingSettings

# The length of a run may change while it runs.
FREE = {"max_steps", "cooldown_steps", "save_every", "average", "output_dir", "processes", "check_language"}
PREPARED = "prepared.json"  # written last of what `prepare` makes


@dataclass
class Progress:
    """Where a training run stands; saved with every checkpoint."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    log: list[dict] = field(default_factory=list)

    def state_dict(self) -> dict:
        """What Accelerate saves."""
        return asdict(self)

    def load_state_dict(self, state: dict) -> None:
        """Take a saved state back."""
        for name, value in state.items():
            setattr(self, name, value)


def prepare(settings: TrainingSettings) -> dict[str, int]:
    """Write `train.arrow`, `validation.arrow` and the SentencePiece models to `output_dir`, unless they are there.

    Returns:
        How many pairs were kept, and how many were refused for which reason.
    """
    folder, counts_file = Path(settings.output_dir), Path(settings.output_dir, PREPARED)
    if counts_file.exists():
        return json.loads(counts_file.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    refused: Counter[str] = Counter()
    if settings.validation:
        write_pairs(folder / "train.arrow", cleaned_pairs(settings, settings.bitext, refused))
        write_pairs(folder / "validation.arrow", cleaned_pairs(settings, settings.validation, refused))
    else:
        for split in ("train", "validation"):
            refused.clear()
            pairs = cleaned_pairs(settings, settings.bitext, refused)
            write_pairs(folder / f"{split}.arrow", (p for p in pairs if split_of(p.reference, 0.01, 0.0) == split))
    table, size = open_pairs(folder / "train.arrow"), SIZES[settings.size]
    if not len(table):
        raise ValueError(none_usable(settings.bitext, refused))
    sides = (
        [("source.spm", ["source", "reference"])]
        if size.joint
        else [("source.spm", ["source"]), ("target.spm", ["reference"])]
    )
    for name, columns in sides:
        sentences = (s.as_py() for column in columns for s in table[column])
        train_pieces(sentences, folder / name, size.vocabulary, seed=settings.seed)
    counts = {"train": len(table), "validation": len(open_pairs(folder / "validation.arrow")), **refused}
    write_whole(counts_file, json.dumps(counts, indent=1))
    return counts


def cleaned_pairs(settings: TrainingSettings, bitext: list[str], refused: Counter[str]) -> Iterator[Pair]:
    """The pairs of a bitext that no rule refuses; refusals are counted by reason."""
    pairs = read_bitext(bitext, settings.source_column, settings.reference_column)
    return clean(pairs, CleanSettings(), settings.source_lang, settings.lang, refused)


def write_pairs(path: Path, pairs: Iterable[Pair], chunk: int = 50_000) -> None:
    """Stream pairs to an Arrow file with the columns source and reference."""
    schema = pa.schema({"source": pa.large_string(), "reference": pa.large_string()})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        rows: list[tuple[str, str]] = []
        for pair in pairs:
            rows.append((pair.source, pair.reference))
            if len(rows) == chunk:
                writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=schema))
                rows = []
        if rows:
            writer.write_batch(pa.record_batch(list(zip(*rows, strict=True)), schema=schema))


def open_pairs(path: Path) -> pa.Table:
    """The pairs of a file, memory-mapped: their text stays on disk."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def batches(
    table: pa.Table, source: Pieces, target: Pieces, settings: TrainingSettings, epoch: int, pool: int = 50_000
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch of batches in random order, each segmentation sampled anew.

    A pool of pairs is drawn, segmented, sorted by length so that there is next to no padding, cut into batches of
    `batch_tokens`, and the batches are shuffled. The order of the pairs depends on the seed and the epoch alone;
    sampled segmentations do not, because SentencePiece cannot be seeded again once it has drawn.

    Yields:
        Source ids (rows, source steps) and label ids (rows, target steps), padded.
    """
    chance = np.random.default_rng((settings.seed, epoch))
    order = chance.permutation(len(table))
    for start in range(0, len(order), pool):
        rows = table.take(pa.array(np.sort(order[start : start + pool])))
        pairs = list(
            zip(
                source.encode(rows["source"].to_pylist(), settings.alpha),
                target.encode(rows["reference"].to_pylist(), settings.alpha),
                strict=True,
            )
        )
        pairs = [pair for pair in pairs if max(map(len, pair)) <= settings.max_tokens]
        cut = list(pack(pairs, settings.batch_tokens))
        for i in chance.permutation(len(cut)):
            yield pad([s for s, _ in cut[i]], PAD), pad([t for _, t in cut[i]], PAD)


def pack(pairs: list[tuple[list[int], list[int]]], batch_tokens: int) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Pairs of like length in batches of at most `batch_tokens`: rows times the longest sequence.

    >>> [len(batch) for batch in pack([([5], [5, 6])] * 5, batch_tokens=4)]
    [2, 2, 1]
    """
    batch: list[tuple[list[int], list[int]]] = []
    longest = 0
    for pair in sorted(pairs, key=lambda pair: (max(map(len, pair)), len(pair[1]), len(pair[0]))):
        longest = max(longest, *map(len, pair))
        if batch and (len(batch) + 1) * longest > batch_tokens:
            yield batch
            batch, longest = [], max(map(len, pair))
        batch.append(pair)
    if batch:
        yield batch


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """Linear warm-up, constant, linear to zero over the last `cooldown_steps`.

    >>> s = TrainingSettings([], "", "de", "en", learning_rate=1.0, warmup_steps=10, cooldown_steps=10, max_steps=100)
    >>> [learning_rate(step, s) for step in (4, 50, 95)]
    [0.5, 1.0, 0.5]
    """
    warm = (step + 1) / max(1, settings.warmup_steps)
    cool = (settings.max_steps - step) / max(1, settings.cooldown_steps)
    return settings.learning_rate * min(1.0, warm, cool)


def new_model(size: Size, source_pieces: int, target_pieces: int, dropout: float) -> MarianMTModel:
    """A Marian model of this size with fresh weights, all embeddings tied where the pieces are joint."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=source_pieces,
            decoder_vocab_size=target_pieces,
            share_encoder_decoder_embeddings=size.joint,
            d_model=size.width,
            encoder_layers=size.encoder_layers,
            decoder_layers=size.decoder_layers,
            encoder_attention_heads=size.heads,
            decoder_attention_heads=size.heads,
            encoder_ffn_dim=size.feed_forward,
            decoder_ffn_dim=size.feed_forward,
            max_position_embeddings=size.positions,
            dropout=dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            forced_eos_token_id=None,
            decoder_start_token_id=PAD,
        )
    )


def train(settings: TrainingSettings) -> Path:
    """Train a translator, or go on where a killed run left off, and save it.

    Returns:
        `output_dir`, which then holds a `MarianMTModel`, its `MarianTokenizer` and `training.json`.

    Raises:
        ValueError: The bitext has no usable pair, or the output folder belongs to a run with other settings.
        OSError: The folder is not one to write to (`toolkit.training.check_folder`), or the disk is full.
        RuntimeError: The launcher's processes do not see each other, or another launch works in the folder.
    """
    state, folder = processes(), Path(settings.output_dir)
    # before there is a text to train on, no setting has had a consequence
    free = FREE if (folder / PREPARED).exists() else {field.name for field in fields(settings)}
    files = {"bitext": settings.bitext, "validation": settings.validation}
    record = check_folder(folder, settings, files, {}, free, state)
    for bitext in filter(None, files.values()):
        check_bitext(settings, bitext)
    with in_folder(folder, record, free, state), writing(folder):
        fit(settings, folder)
    return folder


def check_bitext(settings: TrainingSettings, bitext: list[str]) -> None:
    """Refuse a bitext without a usable pair, or in other languages than said.

    Raises:
        ValueError: It is one of these, or cannot be read.
    """
    refused: Counter[str] = Counter()
    first = list(islice(cleaned_pairs(settings, bitext, refused), SAMPLE))
    if not first:
        raise ValueError(none_usable(bitext, refused))
    if settings.check_language:
        check_languages(first, settings.source_lang, settings.lang)


def fit(settings: TrainingSettings, folder: Path) -> None:
    """What `train` does once it has the folder."""
    accelerator = Accelerator(mixed_precision="bf16" if has_bfloat16() else "no")
    set_seed(settings.seed + accelerator.process_index)
    sentencepiece.set_random_generator_seed(settings.seed)
    with accelerator.main_process_first():
        counts = prepare(settings)
    size = SIZES[settings.size]
    with accelerator.main_process_first():
        tokenizer = marian_tokenizer(
            folder / "source.spm", folder / ("source.spm" if size.joint else "target.spm"), folder / "model"
        )
    source, target = pieces_of(tokenizer)
    model = new_model(size, len(source), len(target), settings.dropout)
    model.set_attn_implementation("eager")  # on a CPU half again as fast in training as sdpa, for short sentences
    loss_of = TranslationLoss(model, settings.label_smoothing)
    prepared = accelerator.prepare(loss_of, *optimizers(model, settings.learning_rate, settings.optimizer))
    loss_of, steppers = prepared[0], list(prepared[1:])
    progress = Progress()
    accelerator.register_for_checkpointing(progress)
    checkpoints = sorted(folder.glob("checkpoint-*[0-9]"))
    if checkpoints:
        load_checkpoint(accelerator, checkpoints[-1])
    run(settings, accelerator, loss_of, steppers, progress, source, target)
    if accelerator.is_main_process:
        save(settings, accelerator.unwrap_model(loss_of).model, tokenizer, counts, progress)
    accelerator.wait_for_everyone()
    accelerator.end_training()


def run(
    settings: TrainingSettings,
    accelerator: Accelerator,
    loss_of: torch.nn.Module,
    steppers: list[torch.optim.Optimizer],
    progress: Progress,
    source: Pieces,
    target: Pieces,
) -> None:
    """The steps that are still to do, with a checkpoint and a held-out likelihood every `save_every`.

    Raises:
        ValueError: No pair is short enough for a step.
    """
    folder = Path(settings.output_dir)
    table, held_out = open_pairs(folder / "train.arrow"), open_pairs(folder / "validation.arrow")
    recent, since = torch.zeros(2, device=accelerator.device), progress.seconds  # since the last record: loss, tokens
    with tqdm(
        total=settings.max_steps, initial=progress.step, unit="step", disable=not accelerator.is_main_process
    ) as bar:
        while progress.step < settings.max_steps:
            together: list[tuple[Tensor, Tensor]] = []  # a batch for each process; what is left of an epoch is dropped
            for i, batch in enumerate(batches(table, source, target, settings, progress.epoch)):
                if i >= progress.batch:
                    together.append(batch)
                if len(together) < accelerator.num_processes:
                    continue
                began = time.perf_counter()
                recent += one_step(
                    settings, accelerator, loss_of, steppers, progress.step, together[accelerator.process_index]
                )
                together, progress.batch = [], i + 1
                progress.step += 1
                progress.seconds += time.perf_counter() - began
                bar.update()
                if progress.step % 10 == 0:
                    loss, tokens = recent.tolist()
                    rate = tokens * accelerator.num_processes / (progress.seconds - since)
                    bar.set_postfix_str(f"loss {loss / tokens:.3f}, {rate:,.0f} tokens/s", refresh=False)
                if progress.step % settings.save_every == 0 or progress.step == settings.max_steps:
                    progress.tokens += int(accelerator.reduce(recent.clone())[1])
                    record = measure(settings, accelerator, loss_of, held_out, source, target, progress, recent)
                    progress.log.append(record)
                    bar.write(json.dumps(record))
                    recent, since = torch.zeros_like(recent), progress.seconds
                    checkpoint(settings, accelerator, progress.step)
                if progress.step == settings.max_steps:
                    break
            else:
                if not progress.batch:
                    raise ValueError(
                        f"wanted pairs of at most {settings.max_tokens} pieces a side for {accelerator.num_processes} "
                        "processes, got too few for one step; raise --max_tokens or give more text"
                    )
                progress.epoch, progress.batch = progress.epoch + 1, 0


def one_step(
    settings: TrainingSettings,
    accelerator: Accelerator,
    loss_of: torch.nn.Module,
    steppers: list[torch.optim.Optimizer],
    step: int,
    batch: tuple[Tensor, Tensor],
) -> Tensor:
    """One optimiser step on this process's batch; returns the sum of its loss and its tokens."""
    source, labels = (t.to(accelerator.device) for t in batch)
    tokens = (labels != PAD).sum()
    for group in (group for stepper in steppers for group in stepper.param_groups):
        group["lr"] = learning_rate(step, settings)
    with accelerator.autocast():
        loss = loss_of(source, labels)
    accelerator.backward(loss / tokens)
    accelerator.clip_grad_norm_(loss_of.parameters(), 1.0)
    for stepper in steppers:
        stepper.step()
        stepper.zero_grad()
    return torch.stack([loss.detach().float(), tokens.float()])


def measure(
    settings: TrainingSettings,
    accelerator: Accelerator,
    loss_of: torch.nn.Module,
    held_out: pa.Table,
    source: Pieces,
    target: Pieces,
    progress: Progress,
    recent: Tensor,
) -> dict:
    """A record of the log: where the run stands, its loss since the last record, and the held-out likelihood."""
    return {
        "step": progress.step,
        "epoch": progress.epoch,
        "seconds": round(progress.seconds, 1),
        "loss": round((recent[0] / recent[1]).item(), 4),
        "held_out_nats_per_token": round(
            likelihood(accelerator.unwrap_model(loss_of), held_out, source, target, settings), 4
        ),
    }


@torch.no_grad()
def likelihood(
    loss_of: TranslationLoss, table: pa.Table, source: Pieces, target: Pieces, settings: TrainingSettings
) -> float:
    """Negative log-likelihood per token (nats, EOS counted) of held-out pairs, on their Viterbi segmentation.

    Pairs with more pieces than the model can read are left out.
    """
    loss_of.eval()
    pairs = list(
        zip(source.encode(table["source"].to_pylist()), target.encode(table["reference"].to_pylist()), strict=True)
    )
    pairs = [pair for pair in pairs if max(map(len, pair)) <= SIZES[settings.size].positions]
    device = next(loss_of.parameters()).device
    total, tokens = 0.0, 0
    for batch in pack(pairs, settings.batch_tokens):
        labels = pad([t for _, t in batch], PAD)
        total += loss_of(pad([s for s, _ in batch], PAD).to(device), labels.to(device), smoothing=0.0).item()
        tokens += int((labels != PAD).sum())
    loss_of.train()
    return total / max(1, tokens)


def load_checkpoint(accelerator: Accelerator, folder: Path) -> None:
    """Go on from a checkpoint.

    Raises:
        ValueError: It is damaged.
    """
    try:
        accelerator.load_state(str(folder))
    except (*NOT_A_CHECKPOINT, *DAMAGED) as error:
        raise ValueError(
            f"wanted a checkpoint, got {folder}, which is damaged ({named_line(error)}): delete it, and the training "
            "goes on from the one before"
        ) from error


def checkpoint(settings: TrainingSettings, accelerator: Accelerator, step: int) -> None:
    """Save the whole state under a temporary name, rename it, and drop checkpoints that no average needs."""
    folder = Path(settings.output_dir)
    temporary, final = folder / "checkpoint-unfinished", folder / f"checkpoint-{step:08d}"
    accelerator.save_state(str(temporary))
    if accelerator.is_main_process:
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
        for old in sorted(folder.glob("checkpoint-*[0-9]"))[: -max(1, settings.average)]:
            shutil.rmtree(old)
    accelerator.wait_for_everyone()


def average_weights(checkpoints: list[Path]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints, in fp32."""
    states = [load_file(path / "model.safetensors") for path in checkpoints]
    return {name: torch.stack([s[name].float() for s in states]).mean(0) for name in states[0]}


def save(
    settings: TrainingSettings,
    model: MarianMTModel,
    tokenizer: MarianTokenizer,
    counts: dict[str, int],
    progress: Progress,
) -> None:
    """Write the better of the last weights and the average of the last checkpoints, by held-out likelihood."""
    folder = Path(settings.output_dir)
    held_out, (source, target) = open_pairs(folder / "validation.arrow"), pieces_of(tokenizer)
    loss_of = TranslationLoss(model, 0.0)
    last = {name: t.clone() for name, t in loss_of.state_dict().items()}
    found = {"last": likelihood(loss_of, held_out, source, target, settings)}
    loss_of.load_state_dict(average_weights(sorted(folder.glob("checkpoint-*[0-9]"))), strict=False)
    found["average"] = likelihood(loss_of, held_out, source, target, settings)
    if found["last"] < found["average"]:
        loss_of.load_state_dict(last)
    model.generation_config = GenerationConfig.from_model_config(model.config)
    model.eval().save_pretrained(folder / "model")
    write_words(folder / "model" / WORDS, (text.as_py() for text in open_pairs(folder / "train.arrow")["reference"]))
    record = {
        "settings": asdict(settings),
        "size": asdict(SIZES[settings.size]),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "pairs": counts,
        "held_out_nats_per_token": found,
        "progress": {name: value for name, value in asdict(progress).items() if name != "log"},
        "log": progress.log,
    }
    write_whole(folder / "model" / "training.json", json.dumps(record, indent=1))
