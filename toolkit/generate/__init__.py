"""Candidates: the ways to generate them, and the words that each forbids or requires."""

__all__ = [
    "backtranslate",
    "constrain",
    "continuations",
    "infill",
    "inflections",
    "keywords",
    "language_model",
    "merge",
    "monolingual",
    "pivot",
    "ppdb",
    "prompt",
    "recipes",
    "rewrite",
    "rewrite_file",
    "sample",
    "sentinels",
    "synonyms",
    "systems",
    "translate",
]
