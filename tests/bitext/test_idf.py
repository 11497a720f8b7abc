"""IDF tables: counted by hand, kept in a file, refused when they are none."""

import gzip
import math

import pytest

from builders.commands.count_idf import main
from toolkit.bitext.idf import MIN_DF, Idf, count_idf, read_idf, write_idf
from toolkit.starters import starter

SENTENCES = ["The owl saw the Owl.", "An owl's nest!", "We saw 3 nests; nest", "", "the-end"]


def test_a_word_counts_once_a_sentence():
    assert count_idf(SENTENCES) == Idf(
        5, {"the": 2, "owl": 2, "saw": 2, "an": 1, "s": 1, "nest": 2, "we": 1, "3": 1, "nests": 1, "end": 1}
    )


def test_idf_is_the_binary_logarithm_of_sentences_over_df():
    table = Idf(1024, {"rare": 2, "often": 512, "always": 1024, "once": 1})
    assert [table.idf(word) for word in ("rare", "often", "always")] == [9.0, 1.0, 0.0]
    assert table.idf("once") is None and table.idf("never") is None


def test_the_least_df_keeps_single_words_out_that_the_ceiling_lets_in():
    assert math.log2(131_000 / 1) < 17.0 and MIN_DF == 2


@pytest.mark.parametrize("name", ["idf.tsv", "idf.tsv.gz"])
def test_a_table_survives_a_file_without_single_words(tmp_path, name):
    write_idf(tmp_path / name, count_idf(SENTENCES))
    assert read_idf(tmp_path / name) == Idf(5, {"nest": 2, "owl": 2, "saw": 2, "the": 2})


def test_the_file_is_plain_sorted_and_the_same_bytes_each_time(tmp_path):
    for path, table in (("a.tsv", {"b": 2, "a": 3, "c": 1}), ("b.tsv.gz", {"a": 3, "b": 2})):
        write_idf(tmp_path / path, Idf(5, table))
    assert (tmp_path / "a.tsv").read_bytes() == b"# sentences\t5\na\t3\nb\t2\n"
    compressed = (tmp_path / "b.tsv.gz").read_bytes()
    assert gzip.decompress(compressed) == (tmp_path / "a.tsv").read_bytes()
    assert compressed[4:8] == bytes(4)  # no time in it


def test_no_file_is_one_error(tmp_path):
    with pytest.raises(ValueError, match=r"wanted an IDF table, got .*lost\.tsv, which is no file: make one with par"):
        read_idf(tmp_path / "lost.tsv")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "it is empty"),
        (b"owl\t2\n", "line 1 is 'owl"),
        (b"# sentences\t0\n", "line 1"),
        (b"# sentences\t5\nowl\t2\n# sentences\t5\n", "line 3"),
        (b"# sentences\t5\nowl 2\n", "line 2 is 'owl 2'"),
        (b"# sentences\t5\nowl\t-2\n", "line 2"),
        (b"# sentences\t5\nowl\t6\n", "line 2 counts 'owl'"),
        (b"# sentences\t5\nowl\t2\nowl\t2\n", "line 3 counts 'owl'"),
        (b"# sentences\t5\nowl\xff\t2\n", "UTF-8"),
    ],
)
@pytest.mark.parametrize("name", ["idf.tsv", "idf.tsv.gz"])
def test_what_is_no_table_is_one_error(tmp_path, content, fault, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    with pytest.raises(ValueError, match=f"wanted an IDF table .*{name} .*{fault}.*: make one with parabank") as error:
        read_idf(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-12], lambda raw: raw[:30] + b"\xff" * 20 + raw[50:], lambda _: b"x"]
)
def test_damaged_compression_is_one_error(tmp_path, damage):
    path = tmp_path / "idf.tsv.gz"
    write_idf(path, Idf(100, {f"word{i}": 2 + i % 7 for i in range(100)}))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match="wanted an IDF table"):
        read_idf(path)


def test_the_starter_has_a_table_of_its_training_text():
    path = starter("de-en") / "idf.tsv.gz"
    table = read_idf(path)
    assert path.stat().st_size < 300_000
    assert table.sentences == 166_712 and min(table.df.values()) == MIN_DF
    assert max(filter(None, map(table.idf, table.df))) < 17.0


def test_the_script_counts_the_column_and_says_what_it_left_out(tmp_path, capsys):
    (tmp_path / "demo.tsv").write_bytes(b"x\tHello, owl\ny\tThe owl\nno column\nz\tbad \xff owl\n")
    output = tmp_path / "new" / "idf.tsv"
    assert main(["--bitext", str(tmp_path / "demo.tsv"), "--reference_column", "1", "--output", str(output)]) == 0
    assert output.read_text() == "# sentences\t2\nowl\t2\n"
    assert capsys.readouterr().out == f"{output}: 1 words of 2 sentences, 2 unusable lines left out\n"


def test_the_script_says_what_is_missing(tmp_path, capsys):
    assert main(["--bitext", str(tmp_path / "lost.tsv"), "--output", str(tmp_path / "idf.tsv")]) == 1
    assert capsys.readouterr().err.startswith("parabank count idf: wanted an existing file, got")
