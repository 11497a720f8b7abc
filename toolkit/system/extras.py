"""The packages that are installed on request: an extra of this package names those that one kind of work needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

EXTRAS = {
    "rjieba": "zh",
    "opencc": "zh",
    "sentence_transformers": "train",
    "sklearn": "train",
    "peft": "train",
    "scipy": "evaluate",
    "rouge_score": "evaluate",
    "apted": "evaluate",
    "matplotlib": "plots",
    "krippendorff": "annotate",
    "rensa": "near",
    "argcomplete": "completion",
    "heliport": "language",
    "openai": "server",
    "gguf": "lm",
    "ray": "ray",
    "mteb": "suite",
}


@contextmanager
def naming_extra() -> Iterator[None]:
    """Where an import of this block lacks a package of an extra, name the command that installs it.

    Raises:
        ModuleNotFoundError: A package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        remedy = f"pip install '.[{EXTRAS[error.name]}]' in the checkout"
        raise ModuleNotFoundError(f"wanted the package {error.name}, got none: {remedy}", name=error.name) from None


def require(module: str) -> Any:
    """Import a module of a package of an extra.

    Raises:
        ModuleNotFoundError: The package is not installed; the message names the command that installs it.
    """
    with naming_extra():
        return import_module(module)
