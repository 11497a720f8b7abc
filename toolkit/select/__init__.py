"""Which candidates become paraphrases: by row, and over the whole corpus."""

__all__ = ["best", "cluster", "corpus", "deciles", "equal", "filter", "pairs", "rank", "where"]
