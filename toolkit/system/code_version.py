"""The code that computes: a hash of the sources, and the versions of the libraries that change texts or numbers.

A version number does not tell two checkouts apart. A run, a training and the workers of Ray compare this instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CODE = "code"  # the key, in the record of a run or a training, of what `code_version` says
SUFFIXES = (".py", ".json", ".txt", ".yaml")  # sources, and the tables, prompts and presets beside them
MODELS = "starters"  # the folder of the models that ship with the package, which are known by their own content
DIGITS = 12  # ours: of the hash
LIBRARIES = (
    *("torch", "transformers", "tokenizers", "sentence-transformers", "sentencepiece", "numpy", "peft"),
    *("ftfy", "opencc", "rjieba", "sacremoses", "lemminflect", "py3langid", "rapidfuzz", "rensa"),
    *("heliport", "markdown-it-py", "sacrebleu", "sentencex", "text2num"),
)


@cache
def code_version() -> dict[str, str]:
    """The hash of the sources of `toolkit` and `builders` that are imported here, and the versions of the libraries."""
    digest, root = hashlib.sha256(), Path(__file__).parents[2]
    for package in ("toolkit", "builders"):
        for path in sorted((root / package).rglob("*")):
            name = path.relative_to(root)
            if path.suffix in SUFFIXES and (path.suffix == ".py" or MODELS not in name.parts):
                digest.update(f"{name.as_posix()}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return {"sources": digest.hexdigest()[:DIGITS]} | {name: _version(name) for name in LIBRARIES}


def check_code(expected: Mapping[str, str], owner: str) -> None:
    """Refuse to go on with other code than another process had.

    Args:
        expected: What `code_version` said there; empty where an older toolkit did not record it.
        owner: Where this was, for the message.

    Raises:
        ValueError: The sources or a library differ; the message names them and says what to do.
    """
    actual = code_version()
    changes = [
        f"{name} {expected.get(name, 'unknown')}, got {actual[name]}"
        for name in actual
        if actual[name] != expected.get(name)
    ]
    if changes:
        raise ValueError(
            f"wanted the code of {owner}, {'; '.join(changes[:3])}: install the same checkout and versions here, or "
            "begin anew with another output"
        )


def _version(name: str) -> str:
    """The version of a library; "none" if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
