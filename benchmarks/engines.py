"""The decoders that `bench_decoding.py` and `bench_constraints.py` compare; every function runs in its own process.

Ids go in and ids come out of all of them; nobody's text is put together. Imports are inside, so that an engine's peak
memory is its own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.decode.constraint_set import ConstraintSet

SETS = 5  # ParaBank 2, section 3.3
WARM = 8  # ours: sentences that warm up a beam search
RATE = 0.5  # builders.parabank2.ParaBank2.constraint_rate

Decode = Callable[[int], list[int]]  # a round's number -> the tokens of every sample, EOS counted
Search = Callable[[Sequence[int]], list[list[int]]]  # numbers of sentences -> the best hypothesis of each, EOS included


@dataclass(frozen=True)
class Job:
    """Many samples of a few sentences.

    Attributes:
        folder: Holds the model as `hf/` (float32) and `ct2/`.
        sources: Ids of each sentence, EOS included, shortest first.
        words: For each sentence the words that may be forbidden, with their segmentations.
        samples: Of every sentence.
        top_k: Tokens that are left to draw from.
        max_tokens: The cap on a sample.
        batch: Sentences that are decoded at a time.
        threads: Of the processor.
        rounds: Measured rounds; one more before them warms up.
        seed: Of the samples and the constraints.
    """

    folder: Path
    sources: list[list[int]]
    words: list[list[tuple[str, list[list[int]]]]] = field(repr=False)
    samples: int
    top_k: int
    max_tokens: int
    batch: int
    threads: int
    rounds: int
    seed: int


@dataclass(frozen=True)
class BeamJob:
    """The best hypothesis of each of a few sentences, by beam search, once.

    Attributes:
        folder: Holds the model with its tokenizer as `hf/` (float32), and `ct2/`.
        sources: Ids of each sentence, EOS included, shortest first.
        sets: By name, a constraint set for each sentence; only ours and the peer with required words read it.
        beam: Hypotheses that a search follows at a time.
        max_tokens: The cap on a hypothesis.
        batch: Sentences that are decoded at a time.
        threads: Of the processor.
    """

    folder: Path
    sources: list[list[int]]
    sets: dict[str, list[ConstraintSet]] = field(repr=False)
    beam: int
    max_tokens: int
    batch: int
    threads: int


def batches(items: Sequence, size: int) -> Iterator[Sequence]:
    """Consecutive parts of at most `size` items."""
    return (items[begin : begin + size] for begin in range(0, len(items), size))


def timed(job: Job, decoders: dict[str, Decode]) -> dict[str, dict]:
    """The figures of each decoder, in rounds that take turns; the first round is not counted.

    Returns:
        By name: `tokens_per_second`, `sentences_per_second` and `seconds_per_token` (medians over rounds),
        `mean_tokens`, `deviation_within_sentence` (sample standard deviation, the mean over sentences), `longest`, and
        what was run.
    """
    seconds: dict[str, list[float]] = {name: [] for name in decoders}
    lengths: dict[str, list[list[int]]] = {name: [] for name in decoders}
    for number in range(job.rounds + 1):
        for name, decode in decoders.items():
            start = time.perf_counter()
            found = decode(number)
            seconds[name].append(time.perf_counter() - start)
            lengths[name].append(found)
    return {name: figures(job, seconds[name][1:], lengths[name][1:]) for name in decoders}


def figures(job: Job, seconds: list[float], lengths: list[list[int]]) -> dict:
    """What the rounds of one decoder say."""
    wanted = len(job.sources) * job.samples
    assert all(len(found) == wanted for found in lengths), f"wanted {wanted} samples a round"
    pooled = [length for found in lengths for length in found]
    per_token = statistics.median(second / sum(found) for second, found in zip(seconds, lengths, strict=True))
    return {
        "tokens_per_second": round(1 / per_token, 1),
        "sentences_per_second": round(len(job.sources) / statistics.median(seconds), 4),
        "seconds_per_token": per_token,
        "mean_tokens": round(statistics.mean(pooled), 3),
        "deviation_within_sentence": round(
            statistics.mean(statistics.stdev(part) for part in batches(pooled, job.samples)), 3
        ),
        "longest": max(pooled),
        "sentences": len(job.sources),
        "samples": job.samples,
        "batch_sentences": job.batch,
        "seconds": [round(second, 3) for second in seconds],
    }


def load(job: Job | BeamJob, dtype: str) -> Any:
    """The job's model in a dtype, with the threads set."""
    import torch
    from transformers import MarianMTModel
    from transformers.utils import logging

    torch.set_num_threads(job.threads)
    logging.disable_progress_bar()
    return MarianMTModel.from_pretrained(job.folder / "hf", dtype=getattr(torch, dtype)).eval()


