import math
import random

import pytest
import sacrebleu

from toolkit.data.rows import Candidate, Row
from toolkit.evaluate.corpus import (
    BATCH_PAIRS,
    BLEU_SIGNATURE,
    Comparison,
    _length_ratio,
    one_minus_bleu,
    rank_table,
)
from toolkit.evaluate.trees import Parses, _read_tree
from toolkit.score.overlap import intersection_over_union, intersection_over_union_signature, without_punctuation

WORDS = ["the", "a", "dog", "cat", "runs", "sleeps", "in", "on", "house", "garden"]


def sentences(seed: int, n: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choice(WORDS) for _ in range(chance.randint(4, 12))) for _ in range(n)]


def test_one_minus_bleu_is_the_geometric_mean_of_sacrebleus_precisions():
    references = sentences(1, 50)
    paraphrases = [line.replace("dog", "cat").replace("in", "on") for line in references]
    precisions = sacrebleu.corpus_bleu(paraphrases, [references], tokenize="none", smooth_method="none").precisions
    expected = 100 - math.exp(sum(map(math.log, precisions)) / 4)
    assert one_minus_bleu(references, paraphrases) == pytest.approx(expected, abs=1e-9)
    assert 0 < expected < 100


def test_one_minus_bleu_by_hand():
    # a b c d e f against a b c d x: precisions 4/5, 3/4, 2/3, 1/2; the paraphrase is shorter and is not punished
    expected = 100 * (1 - (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert one_minus_bleu(["A b, c d e f."], ["a b c d x!"]) == pytest.approx(expected)


def test_one_minus_bleu_at_its_ends():
    assert one_minus_bleu(["“The dog’s in the house.”"], ["the dogs in the house"]) == pytest.approx(0)
    assert one_minus_bleu(["The dog sleeps."], ["A cat runs."]) == 100


def test_comparison_in_chunks_is_the_comparison_of_all():
    references, paraphrases = sentences(3, BATCH_PAIRS + 50), sentences(4, BATCH_PAIRS + 50)
    bleu = sacrebleu.corpus_bleu(paraphrases, [references], tokenize="none", smooth_method="none")
    expected = 100 - bleu.score / bleu.bp
    comparison = Comparison()
    for reference, paraphrase in zip(references, paraphrases, strict=True):
        comparison.add(reference, paraphrase)
    measures = comparison.measures()
    assert measures["one_minus_bleu"] == pytest.approx(expected)
    assert measures["length_ratio"] == pytest.approx(_length_ratio(references, paraphrases))
    assert comparison.measures() == measures and not comparison.buffer


@pytest.mark.parametrize("references, paraphrases", [([], []), (["a"], []), (["a"], ["b", "c"])])
def test_lists_that_are_no_pairs_are_refused(references, paraphrases):
    with pytest.raises(ValueError, match="wanted as many paraphrases as references"):
        one_minus_bleu(references, paraphrases)
    with pytest.raises(ValueError, match="wanted as many paraphrases as references"):
        _length_ratio(references, paraphrases)


def test_references_without_words_are_refused():
    with pytest.raises(ValueError, match="got punctuation only"):
        _length_ratio(["?!"], ["What?"])


def test_intersection_over_union_strips_case_punctuation_and_the_space_symbol():
    def pieces(text: str) -> list[str]:
        return {"one": ["▁We", "▁go", "ing", "."], "other": ["▁we", "▁", "go", "▁home", "!"]}[text]

    assert intersection_over_union("one", "other", pieces) == 0.5  # we, go of we, go, ing, home
    assert intersection_over_union("?", "!") == 1
    assert intersection_over_union("a", "b") == 0


def test_signatures_name_what_changes_the_number():
    assert "bp:no" in BLEU_SIGNATURE and sacrebleu.__version__ in BLEU_SIGNATURE
    assert intersection_over_union_signature() != intersection_over_union_signature(str.split)


def test_bare_keeps_letters_of_other_scripts():
    assert without_punctuation("¿Qué?  «Да» 你好。") == "qué да 你好"


def row(reference: str, texts: list[str]) -> Row:
    candidates = [Candidate(text, "sample", rank=rank) for rank, text in enumerate(texts)]
    return Row("demo-0", "demo", None, None, reference, "en", "train", candidates=candidates[::-1])


def test_rank_table_fills_empty_ranks_with_the_last_paraphrase():
    table = rank_table([row("a b c d e", ["a b c d x", "a b y z w v"]), row("left out", [])])
    assert table["references"] == 1
    by_rank = {line["rank"]: line["one_minus_bleu"] for line in table["by_rank"]}
    assert by_rank[1] == pytest.approx(one_minus_bleu(["a b c d e"], ["a b c d x"]))
    assert by_rank[2] == by_rank[3] == by_rank[4] == by_rank[5] == 100
    between = {tuple(line["ranks"]): line for line in table["between_ranks"]}
    assert between[3, 5]["one_minus_bleu"] == pytest.approx(0)
    assert between[3, 5]["intersection_over_union"] == 100
    assert between[1, 3]["length_ratio"] == pytest.approx(6 / 5)


def test_rank_table_of_nothing_is_refused():
    with pytest.raises(ValueError, match="wanted rows with paraphrases"):
        rank_table([row("alone", [])])


TREES = {
    "we go": "(S (NP we) (VP go))",
    "let us go": "(S (VP let (S (NP us) (VP go))))",
    "going": "(FRAG (VP going))",
    "hm": None,
}
PARSES = Parses("by hand", {text: tree and _read_tree(tree) for text, tree in TREES.items()})


def test_tree_edit_distance_of_ranks_by_hand():
    table = rank_table([row("we go", ["let us go", "going"]), row("we go", ["hm"])], parses=PARSES)
    by_rank = {line["rank"]: line for line in table["by_rank"]}
    # (S (NP) (VP)) to (S (VP (S))), the fourth level cut: one deleted, one inserted; to (FRAG (VP)): deleted, renamed
    assert by_rank[1]["tree_edit_distance"] == 2 and by_rank[1]["tree_pairs"] == 1
    assert by_rank[2]["tree_edit_distance"] == 2 == by_rank[5]["tree_edit_distance"]
    between = {tuple(line["ranks"]): line for line in table["between_ranks"]}
    assert between[1, 3]["tree_edit_distance"] == 2  # (S (VP (S))) to (FRAG (VP)): renamed, deleted
    assert between[3, 5]["tree_edit_distance"] == 0 and between[3, 5]["tree_pairs"] == 1
    assert "parser:by hand" in table["signatures"]["tree_edit_distance"]


def test_without_trees_there_is_no_tree_edit_distance():
    rows = [row("we go", ["hm"])]
    assert "tree_edit_distance" not in rank_table(rows)["signatures"]
    assert not {"tree_edit_distance", "tree_pairs"} & set(rank_table(rows)["by_rank"][0])
    assert rank_table(rows, parses=PARSES)["by_rank"][0].keys() >= {"tree_pairs"}
    assert "tree_edit_distance" not in rank_table(rows, parses=PARSES)["by_rank"][0]
    with pytest.raises(ValueError, match="wanted a text that was parsed, got 'never seen'"):
        rank_table([row("never seen", ["hm"])], parses=PARSES)
