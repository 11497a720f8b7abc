"""Files at URLs are read, listed and sent as files on the disk are; every error is one line."""

import gzip
import io
import os
import time
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from huggingface_hub import HfFileSystem, constants

from tests.hub import Blob, Repository, serving
from toolkit.bitext.books import read_books
from toolkit.bitext.read import Pair, read_bitext
from toolkit.bitext.text_file import BLOCK_BYTES
from toolkit.clean.evaluation_sets import read_sets
from toolkit.system import urls
from toolkit.system.contents import contents_of
from toolkit.system.urls import _Readable, below, fetch, files_at, is_file, matching, read_bytes, remove, send
from toolkit.train.encoder_pairs import read_pairs

TSV = b"Hallo!\tHello!\nDanke.\tThanks.\n"
PAIRS = [Pair(1, "Hallo!", "Hello!"), Pair(2, "Danke.", "Thanks.")]


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    """A URL of an empty folder in each of two file systems."""
    if request.param == "file":
        yield f"file://{tmp_path}/bucket"
        return
    yield "memory://bucket"
    fsspec.filesystem("memory").store.clear()


def write(url, data):
    """Write a file at a URL, and return the URL."""
    with fsspec.open(url, "wb", **({"auto_mkdir": True} if url.startswith("file:") else {})) as file:
        file.write(data)
    return url


def parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def fails(kind, call, *arguments):
    """The message of an error, which must be one line that says wanted, got and a remedy."""
    with pytest.raises(kind) as error:
        call(*arguments)
    text = str(error.value)
    assert "\n" not in text and text.startswith("wanted ") and ", got " in text and ": " in text
    return text


def read(*bitext, **settings):
    return list(read_bitext(bitext, **settings))


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.tsv", bytes), ("a.txt", bytes), ("a.tsv.gz", gzip.compress), ("a.tsv.zst", zstandard.compress)],
)
def test_a_bitext_at_a_url_is_read_as_on_the_disk(place, name, pack):
    assert read(write(f"{place}/{name}", pack(TSV))) == PAIRS


def test_two_files_and_parquet_and_globs(place):
    sides = [
        write(f"{place}/a.de.gz", gzip.compress(b"Hallo!\nDanke.\n")),
        write(f"{place}/a.en", b"Hello!\nThanks.\n"),
    ]
    assert read(*sides) == PAIRS
    for number in range(2):
        side = {"source": [PAIRS[number].source], "reference": [PAIRS[number].reference]}
        write(f"{place}/part-{number}.parquet", parquet(pa.table(side)))
    assert read(f"{place}/part-1.parquet")[0].reference == "Thanks."
    assert read(f"{place}/part-?.parquet") == PAIRS


def test_errors_of_bitexts_name_the_url(place):
    missing = f"{place}/lost.tsv"
    assert fails(FileNotFoundError, read, missing) == f"wanted an existing file, got {missing}: check the path"
    assert f"{place}/*.parquet: check" in fails(FileNotFoundError, read, f"{place}/*.parquet")
    cut = write(f"{place}/cut.tsv.gz", gzip.compress(os.urandom(3 * BLOCK_BYTES))[:BLOCK_BYTES])
    assert f"wanted a whole file, got {cut}, broken after line" in fails(ValueError, read, cut)
    invalid = write(f"{place}/no.parquet", b"PAR")
    assert f"wanted a Parquet file, got {invalid}" in fails(ValueError, read, invalid)
    empty = write(f"{place}/empty.tsv", b"")
    assert f"got {empty}, which is empty" in fails(ValueError, read, empty)


def test_a_bitext_in_a_repository_of_the_hub(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    with serving() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + template)
        HfFileSystem.clear_instance_cache()
        repository = hub.repositories["datasets", "someone/corpus"] = Repository(False)
        repository.commit({"text/train.tsv.gz": Blob(gzip.compress(TSV), True), "README.md": Blob(b"about", False)})
        url = "hf://datasets/someone/corpus/text/train.tsv.gz"
        assert read(url) == PAIRS and list(below("hf://datasets/someone/corpus/text")) == ["train.tsv.gz"]
        first = contents_of({"bitext": [url]})
        assert first["bitext"].endswith(contents_of({"bitext": ["hf://datasets/someone/corpus/*/*.gz"]})["bitext"])
        repository.commit({"text/train.tsv.gz": Blob(gzip.compress(TSV.upper()), True)})
        assert contents_of({"bitext": [url]}) != first, "another file in its place"
        missing = url.replace("train", "lost")
        assert fails(FileNotFoundError, read, missing) == f"wanted an existing file, got {missing}: check the path"
        missing = url.replace("corpus", "lost")
        assert fails(FileNotFoundError, read, missing) == f"wanted an existing file, got {missing}: check the path"
    HfFileSystem.clear_instance_cache()


def test_a_url_that_nothing_opens():
    message = fails(ValueError, read, "gs://bucket/a.tsv")
    assert message.startswith("wanted a package that opens gs://bucket/a.tsv, got none (") and "gcsfs" in message
    assert "Protocol not known: foo" in fails(ValueError, read, "foo://bucket/a.tsv")


def test_an_error_while_reading_is_one_line(place, monkeypatch):
    url = write(f"{place}/a.tsv", TSV)

    class Cut(Exception):
        """What a library calls a lost connection."""

    def read_cut(self, length=-1):
        raise Cut("connection\nreset")

    with _Readable(url) as file:
        monkeypatch.setattr(file.file, "read", read_cut, raising=False)
        assert f"wanted {url}, got Cut: connection reset" in fails(OSError, file.read)


