"""A bitext cleaned in blocks and processes is the same as one pair after the other; and the rules for the corpus."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.bitext import text_file
from toolkit.bitext.read import Block, Pair, first_lines, pairs_of, read_blocks
from toolkit.clean._blocks import judged_block
from toolkit.clean.corpus import clean_corpus
from toolkit.clean.rules import CleanSettings, _judged
from toolkit.system.signals import ChildKilled

PIECES = st.sampled_from(
    [b"Ja", b" ", b"\t", b"\t", b"\r", b"\xe9", b"\xed\xa0\x80", "„Größe“".encode(), b"&lt;", b"\x00", "漢".encode(),
     b"word " * 3, "CafÃ©".encode(), b"\xf0\x9f\x99\x82", b"\xff"]
)  # fmt: skip
LINES = st.lists(st.lists(PIECES, max_size=6).map(b"".join), min_size=1, max_size=6)


def rows(tables):
    """The rows of tables as tuples."""
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def one_by_one(block, settings, source_lang="de", lang="en"):
    """The rows of a block, from pairs."""
    pairs = _judged(pairs_of(block), settings, source_lang, lang)
    return [(pair.line, pair.source, pair.reference, reason) for pair, reason in pairs]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    lines=LINES,
    columns=st.sampled_from([(0, 1), (1, 0), (2, 0), (1, 3), (1, 1)]),
    width=st.sampled_from([None, 2, 3, 4]),
)
def test_a_block_of_columns_is_read_as_its_pairs(lines, columns, width):
    block = Block(7, (b"".join(line + b"\n" for line in lines),), columns, width)
    clean = CleanSettings(deduplicate=False)
    result = judged_block(block, clean, "de", "en")
    expected = one_by_one(block, clean)
    assert [(n, r) for n, r in zip(result.lines.tolist(), result.reasons, strict=True)] == [
        (r[0], r[3]) for r in expected
    ]
    readable = [n for n, row in enumerate(expected) if row[3] != "invalid_utf8"]  # of which the U+FFFD may be more
    sides = result.batch.source.strings, result.batch.reference.strings
    assert [(sides[0][n], sides[1][n]) for n in readable] == [expected[n][1:3] for n in readable]


@settings(max_examples=100, deadline=None)
@given(lines=LINES)
def test_a_block_of_two_sides_is_read_as_its_pairs(lines):
    sides = b"".join(line + b"\n" for line in lines), b"".join(line[::-1] + b"\n" for line in lines)
    clean = CleanSettings(deduplicate=False, min_script_share=0, drop_same_text=False)
    result = judged_block(Block(1, sides), clean, "de", "en")
    expected = one_by_one(Block(1, sides), clean)
    assert result.reasons == [row[3] for row in expected]


def write(path, pairs):
    """Write pairs as a TSV file."""
    path.write_text("".join(f"{source}\t{reference}\n" for source, reference in pairs), encoding="utf-8")
    return str(path)


@pytest.fixture
def bitext(tmp_path, monkeypatch):
    """A bitext of many small blocks with duplicates all over it."""
    monkeypatch.setattr(text_file, "BLOCK_BYTES", text_file.BUFFER)
    pairs = [(f"Satz {n % 4000} „ist“ da", f"Sentence {n % 4000} is & there") for n in range(9000)]
    pairs[5::7] = [("", "nothing")] * len(pairs[5::7])
    return write(tmp_path / "a.tsv", pairs)


@pytest.mark.slow
def test_one_process_and_two_find_the_same_as_one_pair_after_the_other(bitext, tmp_path):
    assert len(list(read_blocks([bitext]))) > 3
    expected = one_by_one(Block(1, (Path(bitext).read_bytes(),), (0, 1)), CleanSettings())
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        folder.mkdir()
        result = rows(clean_corpus(read_blocks([bitext]), CleanSettings(), "de", "en", folder, processes))
        assert result == expected
    assert Counter(row[3] for row in result)["duplicate"] > 3000


def corpus(tmp_path, pairs, **changed):
    """The rows of a small corpus after cleaning, by line."""
    folder = tmp_path / "parts"
    folder.mkdir(parents=True)
    path = write(tmp_path / "small.tsv", pairs)
    return rows(clean_corpus(read_blocks([path]), CleanSettings(**changed), "en", "de", folder, 1))


def test_the_most_frequent_translation_stays(tmp_path):
    pairs = [
        ("Yes.", "Jawohl."),
        ("Yes.", "Ja."),
        ("Yes.", "Ja."),
        ("Yes.", "Doch."),
        ("No.", "Nein."),
        ("Tom", ""),
        ("Maybe.", "Vielleicht."),
        ("Maybe.", "Mag sein."),
        ("Yes.", "Doch."),
        ("Yes.", "Ja."),
    ]
    reasons = {row[0]: row[3] for row in corpus(tmp_path, pairs, most_frequent=True)}
    assert reasons == {
        1: "rarer_translation",
        2: None,  # the most lines
        3: "duplicate",
        4: "rarer_translation",
        5: None,
        6: "empty",
        7: None,  # as frequent as the other, and the first
        8: "rarer_translation",
        9: "duplicate",
        10: "duplicate",
    }


def test_the_most_frequent_translation_without_a_look_at_duplicates(tmp_path):
    pairs = [("Yes.", "Doch."), ("Yes.", "Ja."), ("Yes.", "Ja.")]
    result = corpus(tmp_path, pairs, most_frequent=True, deduplicate=False)
    assert [row[3] for row in result] == ["rarer_translation", None, None]


def test_pairs_of_rare_tokens(tmp_path):
    pairs = [(f"the old house {word}", f"das alte Haus {word}") for word in ("one", "two", "three", "four")]
    pairs += [("Zyx wvu the", "das Srq"), ("the House", "das haus das Haus"), ("...", "!!!")]
    result = corpus(tmp_path, pairs, max_rare_share=0.5, rare_below=4)
    # "zyx", "wvu" and "srq": three of five tokens; "one" and the like: two of eight; marks are no tokens
    assert [row[3] for row in result] == [None] * 4 + ["rare_tokens", None, "same_text"]
    assert [row[3] for row in corpus(tmp_path / "again", pairs, max_rare_share=0.1, rare_below=4)][:4] == [
        "rare_tokens"
    ] * 4


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
def test_the_first_lines_of_blocks(limit):
    texts = [b"a\tb\nc\td\n", b"e\tf\n", b"g\th\ni\tj\n"]
    blocks = [Block(line, (text,), (0, 1)) for line, text in zip((1, 3, 4), texts, strict=True)]
    pairs = [pair for block in first_lines(blocks, limit) for pair in pairs_of(block)]
    assert pairs == [Pair(n, *pair) for n, pair in enumerate(["ab", "cd", "ef", "gh", "ij"], 1)][:limit]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_names_in_the_first_line_are_no_line_of_a_limit(tmp_path, limit):
    (tmp_path / "a.tsv").write_text("de\ten\nEins\tOne\nZwei\tTwo\nDrei\tThree\n")
    blocks = list(first_lines(read_blocks([str(tmp_path / "a.tsv")], source_lang="de", lang="en"), limit))
    pairs = [pair for block in blocks for pair in pairs_of(block)]
    assert [(pair.line, pair.reference) for pair in pairs] == [(2, "One"), (3, "Two"), (4, "Three")][:limit]
    assert all(block.sides[0] for block in blocks)


class Deadly(CleanSettings):
    """Settings that kill a process which receives them."""

    def __reduce__(self):
        return exec, ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)",)


@pytest.mark.slow
def test_a_process_that_is_killed_is_one_line(bitext, tmp_path):
    message = r"wanted all processes to clean their part, got one that was ended by SIGKILL \(.* memory is short: fewer"
    with pytest.raises(ChildKilled, match=message):
        list(clean_corpus(read_blocks([bitext]), Deadly(), "de", "en", tmp_path, 2))
