"""Which pairs of a bitext are refused, and why."""

__all__ = [
    "bitext",
    "clean_file",
    "contamination",
    "corpus",
    "evaluation_sets",
    "language",
    "marks",
    "match_keys",
    "normal_form",
    "rules",
    "script",
    "texts",
]
