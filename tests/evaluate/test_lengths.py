import pytest

from toolkit.data.rows import Candidate, Row
from toolkit.evaluate.corpus import one_minus_bleu
from toolkit.evaluate.lengths import BY_LENGTH_SIGNATURE, PAPER_BY_LENGTH, by_length, length_class


def row(reference: str, texts: list[str]) -> Row:
    candidates = [Candidate(text, "sample", rank=rank) for rank, text in enumerate(texts)]
    return Row("demo-0", "demo", None, None, reference, "en", "train", candidates=candidates)


def words(n: int) -> str:
    return " ".join(f"w{i}" for i in range(n))


@pytest.mark.parametrize(
    "n, length", [(2, None), (3, 5), (7, 5), (8, 10), (14, 10), (15, 20), (29, 20), (30, 40), (200, 40)]
)
def test_classes_at_their_edges(n, length):
    assert length_class(words(n) + " ?!") == length


def test_bleu_of_each_length_is_of_the_best_paraphrase():
    five, twenty = words(5), words(20)
    rows = [row(five, [five, "other"]), row(five, ["w0 w1 w2 w3 x"]), row(twenty, ["nothing in common at all"])]
    rows += [row("Go!", ["Leave!"]), row(words(10), [])]
    table = by_length(rows)
    lines = {line["length"]: line for line in table["lengths"]}
    assert [lines[n]["references"] for n in (5, 10, 20, 40)] == [2, 0, 1, 0]
    assert lines[5]["bleu"] == pytest.approx(100 - one_minus_bleu([five, five], [five, "w0 w1 w2 w3 x"]))
    assert lines[5]["bleu"] > 50 and lines[20]["bleu"] == 0
    assert "bleu" not in lines[10] and "average" not in table and table["shorter"] == 1


def test_average_over_the_four_lengths():
    texts = [words(n) for n in (5, 10, 20, 40)]
    table = by_length([row(text, [text]) for text in texts[:3]] + [row(texts[3], ["x"])])
    assert table["average"] == pytest.approx(75)
    assert table["signature"] == BY_LENGTH_SIGNATURE and "3+,8+,15+,30+" in BY_LENGTH_SIGNATURE


def test_the_papers_averages():
    means = {name: sum(line.values()) / 4 for name, line in PAPER_BY_LENGTH.items()}  # "Avg." of table 4
    assert means == pytest.approx({"ParaNMT": 27.48, "ParaBank 17": 26.88, "ParaBank 34": 30.47}, abs=0.006)


def test_nothing_is_refused():
    with pytest.raises(ValueError, match="wanted rows with paraphrases, got none"):
        by_length([row(words(5), [])])
