"""Every default and constant that the papers print, beside the place where they print it.

The numbers were read in the papers, not in the code. What the papers leave open is not here: the code says `# ours`.
"""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from builders.parabank import ParaBank
from builders.parabank2 import ParaBank2, ParaBank2Run
from builders.paranet import ParaNet, ParaNetRun
from builders.paranmt import ParaNMT, ParaNMTRun
from builders.parazh import ParaZh
from toolkit import paraphraser
from toolkit.bitext import passages
from toolkit.bitext.subwords import CHARACTER_COVERAGE, VOCABULARY
from toolkit.clean.rules import CleanSettings
from toolkit.encoder.settings import MARGIN, Architecture, EncoderTraining
from toolkit.evaluate import corpus, lengths, profile, simlex, trees
from toolkit.generate.ppdb import RELATIONS
from toolkit.generate.recipes import MAX_IDF, MIN_IDF, PREPOSITIONS
from toolkit.generate.systems import EVALUATED, RECIPES, parse_systems
from toolkit.lexicon import _pairs as pairs
from toolkit.lexicon import pmi
from toolkit.package import samples
from toolkit.package.statistics import PAPER_RANGES, RANGES
from toolkit.score import comprehensive, judgment, overlap
from toolkit.select import best
from toolkit.select.cluster import _assign
from toolkit.select.deciles import DECILES, MEASURES, DecileSettings
from toolkit.translator.settings import SIZES, Size

PARANMT, PARABANK, PARABANK2, PARANET, PARAZH = "ParaNMT-50M", "ParaBank", "ParaBank 2", "ParaNet", "ParaZh-22M"
PRESETS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (Path(paraphraser.__file__).parent / "presets").glob("*.yaml")
}
FIRST_TOKENS = "about as at by for from in into of on onto over to with"
ENCODER, DECILES_SETTINGS = EncoderTraining(pairs=[], output_dir=""), DecileSettings()
NMT_RUN = ParaNMTRun(bitext=["b"], source_lang="cs", lang="en", output_dir="o", forward="f")
RUN2 = ParaBank2Run(bitext=["b"], source_lang="cs", lang="en", output_dir="o", forward="f", backward="b")

NET_RUN = ParaNetRun(text=["t"], lang="en", output_dir="o")

