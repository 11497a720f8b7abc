"""The decoders that `bench_decoding.py` and `bench_constraints.py` compare; each runs in a process of its own.

Input and output of all of them are ids; no text is decoded. Libraries are imported within the functions, so that the
peak memory of a process is that of its engine.
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
WARM_SENTENCES = 8  # ours: warm-up sentences of a beam search
CONSTRAINT_RATE = 0.5  # builders.parabank2.ParaBank2.constraint_rate
BATCH_ROWS = 2400  # builders.parabank2.ParaBank2.CPU_BATCHES

Decode = Callable[[int], list[int]]  # number of the round -> the number of tokens of every sample, EOS counted
Search = Callable[[Sequence[int]], list[list[int]]]  # numbers of sentences -> the best hypothesis of each, EOS included


@dataclass(frozen=True)
class Job:
    """A sampling job: many samples of a few sentences.

    Attributes:
        folder: The folder of the model as `hf/` (float32) and `ct2/`.
        sources: The ids of each sentence, EOS included, shortest first.
        words: For each sentence the words that may be forbidden, with their segmentations.
        samples: The number of samples of every sentence.
        top_k: The number of most probable tokens to draw from.
        max_tokens: The most tokens of a sample.
        batch: The batch size in sentences.
        threads: The number of threads.
        rounds: The number of measured rounds; one warm-up round precedes them.
        seed: The seed of the samples and the constraints.
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
    """A beam search job: the best hypothesis of each of a few sentences.

    Attributes:
        folder: The folder of the model with its tokenizer as `hf/` (float32), and as `ct2/`.
        sources: The ids of each sentence, EOS included, shortest first.
        sets: By name of the kind, a constraint set for each sentence; engines without constraints ignore them.
        beam: The beam size.
        max_tokens: The most tokens of a hypothesis.
        batch: The batch size in sentences.
        threads: The number of threads.
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
    """Run the decoders, each once in every round, and return their figures without the first round.

    Returns:
        By name: `tokens_per_second`, `sentences_per_second` and `seconds_per_token` (medians over rounds),
        `mean_tokens`, `deviation_within_sentence` (sample standard deviation, the mean over sentences), `longest`, and
        the settings.
    """
    seconds: dict[str, list[float]] = {name: [] for name in decoders}
    lengths: dict[str, list[list[int]]] = {name: [] for name in decoders}
    for number in range(job.rounds + 1):
        for name, decode in decoders.items():
            start = time.perf_counter()
            token_counts = decode(number)
            seconds[name].append(time.perf_counter() - start)
            lengths[name].append(token_counts)
    return {name: figures(job, seconds[name][1:], lengths[name][1:]) for name in decoders}


def figures(job: Job, seconds: list[float], lengths: list[list[int]]) -> dict:
    """The figures of one decoder over its rounds."""
    count = len(job.sources) * job.samples
    assert all(len(token_counts) == count for token_counts in lengths), f"wanted {count} samples a round"
    pooled = [length for token_counts in lengths for length in token_counts]
    per_token = statistics.median(
        second / sum(token_counts) for second, token_counts in zip(seconds, lengths, strict=True)
    )
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
    """Set the threads, and load the job's model in a dtype."""
    import torch
    from transformers import AutoModelForSeq2SeqLM
    from transformers.utils import logging

    torch.set_num_threads(job.threads)
    logging.disable_progress_bar()
    return AutoModelForSeq2SeqLM.from_pretrained(job.folder / "hf", dtype=getattr(torch, dtype)).eval()


def generate(job: Job, dtype: str) -> dict[str, dict]:
    """`transformers.generate`, used as in its documentation."""
    import torch

    model = load(job, dtype)
    pad = model.config.pad_token_id
    offset = 1 + (model.generation_config.forced_bos_token_id is not None)  # tokens that no engine counts

    def decode(number: int) -> list[int]:
        torch.manual_seed(job.seed + number)
        lengths: list[int] = []
        for part in batches(job.sources, job.batch):
            longest = max(map(len, part))
            ids = torch.tensor([source + [pad] * (longest - len(source)) for source in part])
            batch = {"input_ids": ids, "attention_mask": (ids != pad).long()}
            output = model.generate(
                **batch,
                do_sample=True,
                top_k=job.top_k,
                num_beams=1,
                num_return_sequences=job.samples,
                max_new_tokens=job.max_tokens + offset - 1,
            )
            lengths += (output[:, offset:] != pad).sum(1).tolist()
        return lengths

    return timed(job, {f"generate_{'fp32' if dtype == 'float32' else 'bf16'}": decode})


