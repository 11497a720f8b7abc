"""Five paraphrases of every text: `toolkit.Paraphraser`, and `transformers.generate` as its users call it.

    python -m benchmarks.bench_paraphraser --data DIR --model PARAPHRASER --json benchmarks/results/paraphraser.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz (German TAB English); the English side is paraphrased. Text goes in and
text comes out, so segmentation counts. Each engine runs in a process of its own:

- `ours_equal`: `Paraphraser` draws five samples of each text (top-p), as the peers do, then refuses, scores backward
  and ranks them, which the peers do not.
- `ours`: `Paraphraser` as it is by default, which draws many more.
- `one_by_one`: `generate` in a loop over the texts, as Parrot does: five samples (top-k 50, top-p 0.9), distinct ones.
- `batched`: the same in padded batches of texts sorted by length, with the batch size that is fastest of some.

Ratios are sentences/s of `ours_equal` over those of each peer; `default_...` are those of `ours`. --memory TEXTS also
measures the peak memory of `ours` on TEXTS/100 and TEXTS texts, which are streamed. The machine must be idle.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from benchmarks import processor
from benchmarks.data import TATOEBA, fields
from reports import report
from reports.child import in_child
from reports.figures import number, table

N, TOP_K, TOP_P = 5, 50, 0.9
BATCHES = (16, 64)  # texts of a batch that `batched` tries
MORE_TOKENS = 10  # an output has at most twice the tokens of its text and so many more, as in the toolkit
PEERS = ("one_by_one", "batched")
ENGINES = ("ours_equal", "ours", *PEERS)

Work = Callable[[Sequence[str]], list[list[str]]]


@dataclass(frozen=True)
class Job:
    """What every engine does.

    Attributes:
        model: Folder of the paraphraser.
        texts: Texts to paraphrase.
        few: Of these, so many are enough for an engine that takes one at a time.
        threads: The number of threads.
        rounds: The number of measured rounds; one warm-up round precedes them.
        seed: Of the samples.
    """

    model: str
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
        "seconds": [round(one, 3) for one in seconds],
        "texts": len(texts),
        "outputs_of_a_text": round(statistics.mean(map(len, outputs)), 3),
        "words_of_an_output": round(statistics.mean(len(o.split()) for some in outputs for o in some), 2),
        "examples": dict(zip(texts[:3], outputs[:3], strict=True)),
    }


def ours(job: Job, name: str) -> dict[str, Any]:
    """`Paraphraser`, with the peers' number of samples or by default."""
    import torch

    from toolkit.paraphraser.paraphraser import Paraphraser
    from toolkit.paraphraser.settings import Paraphrasing

    torch.set_num_threads(job.threads)
    equal = Paraphrasing(n=N, method="top_p", samples_per_set=N, top_p=TOP_P)
    paraphraser = Paraphraser(job.model, settings=equal if name == "ours_equal" else Paraphrasing(n=N))
    return timed(job, lambda texts: paraphraser.paraphrase(texts, seed=job.seed, progress=False), job.texts)


def generate(job: Job, name: str) -> dict[str, Any]:
    """`transformers.generate` on one text at a time, or on padded batches of texts sorted by length."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.utils import logging

    from toolkit.models.precision import has_bfloat16

    torch.set_num_threads(job.threads)
    torch.manual_seed(job.seed)
    logging.disable_progress_bar()
    dtype = torch.bfloat16 if has_bfloat16() else torch.float32
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(job.model, dtype=dtype).eval()
    model.generation_config.max_length = None  # `max_new_tokens` holds, and a warning would come with every call
    tokenizer = AutoTokenizer.from_pretrained(job.model)

    @torch.inference_mode()
    def paraphrase(texts: Sequence[str]) -> list[list[str]]:
        read = tokenizer(list(texts), padding=True, return_tensors="pt")
        longest = 2 * read["input_ids"].shape[1] + MORE_TOKENS
        kind = {"do_sample": True, "top_k": TOP_K, "top_p": TOP_P, "num_return_sequences": N, "num_beams": 1}
        ids = model.generate(**read, **kind, max_new_tokens=longest)
        said = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [list(dict.fromkeys(said[n * N : (n + 1) * N])) for n in range(len(texts))]

    if name == "one_by_one":
        return timed(job, lambda texts: [paraphrase([text])[0] for text in texts], job.texts[: job.few])

    def batched(texts: Sequence[str], size: int) -> list[list[str]]:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found: list[list[str]] = [[] for _ in texts]
        for begin in range(0, len(order), size):
            batch = order[begin : begin + size]
            for i, some in zip(batch, paraphrase([texts[i] for i in batch]), strict=True):
                found[i] = some
        return found

    found = {size: timed(job, lambda texts, size=size: batched(texts, size), job.texts) for size in BATCHES}  # type: ignore[misc]
    best = max(found, key=lambda size: found[size]["sentences_per_second"])
    return found[best] | {"batch": best}


def streamed(job: Job, texts: int) -> int:
    """Paraphrase so many texts, one after another, and keep none."""
    import torch

    from toolkit.paraphraser.paraphraser import Paraphraser
    from toolkit.paraphraser.settings import Paraphrasing

    torch.set_num_threads(job.threads)
    few = Paraphrasing(n=N, method="top_p", samples_per_set=N)
    numbered = (f"{n} {text}" for n, text in enumerate(islice(cycle(job.texts), texts)))  # no two are equal
    return sum(1 for _ in Paraphraser(job.model, settings=few).stream(numbered, progress=False))


def memory(job: Job, texts: int) -> tuple[dict[str, float], dict[str, float]]:
    """The peak memory of `ours` on a hundredth of the texts and on all, and the ratio of the two."""
    peaks = {count: in_child(streamed, job, count)[1] for count in (texts // 100, texts)}
    return {f"{count} texts": peak for count, peak in peaks.items()}, {
        "memory_growth": peaks[texts] / peaks[texts // 100]
    }


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a paraphraser: a folder")
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--few", type=int, default=40, help="texts of one_by_one")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--memory", type=int, default=0, metavar="TEXTS", help="also measure memory, e.g. with 100000")
    processor.add_options(parser, rounds=3)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    report.refuse_busy(arguments.busy)
    texts = [english for _, english in fields(arguments.data / TATOEBA.format("test"))]
    random.Random(arguments.seed).shuffle(texts)  # the file is sorted by length
    settings = arguments.few, arguments.threads, arguments.rounds, arguments.seed
    job = Job(arguments.model, texts[: arguments.texts], *settings)
    results = {}
    for name in arguments.engines:
        found, peak = in_child(ours if name.startswith("ours") else generate, job, name)
        results[name] = found | {"peak_megabytes": peak}
    ratios = {
        prefix + peer: results[own]["sentences_per_second"] / results[peer]["sentences_per_second"]
        for own, prefix in (("ours_equal", ""), ("ours", "default_"))
        for peer in PEERS
        if own in results and peer in results
    }
    if arguments.memory:
        results["memory"], growth = memory(job, arguments.memory)
        ratios |= growth
    shown = [(name, one) for name, one in results.items() if name in ENGINES]
    keys = ("sentences_per_second", "outputs_of_a_text", "words_of_an_output", "peak_megabytes")
    print(table(["engine", *keys], [[name, *(number(one[key]) for key in keys)] for name, one in shown]))
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
