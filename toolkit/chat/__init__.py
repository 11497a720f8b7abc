"""Language models on servers that speak OpenAI's chat API: asked at a bearable pace, at a known cost, and once."""

__all__ = ["client", "requests", "settings"]
