"""Decoding with constraints: beam search, sampling and forced scores, for seq2seq and causal models.

`engine` is the protocol, `beam` and `sampling` are the searches, `constraint_set` says what an output must contain and
what it must not contain.
"""

__all__ = [
    "beam",
    "causal",
    "choose_engine",
    "constraint_set",
    "constraints",
    "draw",
    "engine",
    "forbidden",
    "hypotheses",
    "lexical",
    "likelihood",
    "recurrent",
    "sampling",
    "shared",
    "words",
]
