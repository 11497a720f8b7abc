"""What a reader calls a score of a pair, what it is, and which side is better."""

from __future__ import annotations

MEANINGS = {
    "usable": (
        "Probability of being usable",
        "How probably a reader would call the paraphrase usable, as a judge of its other scores predicts, from 0 to 1. "
        "The paraphrases are ranked by it. Higher is better.",
    ),
    "dual": (
        "Dual score",
        "How probable the paraphrase is given the source, and the source given the paraphrase: both log-likelihoods "
        "per token, added. It is at most 0, and higher is better.",
    ),
    "dual_per_token": (
        "Dual sum per token",
        "Both of these log-likelihoods, summed over all tokens and divided by the tokens of the paraphrase. It is at "
        "most 0, and higher is better.",
    ),
    "judgment": (
        "Predicted judgment",
        "How similar people would find both meanings, from 0 to 100, as a regression predicts. Higher is better.",
    ),
    "semantic": (
        "Semantic score",
        "How near both meanings are, by sentence vectors or BERTScore: 1 is the same. Higher is nearer, and a copy has "
        "1, too.",
    ),
    "translation_score": (
        "Translation score",
        "How probable the paraphrase is as a translation of the source: the log-likelihood per token. It is at most "
        "0, and higher is better.",
    ),
    "trigram_overlap": (
        "Shared word trigrams",
        "The share of sequences of three words that both sentences have. Lower is worded more freely.",
    ),
    "diversity": (
        "Diversity",
        "How differently both sentences are worded and ordered, from 0 to 1. Higher is worded more freely.",
    ),
    "fluency": (
        "Fluency",
        "How natural a language model finds the paraphrase: the log-likelihood per token. It is at most 0, and higher "
        "is better.",
    ),
    "given_reference": (
        "After the reference, less a repetition",
        "How much more a language model expects the paraphrase after the reference than the reference once more, per "
        "token. Higher is better; at 0 it is as expected as a repetition, below 0 less.",
    ),
    "after_reference": (
        "After the reference",
        "How much a language model that has read the reference expects the paraphrase: the log-likelihood per token. "
        "It is at most 0, and higher is better.",
    ),
    "relative_fluency": (
        "Fluency less that of the reference",
        "By how much a language model finds the paraphrase more natural than the reference, per token. Higher is "
        "better; below 0 the reference is the more natural one.",
    ),
    "entailment": (
        "Entailment",
        "How probably each sentence follows from the other, by a model of entailment: the lesser of both directions, "
        "from 0 to 1. Higher is better.",
    ),
    "parapluie": (
        "ParaPLUIE",
        "By how much a language model rather says that both are paraphrases than that they are not, in nats. Higher "
        "is better; above 0 it says Yes.",
    ),
    "rubric": (
        "Grade",
        "The grade that a language model gives the paraphrase for its meaning, from 1 to 5. Higher is better.",
    ),
    "edit_ratio": (
        "Edit ratio",
        "The characters to change, over those of the reference. Higher is worded more freely.",
    ),
    "intersection_over_union": (
        "Shared pieces of words",
        "The pieces of words that both sentences have, over all their pieces. Lower is worded more freely.",
    ),
}
INFILLED = (  # the translation score where the infiller of a text made the paraphrases
    "Likelihood of the infilling",
    "How probable the infilled words are: the log-likelihood per token. It is at most 0, and higher is better.",
)
