"""The engines of the benchmark of augmentation: `toolkit.augment`, nlpaug's augmenters, and Parrot's loop.

This module does not import the toolkit, because that import sets the OpenMP wait policy of every engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

TOP_K, TOP_P = 50, 0.9  # of Parrot's loop
FEW = {"constraint_sets": 2, "samples_per_set": 3}  # of ours: 6 samples instead of 20
BEAM = 5  # of nlpaug's own models, facebook/wmt19-en-de and back, by their generation settings
SAME = 0.8  # ours: the least cosine of a usable row by each judge
LONGEST = 64  # tokens of an output of Parrot's loop and of nlpaug's back-translation; texts here have at most 40


@dataclass(frozen=True)
class Job:
    """What every engine does.

    Attributes:
        models: The folders of the models: "paraphraser" for ours and for Parrot's loop, "there" and "back" translators
            into another language and back, "masked" a masked language model of about as many parameters.
        guarded: Whether ours refuses by guards and by the cosine; what random weights say would all be refused, but the
            cosine is computed.
        texts: The rows.
        copies: New rows of each row.
        threads: The number of threads.
        rounds: The number of measured rounds; a warm-up on a few rows precedes them.
        seed: Of all that is random.
    """

    models: dict[str, str]
    guarded: bool
    texts: list[str]
    copies: int
    threads: int
    rounds: int
    seed: int


def timed(job: Job, work: Callable[[Sequence[str]], list[tuple[int, str]]]) -> dict[str, Any]:
    """The figures of an engine: rows per second, the median of the rounds, and what it made.

    Args:
        job: What it does.
        work: Returns the new rows of some texts: the number of the text, and the row.
    """
    work(job.texts[:8])
    seconds: list[float] = []
    new_rows: list[tuple[int, str]] = []
    for _ in range(job.rounds):
        begin = time.perf_counter()
        new_rows = work(job.texts)
        seconds.append(time.perf_counter() - begin)
    median = sorted(seconds)[len(seconds) // 2]
    return {
        "rows_per_second": round(len(job.texts) / median, 3),
        "seconds": [round(second, 3) for second in seconds],
        "rows": len(job.texts),
        "new_rows_of_a_row": round(len(new_rows) / len(job.texts), 3),
        "examples": [text for _, text in new_rows[:4]],
        "made": new_rows,
    }


def usable_share(
    new_rows: Sequence[tuple[int, str]], texts: Sequence[str], judges: Sequence[str], threads: int
) -> float:
    """The share of new rows that say the same in other words; runs in a child process.

    Args:
        new_rows: The number of a text, and a new row of it.
        texts: The texts.
        judges: Sentence encoders that no engine uses.
        threads: The number of threads.

    Returns:
        The share of rows whose cosine with their text is at least `SAME` by every judge, and that differ from their
        text, and from earlier rows of it, in more than case, marks and contractions.
    """
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer

    from toolkit.paraphraser.english import contraction_key

    torch.set_num_threads(threads)
    keys = {(number, contraction_key(text)) for number, text in enumerate(texts)}
    new = []
    for number, text in new_rows:
        key = (number, contraction_key(text))
        new.append(key not in keys)
        keys.add(key)
    usable = np.array(new)
    for name in judges:
        judge = SentenceTransformer(name, device="cpu")
        originals = judge.encode(list(texts), normalize_embeddings=True)
        rows = judge.encode([text for _, text in new_rows], normalize_embeddings=True)
        cosines = np.einsum("nd,nd->n", originals[[number for number, _ in new_rows]], rows)
        usable &= cosines >= SAME
    return float(usable.mean())


def ours(job: Job, name: str) -> dict[str, Any]:
    """`toolkit.augment` on a `Dataset`, by default or with fewer samples of each row."""
    from dataclasses import replace

    import torch
    from datasets import Dataset

    import toolkit
    from toolkit.augmentation.settings import PROVENANCE

    torch.set_num_threads(job.threads)
    paraphraser = toolkit.Paraphraser(job.models["paraphraser"], lang="en")
    changed: dict[str, Any] = FEW if name == "ours_few" else {}
    if not job.guarded:
        changed = changed | {"guards": (), "min_semantic": -1.0}
    paraphraser.settings = replace(paraphraser.settings, **changed)

    def work(texts: Sequence[str]) -> list[tuple[int, str]]:
        data = Dataset.from_dict({"text": list(texts)})
        bigger = toolkit.augment(
            data, "text", copies=job.copies, paraphraser=paraphraser, seed=job.seed, progress=False
        )
        return list(zip(bigger[PROVENANCE[0]], bigger["text"], strict=True))[len(texts) :]

    return timed(job, work)


def ours_two_processes(job: Job, name: str) -> dict[str, Any]:
    """The command, from a file to a file, in two processes of one thread; their start counts."""
    import json
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    from toolkit.augmentation.settings import PROVENANCE

    def work(texts: Sequence[str]) -> list[tuple[int, str]]:
        with tempfile.TemporaryDirectory() as folder:
            lines = [json.dumps({"text": text}) + "\n" for text in texts]
            Path(folder, "rows.jsonl").write_text("".join(lines), encoding="utf-8")
            command = f"-m builders augment --data {folder}/rows.jsonl --output {folder}/new.jsonl --columns text"
            command += f" --copies {job.copies} --seed {job.seed} --processes {job.threads} --threads 1"
            command += f" --paraphraser {job.models['paraphraser']}"
            subprocess.run([sys.executable, *command.split()], check=True, capture_output=True)
            rows = Path(folder, "new.jsonl").read_text(encoding="utf-8").splitlines()
            records = map(json.loads, rows[len(texts) :])
            return [(record[PROVENANCE[0]], record["text"]) for record in records]

    return timed(job, work)


def parrot(job: Job, name: str) -> dict[str, Any]:
    """`generate` in a loop over the rows, as Parrot does, without its filters."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    torch.set_num_threads(job.threads)
    torch.manual_seed(job.seed)
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(job.models["paraphraser"], dtype=torch.float32).eval()
    model.generation_config.max_length = None
    tokenizer = AutoTokenizer.from_pretrained(job.models["paraphraser"])

    @torch.inference_mode()
    def work(texts: Sequence[str]) -> list[tuple[int, str]]:
        new_rows: list[tuple[int, str]] = []
        for number, text in enumerate(texts):
            read = tokenizer([text], return_tensors="pt")
            ids = model.generate(
                **read,
                do_sample=True,
                top_k=TOP_K,
                top_p=TOP_P,
                num_beams=1,
                num_return_sequences=job.copies,
                max_new_tokens=LONGEST,
            )
            outputs = dict.fromkeys(tokenizer.batch_decode(ids, skip_special_tokens=True))
            new_rows += [(number, output) for output in outputs]
        return new_rows

    return timed(job, work)


