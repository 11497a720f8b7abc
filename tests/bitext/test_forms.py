"""Bitexts as others give them: zip archives of OPUS, TMX, CSV, JSON lines, several files, the standard input."""

import bz2
import gzip
import lzma
import os
import re
import subprocess
import sys
import zipfile

import pytest
import zstandard

from builders.commands import clean_bitext, count_idf
from tests.bitext.test_read import fails, put
from tests.tiny import ENVIRONMENT, ROOT
from toolkit.bitext.read import Pair, pairs_of, read_blocks, read_sentences
from toolkit.system.contents import contents_of

ROWS = [
    ("Hallo, Welt!", "Hello, world!"), ("Wie geht\u2019s?", 'He said "hi"'), ("", "empty side"), ("a\rb", "c & d < e"),
    ("Größe", "size"),
]  # fmt: skip
PAIRS = [Pair(line, *row) for line, row in enumerate(ROWS, 1)]
SIDES = {"de": [row[0] for row in ROWS], "en": [row[1] for row in ROWS]}
LANGUAGES = {"source_lang": "de", "lang": "en"}
OPUS = {f"Demo.de-en.{lang}": "".join(f"{text}\n" for text in SIDES[lang]).encode() for lang in SIDES}
ABOUT = {"README": b"Demo: a corpus", "LICENSE": b"CC-BY", "Demo.de-en.ids": b"a\tb\t1\t1\n" * 5}
PACKED = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    b'<tmx version="1.4"><body><tu><tuv xml:lang="de"><seg>&b;</seg></tuv></tu></body></tmx>'
)


def archive(path, files, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return str(path)


def tmx(rows=ROWS, source="de", reference="en", head='<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/tmx14.dtd">\n'):
    def variant(lang, text):
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")
        return f'<tuv xml:lang="{lang}"><prop type="x">no</prop><seg>{escaped}</seg></tuv>'

    units = "\n".join(f"<tu>{variant(source, s)}{variant(reference, r)}</tu>" for s, r in rows)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}<tmx version="1.4"><body>\n{units}\n</body></tmx>'.encode()


def csv(header="de,en", delimiter=","):
    def cell(text):
        return '"' + text.replace('"', '""') + '"'

    return "\n".join([header, *(delimiter.join(map(cell, row)) for row in ROWS)]).encode()


def json_lines(source="de", reference="en", nested=False):
    records = [b'{"source": "a\\nb", "reference": "c\\td"}', b"[]", b'{"source": "x"}']
    records += [b'{"source": "\xff", "reference": "x"}', b'{"source": null, "reference": ""}']
    records += [b'{"source": 1, "reference": "x"}', b'{"source": "\\ud800", "reference": "x"}']
    found = read(put(tmp_path / "a.jsonl", b"\n".join(records)))
    assert [(pair.fault, pair.source, pair.reference) for pair in found[:5]] == [*faults, (None, "", "")]
    assert [pair.fault for pair in found[5:]] == ["columns", "invalid_utf8"]
    assert "wanted a JSON object" in fails(ValueError, [put(tmp_path / "b.jsonl", b"Ja\tYes\n")], **LANGUAGES)
    assert "empty" in fails(ValueError, [put(tmp_path / "c.csv", b"")], **LANGUAGES)


def test_several_files_are_one_bitext_in_sorted_order(tmp_path):
    for number in (3, 1, 2):
        put(tmp_path / f"part-{number}.tsv.gz", gzip.compress(b"%d\ta\n%d\tb\n" % (number, number)))
    put(tmp_path / "part-4.csv", b"de,en\n4,a\n")
    found = [(pair.line, pair.source) for pair in read(tmp_path / "*.tsv.gz")]
    assert found == list(enumerate("112233", 1))
    names = [tmp_path / f"part-{number}.tsv.gz" for number in (3, 1, 2)]
    assert [(pair.line, pair.source) for pair in read(*names)] == found
    assert [(pair.line, pair.source) for pair in read(tmp_path / "part-4.csv", tmp_path / "*.gz")][-1] == (7, "4")
    two = [put(tmp_path / "a.tsv", b"1\tx\n"), put(tmp_path / "b.tsv", b"2\ty\n")]
    assert read(*two) == [Pair(1, "1", "x"), Pair(2, "2", "y")]
    aligned = [put(tmp_path / "c.tsv", b"1\n"), put(tmp_path / "d.tsv", b"2\n")]  # without a TAB
    assert read(*aligned) == [Pair(1, "1", "2")]
    assert str(tmp_path / "no*.csv") in fails(FileNotFoundError, [str(tmp_path / "no*.csv")])


