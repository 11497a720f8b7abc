"""Bitexts as others give them: zip archives of OPUS, TMX, CSV, JSON lines, several files, the standard input."""

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import zipfile

import pytest
import zstandard

from builders.commands import clean_bitext, count_idf
from tests.bitext.test_read import fails, write
from tests.tiny import ENVIRONMENT, ROOT
from toolkit.bitext.read import Pair, pairs_of, read_bitext, read_blocks, read_sentences
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
    with zipfile.ZipFile(path, "w", method) as zip_file:
        for name, content in files.items():
            zip_file.writestr(name, content)
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
    records = [{"id": n, source: s, reference: r} for n, (s, r) in enumerate(ROWS)]
    return "".join(json.dumps({"translation": record} if nested else record) + "\n" for record in records).encode()


def read(*paths, **settings):
    return list(read_bitext([*map(str, paths)], **(LANGUAGES | settings)))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_archive_of_opus(tmp_path, method):
    path = archive(tmp_path / "de-en.txt.zip", ABOUT | OPUS, method)
    assert read(path) == PAIRS
    assert read(path, source_lang="deu", lang="en-GB") == PAIRS
    swapped = read(path, source_lang="en", lang="de")
    assert [(pair.reference, pair.source) for pair in swapped] == ROWS
    assert list(read_bitext([path], "de", "en")) == PAIRS


def test_codes_with_a_region_name_the_files_of_a_zip_archive(tmp_path):
    files = {f"Demo.de-zh_CN.{name}": OPUS[f"Demo.de-en.{lang}"] for name, lang in (("de", "de"), ("zh_CN", "en"))}
    path = archive(tmp_path / "a.zip", ABOUT | files)
    assert read(path, lang="zh") == read(path, lang="zh-Hans") == read(path, reference_column="zh-cn") == PAIRS
    two = archive(tmp_path / "two.zip", files | {"Demo.de-zh_TW.zh_TW": b"x\n" * 5})
    assert read(two, reference_column="zh_TW")[0].reference == "x"


@pytest.mark.parametrize("name", ["a.tmx", "a.tmx.gz", "a.tsv", "a.csv", "a.jsonl"])
def test_a_zip_archive_of_one_file(tmp_path, name):
    content = {
        "tmx": tmx(),
        "csv": csv(),
        "jsonl": json_lines(),
        "tsv": "".join(f"{s}\t{r}\n" for s, r in ROWS).encode(),
    }
    packed = gzip.compress(tmx()) if name.endswith("gz") else content[name.rpartition(".")[2]]
    assert [
        (p.source, p.reference) for p in read(archive(tmp_path / "a.zip", {"README.txt": b"x", name: packed}))
    ] == ROWS


def test_what_a_zip_archive_lacks_is_named(tmp_path):
    path = archive(tmp_path / "a.zip", ABOUT | OPUS)
    line = fails(ValueError, [path], source_lang="fr", lang="en")
    assert f"wanted a side in 'fr', got only de, en in {path}: " in line
    assert "got only de, en" in fails(ValueError, [path])  # no language was given
    assert "got only README" in fails(ValueError, [archive(tmp_path / "b.zip", {"README": b"x"})], **LANGUAGES)
    second_path = archive(tmp_path / "c.zip", OPUS | {"Other.de-en.de": b"x"})
    assert "got Demo.de-en.de, Other.de-en.de, Demo.de-en.en in" in fails(ValueError, [second_path], **LANGUAGES)


def test_sides_of_a_zip_archive_with_other_numbers_of_lines(tmp_path):
    path = archive(tmp_path / "a.zip", {"A.de-en.de": b"Ja\n" * 7, "A.de-en.en": b"Yes\n" * 5})
    assert f"got 7 in A.de-en.de in {path} and 5 in A.de-en.en in {path}" in fails(ValueError, [path], **LANGUAGES)


