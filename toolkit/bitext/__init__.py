"""Parallel and running text: readers, normalization, languages, words, sentences, subwords."""

__all__ = [
    "books",
    "csv_data_sets",
    "csv_records",
    "hub_subwords",
    "idf",
    "languages",
    "normalize",
    "opus",
    "passages",
    "read",
    "split",
    "subwords",
    "text_file",
    "words",
]
