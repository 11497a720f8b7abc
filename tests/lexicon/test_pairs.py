"""What keeps a pair out of a lexicon."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolkit.data.database import database
from toolkit.lexicon._pairs import fill_tokens


def read(path):
    with database() as connection:
        counts = fill_tokens(connection, path)
        columns = "list_sort(reference_words), list_sort(paraphrase_words)"
        query = f"SELECT {columns} FROM tokens WHERE reason IS NULL ORDER BY 1, 2"
        return counts, connection.execute(query).fetchall()


def sentence(tokens: int) -> str:
    return " ".join("word" for _ in range(tokens - 1)) + "."


CASES = [
    ("a1", "b1", 0.35),
    ("a2", "b2", 0.3499),
    ("a3", "b3", -0.2),
    ("a4", "b4", None),
    (sentence(30), "b5", 0.9),
    (sentence(31), "b6", 0.9),
    ("a7", sentence(31), None),
    (sentence(31), "b8", 0.1),
    ("?!", "b9", 0.9),
]
KEPT = [(["a1"], ["b1"]), (["a4"], ["b4"]), (["word"], ["b5"])]
COUNTED = {"pairs": 9, "kept": 3, "refused": {"empty": 1, "score": 3, "too_long": 2}, "unscored": 1}


def test_thresholds_in_a_table(tmp_path):
    """A score of 0.35 and a side of 30 tokens stay; a full stop is a token of the limit and no word of the lexicon."""
    lines = ["\t".join([left, right] + ([] if score is None else [str(score)])) for left, right, score in CASES]
    (tmp_path / "p.tsv").write_text("\n\n".join(lines) + "\n")
    assert read(tmp_path / "p.tsv") == (COUNTED, KEPT)


@pytest.mark.parametrize("number", [pa.float64(), pa.float32()])
def test_thresholds_in_parquet(tmp_path, number):
    references, paraphrases, scores = map(list, zip(*CASES, strict=True))
    pq.write_table(
        pa.table({"sentence1": references, "sentence2": paraphrases, "semantic": pa.array(scores, number)}),
        tmp_path / "p.parquet",
    )
    assert read(tmp_path / "p.parquet") == (COUNTED, KEPT)


def test_parquet_without_scores_or_texts(tmp_path):
    columns = {"sentence1": ["a", None], "sentence2": ["b", "c"]}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    counts = {"pairs": 2, "kept": 1, "refused": {"empty": 1}, "unscored": 1}
    assert read(tmp_path / "p.parquet") == (counts, [(["a"], ["b"])])


def test_tokens_are_lower_cased_words(tmp_path):
    text = "Don't SHOUT, Ärger — don't well-known 3rd!\t“Go”\r\n"
    with gzip.open(tmp_path / "p.tsv.gz", "wb") as file:
        file.write(text.encode())
    assert read(tmp_path / "p.tsv.gz")[1] == [(["3rd", "don't", "shout", "well-known", "ärger"], ["go"])]


def test_odd_texts_are_words_or_nothing(tmp_path):
    (tmp_path / "p.tsv").write_bytes('"quoted\tit\'s "so"\n😀\tsmile\nשלום\tpeace \x00 x\n'.encode())
    counts, rows = read(tmp_path / "p.tsv")
    assert counts["refused"] == {"empty": 1}
    assert sorted(rows) == [(["quoted"], ["it's", "so"]), (["שלום"], ["peace", "x"])]


@pytest.mark.parametrize("content", ["", "\n\n", "a\tb\t0.2\n"])
def test_refuses_a_parabank_of_which_nothing_is_left(tmp_path, content):
    (tmp_path / "p.tsv").write_text(content)
    with pytest.raises(
        ValueError, match=r"^wanted pairs with a score of at least 0.35 .*, got none in .*: give another"
    ):
        read(tmp_path / "p.tsv")
