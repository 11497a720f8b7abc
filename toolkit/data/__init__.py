"""The row, the shards of a run, the bar of progress, and the database for what has to see a whole corpus."""

__all__ = ["database", "progress", "rows", "shards"]
