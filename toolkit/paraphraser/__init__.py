"""`toolkit.Paraphraser`: texts in, paraphrases out."""

__all__ = [
    "baselines",
    "card",
    "document",
    "english",
    "evaluation",
    "form",
    "judged",
    "names",
    "paraphraser",
    "pipeline",
    "protect",
    "settings",
    "syntax",
]