# what, the code's, the paper's, where it is printed
PRINTED = [
    ("characters of a sentence", (NET_RUN.min_chars, NET_RUN.max_chars), (60, 100), PARANET, "4"),
    ("characters of the context", NET_RUN.context, 250, PARANET, '4: "an average length of 250 characters"'),
    ("the same of a reader", passages.CONTEXT, 250, PARANET, "4"),
    ("share of the keywords that is dropped", ParaNet().drop_rate, 0.15, PARANET, "A: round(|k| * 0.15)"),
    ("permutations", ParaNet().permutations, 15, PARANET, 'A: "a maximum of 15"'),
    ("weights of the scores", tuple(ParaNet().weights), (4.0, 8.0, 1.2), PARANET, "A: lambda 1 to 3"),
    ("examples that fit the weights", comprehensive.FITTED_ON, 500, PARANET, 'A: "we take 500 examples"'),
    ("the infiller", NET_RUN.infiller, "google-t5/t5-large", PARANET, "3.2: T5-large"),
    ("the model of the fluency", NET_RUN.fluency_model, "openai-community/gpt2", PARANET, "A: GPT-2"),
    ("beam", ParaZh().beam, 15, PARAZH, '2.4: "a beam size of 15"'),
    ("edit-distance ratio", ParaZh().min_edit_ratio, 0.12, PARAZH, '2.4: "a minimum edit-distance ratio of 12%"'),
    (
        "the translators", SIZES["parazh"],
        Size(32_000, False, width=1024, encoder_layers=12, decoder_layers=6, heads=16, feed_forward=4096),
        PARAZH, "2.2: 32k merges; 2.3",
    ),
    (
        "the paraphraser", SIZES["parazh-paraphraser"],  # joint: the same vocabulary and embeddings for both sides
        Size(32_000, True, width=512, encoder_layers=6, decoder_layers=6, heads=8, feed_forward=2048),
        PARAZH, "4.1",
    ),
    ("the size of the paraphraser's preset", PRESETS["parazh"]["size"], "parazh-paraphraser", PARAZH, "4.1"),
    ("steps of the paraphraser", PRESETS["parazh"]["max_steps"], 100_000, PARAZH, "4.1"),
    ("averaged checkpoints", (PRESETS["parazh"]["average"], PRESETS["parazh"]["save_every"]), (5, 1500), PARAZH, "4.1"),
    (
        "a rewriter of one language has one vocabulary", SIZES[PRESETS["parabank"]["size"]].joint, True, PARABANK,
        "6: English to English",
    ),
    ("pairs for a clean line", best.PAPER_SHARE, 22 / 26.4, PARAZH, "2.2: 26.4M; 2.4: ~22M"),
    ("beam", ParaNMT().beam, 12, PARANMT, '3.1: "a beam size of 12"'),
    ("beam of a run", NMT_RUN.beam, 12, PARANMT, '3.1: "a beam size of 12"'),
    ("levels of a parse", profile.PARSE_LEVELS, 2, PARANMT, "3.1, footnote 2: the top two levels"),
    (
        "ranges of the paraphrase score", RANGES,
        ((-0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0)), PARANMT, "table 3",
    ),
    ("millions of pairs in each", [m for m, *_ in PAPER_RANGES], [4.0, 3.8, 6.9, 14.4, 18.0], PARANMT, "table 3"),
    ("trigram overlap in each", [m for _, m, _ in PAPER_RANGES], [0.00, 0.02, 0.07, 0.17, 0.35], PARANMT, "table 3"),
    ("its deviation", [sd for *_, sd in PAPER_RANGES], [0.0, 0.1, 0.1, 0.2, 0.2], PARANMT, "table 3"),
    ("loss", ENCODER.loss, "margin", PARANMT, "4: a margin-based loss"),
    ("states of an LSTM", ENCODER.pooling, "average", PARANMT, "4: we average the hidden states"),
    ("the same of a module", Architecture().pooling, "average", PARANMT, "4: we average the hidden states"),
    ("mini-batch", ENCODER.batch, 100, PARANMT, "5.2"),
    ("margin", ENCODER.margin, 0.4, PARANMT, "5.2"),
    ("margin of the loss", MARGIN, 0.4, PARANMT, "5.2"),
    ("epochs", ENCODER.epochs, 5, PARANMT, "5.2"),
    ("Adam's rate", ENCODER.learning_rate, 0.001, PARANMT, "5.2"),
    ("scrambling", ENCODER.scramble, 0.3, PARANMT, "5.2"),
    ("filters", set(MEASURES), {"trigram_overlap", "translation_score", "semantic"}, PARANMT, "5.4"),
    ("folds of a corpus", DECILES, 10, PARANMT, '5.4: "split the data into tenths"'),
    ("folds that are chosen", DECILES_SETTINGS.deciles, "9,10", PARANMT, '5.4: "the top two scoring folds"'),
    ("pairs that are drawn", DECILES_SETTINGS.sample, 5_000_000, PARANMT, '5.4: "5M examples"'),
    ("tokens of a chosen pair", DECILES_SETTINGS.max_tokens, 30, PARANMT, "5.4"),
    ("tokens of a pair in training", ENCODER.max_tokens, 30, PARANMT, "5.4"),
    ("n-grams of the overlap", overlap.ORDER, 3, PARANMT, "5.4, footnote 6"),
    ("mini-batches of a mega-batch", ENCODER.mega_batch, 40, PARANMT, "5.5, table 6"),
    ("dimensions", ENCODER.dimensions, 300, PARANMT, "5.6, table 8"),
    ("the same of a module", Architecture().dimensions, 300, PARANMT, "5.6, table 8"),
    ("paraphrase score of a lexicon's pair", pairs.MIN_SCORE, 0.35, PARANMT, "A.1"),
    ("times that words meet", pmi.MIN_COUNT, 10, PARANMT, "A.1: at least 10 times"),
    ("similarity of unseen words", simlex.UNSEEN, 0, PARANMT, "A.1"),
    ("IDF", (MIN_IDF, MAX_IDF), (7.0, 17.0), PARABANK, "3.2, IDF Criteria"),
    ("prepositions", PREPOSITIONS, set(FIRST_TOKENS.split()), PARABANK, "3.2, Prepositions"),
    ("PPDB", RELATIONS, ("Equivalence", "ForwardEntailment", "ReverseEntailment"), PARABANK, "3.2, PPDB Constraints"),
    ("systems", list(RECIPES), list(range(1, 38)), PARABANK, "3.2, table 3"),
    ("systems in bold", EVALUATED, (17, 21, 28, 31, 34), PARABANK, "table 3"),
    ("systems of Czech", parse_systems(ParaBank().systems), tuple(range(1, 35)), PARABANK, "5.3: 34, without PPDB"),
    ("words and marks of a scored reference", judgment.MAX_WORDS_AND_MARKS, 100, PARABANK, "5.1, there post-BPE"),
    ("score of a copy", judgment.COPY, 100, PARABANK, "5.3: a perfect score"),
    ("lengths", list(lengths.LENGTHS), [5, 10, 20, 40], PARABANK, "5.3"),
    ("deduplication", CleanSettings().deduplicate, True, PARABANK2, '3.1: "after deduplication"'),
    ("punctuation", CleanSettings().normalize_punctuation, True, PARABANK2, "3.1: we normalize Unicode punctuation"),
    (
        "the generation model", SIZES["parabank2-generation"],
        Size(20_000, False, width=768, encoder_layers=12, decoder_layers=12, heads=12, feed_forward=3072),
        PARABANK2, "3.2",
    ),
    (
        "the scoring model", SIZES["parabank2-scoring"],
        Size(20_000, False, width=512, encoder_layers=6, decoder_layers=6, heads=8, feed_forward=2048),
        PARABANK2, "3.2",
    ),
    ("vocabulary", VOCABULARY, 20_000, PARABANK2, "3.2"),
    ("character coverage", CHARACTER_COVERAGE, 0.9999, PARABANK2, "3.2"),
    ("constraint sets", ParaBank2().constraint_sets, 5, PARABANK2, "3.3"),
    ("samples of each", ParaBank2().samples_per_set, 30, PARABANK2, "3.3"),
    ("k", ParaBank2().top_k, 10, PARABANK2, "3.3"),
    ("greatest score", ParaBank2().max_dual_nll, 3.5, PARABANK2, "3.3"),
    ("free clusters", ParaBank2().clusters, 7, PARABANK2, "3.3: 8, one of them the reference's"),
    ("paraphrases", ParaBank2().paraphrases, 5, PARABANK2, "3.3"),
    (
        "all these of a run",
        (RUN2.constraint_sets, RUN2.samples_per_set, RUN2.top_k, RUN2.max_dual_nll, RUN2.clusters, RUN2.paraphrases),
        (5, 30, 10, 3.5, 7, 5), PARABANK2, "3.3",
    ),
    ("ranks", corpus.RANKS, 5, PARABANK2, "3.4: n = 5"),
    ("levels of a tree", trees.LEVELS, 3, PARABANK2, "3.6: the top 3 levels"),
    ("runs", samples.SEEDS, 2, PARABANK2, "3.6: two independent runs"),
    ("ranks compared", corpus.RANK_PAIRS, ((1, 3), (3, 5), (1, 5)), PARABANK2, "table 2"),
]  # fmt: skip

