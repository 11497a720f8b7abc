"""What translators, encoders and classifiers need from a checkpoint."""

__all__ = [
    "batch_sizes",
    "checkpoint",
    "config",
    "coverage",
    "language_model",
    "marian_file",
    "marian_transformer",
    "marian_weights",
    "padding",
    "positions",
    "precision",
    "shortlist",
    "ssru",
    "token_trees",
    "trainer_arguments",
    "weights",
]
