"""The papers' sentence encoders: averages of embeddings of words and character trigrams, and an LSTM."""

__all__ = ["load", "modules", "network", "settings", "tokens", "vocabulary", "word_vectors"]
