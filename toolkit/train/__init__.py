"""The trainings: one module for each kind of model, and what they share."""

__all__ = [
    "adam",
    "encoder",
    "encoder_pairs",
    "hard_negatives",
    "hard_negatives_settings",
    "infiller",
    "infiller_settings",
    "optimizer",
    "pair_classifier",
    "paraphraser",
    "paraphraser_pairs",
    "static_encoder",
    "transformer_encoder",
    "translator",
    "translator_loss",
]