def test_a_damaged_zip_archive(tmp_path):
    content = (tmp_path / archive(tmp_path / "a.zip", OPUS, zipfile.ZIP_STORED)).read_bytes()
    damaged = write(tmp_path / "b.zip", content.replace(b"Welt", b"Wolt"))
    assert "wanted a whole file, got Demo.de-en.de in" in fails(ValueError, [damaged], **LANGUAGES)
    assert "Bad CRC-32" in fails(ValueError, [damaged], **LANGUAGES)
    for cut in (content[:-30], b"no archive"):
        assert "wanted a whole zip archive" in fails(ValueError, [write(tmp_path / "c.zip", cut)], **LANGUAGES)
    locked = bytearray(content)
    for place in (content.index(b"PK\x03\x04") + 6, content.index(b"PK\x01\x02") + 8):
        locked[place] |= 1
    assert "encrypted" in fails(ValueError, [write(tmp_path / "d.zip", bytes(locked))], **LANGUAGES)


@pytest.mark.parametrize("suffix", PACKED)
def test_tmx_csv_and_json_lines_plain_and_compressed(tmp_path, suffix):
    for name, content in (("tmx", tmx()), ("csv", csv()), ("jsonl", json_lines())):
        path = write(tmp_path / f"a.{name}{suffix}", PACKED[suffix](b"\xef\xbb\xbf" + content))
        assert [(pair.source, pair.reference) for pair in read(path)] == ROWS, name


def test_tmx_of_several_languages_variants_and_markup(tmp_path):
    body = """<tmx><header srclang="en"/><body>
    <tu><tuv xml:lang="en-GB"><seg>A <bpt i="1">&lt;b></bpt>big<ept i="1">&lt;/b></ept> <hi>dog</hi></seg></tuv>
      <tuv xml:lang="DE-DE"><seg>Ein
großer Hund</seg></tuv><tuv xml:lang="fr"><seg>Un chien</seg></tuv><tuv xml:lang="de-AT"><seg>Hund</seg></tuv></tu>
    <tu><tuv lang="fr"><seg>Oui</seg></tuv></tu>
    <tu><tuv lang="en"><seg/></tuv><tuv lang="de"><seg>Ja</seg></tuv></tu></body></tmx>"""
    path = write(tmp_path / "a.tmx", body.encode())
    assert read(path) == [Pair(1, "Ein großer Hund", "A big dog"), Pair(2, "", ""), Pair(3, "Ja", "")]
    assert read(path, source_column="de-at")[0].source == "Hund"
    assert "wanted a side in 'it', got only DE-DE, de, de-AT, en, en-GB, fr in" in fails(
        ValueError, [path], source_lang="it", lang="en"
    )
    utf16 = write(tmp_path / "b.tmx", tmx().decode().replace("UTF-8", "UTF-16").encode("utf-16"))
    assert read(utf16) == PAIRS


def test_tmx_may_have_the_entities_of_html_where_it_names_a_declaration(tmp_path):
    units = tmx([("Ein CAFE im Park.", "A CAFE in the park.")]).replace(b"CAFE", b"caf&eacute;&nbsp;&amp; bar")
    (row,) = read_bitext([write(tmp_path / "a.tmx", units)], **LANGUAGES)
    assert (row.source, row.reference) == ("Ein café\xa0& bar im Park.", "A café\xa0& bar in the park.")
    line = fails(ValueError, [write(tmp_path / "b.tmx", units.replace(b"eacute", b"company"))], **LANGUAGES)
    assert line.startswith("wanted TMX with entities of HTML at most, got &company; in ")


@pytest.mark.slow
def test_tmx_that_declares_entities_or_is_no_xml_is_refused(tmp_path):
    line = fails(ValueError, [write(tmp_path / "bomb.tmx", BOMB)], **LANGUAGES)
    assert line.startswith("wanted TMX without entities of its own, got ") and "declares 'a'" in line
    outside = tmx(head='<!DOCTYPE tmx [<!ENTITY f SYSTEM "file:///etc/passwd">]>')
    assert "declares 'f'" in fails(ValueError, [write(tmp_path / "file.tmx", outside)], **LANGUAGES)
    assert "well-formed TMX" in fails(ValueError, [write(tmp_path / "text.tmx", b"Ja\tYes\n")], **LANGUAGES)
    assert "empty" in fails(ValueError, [write(tmp_path / "other.tmx", b"<html><p>Ja</p></html>")], **LANGUAGES)
    cut = read_bitext([write(tmp_path / "cut.tmx", tmx(ROWS * 9000)[:-40])], **LANGUAGES)
    assert next(cut) == PAIRS[0]
    with pytest.raises(ValueError, match=r"well-formed TMX, got .*cut.tmx \(.* in line \d+\)"):
        list(cut)


