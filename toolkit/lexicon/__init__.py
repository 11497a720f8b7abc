"""Words that paraphrase each other, counted in a parabank."""

__all__ = ["pmi"]