EACH, PAIRS, ALL, COUNTS = ((1,), (2,), (3,)), ((1, 2), (2, 3), (1, 3)), ((1, 2, 3),), ((1,), (1, 2), (1, 2, 3))
# ParaBank, table 3: numbers, sign, what orders the words, which of them, whether all lexical variants go with them
TABLE_3 = [
    ((1, 2, 3), "⊖", "idf_high", EACH, False),
    ((4, 5, 6), "⊖", "idf_high", PAIRS, False),
    ((7,), "⊖", "idf_high", ALL, False),
    ((8, 9, 10), "⊖", "idf_high", EACH, True),
    ((11, 12, 13), "⊖", "idf_high", PAIRS, True),
    ((14,), "⊖", "idf_high", ALL, True),
    ((15, 16, 17), "⊖", "idf_low", EACH, False),
    ((18, 19, 20), "⊖", "idf_low", PAIRS, False),
    ((21,), "⊖", "idf_low", ALL, False),
    ((22, 23, 24), "⊖", "random", COUNTS, False),
    ((25, 26, 27), "⊖", "random", COUNTS, True),
    ((28,), "", "none", ((),), False),
    ((29, 30, 31), "⊕", "verb_form", EACH, False),
    ((32, 33, 34), "⊖", "positional", COUNTS, False),
    ((35, 36, 37), "⊕⊖", "ppdb", ((), (), ()), False),
]


@pytest.mark.parametrize(
    ("code", "printed"),
    [line[1:3] for line in PRINTED],
    ids=[f"{paper} {place}, {setting}" for setting, _, _, paper, place in PRINTED],
)
def test_a_default_is_what_the_paper_prints(code, printed):
    assert code == printed


@pytest.mark.parametrize("line", TABLE_3, ids=lambda line: "-".join(map(str, line[0])))
def test_the_systems_are_those_of_table_3(line):
    numbers, sign, kind, ranks, variants = line
    recipes = [RECIPES[number] for number in numbers]
    assert [recipe.ranks for recipe in recipes] == list(ranks)
    assert {(recipe.sign, recipe.kind, recipe.variants) for recipe in recipes} == {(sign, kind, variants)}


def test_the_systems_are_as_many_as_section_3_2_says():
    """One baseline, three positional, 30 by IDF (or at random), three of PPDB."""
    kinds = Counter(recipe.kind for recipe in RECIPES.values())
    assert (kinds["none"], kinds["positional"], kinds["ppdb"]) == (1, 3, 3)
    assert sum(kinds.values()) - 7 == 30
    assert [RECIPES[number].relation for number in (35, 36, 37)] == list(RELATIONS)


def test_one_more_cluster_is_the_references():
    """ParaBank 2, section 3.3: eight clusters of many candidates, one of them centered on the reference."""
    keys = ["".join(chr(97 + i) * 8) for i in range(20)]
    clusters = set(_assign(keys, ParaBank2().clusters))
    assert clusters <= set(range(8)) and len(clusters - {0}) == 7
