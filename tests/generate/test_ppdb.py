"""PPDB's own line format, and what is kept of it. The lines of `ppdb.txt` are invented."""

import gzip
from pathlib import Path

import pytest

from toolkit.generate.ppdb import ANY, RELATIONS, read_ppdb, read_untyped_pairs

PPDB = Path(__file__).parent / "ppdb.txt"


def test_words_are_found_by_relation_and_part():
    ppdb = read_ppdb(PPDB)
    assert ppdb.typed
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


def test_bare_pairs_pass_for_equivalence_of_any_part(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("myth legend\nmyth fable\nwell-known famous\nmyth Myth\nmyth myth\n")
    ppdb = read_untyped_pairs(path)
    assert not ppdb.typed and ppdb.paraphrases == {("myth", "Equivalence", ANY): ["fable", "legend"]}
    assert ppdb.lookup("myth", "Equivalence", "VERB") == ["fable", "legend"]
    assert ppdb.lookup("myth", "ReverseEntailment", "NOUN") == []


def test_bytes_that_are_no_text_cost_their_own_line_only(tmp_path):
    (tmp_path / "pairs.txt").write_bytes(b"caf\xe9 bar\nmyth legend\n")
    assert list(read_untyped_pairs(tmp_path / "pairs.txt").paraphrases) == [("myth", "Equivalence", ANY)]


@pytest.mark.parametrize("read", [read_ppdb, read_untyped_pairs])
def test_no_file_is_one_error(tmp_path, read):
    with pytest.raises(ValueError, match=r"wanted a file of paraphrases, got .*lost, which is none: check the path"):
        read(tmp_path / "lost")


@pytest.mark.parametrize(
    ("read", "line", "fault"),
    [
        (
            read_ppdb,
            "myth legend",
            r"wanted PPDB 2.0 lines of 6 fields between \|\|\|, got 1 in line 2 of .*--ppdb_untyped",
        ),
        (
            read_ppdb,
            "[NN] ||| myth ||| legend ||| a=1 ||| 0-0",
            "wanted PPDB 2.0 lines of 6 fields .*, got 5 in line 2",
        ),
        (read_untyped_pairs, "myth legend fable", "wanted two words a line, got 3 in line 2 of .*: mend the file"),
        (read_untyped_pairs, "", "wanted two words a line, got 0 in line 2"),
    ],
)
def test_a_line_of_another_format_is_one_error(tmp_path, read, line, fault):
    first = PPDB.read_text().splitlines()[0] if read is read_ppdb else "owl bird"
    (tmp_path / "pairs").write_text(f"{first}\n{line}\n")
    with pytest.raises(ValueError, match=fault):
        read(tmp_path / "pairs")


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (read_ppdb, ""),
        (read_ppdb, "[NP] ||| the myth ||| the legend ||| a=1 ||| 0-0 ||| Equivalence\n"),
        (read_untyped_pairs, "A b\n"),
    ],
)
def test_a_pack_without_a_word_of_use_is_one_error(tmp_path, read, content):
    (tmp_path / "phrasal").write_text(content)
    with pytest.raises(ValueError, match=r"wanted pairs of single lower-case words, got .*phrasal, which has none"):
        read(tmp_path / "phrasal")


def test_damaged_compression_is_one_error(tmp_path):
    raw = gzip.compress(PPDB.read_bytes())
    for damaged in (raw[:-20], b"plain text", raw[:40] + b"\xff" * 40 + raw[80:]):
        (tmp_path / "ppdb.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match="wanted a whole file of paraphrases"):
            read_ppdb(tmp_path / "ppdb.gz")
