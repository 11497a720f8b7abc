"""Weights in GGUF, the format of llama.cpp, as a folder that `transformers` reads.

`transformers` unpacks such a file whenever it loads it, which takes a quarter of a minute for the smallest models. Here
a file is unpacked once, into the cache of the user.
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
from pathlib import Path

from toolkit.models.checkpoint import reading_model, writing
from toolkit.starters import resolve
from toolkit.system.cache import cache_folder
from toolkit.system.contents import hash_file
from toolkit.system.extras import require

SUFFIX = ".gguf"
CONFIG = "config.json"
DIGITS = 16  # ours: of the hash of a file


def checkpoint_path(name: str) -> str:
    """What `from_pretrained` reads of a model: a folder or a Hub id; the folder of the cache for weights in GGUF.

    Args:
        name: A Hub id, "starter/NAME", a folder, or a file with GGUF weights or the folder of a single such file.

    Raises:
        ValueError: There is no such starter, a folder has several GGUF files, or the file cannot be unpacked.
        OSError: The cache cannot be written.
    """
    path = resolve(name)
    file = gguf_file(Path(path))
    return path if file is None else str(_unpack_once(file, name))


def gguf_file(path: Path) -> Path | None:
    """The file with GGUF weights that a path is, or that a folder without any other model holds; None without one.

    Raises:
        ValueError: The folder holds several.
    """
    if path.is_file():
        return path if path.suffix == SUFFIX else None
    if not path.is_dir() or (path / CONFIG).exists():
        return None
    files = sorted(path.glob(f"*{SUFFIX}"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ValueError(f"wanted one file with GGUF weights in {path}, got {names}: give the path of one of them")
    return files[0] if files else None


def _unpack_once(file: Path, name: str) -> Path:
    """The folder of the cache with what a GGUF file holds: weights in bfloat16, configuration and tokenizer.

    It is known by the hash of the file's bytes, so that it is made once. It is made beside its place and renamed, so
    that what a killed process left is no model.

    Args:
        file: The file.
        name: The model's name, for errors.

    Raises:
        ModuleNotFoundError: The package `gguf` is not installed.
        ValueError: `transformers` cannot read the file.
        OSError: The cache cannot be written.
    """
    cache = cache_folder() / "gguf"
    folder = cache / hash_file(file)[:DIGITS]
    if (folder / CONFIG).is_file():
        return folder
    require("gguf")
    cache.mkdir(parents=True, exist_ok=True)
    print(f"unpacking {name} into {folder}, once", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix=".", dir=cache) as temporary:
        temporary_model = Path(temporary, "model")
        _unpack(file, temporary_model, name)
        try:
            os.replace(temporary_model, folder)
        except OSError:  # another process was faster
            if not (folder / CONFIG).is_file():
                raise
    return folder


def _unpack(file: Path, folder: Path, name: str) -> None:
    """Write what a GGUF file holds as a folder of `transformers`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    with reading_model(name, "a causal language model in GGUF", "which transformers cannot unpack"):
        tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
        packed = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32)
        config = copy.deepcopy(packed.config)
        if hasattr(config, "quantization_config"):  # with which transformers would not save it
            del config.quantization_config
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        model.load_state_dict(packed.state_dict())
    with writing(folder):
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)
