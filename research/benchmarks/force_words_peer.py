"""Constrained beam search of transformers 4.55, `generate(force_words_ids=...)`, in an environment of its own.

    PEER_PYTHON research/benchmarks/force_words_peer.py < job.json

Later versions of transformers do not have it, so it needs another environment than our decoder; `bench_constraints.py`
starts it. It does not import the toolkit. The job is a JSON object: `folder` of the checkpoint, `sources` (ids of each
sentence, EOS included), `words` (ids of the required word of each), `beam`, `max_tokens`, `threads`, `warm` (number of
sentences for the warm-up and for the choice of the faster dtype), `dtype` (null to choose it) and `plain` (number of
sentences to decode without words, to check that the weights are the same). The result is a JSON object on stdout.

`force_words_ids` applies to a whole batch, so sentences with different words are decoded one at a time.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch
import transformers

DTYPES = ("float32", "bfloat16")


def load(job: dict, dtype: str) -> Any:
    """The checkpoint in a dtype."""
    return transformers.MarianMTModel.from_pretrained(job["folder"], torch_dtype=getattr(torch, dtype)).eval()


def decode(model: Any, job: dict, number: int, constrained: bool = True) -> list[int]:
    """Ids of the best hypothesis of a sentence with its required word, EOS included."""
    ids, pad, eos = torch.tensor([job["sources"][number]]), model.config.pad_token_id, model.config.eos_token_id
    words = [job["words"][number]] if constrained else None
    output = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        num_beams=job["beam"],
        do_sample=False,
        force_words_ids=words,
        max_new_tokens=job["max_tokens"],
    )[0, 1:].tolist()
    return output[: output.index(eos) + 1] if eos in output else [i for i in output if i != pad]


def timed(model: Any, job: dict, numbers: range) -> tuple[float, list[list[int]]]:
    """Seconds for decoding some sentences, and the ids of their best hypotheses."""
    start = time.perf_counter()
    hypotheses = [decode(model, job, number) for number in numbers]
    return time.perf_counter() - start, hypotheses


def main() -> None:
    """Decode the job on stdin."""
    job = json.load(sys.stdin)
    torch.set_num_threads(job["threads"])
    transformers.logging.set_verbosity_error()
    middle = (len(job["sources"]) - job["warm"]) // 2
    warm = range(middle, middle + job["warm"])
    seconds_by_dtype = {}
    for dtype in [job["dtype"]] if job["dtype"] else DTYPES:
        model = load(job, dtype)
        decode(model, job, warm[0])
        seconds_by_dtype[dtype] = timed(model, job, warm)[0]
    fastest = min(seconds_by_dtype, key=lambda dtype: seconds_by_dtype[dtype])
    model = load(job, fastest)
    timed(model, job, warm)
    cpu = time.process_time()
    seconds, hypotheses = timed(model, job, range(len(job["sources"])))
    cpu = time.process_time() - cpu
    model = load(job, "float32") if job["plain"] else model
    plain = [decode(model, job, number, constrained=False) for number in range(job["plain"])]
    report = {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "ids": hypotheses,
        "plain": plain,
        "dtype": fastest,
        "tried_seconds": seconds_by_dtype,
    }
    print(json.dumps(report | {"transformers": transformers.__version__, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
