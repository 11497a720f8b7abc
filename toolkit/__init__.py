"""Build paraphrase corpora from parallel text, and train and evaluate sentence encoders and paraphrasers on them.

import toolkit

toolkit.load_parabank("my_parabank")                       # a folder, or a name on the Hub
encoder = toolkit.load_encoder("starter/encoder")          # or a folder, or a Hub id
translator = toolkit.load_translator("starter/de-en")
toolkit.rewrite(texts, translator, [toolkit.ConstraintSet(negative=("starts",))])
toolkit.Paraphraser().paraphrase(texts, n=5)               # the best installed one; or a folder, or a Hub id
toolkit.augment(train, columns="text", copies=2)           # a Dataset or DataFrame with new rows
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from toolkit.version import VERSION

SPIN_IDLE, SPIN_BUSY = (
    5000,
    1000,
)  # ours: iterations of a waiting loop, some microseconds; `research/benchmarks/bench_load.py`


def _spin_count() -> int:
    """The number of iterations that a waiting OpenMP thread spins before it sleeps.

    On an idle machine a thread spins for about as long as it waits. Where other processes run, including other
    processes of this launch, a spinning thread occupies a core that the thread it waits for needs.
    """
    others = min(_running_others() for _ in range(5))
    several_processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > 1
    return SPIN_BUSY if several_processes or 2 * others >= (os.cpu_count() or 1) else SPIN_IDLE


def _running_others() -> int:
    """The number of other threads that run on this machine now; 0 without /proc/loadavg. Takes two milliseconds."""
    time.sleep(0.002)
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].partition("/")[0]) - 1
    except (OSError, ValueError, IndexError):
        return 0


# OpenMP reads these variables when torch is loaded, so they are set here, before any module of the toolkit imports it.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", str(_spin_count()))

# oneDNN and torch keep what they have compiled for each shape of a matrix product, 1,024 each by default: hundreds of
# megabytes, most of which never come again. This costs 4 % of the time of a long stream, and a third of its memory.
for name, entries in (("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256"), ("LRU_CACHE_CAPACITY", "64")):
    os.environ.setdefault(name, entries)

# A batch's caches grow step by step, and blocks of a GPU's memory that they leave behind fit nothing later.
if sys.platform == "linux" and "PYTORCH_ALLOC_CONF" not in os.environ:
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

if TYPE_CHECKING:
    from toolkit.augmentation.augment import augment as augment
    from toolkit.chat.settings import PromptedModel as PromptedModel
    from toolkit.data.rows import Row as Row
    from toolkit.decode.constraint_set import ConstraintSet as ConstraintSet
    from toolkit.encoder.load import load_encoder as load_encoder
    from toolkit.generate.rewrite import rewrite as rewrite
    from toolkit.package.load import load_parabank as load_parabank
    from toolkit.paraphraser.paraphraser import Paraphraser as Paraphraser
    from toolkit.paraphraser.settings import Paraphrasing as Paraphrasing
    from toolkit.starters import starter as starter
    from toolkit.translator.load import load_translator as load_translator

__version__ = VERSION
PUBLIC = {
    "ConstraintSet": "toolkit.decode.constraint_set",
    "Paraphraser": "toolkit.paraphraser.paraphraser",
    "Paraphrasing": "toolkit.paraphraser.settings",
    "PromptedModel": "toolkit.chat.settings",
    "Row": "toolkit.data.rows",
    "augment": "toolkit.augmentation.augment",
    "load_encoder": "toolkit.encoder.load",
    "load_parabank": "toolkit.package.load",
    "load_translator": "toolkit.translator.load",
    "rewrite": "toolkit.generate.rewrite",
    "starter": "toolkit.starters",
}
__all__ = [
    "ConstraintSet",
    "Paraphraser",
    "Paraphrasing",
    "PromptedModel",
    "Row",
    "augment",
    "load_encoder",
    "load_parabank",
    "load_translator",
    "rewrite",
    "starter",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import toolkit` alone stays fast."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'toolkit' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(PUBLIC[name]), name)


def __dir__() -> list[str]:
    """The public names, for completion."""
    return [*__all__]