def test_text_evaluation_sets_and_pairs(place):
    write(f"{place}/books/b/Hound.txt", b"It was a dark night.\n\nThe dog barked.\n")
    write(f"{place}/books/a/Emma.txt.gz", gzip.compress(b"Emma was handsome.\n"))
    write(f"{place}/books/a/cover.png", b"no text")
    for texts in ([f"{place}/books"], [f"{place}/books/*/*.txt*"]):
        books = [(book.name, list(book.paragraphs)) for book in read_books(texts, "en")]
        assert books == [("Emma", ["Emma was handsome."]), ("Hound", ["It was a dark night.", "The dog barked."])]
    assert [book.name for book in read_books([f"{place}/books/b/Hound.txt"], "en")] == ["Hound"]
    assert "wanted text in .txt" in fails(FileNotFoundError, lambda: list(read_books([f"{place}/none"], "en")))

    test = write(f"{place}/sets/test.tsv", b"A man is playing a flute.\t3.2\n")
    (evaluation_set,) = read_sets([f"{place}/sets/*.tsv"])
    assert evaluation_set.texts == ["A man is playing a flute."] and evaluation_set.name == "sets/test.tsv"
    assert read_sets([test])[0].revision == evaluation_set.revision

    pairs = [
        write(f"{place}/a.tsv", b"Hello!\tHi!\n"),
        write(f"{place}/a.jsonl.gz", gzip.compress(b'{"reference": "Hello!", "paraphrases": ["Hi!"]}\n')),
        write(f"{place}/a.parquet", parquet(pa.table({"sentence1": ["Hello!"], "sentence2": ["Hi!"]}))),
    ]
    assert [(pair.anchor, pair.positive) for pair in read_pairs(pairs)] == [("Hello!", "Hi!")] * 3
    assert f"got {place}/lost.tsv, which does not" in fails(
        FileNotFoundError, lambda: list(read_pairs([f"{place}/lost.tsv"]))
    )


def test_files_are_listed_below_a_folder_and_by_globs(place):
    for name in ("a.tsv", "in/b.tsv", "in/deep/c.txt"):
        write(f"{place}/{name}", TSV)
    assert below(place) == dict.fromkeys(["a.tsv", "in/b.tsv", "in/deep/c.txt"], len(TSV))
    assert below(f"{place}/in/") == dict.fromkeys(["b.tsv", "deep/c.txt"], len(TSV))
    assert below(f"{place}/i") == below(f"{place}/lost") == {}
    assert [Path(url).name for url in matching(f"{place}/*")] == ["a.tsv"], "no folder"
    assert files_at(f"{place}/a.tsv") == [f"{place}/a.tsv"] and files_at(f"{place}/lost.tsv") == []
    assert [Path(url).name for url in files_at(f"{place}/in")] == ["b.tsv", "c.txt"]
    assert is_file(f"{place}/a.tsv") and not is_file(f"{place}/in") and not is_file(f"{place}/lost")


def test_a_glob_names_the_same_files_for_a_hash_as_for_a_reader(tmp_path):
    for name in ("a.tsv", "in/b.tsv", "in/deep/c.tsv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(TSV)
    pattern = str(tmp_path / "**" / "*.tsv")
    assert [str(path) for path in files_at(pattern)] == matching(pattern) and len(matching(pattern)) == 3


def test_a_change_of_a_file_at_a_url_is_seen(place):
    url = write(f"{place}/a.tsv", TSV)
    first = contents_of({"bitext": [url]})
    assert first == contents_of({"bitext": [f"{place}/*.tsv"]}) == contents_of({"bitext": [place]})
    assert first["bitext"].startswith(f"{len(TSV)} bytes, sha256 of sizes and tags ")
    time.sleep(0.02)  # the clock of these file systems is their only checksum
    write(url, TSV.replace(b"Hello", b"HELLO"))
    assert contents_of({"bitext": [url]}) != first
    assert contents_of({"bitext": [f"{place}/lost.tsv"]}) == {"bitext": ""}


def test_the_first_tag_that_a_file_system_has_counts(monkeypatch):
    info = {"size": 3, "type": "file", "ETag": '"abc"', "LastModified": 1}
    monkeypatch.setattr(urls, "_info_of", lambda url: info)
    first = contents_of({"bitext": ["memory://a"]})
    info["LastModified"] = 2
    assert contents_of({"bitext": ["memory://a"]}) == first, "the same bytes, sent again"
    info["ETag"] = '"abd"'
    assert contents_of({"bitext": ["memory://a"]}) != first


def test_files_are_fetched_and_sent_whole(place, tmp_path):
    (tmp_path / "a").write_bytes(TSV)
    send(tmp_path / "a", f"{place}/new/folder/a")
    send(tmp_path / "a", f"{place}/new/folder/a")
    assert below(place) == {"new/folder/a": len(TSV)}, "no temporary file"
    fetch({f"{place}/new/folder/a": tmp_path / "b"})
    assert (tmp_path / "b").read_bytes() == TSV == read_bytes(f"{place}/new/folder/a")
    url = f"{place}/lost"
    assert fails(FileNotFoundError, fetch, {url: tmp_path / "c"}).startswith(f"wanted an existing file, got {url}")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "bucket") == ["a", "b"]
    remove([f"{place}/new/folder/a"])
    assert below(place) == {} and read_bytes(f"{place}/new/folder/a") is None
