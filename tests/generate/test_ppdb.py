"""PPDB's own line format, and what is kept of it. The lines of `ppdb.txt` are invented."""

import gzip
from pathlib import Path

import pytest

from toolkit.generate.ppdb import RELATIONS, read_ppdb

PPDB = Path(__file__).parent / "ppdb.txt"


def test_words_are_found_by_relation_and_part():
    ppdb = read_ppdb(PPDB)
    assert ppdb.lookup("often", "Equivalence", "ADV") == ["frequently", "oftentimes", "regularly"]
    assert ppdb.lookup("often", "Equivalence", "ADJ") == ["frequent"]
    assert [ppdb.lookup("myth", relation, "NOUN") for relation in RELATIONS] == [["legend"], ["story"], ["mythology"]]
    assert ppdb.lookup("occur", "ForwardEntailment", "VERB") == ["arises"]  # VBP is coarsely a verb
    assert ppdb.lookup("for", "Equivalence", "OTHER") == ["towards"]


def test_only_single_lower_case_words_in_the_three_relations_are_kept():
    ppdb = read_ppdb(PPDB)
    assert ppdb.lookup("proud", "Equivalence", "ADJ") == ["honoured"]  # neither itself nor "very proud" nor "Proud"
    assert ppdb.lookup("involves", "Equivalence", "VERB") == ["includes"]
    assert {relation for _, relation, _ in ppdb.paraphrases} == set(RELATIONS)
    assert not {"Prague", "3"} & {word for word, _, _ in ppdb.paraphrases}
    assert sum(map(len, ppdb.paraphrases.values())) == 30 - 9


def test_a_compressed_pack_and_another_order_are_the_same(tmp_path):
    lines = PPDB.read_text().splitlines(keepends=True)
    (tmp_path / "ppdb.gz").write_bytes(gzip.compress("".join(reversed(lines)).encode()))
    assert read_ppdb(tmp_path / "ppdb.gz") == read_ppdb(PPDB)


def test_bytes_that_are_no_text_cost_their_own_line_only(tmp_path):
    line = b"[NN] ||| caf\xe9 ||| bar ||| a=1 ||| 0-0 ||| Equivalence\n"
    (tmp_path / "pairs.txt").write_bytes(line + line.replace(b"caf\xe9", b"myth"))
    assert list(read_ppdb(tmp_path / "pairs.txt").paraphrases) == [("myth", "Equivalence", "NOUN")]


def test_no_file_is_one_error(tmp_path):
    with pytest.raises(ValueError, match=r"wanted a file of paraphrases, got .*lost, which is none: check the path"):
        read_ppdb(tmp_path / "lost")


@pytest.mark.parametrize(("line", "fields"), [("myth legend", 1), ("[NN] ||| myth ||| legend ||| a=1 ||| 0-0", 5)])
def test_a_line_of_another_format_is_one_error(tmp_path, line, fields):
    (tmp_path / "pairs").write_text(f"{PPDB.read_text().splitlines()[0]}\n{line}\n")
    with pytest.raises(ValueError, match=rf"wanted PPDB 2.0 lines of 6 fields between .*, got {fields} in line 2"):
        read_ppdb(tmp_path / "pairs")


@pytest.mark.parametrize("content", ["", "[NP] ||| the myth ||| the legend ||| a=1 ||| 0-0 ||| Equivalence\n"])
def test_a_pack_without_a_word_of_use_is_one_error(tmp_path, content):
    (tmp_path / "phrasal").write_text(content)
    with pytest.raises(ValueError, match=r"wanted pairs of single lower-case words, got .*phrasal, which has none"):
        read_ppdb(tmp_path / "phrasal")


def test_damaged_compression_is_one_error(tmp_path):
    raw = gzip.compress(PPDB.read_bytes())
    for damaged in (raw[:-20], raw[:40] + b"\xff" * 40 + raw[80:]):
        (tmp_path / "ppdb.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match="wanted a whole file"):
            read_ppdb(tmp_path / "ppdb.gz")
