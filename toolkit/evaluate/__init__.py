"""Measures, each with a signature: of corpora, encoders, paraphrasers and translations."""

__all__ = [
    "corpus",
    "embeddings",
    "ibleu",
    "judged",
    "judgment_fit",
    "lengths",
    "paraphraser",
    "parsers",
    "profile",
    "report",
    "simlex",
    "sts",
    "suite",
    "tables",
    "transfer",
    "translation",
    "trees",
]
