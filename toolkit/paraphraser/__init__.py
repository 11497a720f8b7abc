"""`toolkit.Paraphraser`: texts in, paraphrases out."""

__all__ = [
    "baselines",
    "card",
    "english",
    "evaluation",
    "form",
    "judged",
    "names",
    "paraphraser",
    "pipeline",
    "settings",
    "syntax",
]
