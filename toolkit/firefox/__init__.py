"""Translators of Firefox: the published list, and the cache of what was fetched."""

__all__ = ["fetch", "folder", "published"]
