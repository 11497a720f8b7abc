"""What every room uses of the machine: URLs, whole files, locks, processes, memory, errors, settings."""

__all__ = [
    "cache",
    "code_version",
    "command",
    "contents",
    "errors",
    "extras",
    "lock",
    "memory",
    "outputs",
    "processes",
    "ranges",
    "settings",
    "signals",
    "urls",
    "whole_files",
]
