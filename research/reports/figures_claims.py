"""The claims of the five papers, each with what was found here and the results that say so."""

from __future__ import annotations

from dataclasses import dataclass

from research.reports.figures import ROOT, table

FOUND, PART, NOT_FOUND, UNDECIDED, UNTESTED = "yes", "in part", "no", "undecided", "not tested"
VERDICTS = (FOUND, PART, NOT_FOUND, UNDECIDED, UNTESTED)
EXPERIMENTS = ROOT / "research" / "experiments" / "results"


@dataclass(frozen=True)
class _Claim:
    """A claim of a paper.

    Attributes:
        place: Section, table or figure of the paper.
        says: What the paper claims.
        verdict: Of `VERDICTS`: whether it was found here.
        because: What was found, or why not.
        results: Names of the results that say so, in `EXPERIMENTS`.
    """

    place: str
    says: str
    verdict: str
    because: str
    results: tuple[str, ...] = ()


CLAIMS: dict[str, tuple[_Claim, ...]] = {
    "ParaNMT-50M": (
        _Claim("tables 8, 9", "encoders trained on it beat every system of the STS competitions", NOT_FOUND,
               "they are below in all years: fewer pairs, and words begin with random vectors", ("sts_models",)),
        _Claim("table 4", "the corpus with short, well translated sentences is the best source", NOT_FOUND,
               "news and captions are better sources than Tatoeba", ("paranmt_tables",)),
        _Claim("table 5", "the paraphrase score is the best filter", PART,
               "its upper deciles are better, and the lowest of the other two measures are better still",
               ("paranmt_tables",)),
        _Claim("table 6", "larger mega-batches help all models", PART,
               "WORD gains over the years, TRIGRAM and LSTM on the benchmark, none of them on human pairs",
               ("sts_mega_batch", "encoder_combinations")),
        _Claim("table 8", "WORD and TRIGRAM concatenated are the best", NOT_FOUND,
               "TRIGRAM alone is, whether words begin with random vectors or with word2vec's",
               ("sts_models", "encoder_combinations")),
        _Claim("5.4", "twice as many pairs bring half a point", FOUND,
               "one point or more on average, up to 160,000 human pairs", ("encoder_pairs",)),
        _Claim("table 3", "the paraphrase score says how good a pair is", PART,
               "the cosine agrees moderately with people's scores of ParaBank's texts", ("guards",)),
        _Claim("table 13", "adjusted PMI finds better synonyms than cross-sentence PMI", FOUND,
               "on people's pairs", ("lexicon",)),
        _Claim("table 13", "the lexicon is as good as PPDB", UNTESTED, "PPDB's scores were not at hand"),
        _Claim("6, table 11", "a paraphraser of templates obeys them and makes wording usual", PART,
               "it obeys where the training pairs differ in form", ("syntax_table", "correction_examples")),
    ),
    "ParaBank": (
        _Claim("5.3, 5.5", "nearer in meaning than ParaNMT, and more fluent", FOUND,
               "by the released judgments of the authors' texts", ("judged",)),
        _Claim("5.4", "for every length a system is more diverse than ParaNMT", FOUND, "on the authors' texts",
               ("released",)),
        _Claim("table 4", "system 21 is the most diverse and the least similar", FOUND, "also of our systems",
               ("parabank_tables",)),
        _Claim("table 4", "system 17 is more diverse than 34", NOT_FOUND,
               "the starter begins half of its translations as the reference does: forbidding that changes more",
               ("parabank_tables",)),
        _Claim("5.1", "human judgments can be predicted", PART,
               "as well as in the paper in cross-validation, less well on held-out references", ("judgment",)),
        _Claim("5.4", "BLEU without brevity penalty orders systems as unigram precision does", FOUND,
               "the paper's correlation, on the authors' texts", ("released",)),
        _Claim("6, table 6", "a rewriter is nearer in meaning and less diverse than the translator", PART,
               "under all five systems, by predicted judgments", ("rewriter_table",)),
        _Claim("4", "it works for a second corpus", PART,
               "system 21 is again the most diverse and the least near; the others are not compared on the same "
               "references",
               ("parabank_tables_french",)),
    ),
    "ParaBank 2": (
        _Claim("table 1", "more diverse than ParaNMT and ParaBank", FOUND, "", ("parabank_tables",)),
        _Claim("table 2", "its paraphrases of a reference differ from each other", FOUND, "", ("parabank_tables",)),
        _Claim("table 1", "the meaning is kept as well as by ParaNMT", NOT_FOUND,
               "by a cosine, beam search is nearer on the same references at every rate and limit", ("quality_grid",)),
        _Claim("table 1", "the syntax is more diverse", PART,
               "than ParaNMT's and than system 17's, not than system 34's", ("parabank_tables",)),
        _Claim("table 1", "from rank to rank the quality falls and the diversity rises", FOUND, "",
               ("quality_paper_settings",)),
        _Claim("table 3", "it trains better encoders than both", PART, "over the years all ranks, on the benchmark one",
               ("sts_corpora",)),
        _Claim("table 3", "pairs of two paraphrases train worse encoders", FOUND, "", ("sts_corpora",)),
        _Claim("tables 4, 5", "identification helps other tasks of pairs of sentences", PART,
               "MRPC gains with a thousand of its rows and with all; others were not measured",
               ("identification_few", "identification", "identification_seeds")),
    ),
    "ParaMac": (
        _Claim("table 1", "the best unsupervised paraphraser of Quora and MSCOCO", NOT_FOUND,
               "a model a fortieth as large is far below the paper", ("paraphraser_table",)),
        _Claim("table 4", "few pairs of a domain are enough, and more are better", PART, "more are better",
               ("paraphraser_table",)),
        _Claim("table 4", "better than plain fine-tuning where few pairs of KQA Pro are at hand", NOT_FOUND,
               "by iBLEU they do not differ beyond chance; most outputs lose a number or a name and do not count",
               ("paraphraser_table",)),
        _Claim("table 5", "augmentation of few rows gains two points", NOT_FOUND,
               "no paraphraser of ours gains, and on frozen embeddings not even people's paraphrases do",
               ("augmentation_table", "augmentation_words", "augmentation_people")),
        _Claim("table 5", "and its spread is smaller", NOT_FOUND, "on most tasks it is larger",
               ("augmentation_table",)),
        _Claim("table 6", "more pairs of ParaNet help", NOT_FOUND,
               "from a thousand to forty thousand pairs; the model learns to repeat clauses",
               ("paraphraser_table", "paraphraser_sizes")),
        _Claim("table 7; 5.2.2", "five epochs are the best, and more paraphrases of a row are worse", PART,
               "more than five are worse, but fewer are better; more paraphrases are worse with 64 rows of a class",
               ("paraphraser_table", "augmentation_copies")),
    ),
    "ParaZh-22M": (
        _Claim("tables 4, 5", "nine of ten pairs are consistent, fluent and diverse", UNTESTED,
               "nobody has judged ours"),
        _Claim("tables 6 to 8", "tasks of CLUE gain", UNTESTED,
               "the paraphraser of subtitles has a paraphrase for too few rows", ("chinese_augmentation",)),
        _Claim("table 9", "translators of few pairs gain", NOT_FOUND,
               "the interval of one copy, three seeds, excludes both gains; with a floor it holds +0.60",
               ("low_resource_translation",)),
        _Claim("table 2", "back-translation improves both directions", UNDECIDED,
               "one direction was measured, with two seeds, which do not tell its gain from chance",
               ("backtranslation_table",)),
        _Claim("2.4", "sampling and constraints cost five points of BLEU against beam search", PART,
               "they cost twice as much and more with small translators", ("decoding_bleu",)),
    ),
}  # fmt: skip


def claims() -> str:
    """Every claim with its verdict and the results that say so."""
    lines, number = [], 0
    for paper, paper_claims in CLAIMS.items():
        for claim in paper_claims:
            number += 1
            files = ", ".join(f"`{name}`" for name in claim.results)
            verdict = f"**{claim.verdict}**"
            lines.append([str(number), f"{paper}, {claim.place}", claim.says, verdict, claim.because, files])
    return table(["", "where", "the paper claims", "found here", "what was found, or why not", "results"], lines)


def claims_counted() -> str:
    """How many claims have each verdict."""
    verdicts = [claim.verdict for paper_claims in CLAIMS.values() for claim in paper_claims]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS]
    return f"{len(verdicts)} claims: {', '.join(counts)}"


MADE = (claims, claims_counted)
