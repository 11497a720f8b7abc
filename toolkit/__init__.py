"""Parts for making parabanks: `starter` models, `load_parabank`, and the modules in the order the data flows."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# OpenMP reads this when torch is loaded, so it stands where every module of the toolkit passes first. Threads that wait
# for one another sleep instead of spinning: on a machine with other work, spinning threads hold the cores that the
# threads they wait for need. `benchmarks/bench_load.py` measures both, on an idle machine and on a busy one.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

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
