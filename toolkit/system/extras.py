"""The packages that are installed on request: an extra of this package names those that one kind of work needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS = {
    "rjieba": "zh",
    "opencc": "zh",
    "peft": "train",
    "rouge_score": "evaluate",
    "apted": "evaluate",
    "matplotlib": "plots",
    "krippendorff": "annotate",
}


def require(module: str) -> Any:
    """Import a module of a package of an extra.

    Raises:
        ModuleNotFoundError: The package is not installed; the message names the command that installs it.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(
            f"wanted the package {package}, got none: pip install '.[{EXTRAS[package]}]' in the checkout", name=package
        ) from None