@pytest.mark.parametrize(
    "names", [("de", "en"), ("deu", "en_US"), ("source", "target"), ("Src", "Tgt"), ("sentence1", "sentence2")]
)
def test_columns_are_known_by_their_names(tmp_path, names):
    paths = [
        write(tmp_path / "a.csv", csv(",".join(names))),
        write(tmp_path / "b.csv", csv(";".join(names), ";")),
        write(tmp_path / "a.jsonl", json_lines(*names)),
        write(tmp_path / "b.jsonl", json_lines(*names, nested=True) if names[0] == "de" else json_lines(*names)),
    ]
    for path in paths:
        assert [(pair.source, pair.reference) for pair in read(path)] == ROWS, path
    tsv = write(tmp_path / "a.tsv", "\n".join("\t".join(row) for row in [names, *ROWS]).encode())
    assert read(tsv) == [Pair(pair.line + 1, pair.source, pair.reference) for pair in PAIRS]
    assert [pair.line for pair in read(tsv, source_column=0, reference_column=1)] == [1, 2, 3, 4, 5, 6]


def test_columns_that_were_given_or_are_missing(tmp_path):
    path = write(tmp_path / "a.csv", csv("left,right"))
    assert [(p.source, p.reference) for p in read(path, source_column="left", reference_column="right")] == ROWS
    for content, name in ((csv("left,right"), "a.csv"), (json_lines("left", "right"), "a.jsonl")):
        line = fails(ValueError, [write(tmp_path / name, content)], **LANGUAGES)
        assert "wanted column 'source', got only" in line and "left, right" in line
    assert "wanted column 'up'" in fails(ValueError, [path], "up", **LANGUAGES)
    tsv = write(tmp_path / "a.tsv", b"id\tleft\tright\n1\tJa\tYes\n")
    assert read(tsv, source_column="left", reference_column="right") == [Pair(2, "Ja", "Yes")]
    line = fails(ValueError, [tsv], None, "right")
    assert line == f"wanted column 'source', got only id, left, right in {tsv}: name the column to read"
    assert "a TSV column, from 0, got 'up': the first line lacks this name" in fails(ValueError, [tsv], "up")


def test_odd_records_are_faults(tmp_path):
    bad = b'source,reference\n"a\nb","c\td"\nonly one\n1,2,3\n\xff,x\n,\n'
    faults = [(None, "a b", "c d"), ("columns", "", ""), ("columns", "", ""), ("invalid_utf8", "\ufffd", "x")]
    pairs = [(pair.fault, pair.source, pair.reference) for pair in read(write(tmp_path / "a.csv", bad))]
    assert pairs == [*faults, (None, "", "")]
    records = [b'{"source": "a\\nb", "reference": "c\\td"}', b"[]", b'{"source": "x"}']
    records += [b'{"source": "\xff", "reference": "x"}', b'{"source": null, "reference": ""}']
    records += [b'{"source": 1, "reference": "x"}', b'{"source": "\\ud800", "reference": "x"}']
    pairs = read(write(tmp_path / "a.jsonl", b"\n".join(records)))
    assert [(pair.fault, pair.source, pair.reference) for pair in pairs[:5]] == [*faults, (None, "", "")]
    assert [pair.fault for pair in pairs[5:]] == ["columns", "invalid_utf8"]
    assert "wanted a JSON object" in fails(ValueError, [write(tmp_path / "b.jsonl", b"Ja\tYes\n")], **LANGUAGES)
    assert "empty" in fails(ValueError, [write(tmp_path / "c.csv", b"")], **LANGUAGES)