def nlpaug_back_translation(job: Job, name: str, beam: int = 1) -> dict[str, Any]:
    """Back-translation by nlpaug, once for each copy; it draws nothing, so the copies are equal."""
    import torch
    from nlpaug.augmenter.word import BackTranslationAug

    torch.set_num_threads(job.threads)
    augmenter = BackTranslationAug(
        job.models["there"], job.models["back"], device="cpu", batch_size=32, max_length=LONGEST
    )
    for model in (augmenter.model.src_model, augmenter.model.tgt_model):
        model.generation_config.num_beams = beam
    return timed(
        job, lambda texts: [row for _ in range(job.copies) for row in enumerate(augmenter.augment(list(texts)))]
    )


def nlpaug_back_translation_beam(job: Job, name: str) -> dict[str, Any]:
    """The same with the beam of nlpaug's own models."""
    return nlpaug_back_translation(job, name, BEAM)


def nlpaug_contextual(job: Job, name: str) -> dict[str, Any]:
    """Substitution of three words of ten by nlpaug and a masked language model, once for each copy."""
    import torch
    from nlpaug.augmenter.word import ContextualWordEmbsAug
    from transformers import PreTrainedTokenizerFast

    torch.set_num_threads(job.threads)
    # nlpaug 1.1.11 calls a method that transformers 5 no longer has
    cast(Any, PreTrainedTokenizerFast)._convert_token_to_id = PreTrainedTokenizerFast.convert_tokens_to_ids
    augmenter = ContextualWordEmbsAug(model_path=job.models["masked"], device="cpu", action="substitute", batch_size=32)
    return timed(
        job, lambda texts: [row for _ in range(job.copies) for row in enumerate(augmenter.augment(list(texts)))]
    )


def kept_on_disk(job: Job, texts: list[str], folder: str) -> int:
    """Augment so many rows with finished shards on disk; the number of new rows."""
    from pathlib import Path

    import torch
    from datasets import Dataset

    import toolkit

    torch.set_num_threads(job.threads)
    data = Dataset.from_dict({"text": [f"{n} {text}" for n, text in enumerate(texts)]})
    paraphraser = toolkit.Paraphraser(job.models["paraphraser"], lang="en")
    folder_of_run = Path(folder, f"shards-{len(texts)}")
    bigger = toolkit.augment(data, "text", paraphraser=paraphraser, output_dir=folder_of_run, progress=False)
    return len(bigger) - len(data)
