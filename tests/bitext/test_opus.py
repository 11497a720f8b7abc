"""Corpora of OPUS: found by its API, fetched whole whatever the network does, recorded with their licence."""

import fcntl
import hashlib
import json
import os
import random

import pytest

from builders.commands import fetch_opus
from tests.bitext.test_forms import ABOUT, OPUS, archive
from tests.opus_server import serving
from toolkit.bitext.opus import ADDRESS
from toolkit.bitext.read import read_bitext
from toolkit.system import urls

NOISE = {"noise": random.Random(1).randbytes(3_000_000)}


@pytest.fixture
def opus(tmp_path, monkeypatch):
    """A server with the corpus Demo, whose address is set; waits between tries are not waited for."""
    with serving() as opus:
        monkeypatch.setenv(ADDRESS, f"{opus.url}/opusapi/")
        monkeypatch.setattr(urls.time, "sleep", lambda _: None)
        archive(tmp_path / "demo.zip", ABOUT | OPUS | NOISE)
        opus.content = (tmp_path / "demo.zip").read_bytes()
        opus.address = opus.publish("Demo", opus.content)
        yield opus


def fetch(tmp_path, *words):
    return fetch_opus.main([*(words or ("Demo", "de", "en")), "--output", str(tmp_path / "corpora")])


def error(capsys):
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(fetch_opus.PROGRAM)]
    assert len(lines) == 1
    return lines[0]


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "corpora").iterdir())


def test_a_corpus_is_fetched_recorded_and_read(opus, tmp_path, capsys):
    assert fetch(tmp_path) == 0
    path = tmp_path / "corpora" / "Demo.de-en.v1.zip"
    assert path.read_bytes() == opus.content and files(tmp_path) == ["Demo.de-en.v1.zip", "Demo.de-en.v1.zip.json"]
    record = json.loads((tmp_path / "corpora" / "Demo.de-en.v1.zip.json").read_text())
    assert record.pop("toolkit") and record == {
        "corpus": "Demo", "version": "v1", "source_lang": "de", "lang": "en", "url": opus.address,
        "bytes": len(opus.content), "sha256": hashlib.sha256(opus.content).hexdigest(), "license": "CC-BY",
    }  # fmt: skip
    out = capsys.readouterr().out.splitlines()
    assert out == [
        f"{path}: Demo v1, 3.0 MB",
        "licence: CC-BY",
        f"next: parabank build parabank2 --bitext {path} --source_lang de --lang en ...",
    ]
    assert len(list(read_bitext([str(path)], source_lang="de", lang="en"))) == 5
    count = len(opus.requests)
    assert fetch(tmp_path) == 0 and len(opus.requests) == count + 1, "only the API is asked again"
    path.write_bytes(b"changed")
    assert fetch(tmp_path) == 0 and path.read_bytes() == opus.content


def test_other_codes_and_the_other_direction(opus, tmp_path, capsys):
    assert fetch(tmp_path, "Demo", "eng", "de-AT") == 0
    assert "--source_lang en --lang de ..." in capsys.readouterr().out
    record = json.loads((tmp_path / "corpora" / "Demo.de-en.v1.zip.json").read_text())
    assert (record["source_lang"], record["lang"]) == ("en", "de")
    opus.publish("Web", opus.content, "v2", "de", "zh_CN")
    assert fetch(tmp_path, "Web", "zh_CN", "de") == 0
    assert "Web.de-zh_CN.v2.zip --source_lang zh --lang de ..." in capsys.readouterr().out
    assert fetch(tmp_path, "Demo", "german", "en") == 1
    assert "got 'german': did you mean 'de'" in error(capsys)


def test_a_cut_connection_goes_on_where_it_was(opus, tmp_path, capsys):
    opus.faults.append([r"\.zip", "cut", 2])
    assert fetch(tmp_path) == 0
    first, *parts = [part for path, part in opus.requests if path.endswith(".zip")]
    starts = [int(part.removeprefix("bytes=").removesuffix("-")) for part in parts]
    assert first is None and len(starts) == 2 and 0 < starts[0] < starts[1]
    assert (tmp_path / "corpora" / "Demo.de-en.v1.zip").read_bytes() == opus.content


def test_the_next_command_goes_on_too(opus, tmp_path, capsys):
    opus.faults.append([r"\.zip", "cut", 3])
    assert fetch(tmp_path) == 1
    assert error(capsys).endswith(" MB are kept, the same command goes on from there")
    assert files(tmp_path) == [".Demo.de-en.v1.zip.part"]
    assert fetch(tmp_path) == 0 and opus.requests[-1][1].startswith("bytes=")
    assert (tmp_path / "corpora" / "Demo.de-en.v1.zip").read_bytes() == opus.content
    assert len(files(tmp_path)) == 2


def test_a_command_that_was_killed_at_its_end_goes_on_too(opus, tmp_path, monkeypatch):
    replace = os.replace

    def interrupt(source, target):
        if str(target).endswith(".zip"):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupt)
    assert fetch(tmp_path) == 130
    monkeypatch.setattr(os, "replace", replace)
    assert fetch(tmp_path) == 0
    assert (tmp_path / "corpora" / "Demo.de-en.v1.zip").read_bytes() == opus.content
    assert len(files(tmp_path)) == 2