def generate(job: Job, dtype: str) -> dict[str, dict]:
    """`transformers.generate` as its documentation has it."""
    import torch

    model = load(job, dtype)
    pad = model.config.pad_token_id

    def decode(number: int) -> list[int]:
        torch.manual_seed(job.seed + number)
        lengths: list[int] = []
        for part in batches(job.sources, job.batch):
            longest = max(map(len, part))
            ids = torch.tensor([source + [pad] * (longest - len(source)) for source in part])
            batch = {"input_ids": ids, "attention_mask": (ids != pad).long()}
            said = model.generate(
                **batch,
                do_sample=True,
                top_k=job.top_k,
                num_beams=1,
                num_return_sequences=job.samples,
                max_new_tokens=job.max_tokens,
            )
            lengths += (said[:, 1:] != pad).sum(1).tolist()
        return lengths

    return timed(job, {f"generate_{'fp32' if dtype == 'float32' else 'bf16'}": decode})


def ctranslate2(job: Job, compute_type: str) -> dict[str, dict]:
    """CTranslate2 on the same weights, without constraints: it cannot have them per row."""
    import ctranslate2

    ctranslate2.set_random_seed(job.seed)
    translator = ctranslate2.Translator(
        str(job.folder / "ct2"), compute_type=compute_type, inter_threads=1, intra_threads=job.threads
    )
    sources = [list(map(str, source)) for source in job.sources]

    def decode(number: int) -> list[int]:
        results = translator.translate_batch(
            sources,
            max_batch_size=job.batch,
            beam_size=1,
            sampling_topk=job.top_k,
            num_hypotheses=job.samples,
            max_decoding_length=job.max_tokens,
            return_end_token=True,
        )
        return [len(hypothesis) for result in results for hypothesis in result.hypotheses]

    return timed(job, {f"ctranslate2_{compute_type}": decode})


def ours(job: Job, dtype: str) -> dict[str, dict]:
    """Our decoder, without constraints and with every row's own, in rounds that take turns."""
    from toolkit.decode.sampling import sample
    from toolkit.decode.shared import SharedEngine
    from toolkit.generate.sample import choose_words
    from toolkit.parallel import row_seed
    from toolkit.translator.int8 import quantize_decoder

    model, each = load(job, "bfloat16" if dtype == "int8" else dtype), job.samples // SETS
    if dtype == "int8":
        quantize_decoder(model)
    engine = SharedEngine(model)

    def decode(number: int, constrained: bool) -> list[int]:
        lengths: list[int] = []
        for part in batches(range(len(job.sources)), job.batch):
            seeds = [row_seed(job.seed + number, f"bench-{i}", f"sample-{n}") for i in part for n in range(job.samples)]
            phrases: list[list[list[int]]] = [[] for _ in seeds]
            if constrained:
                sets = [
                    chosen for i in part for chosen in choose_words(job.words[i], SETS, RATE, job.seed, f"bench-{i}")
                ]
                banned = [[ids for _, spans in chosen for ids in spans] for chosen in sets]
                phrases = [spans for spans in banned for _ in range(each)]
            found = sample(engine, [job.sources[i] for i in part], phrases, seeds, job.top_k, job.max_tokens)
            lengths += [len(one.ids) for one in found]
        return lengths

    name = "ours" if dtype == "bfloat16" else f"ours_{dtype}"
    return timed(
        job, {name: lambda number: decode(number, False), f"{name}_constrained": lambda number: decode(number, True)}
    )


ENGINES: dict[str, tuple[Callable[[Job, str], dict[str, dict]], str]] = {
    "ours": (ours, "bfloat16"),
    "ours_int8": (ours, "int8"),
    "ours_float32": (ours, "float32"),
    "ctranslate2_int8": (ctranslate2, "int8"),
    "ctranslate2_float32": (ctranslate2, "float32"),
    "generate_bf16": (generate, "bfloat16"),
    "generate_fp32": (generate, "float32"),
}


