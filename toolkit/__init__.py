"""Parts for making parabanks: `starter` models, `load_parabank`, and the modules in the order the data flows."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# OpenMP reads these when torch is loaded, so they stand where every module of the toolkit passes first. Threads that wait
# for one another spin for some microseconds, which is as long as they wait on an idle machine, and then sleep: on a
# machine with other work, threads that go on spinning hold the cores that the threads they wait for need.
# `benchmarks/bench_load.py` measures what it costs and what it gains.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # libgomp's own where there are more threads than cores

if TYPE_CHECKING:
    from toolkit.models.starter import starter as starter
    from toolkit.package.load import load_parabank as load_parabank

__version__ = "0.1.0"
__all__ = ["load_parabank", "starter"]
PUBLIC = {"starter": "toolkit.models.starter", "load_parabank": "toolkit.package.load"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import toolkit` alone stays fast."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'toolkit' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(PUBLIC[name]), name)
