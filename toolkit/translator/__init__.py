"""Translators, ready to decode: of Hugging Face, packed, in 8 bits, of Firefox."""

__all__ = ["firefox", "inference", "int8", "languages", "load", "packed", "settings"]
