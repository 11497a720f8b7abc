"""Shards as a data set: Parquet files, statistics, card and report, and how they are read again."""

__all__ = [
    "build",
    "card",
    "checksums",
    "counts",
    "folder",
    "keep",
    "load",
    "pair_columns",
    "parquet",
    "plots",
    "read",
    "reasons",
    "report",
    "samples",
    "statistics",
    "templates",
]
