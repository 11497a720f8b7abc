"""`scripts/clean_bitext.py` as a user runs it: what it writes, and what it says of bad input."""

import gzip
import re

import pyarrow.parquet as pq
import pytest
import zstandard

from scripts import clean_bitext

LINES = [
    "Das ist ein &quot;Haus&quot;.\tThis is a „house“.",
    'Das ist ein "Haus".\tThis is a "house".',
    "Wie geht es dir heute?\tHow are you today?",
    "CafÃ© und Kuchen\tcoffee and cake",
    "kein Tabulator",
    "Привет, как дела?\tHello, how are you?",
    "Guten Morgen, mein Freund.\tGood morning, my friend.",
]


def run(tmp_path, capsys, *arguments, lines=LINES, raw=b""):
    """Exit status, and what was printed on both streams."""
    path = tmp_path / "in.tsv"
    path.write_bytes("".join(line + "\n" for line in lines).encode() + raw)
    flags = ["--bitext", str(path), "--source_lang", "de", "--lang", "en", "--workers", "1", *map(str, arguments)]
    try:
        status = clean_bitext.main(flags)
    except SystemExit as exit_:
        status = exit_.code
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(("suffix", "unpack"), [("", bytes), (".gz", gzip.decompress), (".zst", "zst")])
def test_text(tmp_path, capsys, suffix, unpack):
    output, refusals = tmp_path / f"kept.tsv{suffix}", tmp_path / f"refused.tsv{suffix}"
    status, out, _ = run(tmp_path, capsys, "--output", output, "--refused", refusals)
    assert status == 0
    assert out == (
        f"{output}: 3 of 7 lines kept, refused: 1 as columns (too few or too many columns "
        "between TABs), 1 as duplicate (the same text before), 1 as misread (a side was decoded by a wrong codec), "
        "1 as wrong_script (a side is not in the "
        "script of its language)\n"
    )
    if unpack == "zst":
        unpack = lambda raw: zstandard.ZstdDecompressor().decompressobj().decompress(raw)  # noqa: E731
    assert unpack(output.read_bytes()).decode().splitlines() == [
        'Das ist ein "Haus".\tThis is a "house".',
        LINES[2],
        LINES[6],
    ]
    assert unpack(refusals.read_bytes()).decode().splitlines() == [
        '2\tduplicate\tDas ist ein "Haus".\tThis is a "house".',
        "4\tmisread\tCafÃ© und Kuchen\tcoffee and cake",
        "5\tcolumns\tkein Tabulator\t",
        "6\twrong_script\tПривет, как дела?\tHello, how are you?",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.tsv", output.name, refusals.name])


def test_parquet(tmp_path, capsys):
    output, refusals = tmp_path / "kept.parquet", tmp_path / "refused.parquet"
    assert run(tmp_path, capsys, "--output", output, "--refused", refusals)[0] == 0
    assert pq.read_table(output)["line"].to_pylist() == [1, 3, 7]
    assert pq.read_table(output).column_names == ["line", "source", "reference"]
    assert pq.read_table(refusals)["reason"].to_pylist() == ["duplicate", "misread", "columns", "wrong_script"]


def test_awkward_bytes_are_counted(tmp_path, capsys):
    awkward = [
        b"caf\xe9\tcoffee\n",
        b"ein \xed\xa0\x80 Wort\ta word\n",  # a lone surrogate
        "\u202eGuten Abend\u202c, Tom.\tGood evening, Tom.\r\n".encode(),
        b"x" * 10_000_000 + b"\ta line of 10 MB\n",
        b"&" + b"amp;" * 2_500_000 + b"\tanother\n",
    ]
    output, refusals = tmp_path / "kept.tsv", tmp_path / "refused.tsv"
    status, out, _ = run(tmp_path, capsys, "--output", output, "--refused", refusals, raw=b"".join(awkward))
    assert status == 0 and "2 as invalid_utf8" in out and "2 as too_long" in out
    assert output.read_text().splitlines()[-1] == "Guten Abend, Tom.\tGood evening, Tom."
    assert [line.split("\t")[:2] for line in refusals.read_text().splitlines()[-4:]] == [
        ["8", "invalid_utf8"], ["9", "invalid_utf8"], ["11", "too_long"], ["12", "too_long"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "lines", "status", "message"),
    [
        (["--output", "in.tsv"], LINES, 1, "wanted an output that is no input, got .*in.tsv as both"),
        (["--output", "a.csv"], LINES, 2, "wanted a file in .tsv, .txt, .parquet .*, got a.csv: rename it"),
        (["--output", "a.parquet.gz"], LINES, 2, "wanted a file in .* got a.parquet.gz"),
        (["--output", "a.tsv", "--refused", "a.tsv"], LINES, 2, "wanted two files, got a.tsv and a.tsv, which are one"),
        (["--output", "a.tsv", "--refused", "./a.tsv"], LINES, 2, "wanted two files, got a.tsv and ./a.tsv, which are"),
        (["--output", "s3://bucket/a.tsv"], LINES, 1, "wanted a file on the disk, got s3:/bucket/a.tsv: only builders"),
        (["--output", "a.tsv", "--workers", "0"], LINES, 2, "wanted workers from 1 to 1024, got 0"),
        (["--output", "a.tsv", "--max_english", "2"], LINES, 2, r"wanted max_english in \[0, 1\], got 2.0"),
        (["--output", "a.tsv"], ["kein TAB"] * 3, 1, "wanted at least one usable pair in .*, got none of 3 lines: 3"),
        (
            ["--output", "a.tsv"],
            [f"Das ist ein gutes Buch {n}.\tDies ist noch ein gutes Haus {n}." for n in range(20)],
            1,
            "wanted the reference side in en, got de in 100% of 20 lines: check the columns",
        ),
        (
            ["--output", "a.tsv"],
            [f"This is a very good book {n}.\tDies ist ein sehr gutes Buch {n}." for n in range(20)],
            1,
            "wanted the source side in de, got en in 100% of 20 lines: the columns are swapped",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, capsys, monkeypatch, flags, lines, status, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(tmp_path, capsys, *flags, lines=lines)
    assert (code, out) == (status, "")
    last = err.strip().splitlines()[-1]
    assert re.search(message, last), last
    assert [path.name for path in tmp_path.iterdir()] == ["in.tsv"]


def test_paper_settings_of_chinese(tmp_path, capsys):
    lines = [
        '「漢語」很難，對吧？\t"Chinese" is hard, isn\'t it?',
        "我用 iPhone and an iPad Pro\tI use an iPhone and an iPad",
    ]
    flags = ["--source_lang", "zh", "--half_width", "--simplified", "--max_english", "0.6", "--no-check_language"]
    output = tmp_path / "kept.tsv"
    status, out, _ = run(tmp_path, capsys, "--output", output, *flags, lines=lines)
    assert status == 0 and "1 as english (a side is mostly English letters)" in out
    assert output.read_text(encoding="utf-8") == '「汉语」很难,对吧?\t"Chinese" is hard, isn\'t it?\n'