def test_a_server_without_parts_begins_anew(opus, tmp_path):
    opus.parts = False
    opus.faults.append([r"\.zip", "cut", 1])
    assert fetch(tmp_path) == 0
    assert (tmp_path / "corpora" / "Demo.de-en.v1.zip").read_bytes() == opus.content


@pytest.mark.parametrize("content", [b"the beginning of another file", b"x" * 9_000_000])
def test_what_is_left_of_another_file_is_fetched_anew(opus, tmp_path, content):
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / ".Demo.de-en.v1.zip.part").write_bytes(content)
    assert fetch(tmp_path) == 0
    assert (tmp_path / "corpora" / "Demo.de-en.v1.zip").read_bytes() == opus.content


def test_a_wrong_size_and_a_damaged_archive_are_errors(opus, tmp_path, capsys):
    opus.files["/Demo/v1/moses/de-en.txt.zip"] = opus.content[:-40]
    opus.faults.append([r"\.zip", "long", 9])  # the size is that of the whole, and the end never comes
    assert fetch(tmp_path) == 1
    assert "MB are kept" in error(capsys) and files(tmp_path) == [".Demo.de-en.v1.zip.part"]
    (tmp_path / "corpora" / ".Demo.de-en.v1.zip.part").unlink()
    opus.faults.clear()
    position = opus.content.index(NOISE["noise"][:20]) + 50
    damaged = opus.content[:position] + b"?" + opus.content[position + 1 :]
    for content in (damaged, opus.content[:-40], b"<html>"):
        opus.entries.clear()
        opus.publish("Demo", content)
        assert fetch(tmp_path) == 1
        assert "wanted a whole zip archive from http://127.0.0.1" in error(capsys) and files(tmp_path) == []


def test_what_opus_lacks_is_told_with_what_it_has(opus, tmp_path, capsys):
    opus.publish("Books", opus.content)
    for words, message in (
        (("Tatoeba", "de", "en"), "wanted a corpus Tatoeba in de and en, got none: OPUS has Books, Demo"),
        (("demo", "de", "en"), "got none: did you mean Demo? OPUS has Books, Demo"),
        (("Demo", "de", "fr"), "wanted a corpus Demo in de and fr, got none: OPUS has nothing in these languages"),
        (("Demo", "de", "en", "--version", "v9"), "wanted v9 of Demo in de and en, got none: OPUS has v1"),
    ):
        assert fetch(tmp_path, *words) == 1
        assert message in error(capsys)
    assert not (tmp_path / "corpora").exists()


def test_errors_of_the_server_are_one_line(opus, tmp_path, capsys, monkeypatch):
    opus.faults.append(["opusapi", 503, 2])  # a fault that passes
    assert fetch(tmp_path) == 0
    capsys.readouterr()
    for path, fault, message in (
        ("opusapi", 500, "500"),
        (r"\.zip", 403, "403"),
        (r"\.zip", 404, "wanted an existing file, got http://127.0.0.1"),
        (r"\.zip", "moved", "elsewhere.invalid"),
    ):
        opus.faults = [[path, fault, 9]]
        assert fetch_opus.main(["Demo", "de", "en", "--output", str(tmp_path / "other")]) == 1
        assert message in error(capsys)
    opus.faults = []
    opus.files["/opusapi2/"] = b"<html>"
    monkeypatch.setenv(ADDRESS, f"{opus.url}/opusapi2/")
    assert fetch(tmp_path) == 1 and "wanted a list of corpora in JSON from" in error(capsys)
    monkeypatch.setenv(ADDRESS, "http://example.invalid/opusapi/")
    assert fetch(tmp_path) == 1 and "wanted an address as https://HOST" in error(capsys)


def test_unsafe_names_and_addresses_in_an_answer_are_refused(opus, tmp_path, capsys):
    for key, value in (("corpus", "../Demo"), ("version", "/etc"), ("url", "http://example.invalid/a.zip")):
        entry = dict(opus.entries[0])
        opus.entries = [opus.entries[0] | {key: value}]
        opus.answer = lambda query: json.dumps({"corpora": opus.entries}).encode()
        assert fetch(tmp_path) == 1
        assert ("in JSON" if key != "url" else "https://HOST") in error(capsys)
        opus.entries = [entry]


def test_files_of_others_stay(opus, tmp_path, capsys):
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "Demo.de-en.v1.zip").write_bytes(b"mine")
    assert fetch(tmp_path) == 1 and "was not written by this command" in error(capsys)
    (tmp_path / "corpora" / "Demo.de-en.v1.zip").unlink()
    with (tmp_path / "corpora" / ".Demo.de-en.v1.zip.part").open("ab") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        assert fetch(tmp_path) == 1 and "got it held by another" in error(capsys)


@pytest.mark.parametrize(
    ("about", "license"),
    [
        ({"README": b"Demo\nThis is released under the\nlicense CC-BY 2.0\nEnd\n"}, "license CC-BY 2.0"),
        ({"docs/LICENSE.txt": b"Public\n domain\n", "README": b"license x"}, "Public domain"),
        ({"README": b"Demo"}, "not stated in the archive: see https://opus.nlpl.eu/Demo"),
    ],
)
def test_the_licence_is_what_the_archive_states(opus, tmp_path, capsys, about, license):
    opus.entries.clear()
    opus.publish("Demo", (tmp_path / archive(tmp_path / "a.zip", about | OPUS)).read_bytes())
    assert fetch(tmp_path) == 0
    assert f"licence: {license}\n" in capsys.readouterr().out