def test_text_in_one_language_is_read_from_all_forms(tmp_path):
    for path, column in (
        (put(tmp_path / "a.csv", csv("text,more")), "text"),
        (archive(tmp_path / "a.zip", OPUS), "de"),
        (put(tmp_path / "a.tmx", tmx()), "de"),
    ):
        blocks = list(read_sentences([path], column))
        assert [pair.reference for block in blocks for pair in pairs_of(block)] == SIDES["de"], path


def test_the_standard_input_is_read_as_often_as_wanted(tmp_path):
    code = (
        "from toolkit.bitext.read import read_bitext\n"
        "from toolkit.system.contents import contents_of\n"
        "print([len(list(read_bitext(['-']))) for _ in range(2)], contents_of({'bitext': ['-']}))\n"
    )

    def run(**environment):
        text = gzip.compress(b"Ja\tYes\nNein\tNo\n", mtime=0)
        return subprocess.run(
            [sys.executable, "-c", code], input=text, capture_output=True, cwd=ROOT, env=ENVIRONMENT | environment
        )

    done = run()
    path = put(tmp_path / "a.tsv", gzip.compress(b"Ja\tYes\nNein\tNo\n", mtime=0))
    assert done.stdout.decode() == f"[2, 2] {contents_of({'bitext': [path]})}\n"
    copy = re.fullmatch(r"standard input: 0.0 MB, kept in (.*/stdin.tsv) until the end\n", done.stderr.decode())
    assert copy and not os.path.exists(copy[1])
    assert b"wanted a file with several processes, got '-'" in run(WORLD_SIZE="2").stderr


def test_a_changed_archive_is_another_content(tmp_path):
    path = archive(tmp_path / "a.zip", OPUS)
    before = contents_of({"bitext": [path]})
    assert contents_of({"bitext": [archive(tmp_path / "a.zip", OPUS)]}) == before
    assert contents_of({"bitext": [archive(tmp_path / "a.zip", OPUS | {"README": b"x"})]}) != before


@pytest.mark.parametrize(
    ("name", "content"), [("a.tmx", tmx), ("a.csv", csv), ("a.jsonl", json_lines), ("a.zip", None)]
)
def test_commands_read_all_forms(tmp_path, name, content, capsys):
    path = put(tmp_path / name, content()) if content else archive(tmp_path / name, ABOUT | OPUS)
    flags = ["--source_lang", "deu", "--lang", "en-GB", "--no-check_language", "--output", str(tmp_path / "clean.tsv")]
    assert clean_bitext.main(["--bitext", path, *flags]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path}/clean.tsv: 4 of 5 lines kept, refused: 1 as empty")
    idf = ["--source_column", "de", "--reference_column", "en", "--output", str(tmp_path / "idf.tsv")]
    assert count_idf.main(["--bitext", path, *idf]) == 0
    assert "words of 5 sentences" in capsys.readouterr().out


def test_reading_a_zip_archive_and_tmx_streams(tmp_path):
    """Blocks come before the whole is read, and are small."""
    rows = [(f"Satz {n}", f"sentence {n}") for n in range(150_000)]
    files = {f"A.de-en.{lang}": "".join(f"{row[n]}\n" for row in rows) for n, lang in enumerate(("de", "en"))}
    for path in (archive(tmp_path / "a.zip", files), put(tmp_path / "a.tmx", tmx(rows))):
        blocks = list(read_blocks([path], **LANGUAGES))
        assert len(blocks) > 1 and max(len(side) for block in blocks for side in block.sides) < 2 << 20
        assert sum(block.sides[0].count(b"\n") for block in blocks) == len(rows)
