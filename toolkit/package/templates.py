"""The folder of the templates of cards and pages: `cards` beside the toolkit in a checkout, in it where installed."""

from __future__ import annotations

from pathlib import Path

_TOOLKIT = Path(__file__).parents[1]
TEMPLATES = _TOOLKIT / "cards" if (_TOOLKIT / "cards").is_dir() else _TOOLKIT.parent / "cards"