def ctranslate2(job: Job, compute_type: str) -> dict[str, dict]:
    """CTranslate2 on the same weights, without constraints, because it does not support them per row."""
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
    """Our decoder, without constraints and with constraints for each row."""
    from toolkit.decode.sampling import sample
    from toolkit.decode.shared import SharedEngine
    from toolkit.generate.sample import batches as sample_batches
    from toolkit.generate.sample import choose_words
    from toolkit.models.precision import has_bfloat16
    from toolkit.system.processes import row_seed
    from toolkit.translator.inference import prepare_for_cpu

    class Counting(SharedEngine):
        """An engine that counts the rows that it advances."""

        advanced = 0

        def step(self, state: Any, ids: Any) -> Any:
            self.advanced += len(ids)
            return super().step(state, ids)

    model = load(job, ("bfloat16" if has_bfloat16("cpu") else "float32") if dtype == "int8" else dtype)
    prepare_for_cpu(model, int8=dtype == "int8")
    engine, lengths_of = Counting(model), [len(source) for source in job.sources]
    rows: dict[bool, int] = {}

    def decode(number: int, constrained: bool) -> list[int]:
        lengths: list[int] = []
        engine.advanced = 0
        for part in sample_batches(range(len(job.sources)), lengths_of, job.samples, BATCH_ROWS):
            keys = [row_seed(job.seed + number, f"bench-{i}", f"sample-{n}") for i in part for n in range(job.samples)]
            phrases: list[list[list[int]]] = [[]]
            if constrained:
                sets = [
                    words
                    for i in part
                    for words in choose_words(job.words[i], SETS, CONSTRAINT_RATE, job.seed, f"bench-{i}")
                ]
                phrases = [[ids for _, spans in words for ids in spans] for words in sets]
            outputs = sample(engine, [job.sources[i] for i in part], phrases, keys, job.top_k, job.max_tokens)
            lengths += [len(output.ids) for output in outputs]
        rows[constrained] = engine.advanced
        return lengths

    name = "ours" if dtype == "bfloat16" else f"ours_{dtype}"
    results = timed(
        job, {name: lambda number: decode(number, False), f"{name}_constrained": lambda number: decode(number, True)}
    )
    for constrained, of in ((False, name), (True, f"{name}_constrained")):
        tokens = results[of]["mean_tokens"] * len(job.sources) * job.samples
        results[of] |= {"tokens_per_row": round(tokens / rows[constrained], 3), "batch_rows": BATCH_ROWS}
    return results


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
    """Run each search once over all sentences, after a warm-up with the longest sentences.

    Returns:
        By name: `seconds`, `cpu_seconds` of all threads, and `ids` of the best hypotheses.
    """
    results = {}
    for search in searches.values():
        search(range(len(job.sources))[-WARM_SENTENCES:])
    for name, search in searches.items():
        start, cpu = time.perf_counter(), time.process_time()
        ids = search(range(len(job.sources)))
        results[name] = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu, "ids": ids}
    return results


def ours_beam(job: BeamJob, dtype: str) -> dict[str, dict]:
    """Our beam search, plain and with every kind of constraints."""
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
        best_ids: list[list[int]] = []
        for part in batches(numbers, job.batch):
            constraints = LexicalConstraints.of([sets[i] for i in part], table, pieces.spell) if sets else None
            best = beam_search(
                engine, [job.sources[i] for i in part], job.beam, job.max_tokens, constraints=constraints
            )
            best_ids += [hypotheses[0].ids for hypotheses in best]
        return best_ids

    searches: dict[str, Search] = {f"ours_{dtype}": lambda numbers: search(numbers, None)}
    for name, sets in job.sets.items():
        searches[f"ours_{dtype}_{name}"] = lambda numbers, sets=sets: search(numbers, sets)  # type: ignore[misc]
    return searched(job, searches)


def generate_beam(job: BeamJob, dtype: str) -> dict[str, dict]:
    """`transformers.generate(num_beams=...)`, without constraints, because transformers 5 does not support them."""
    import torch

    model = load(job, dtype)
    pad, eos = model.config.pad_token_id, model.config.eos_token_id

    def search(numbers: Sequence[int]) -> list[list[int]]:
        hypotheses: list[list[int]] = []
        for part in batches(numbers, job.batch):
            sources = [job.sources[i] for i in part]
            longest = max(map(len, sources))
            ids = torch.tensor([source + [pad] * (longest - len(source)) for source in sources])
            output = model.generate(
                input_ids=ids,
                attention_mask=(ids != pad).long(),
                do_sample=False,
                num_beams=job.beam,
                max_new_tokens=job.max_tokens,
            )
            hypotheses += [ended(row, eos, pad) for row in output[:, 1:].tolist()]
        return hypotheses

    return searched(job, {f"generate_{dtype}": search})


def ended(ids: list[int], eos: int, pad: int) -> list[int]:
    """A row of `generate` without its padding.

    >>> ended([5, 6, 0, 9, 9], eos=0, pad=9)
    [5, 6, 0]
    """
    return ids[: ids.index(eos) + 1] if eos in ids else [i for i in ids if i != pad]


def ctranslate2_beam(job: BeamJob, kind: str) -> dict[str, dict]:
    """CTranslate2's beam search on the same weights; `kind` is its compute type, and "_patience2" for twice the search.

    By default it stops when as many hypotheses as the beam have ended. Ours and `generate` go on until none that runs
    is better than those. With patience 2 it finds hypotheses of about the same score as they do.
    """
    import ctranslate2

    compute_type, _, patience = kind.partition("_patience")
    translator = ctranslate2.Translator(
        str(job.folder / "ct2"), compute_type=compute_type, inter_threads=1, intra_threads=job.threads
    )

    def search(numbers: Sequence[int]) -> list[list[int]]:
        results = translator.translate_batch(
            [list(map(str, job.sources[i])) for i in numbers],
            max_batch_size=job.batch,
            beam_size=job.beam,
            patience=float(patience or 1),
            max_decoding_length=job.max_tokens,
            return_end_token=True,
        )
        return [list(map(int, result.hypotheses[0])) for result in results]

    return searched(job, {f"ctranslate2_{kind}": search})


BEAM_ENGINES: dict[str, tuple[Callable[[BeamJob, str], dict[str, dict]], str]] = {
    "ours_bfloat16": (ours_beam, "bfloat16"),
    "ours_float32": (ours_beam, "float32"),
    "ours_int8": (ours_beam, "int8"),
    "generate_float32": (generate_beam, "float32"),
    "generate_bfloat16": (generate_beam, "bfloat16"),
    "ctranslate2_float32": (ctranslate2_beam, "float32"),
    "ctranslate2_int8": (ctranslate2_beam, "int8"),
    "ctranslate2_float32_patience2": (ctranslate2_beam, "float32_patience2"),
    "ctranslate2_int8_patience2": (ctranslate2_beam, "int8_patience2"),
}
