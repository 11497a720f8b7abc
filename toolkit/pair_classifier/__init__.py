"""Paraphrase identification (ParaBank 2, section 3.8)."""

__all__ = ["classifier", "pairs", "settings", "tasks"]