def searched(job: BeamJob, searches: dict[str, Search]) -> dict[str, dict]:
    """Each search once over all sentences; the longest sentences warm it up.

    Returns:
        By name: `seconds`, `cpu_seconds` of all threads, and `ids` of the best hypotheses.
    """
    found = {}
    for search in searches.values():
        search(range(len(job.sources))[-WARM:])
    for name, search in searches.items():
        start, cpu = time.perf_counter(), time.process_time()
        ids = search(range(len(job.sources)))
        found[name] = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu, "ids": ids}
    return found


def ours_beam(job: BeamJob, dtype: str) -> dict[str, dict]:
    """Our beam search, plain and under every list of constraint sets."""
    import torch

    from toolkit.decode.beam import beam_search
    from toolkit.decode.lexical import LexicalConstraints
    from toolkit.decode.shared import SharedEngine
    from toolkit.decode.words import WordTable
    from toolkit.translator.load import load_translator

    torch.set_num_threads(job.threads)
    translator = load_translator(str(job.folder / "hf"), dtype)
    engine, pieces = SharedEngine(translator.model), translator.target
    table = WordTable.of(pieces.surfaces(), pieces.eos)

    def search(numbers: Sequence[int], sets: list[ConstraintSet] | None) -> list[list[int]]:
        found: list[list[int]] = []
        for part in batches(numbers, job.batch):
            constraints = LexicalConstraints.of([sets[i] for i in part], table, pieces.spell) if sets else None
            best = beam_search(
                engine, [job.sources[i] for i in part], job.beam, job.max_tokens, constraints=constraints
            )
            found += [hypotheses[0].ids for hypotheses in best]
        return found

    searches: dict[str, Search] = {f"ours_{dtype}": lambda numbers: search(numbers, None)}
    for name, sets in job.sets.items():
        searches[f"ours_{dtype}_{name}"] = lambda numbers, sets=sets: search(numbers, sets)  # type: ignore[misc]
    return searched(job, searches)


def generate_beam(job: BeamJob, dtype: str) -> dict[str, dict]:
    """`transformers.generate(num_beams=...)`, without constraints: transformers 5 has none."""
    import torch

    model = load(job, dtype)
    pad, eos = model.config.pad_token_id, model.config.eos_token_id

    def search(numbers: Sequence[int]) -> list[list[int]]:
        found: list[list[int]] = []
        for part in batches(numbers, job.batch):
            sources = [job.sources[i] for i in part]
            longest = max(map(len, sources))
            ids = torch.tensor([source + [pad] * (longest - len(source)) for source in sources])
            said = model.generate(
                input_ids=ids,
                attention_mask=(ids != pad).long(),
                do_sample=False,
                num_beams=job.beam,
                max_new_tokens=job.max_tokens,
            )
            found += [ended(row, eos, pad) for row in said[:, 1:].tolist()]
        return found

    return searched(job, {f"generate_{dtype}": search})


def ended(ids: list[int], eos: int, pad: int) -> list[int]:
    """A row of `generate` without its padding.

    >>> ended([5, 6, 0, 9, 9], eos=0, pad=9)
    [5, 6, 0]
    """
    return ids[: ids.index(eos) + 1] if eos in ids else [i for i in ids if i != pad]


def ctranslate2_beam(job: BeamJob, compute_type: str) -> dict[str, dict]:
    """CTranslate2's beam search on the same weights."""
    import ctranslate2

    translator = ctranslate2.Translator(
        str(job.folder / "ct2"), compute_type=compute_type, inter_threads=1, intra_threads=job.threads
    )

    def search(numbers: Sequence[int]) -> list[list[int]]:
        results = translator.translate_batch(
            [list(map(str, job.sources[i])) for i in numbers],
            max_batch_size=job.batch,
            beam_size=job.beam,
            max_decoding_length=job.max_tokens,
            return_end_token=True,
        )
        return [list(map(int, result.hypotheses[0])) for result in results]

    return searched(job, {f"ctranslate2_{compute_type}": search})


BEAM_ENGINES: dict[str, tuple[Callable[[BeamJob, str], dict[str, dict]], str]] = {
    "ours_bfloat16": (ours_beam, "bfloat16"),
    "ours_float32": (ours_beam, "float32"),
    "ours_int8": (ours_beam, "int8"),
    "generate_float32": (generate_beam, "float32"),
    "generate_bfloat16": (generate_beam, "bfloat16"),
    "ctranslate2_float32": (ctranslate2_beam, "float32"),
    "ctranslate2_int8": (ctranslate2_beam, "int8"),
}
