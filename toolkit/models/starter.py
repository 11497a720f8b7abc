"""The models that ship with the package."""

from __future__ import annotations

from pathlib import Path

STARTERS = Path(__file__).parent / "starters"


def starter(name: str) -> Path:
    """The local path of a starter model, in the format of a Hub checkpoint.

    Args:
        name: "de-en" (German to English) or "en-de".

    Raises:
        ValueError: No such starter.
    """
    path = STARTERS / name
    if "/" in name or not (path / "config.json").exists():
        found = ", ".join(sorted(p.parent.name for p in STARTERS.glob("*/config.json"))) or "none"
        raise ValueError(f"wanted a starter model of {found}, got {name!r}; or give a Hub id or a local path")
    return path


def resolve(name: str) -> str:
    """What `from_pretrained` takes: `starter/NAME` becomes a path, a Hub id or a path stays what it is."""
    return str(starter(name.removeprefix("starter/"))) if name.startswith("starter/") else name