def test_several_files_are_one_bitext_in_sorted_order(tmp_path):
    for number in (3, 1, 2):
        write(tmp_path / f"part-{number}.tsv.gz", gzip.compress(b"%d\ta\n%d\tb\n" % (number, number)))
    write(tmp_path / "part-4.csv", b"de,en\n4,a\n")
    lines = [(pair.line, pair.source) for pair in read(tmp_path / "*.tsv.gz")]
    assert lines == list(enumerate("112233", 1))
    names = [tmp_path / f"part-{number}.tsv.gz" for number in (3, 1, 2)]
    assert [(pair.line, pair.source) for pair in read(*names)] == lines
    assert [(pair.line, pair.source) for pair in read(tmp_path / "part-4.csv", tmp_path / "*.gz")][-1] == (7, "4")
    for suffix in ("tsv", "txt"):
        two = [write(tmp_path / f"a.{suffix}", b"1\tx\n"), write(tmp_path / f"b.{suffix}", b"2\ty\n")]
        assert read(*two) == [Pair(1, "1", "x"), Pair(2, "2", "y")]
        aligned = [write(tmp_path / f"c.{suffix}", b"1\n"), write(tmp_path / f"d.{suffix}", b"2\n")]  # without a TAB
        assert read(*aligned) == [Pair(1, "1", "2")]
        heads = [write(tmp_path / f"{name}.{suffix}", b"I\tA\n%b\n3\n" % name.encode()) for name in "ef"]
        assert read(*heads)[1] == Pair(2, "e", "f")  # one line with a TAB, such as a numbered heading
    assert str(tmp_path / "no*.csv") in fails(FileNotFoundError, [str(tmp_path / "no*.csv")])


def test_text_in_one_language_is_read_from_all_forms(tmp_path):
    for path, column in (
        (write(tmp_path / "a.csv", csv("text,more")), "text"),
        (archive(tmp_path / "a.zip", OPUS), "de"),
        (write(tmp_path / "a.tmx", tmx()), "de"),
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

    process = run()
    path = write(tmp_path / "a.tsv", gzip.compress(b"Ja\tYes\nNein\tNo\n", mtime=0))
    assert process.stdout.decode() == f"[2, 2] {contents_of({'bitext': [path]})}\n"
    copy = re.fullmatch(r"standard input: 0.0 MB, kept in (.*/stdin.tsv) until the end\n", process.stderr.decode())
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
    path = write(tmp_path / name, content()) if content else archive(tmp_path / name, ABOUT | OPUS)
    flags = ["--source_lang", "deu", "--lang", "en-GB", "--no-check_language", "--output", str(tmp_path / "clean.tsv")]
    assert clean_bitext.main(["--bitext", path, *flags]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path}/clean.tsv: 4 of 5 lines kept, refused: 1 as empty")
    idf = ["--source_column", "de", "--reference_column", "en", "--output", str(tmp_path / "idf.tsv")]
    assert count_idf.main(["--bitext", path, *idf]) == 0
    assert "words of 5 sentences" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.zip"])
def test_an_idf_table_needs_the_column_that_is_counted_alone(tmp_path, name, capsys):
    tsv = "".join(f"{s}\t{r}\n" for s, r in [("de", "en"), *ROWS]).encode()
    content = csv() if name == "a.csv" else tsv
    path = archive(tmp_path / name, OPUS) if name == "a.zip" else write(tmp_path / name, content)
    arguments = ["--bitext", path, "--output", str(tmp_path / "idf.tsv")]
    assert count_idf.main([*arguments, "--reference_column", "en"]) == 0
    assert "words of 5 sentences" in capsys.readouterr().out
    if name == "a.zip":
        assert count_idf.main(arguments) == 1
        assert "name the languages of both sides, or give them as columns" in capsys.readouterr().err


@pytest.mark.slow
def test_reading_a_zip_archive_and_tmx_streams(tmp_path):
    """Blocks come before the whole is read, and are small."""
    rows = [(f"Satz {n}", f"sentence {n}") for n in range(150_000)]
    files = {f"A.de-en.{lang}": "".join(f"{row[n]}\n" for row in rows) for n, lang in enumerate(("de", "en"))}
    for path in (archive(tmp_path / "a.zip", files), write(tmp_path / "a.tmx", tmx(rows))):
        blocks = list(read_blocks([path], **LANGUAGES))
        assert len(blocks) > 1 and max(len(side) for block in blocks for side in block.sides) < 2 << 20
        assert sum(block.sides[0].count(b"\n") for block in blocks) == len(rows)
