"""Parts for making parabanks: `starter` models, `load_parabank`, and the modules in the order the data flows."""

from __future__ import annotations

import importlib
import os
import time
from typing import TYPE_CHECKING, Any

SPIN_IDLE, SPIN_BUSY = 5000, 1000  # ours: turns of a waiting loop, some microseconds; `benchmarks/bench_load.py`


def spin_count() -> int:
    """How long threads that wait for one another spin before they sleep.

    On an idle machine they spin for about as long as they wait. On a machine with other work, also the work of other
    processes of this launch, threads that spin hold the cores that the threads they wait for need.
    """
    others = min(running_others() for _ in range(5))
    several = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > 1
    return SPIN_BUSY if several or 2 * others >= (os.cpu_count() or 1) else SPIN_IDLE


def running_others() -> int:
    """Threads that run on this machine at this moment beside this one, in two milliseconds; 0 where nobody tells."""
    time.sleep(0.002)
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].partition("/")[0]) - 1
    except (OSError, ValueError, IndexError):
        return 0


# OpenMP reads these when torch is loaded, so they stand where every module of the toolkit passes first.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", str(spin_count()))

if TYPE_CHECKING:
    from toolkit.package.load import load_parabank as load_parabank
    from toolkit.starters import starter as starter

__version__ = "0.1.0"
__all__ = ["load_parabank", "starter"]
PUBLIC = {"starter": "toolkit.starters", "load_parabank": "toolkit.package.load"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import toolkit` alone stays fast."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'toolkit' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(PUBLIC[name]), name)
