"""The engines of the benchmark of paraphrasers: ours, `transformers.generate` and CTranslate2, from text to text.

This module does not import the toolkit, because that import sets the OpenMP wait policy of every engine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

N, TOP_K, TOP_P = 5, 50, 0.9
EQUAL: dict[str, Any] = {  # ours, with the peers' samples
    "method": "top_p",
    "constraint_sets": 1,
    "samples_per_set": N,
    "top_p": TOP_P,
}
BATCHES = (16, 64)  # texts of a batch that `batched` tries
MORE_TOKENS = 10  # an output has at most twice the tokens of its text and so many more, as in the toolkit

Work = Callable[[Sequence[str]], list[list[str]]]


@dataclass(frozen=True)
class Job:
    """What every engine does.

    Attributes:
        model: Folder of the paraphraser.
        converted: Folder of the same in CTranslate2's format.
        guarded: Whether ours refuses by guards and by the cosine; what random weights say would all be refused.
        texts: Texts to paraphrase.
        few: Of these, so many are enough for an engine that takes one at a time.
        threads: The number of threads.
        rounds: The number of measured rounds; one warm-up round precedes them.
        seed: Of the samples.
    """

    model: str
    converted: str
    guarded: bool
    texts: list[str]
    few: int
    threads: int
    rounds: int
    seed: int


def timed(job: Job, work: Work, texts: Sequence[str]) -> dict[str, Any]:
    """The figures of an engine: sentences per second, the median of the rounds, and what it gave."""
    work(texts[: job.few])
    seconds, outputs = [], []
    for _ in range(job.rounds):
        begin = time.perf_counter()
        outputs = work(texts)
        seconds.append(time.perf_counter() - begin)
    assert len(outputs) == len(texts)
    return {
        "sentences_per_second": round(len(texts) / statistics.median(seconds), 3),
        "seconds": [round(second, 3) for second in seconds],
        "texts": len(texts),
        "outputs_of_a_text": round(statistics.mean(map(len, outputs)), 3),
        "words_of_an_output": round(statistics.mean(len(o.split()) for group in outputs for o in group), 2),
        "examples": dict(zip(texts[:3], outputs[:3], strict=True)),
    }


def ours(job: Job, name: str) -> dict[str, Any]:
    """`Paraphraser`, with the peers' number of samples or by default, in the arithmetic that its name ends with."""
    import torch

    from toolkit.paraphraser.paraphraser import Paraphraser
    from toolkit.paraphraser.settings import Paraphrasing

    torch.set_num_threads(job.threads)
    settings = Paraphrasing(n=N, **(EQUAL if name.startswith("ours_equal") else {}))
    if not job.guarded:
        settings = replace(settings, guards=(), min_semantic=None)
    paraphraser = Paraphraser(job.model, settings=settings, dtype="int8" if name.endswith("int8") else "auto")
    return timed(job, lambda texts: paraphraser.paraphrase(texts, seed=job.seed, progress=False), job.texts)


def streamed(job: Job, texts: int) -> int:
    """Paraphrase so many texts, one after another, and keep none."""
    import torch

    from toolkit.paraphraser.paraphraser import Paraphraser
    from toolkit.paraphraser.settings import Paraphrasing

    torch.set_num_threads(job.threads)
    settings = Paraphrasing(n=N, **EQUAL)
    numbered = (f"{n} {text}" for n, text in enumerate(islice(cycle(job.texts), texts)))  # no two are equal
    return sum(1 for _ in Paraphraser(job.model, settings=settings).stream(numbered, progress=False))


def generate(job: Job, name: str) -> dict[str, Any]:
    """`transformers.generate` on one text at a time, or on padded batches.

    One round of each dtype and size of batches shows which is the fastest; that is measured.
    """
    from toolkit.models.precision import has_bfloat16

    single = name == "one_by_one"
    dtypes = ("float32", "bfloat16") if has_bfloat16("cpu") else ("float32",)
    speeds = {
        (dtype, size): generated(replace(job, rounds=1), dtype, size)["sentences_per_second"]
        for dtype in dtypes
        for size in ((1,) if single else BATCHES)
    }
    dtype, size = max(speeds, key=lambda pair: speeds[pair])
    return generated(job, dtype, size) | {"dtype": dtype, "batch": size}


def generated(job: Job, dtype: str, size: int) -> dict[str, Any]:
    """`generate` on padded batches of texts sorted by length, or in a loop over the texts if a batch is one text."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.utils import logging

    torch.set_num_threads(job.threads)
    torch.manual_seed(job.seed)
    logging.disable_progress_bar()
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(job.model, dtype=getattr(torch, dtype)).eval()
    model.generation_config.max_length = None  # `max_new_tokens` holds, and a warning would come with every call
    tokenizer = AutoTokenizer.from_pretrained(job.model)

    @torch.inference_mode()
    def paraphrase(texts: Sequence[str]) -> list[list[str]]:
        read = tokenizer(list(texts), padding=True, return_tensors="pt")
        longest = 2 * read["input_ids"].shape[1] + MORE_TOKENS
        kind = {"do_sample": True, "top_k": TOP_K, "top_p": TOP_P, "num_return_sequences": N, "num_beams": 1}
        ids = model.generate(**read, **kind, max_new_tokens=longest)
        outputs = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [distinct(outputs[n * N : (n + 1) * N]) for n in range(len(texts))]

    def batched(texts: Sequence[str]) -> list[list[str]]:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        groups: list[list[str]] = [[] for _ in texts]
        for begin in range(0, len(order), size):
            batch = order[begin : begin + size]
            for i, group in zip(batch, paraphrase([texts[i] for i in batch]), strict=True):
                groups[i] = group
        return groups

    return timed(job, batched, job.texts[: job.few] if size == 1 else job.texts)


def ctranslate2(job: Job, name: str) -> dict[str, Any]:
    """CTranslate2, with the tokenizer of the checkpoint, in batches of its own making."""
    from ctranslate2 import Translator, set_random_seed
    from transformers import AutoTokenizer

    set_random_seed(job.seed)
    tokenizer = AutoTokenizer.from_pretrained(job.model)
    translator = Translator(
        job.converted, compute_type=name.rpartition("_")[2], inter_threads=1, intra_threads=job.threads
    )

    def work(texts: Sequence[str]) -> list[list[str]]:
        read = [list(map(str, ids)) for ids in tokenizer(list(texts))["input_ids"]]
        results = translator.translate_batch(
            read,
            beam_size=1,
            num_hypotheses=N,
            sampling_topk=TOP_K,
            sampling_topp=TOP_P,
            max_decoding_length=2 * max(map(len, read)) + MORE_TOKENS,
            max_batch_size=1024,
            batch_type="tokens",
        )
        ids = [[int(piece) for piece in hypothesis] for result in results for hypothesis in result.hypotheses]
        outputs = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [distinct(outputs[n * N : (n + 1) * N]) for n in range(len(texts))]

    return timed(job, work, job.texts)


def distinct(texts: Iterable[str]) -> list[str]:
    """The different ones of some texts, in order."""
    return list(dict.fromkeys(texts))
