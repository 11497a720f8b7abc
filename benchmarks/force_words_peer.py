"""Constrained beam search of transformers 4.55, `generate(force_words_ids=...)`: runs in an environment of its own.

    PEER_PYTHON benchmarks/force_words_peer.py < job.json

Later versions of transformers have none, so that it cannot run beside ours; `bench_constraints.py` starts it. It
imports nothing of the toolkit. The job is a JSON object: `folder` of the checkpoint, `sources` (ids of each sentence,
EOS included), `words` (ids of the word that each must say), `beam`, `max_tokens`, `threads`, `warm` (sentences that
warm up and of which the faster dtype is found), `dtype` (null until that is known) and `plain` (sentences to decode
without words, to see that the weights are the same). Writes a JSON object to stdout.

`force_words_ids` holds for the whole batch, so that sentences with words of their own are decoded one at a time.
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
    """Ids of the best hypothesis of a sentence under its word, EOS included."""
    ids, pad, eos = torch.tensor([job["sources"][number]]), model.config.pad_token_id, model.config.eos_token_id
    words = [job["words"][number]] if constrained else None
    said = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        num_beams=job["beam"],
        do_sample=False,
        force_words_ids=words,
        max_new_tokens=job["max_tokens"],
    )[0, 1:].tolist()
    return said[: said.index(eos) + 1] if eos in said else [i for i in said if i != pad]


def timed(model: Any, job: dict, numbers: range) -> tuple[float, list[list[int]]]:
    """Seconds for some sentences, and what they became."""
    start = time.perf_counter()
    found = [decode(model, job, number) for number in numbers]
    return time.perf_counter() - start, found


def main() -> None:
    """Decode the job on stdin."""
    job = json.load(sys.stdin)
    torch.set_num_threads(job["threads"])
    transformers.logging.set_verbosity_error()
    middle = (len(job["sources"]) - job["warm"]) // 2
    warm = range(middle, middle + job["warm"])
    tried = {}
    for dtype in [job["dtype"]] if job["dtype"] else DTYPES:
        model = load(job, dtype)
        decode(model, job, warm[0])
        tried[dtype] = timed(model, job, warm)[0]
    fastest = min(tried, key=lambda dtype: tried[dtype])
    model = load(job, fastest)
    timed(model, job, warm)
    cpu = time.process_time()
    seconds, found = timed(model, job, range(len(job["sources"])))
    cpu = time.process_time() - cpu
    model = load(job, "float32") if job["plain"] else model
    plain = [decode(model, job, number, constrained=False) for number in range(job["plain"])]
    report = {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "ids": found,
        "plain": plain,
        "dtype": fastest,
        "tried_seconds": tried,
    }
    print(json.dumps(report | {"transformers": transformers.__version__, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
