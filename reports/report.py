"""The report of a benchmark or an experiment: machine, versions, the command, figures.

Imports nothing heavy, so that a child's memory is that of the engine it runs, and nothing of the toolkit, whose import
decides how the threads of every engine wait.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "torch",
    "transformers",
    "ctranslate2",
    "sentence-transformers",
    "rapidfuzz",
    "sacrebleu",
    "datasets",
    "pyarrow",
)
FLAGS = {"bf16": ("avx512_bf16", "amx_bf16"), "amx": ("amx_tile",), "vnni": ("avx512_vnni", "avx_vnni")}
BUSY = 0.5  # ours: a load above it, for each core, is somebody else's work
PATIENCE = 180  # ours: seconds in which the load of an earlier benchmark wears off


def refuse_busy(told: bool) -> None:
    """Stop a benchmark before it begins where the machine is busy with other work: its figures would mean nothing.

    The load of the last minute is looked at, and waited for as it wears off; the report has it in any case.

    Args:
        told: Whether the user said --busy.

    Raises:
        SystemExit: The machine stays busy and nobody said --busy.
    """
    limit, began = BUSY * (os.cpu_count() or 1), time.monotonic()
    while not told and os.getloadavg()[0] > limit and time.monotonic() - began < PATIENCE:
        time.sleep(5)
    LOAD_BEFORE.append(load := round(os.getloadavg()[0], 2))
    if load > limit and not told:
        program = Path(sys.argv[0]).name
        sys.exit(f"{program}: wanted an idle machine, got a load of {load}: end the other work, or say --busy")


LOAD_BEFORE: list[float] = []  # over the last minute, when the benchmark began


def machine() -> dict:
    """The processor, its cores, the memory in GB, what it can do in few bits, and how busy it was before."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    flags = processor("flags").split()
    return {
        "cpu": processor("model name") or platform.processor(),
        "cpu_family_model": f"{processor('cpu family')}/{processor('model')}",
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30, 1),
        **{name: any(flag in flags for flag in wanted) for name, wanted in FLAGS.items()},
        "load_average_before": LOAD_BEFORE[0] if LOAD_BEFORE else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor(field: str) -> str:
    """A field of the first processor in /proc/cpuinfo; empty where there is none."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    found = [value for name, _, value in (line.partition(":") for line in lines) if name.strip() == field]
    return found[0].strip() if found else ""


def versions() -> dict[str, str]:
    """Python's and the packages' versions; "absent" for one that is not installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def shown(argument: str) -> str:
    """A path outside this folder as its last part, which means something elsewhere too; all else as it is.

    >>> shown("/somewhere/corpora"), shown("benchmarks/x.json"), shown("3.5")
    ('corpora', 'benchmarks/x.json', '3.5')
    """
    return Path(argument).name if argument.startswith(("/", "..")) else argument


def command() -> str:
    """The command that started this program, to be pasted in the root of the repository."""
    module = sys.modules["__main__"].__spec__
    program = ["-m", module.name] if module else [shown(sys.argv[0])]
    return shlex.join(["python", *program, *map(shown, sys.argv[1:])])


def write(path: str | None, seed: int, results: dict, ratios: dict[str, float]) -> None:
    """Print the ratios, and write the whole report as JSON where a path is given."""
    for name, ratio in ratios.items():
        print(f"{name:32s} {ratio:8.3f}")
    if path is None:
        return
    report = {"machine": machine(), "versions": versions(), "seed": seed, "command": command()}
    Path(path).write_text(
        json.dumps(report | {"results": results, "ratios": ratios}, indent=1, ensure_ascii=False) + "\n"
    )
