"""Everything of a ParaBank 2 build but its models: candidates/s per core, and the share of each stage.

A candidate is here a drawn sample, 150 of each line with the paper's settings; equal texts of a line are one distinct
candidate. Seconds are those of the processor in all threads, so that candidates over seconds are candidates/s per core.
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
from itertools import islice
from pathlib import Path

from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.replay import NOT_COUNTED, record, replay, write_repeated
from research.benchmarks.stages import run_settings
from research.reports.child import in_child
from research.reports.figures import number, table


def record_models(bitext: str, folder: str, overrides: dict, recorded: Path) -> None:
    """Record the samples and scores of the models into a file; runs in a child process."""
    recorded.write_bytes(pickle.dumps(record(run_settings(bitext, folder, overrides))))


def replay_models(bitext: str, folder: str, overrides: dict, recorded: Path) -> dict:
    """Build with the recording in place of the models: seconds by stage and counts; runs in a child process."""
    import torch

    torch.set_num_threads(1)
    recording, settings = pickle.loads(recorded.read_bytes()), run_settings(bitext, folder, overrides)
    seconds = replay(settings, recording)
    total = json.loads(Path(settings.output_dir, "statistics.json").read_text())["total"]
    return {"seconds": seconds, "sentences": total["references"], "candidates": total["draws"]} | {
        "distinct_candidates": total["candidates"], "pairs": total["pairs"]
    }  # fmt: skip


def without_models(arguments: argparse.Namespace) -> dict:
    """Candidates/s of everything but the models, and the share and the microseconds per candidate of each stage."""
    overrides = {name: getattr(arguments, name) for name in ("forward", "backward", "dtype", "min_p")} | {"threads": 1}
    lines = list(islice(fields(arguments.data / TATOEBA.format("test")), arguments.sentences))
    with tempfile.TemporaryDirectory() as folder:
        once, often, recorded = (Path(folder, name) for name in ("once.tsv", "often.tsv", "recording"))
        write_repeated(lines, 1, once)
        write_repeated(lines, arguments.times, often)
        in_child(record_models, str(once), f"{folder}/recorded", overrides, recorded)
        figures, peak = in_child(replay_models, str(often), f"{folder}/replayed", overrides, recorded)
    seconds = {stage: spent for stage, spent in figures["seconds"].items() if stage not in NOT_COUNTED}
    total = sum(seconds.values())
    figures |= {
        "what": "a candidate is a drawn sample; seconds are of the processor, all threads; look-ups are not counted",
        "recorded_sentences": len(lines),
        "candidates_per_second": figures["candidates"] / total,
        "distinct_candidates_per_second": figures["distinct_candidates"] / total,
        "shares": {stage: spent / total for stage, spent in seconds.items()},
        "microseconds_per_candidate": {stage: 1e6 * spent / figures["candidates"] for stage, spent in seconds.items()},
        "peak_megabytes": peak,
    }
    print(f"{figures['candidates']} candidates, {figures['candidates_per_second']:.0f} candidates/s per core\n")
    order = sorted(seconds, key=lambda stage: -seconds[stage])
    cells = [
        [number(figures["microseconds_per_candidate"][stage], 2), f"{number(100 * figures['shares'][stage])} %"]
        for stage in order
    ]
    print(
        table(
            ["stage", "microseconds per candidate", "share"],
            [[stage, *row] for stage, row in zip(order, cells, strict=True)],
        )
    )
    return figures
