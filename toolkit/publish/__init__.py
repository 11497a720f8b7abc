"""A model or a parabank as a version on the Hub."""

__all__ = ["encoder", "hub", "model", "parabank", "paraphraser", "translator"]
