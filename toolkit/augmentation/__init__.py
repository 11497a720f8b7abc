"""Training sets with paraphrases of their rows: `toolkit.augment`, its file form, and adapters for other libraries."""

__all__ = [
    "adapters",
    "allot",
    "augment",
    "containers",
    "data_files",
    "file_settings",
    "label_check",
    "parts",
    "preview",
    "settings",
    "sources",
    "summary",
]
