"""OpusFilter with the rules of a job, in an environment of its own: its pins are not those of the toolkit.

    PEER_PYTHON research/benchmarks/opusfilter_peer.py < job.json

`bench_cleaning.py` starts it. It does not import the toolkit. The job is a JSON object: `source` and `reference` (two
line-aligned files), `kept` (two files to write), `cores`, `preprocess` and `filters` (of OpusFilter's configuration)
and `deduplicate`. The result is a JSON object on stdout.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from importlib.metadata import version


def main() -> None:
    """Clean the job on stdin."""
    job = json.load(sys.stdin)
    os.sched_setaffinity(0, set(job["cores"]))
    logging.disable(logging.INFO)
    begin = time.perf_counter()
    from opusfilter.opusfilter import OpusFilter

    with tempfile.TemporaryDirectory() as folder:
        inputs, steps = [job["source"], job["reference"]], []
        if job["preprocess"]:
            outputs = ["normal.source", "normal.reference"]
            parameters = {"inputs": inputs, "outputs": outputs, "preprocessors": job["preprocess"]}
            steps.append({"type": "preprocess", "parameters": parameters | {"n_jobs": len(job["cores"])}})
            inputs = outputs
        if job["deduplicate"]:
            outputs = ["distinct.source", "distinct.reference"]
            steps.append({"type": "remove_duplicates", "parameters": {"inputs": inputs, "outputs": outputs}})
            inputs = outputs
        parameters = {"inputs": inputs, "outputs": job["kept"], "filters": job["filters"], "n_jobs": len(job["cores"])}
        steps.append({"type": "filter", "parameters": parameters})
        OpusFilter({"common": {"output_directory": folder}, "steps": steps}).execute_steps()
    print(json.dumps({"seconds": time.perf_counter() - begin, "versions": {"opusfilter": version("opusfilter")}}))


if __name__ == "__main__":
    main()
