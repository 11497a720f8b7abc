"""Scores and guards of candidates."""

__all__ = [
    "bertscore",
    "comprehensive",
    "critic",
    "cross_entropy",
    "diversity",
    "dual",
    "edit_ratio",
    "filter_bitext",
    "fluency",
    "guards",
    "judge",
    "judgment",
    "judgment_features",
    "names",
    "negation",
    "overlap",
    "semantic",
    "word_changes",
]
