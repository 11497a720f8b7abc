"""What is read of a parabank, and what keeps a pair out."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolkit.database import database
from toolkit.lexicon import pairs
from toolkit.lexicon.pairs import read_pairs


def read(path):
    with database() as connection:
        counted = read_pairs(connection, path)
        query = "SELECT list_sort(one), list_sort(other) FROM tokens WHERE reason IS NULL ORDER BY 1, 2"
        return counted, connection.execute(query).fetchall()


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
    lines = ["\t".join([one, other] + ([] if score is None else [str(score)])) for one, other, score in CASES]
    (tmp_path / "p.tsv").write_text("\n\n".join(lines) + "\n")
    assert read(tmp_path / "p.tsv") == (COUNTED, KEPT)


@pytest.mark.parametrize("number", [pa.float64(), pa.float32()])
def test_thresholds_in_parquet(tmp_path, number):
    one, other, score = map(list, zip(*CASES, strict=True))
    pq.write_table(
        pa.table({"sentence1": one, "sentence2": other, "semantic": pa.array(score, number)}), tmp_path / "p.parquet"
    )
    assert read(tmp_path / "p.parquet") == (COUNTED, KEPT)


def test_parquet_without_scores_or_texts(tmp_path):
    columns = {"sentence1": ["a", None], "sentence2": ["b", "c"]}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    counted = {"pairs": 2, "kept": 1, "refused": {"empty": 1}, "unscored": 1}
    assert read(tmp_path / "p.parquet") == (counted, [(["a"], ["b"])])


def test_tokens_are_lower_cased_words(tmp_path):
    text = "Don't SHOUT, Ärger — don't well-known 3rd!\t“Go”\r\n"
    with gzip.open(tmp_path / "p.tsv.gz", "wb") as file:
        file.write(text.encode())
    assert read(tmp_path / "p.tsv.gz")[1] == [(["3rd", "don't", "shout", "well-known", "ärger"], ["go"])]


def test_odd_texts_are_words_or_nothing(tmp_path):
    (tmp_path / "p.tsv").write_bytes(
        '"quoted\tit\'s "so"\n😀\tsmile\nשלום\tpeace \x00 x\ncaf'.encode() + b"\xe9\tcoffee\n"
    )
    counted, found = read(tmp_path / "p.tsv")
    assert counted["refused"] == {"empty": 1}
    assert sorted(found) == [(["caf"], ["coffee"]), (["quoted"], ["it's", "so"]), (["שלום"], ["peace", "x"])]


def test_batches_make_no_difference(tmp_path, monkeypatch):
    (tmp_path / "p.tsv").write_text("".join(f"one{n}\tother{n}\n" for n in range(7)))
    whole = read(tmp_path / "p.tsv")
    monkeypatch.setattr(pairs, "BATCH_PAIRS", 3)
    assert read(tmp_path / "p.tsv") == whole and len(whole[1]) == 7


@pytest.mark.parametrize("line", ["alone", "a\tb\tc", "a\tb\tnan", "a\tb\t0.5\t1", "a\tb\t"])
def test_refuses_a_wrong_line(tmp_path, line):
    (tmp_path / "p.tsv").write_text(f"a\tb\t1\n\n{line}\n")
    with pytest.raises(ValueError, match=r"p.tsv, line 3: wanted reference TAB paraphrase, .*, got '.*': correct it$"):
        read(tmp_path / "p.tsv")


@pytest.mark.parametrize("content", ["", "\n\n", "a\tb\t0.2\n"])
def test_refuses_a_parabank_of_which_nothing_is_left(tmp_path, content):
    (tmp_path / "p.tsv").write_text(content)
    with pytest.raises(
        ValueError, match=r"^wanted pairs with a score of at least 0.35 .*, got none in .*: give another"
    ):
        read(tmp_path / "p.tsv")


def test_refuses_what_is_no_parabank(tmp_path, demo_run):
    with pytest.raises(
        FileNotFoundError, match=r"^wanted a packaged parabank, .*which does not exist: check the path$"
    ):
        read(tmp_path / "gone")
    with pytest.raises(ValueError, match=r"^wanted a packaged parabank, .*, got .*: check the path$"):
        read(tmp_path)
    (tmp_path / "p.txt").write_text("a\tb\n")
    with pytest.raises(ValueError, match=r"^wanted a packaged parabank, .*p.txt: check the path$"):
        read(tmp_path / "p.txt")
    (demo_run / "rows-00001.parquet").unlink()
    with pytest.raises(ValueError, match="wanted 3 finished shards"):
        read(demo_run)


def test_refuses_parquet_of_another_form(tmp_path):
    file = tmp_path / "p.parquet"
    file.write_bytes(b"broken")
    with pytest.raises(ValueError, match=r"^wanted a Parquet file, got .*: write it again$"):
        read(file)
    pq.write_table(pa.table({"text": ["a"]}), file)
    with pytest.raises(ValueError, match=r"^wanted a Parquet file with sentence1 and sentence2, got .* with text$"):
        read(file)
    pq.write_table(pa.table({"sentence1": ["a"], "sentence2": ["b"], "semantic": ["high"]}), file)
    with pytest.raises(ValueError, match=r"^wanted a packaged parabank, .*: write it again$"):
        read(file)
