"""Mozilla's models by their pair: what is chosen, and what comes into the cache whatever the network does."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading

import pytest
import zstandard
from huggingface_hub import constants

from tests.remote_settings import NEW, OLD, publishing, sha256
from tests.tiny import ENVIRONMENT, ROOT
from toolkit.firefox import fetch
from toolkit.firefox.fetch import ADDRESS, RECORD, fetch_firefox
from toolkit.system import urls
from toolkit.system.outputs import LOCK

SLOW_START = "import sys; from toolkit.firefox.fetch import fetch_firefox; print(fetch_firefox(sys.argv[1]))"


@pytest.fixture
def mozilla(tmp_path, monkeypatch):
    """A server, whose address is set, and an empty cache; waits between tries are noted and not waited for."""
    with publishing() as settings:
        monkeypatch.setenv(ADDRESS, f"{settings.url}/v1/")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(tmp_path / "assets"))
        settings.slept = []
        monkeypatch.setattr(urls.time, "sleep", settings.slept.append)
        yield settings


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "assets" / "parabank" / "firefox"


def content(folder):
    """The files of a folder by name, without its record."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != RECORD}


def file_names(cache):
    """The files that are in a cache under their names."""
    return [path.name for path in cache.rglob("*") if path.is_file() and not path.name.startswith(".")]


def fails(error, pair="en-de"):
    """The line that refuses a pair."""
    with pytest.raises(error) as refused:
        fetch_firefox(pair)
    line = str(refused.value)
    assert "\n" not in line and line.startswith("wanted ")
    return line


def test_a_model_of_the_new_collection_is_decompressed_and_recorded(mozilla, cache, capsys):
    model = mozilla.publish("en", "de")
    mozilla.publish("en", "fr")
    folder = fetch_firefox("firefox/en-de")
    assert folder == cache / "en-de" / "firefox-en-de-3.0-tiny" and content(folder) == model
    record = json.loads((folder / RECORD).read_text())
    assert {key: record[key] for key in record if key != "files"} == {
        "pair": "en-de", "version": "3.0", "architecture": "tiny", "collection": NEW, "license": "MPL-2.0",
        "server": f"{mozilla.url}/v1",
    }  # fmt: skip
    assert {file["name"]: (file["size"], file["sha256"]) for file in record["files"]} == {
        name: (len(data), sha256(data)) for name, data in model.items()
    }
    assert f"firefox/en-de: fetching version 3.0 (tiny, 0.0 MB) from {mozilla.url}/v1 to" in capsys.readouterr().err
    requests = len(mozilla.requests)
    assert fetch_firefox("en-de") == folder and len(mozilla.requests) == requests, "from the cache"


def test_a_pair_that_only_the_old_collection_has(mozilla):
    mozilla.publish("en", "fr")
    model = mozilla.publish("en", "ja", "2.0", kinds=("model", "srcvocab", "trgvocab"), collection=OLD)
    folder = fetch_firefox("en-ja")
    assert content(folder) == model and folder.name == "firefox-en-ja-2.0-unknown"
    assert json.loads((folder / RECORD).read_text())["collection"] == OLD
    del mozilla.collections[NEW]
    model = mozilla.publish("de", "en", "1.1", collection=OLD)
    assert content(fetch_firefox("de-en")) == model, "a mirror without the new one"


@pytest.mark.parametrize("backwards", [False, True])
def test_of_several_models_one_is_chosen_whatever_their_order(mozilla, backwards):
    mozilla.publish("en", "de", "3.9")
    mozilla.publish("en", "de", "3.10", "tiny")
    best = mozilla.publish("en", "de", "3.10", "base-memory")
    mozilla.publish("en", "de", "3.10", "base", filter_expression="env.appinfo.OS == 'Android'")
    mozilla.publish("en", "de", "3.10", "base", variant="news")
    mozilla.publish("en", "de", "3.11a1", "base", filter_expression="env.channel == 'nightly'")
    mozilla.publish("en", "de", "3.12", kinds=("model", "lex"))
    mozilla.publish("en", "de", "3.13", kinds=("model", "srcvocab"))
    mozilla.publish("en", "de", "4.0", "base")
    mozilla.publish("en", "de", "new")
    if backwards:
        mozilla.collections[NEW].reverse()
    folder = fetch_firefox("en-de")
    assert folder.name == "firefox-en-de-3.10-base-memory" and content(folder) == best


def test_files_of_other_versions_stay_out(mozilla):
    model = mozilla.publish("en", "de", "3.1", kinds=("model", "srcvocab", "trgvocab"))
    mozilla.publish("en", "de", "3.0")
    assert content(fetch_firefox("en-de")) == model, "no shared vocabulary, and no shortlist"


def test_one_vocabulary_comes_before_two_and_a_prerelease_is_better_than_nothing(mozilla):
    model = mozilla.publish("en", "de", "3.1a1", kinds=("model", "vocab", "srcvocab", "trgvocab"))
    names = ("model.ende.intgemm8.bin", "vocab.ende.spm")
    assert content(fetch_firefox("en-de")) == {name: model[name] for name in names}


def test_files_of_a_model_that_was_never_whole_do_not_stay_beside_another(mozilla):
    mozilla.publish("en", "de")
    mozilla.fault(mozilla.collections[NEW][2]["attachment"]["location"], 403)
    fails(OSError)
    mozilla.collections[NEW].clear()
    model = mozilla.publish("en", "de", kinds=("model", "srcvocab", "trgvocab"))
    assert content(fetch_firefox("en-de")) == model


def test_a_new_version_does_not_replace_what_is_in_the_cache(mozilla):
    mozilla.publish("en", "de", "3.0")
    folder = fetch_firefox("en-de")
    newer = mozilla.publish("en", "de", "3.1")
    assert fetch_firefox("en-de") == folder
    (folder / "vocab.ende.spm").unlink()
    assert fetch_firefox("en-de") == folder and (folder / "vocab.ende.spm").exists(), "of the recorded version"
    (folder / RECORD).unlink()
    assert content(fetch_firefox("en-de")) == newer


def test_unknown_pairs_name_the_known(mozilla):
    assert "got 'english'" in fails(ValueError, "english") and "got 'EN-DE'" in fails(ValueError, "EN-DE")
    assert "got '../en-de'" in fails(ValueError, "../en-de") and not mozilla.requests
    for pair in (("en", "de"), ("en", "zh-Hans"), ("fi", "en"), ("zh-Hans", "en"), ("en", "et")):
        mozilla.publish(*pair)
    mozilla.publish("en", "lv", kinds=("model",))
    assert fails(ValueError, "en-lv") == (
        "wanted a pair of languages that Mozilla publishes, got en-lv: from en there is en-de, en-et, en-zh-Hans, to "
        "lv nothing; give one of these"
    )
    assert fails(ValueError, "fi-de").endswith(
        "from fi there is fi-en, to de en-de; go by way of English, with firefox/fi-en and firefox/en-de"
    )
    assert fails(ValueError, "sv-fi").endswith(
        "from sv there is nothing, to fi nothing; go by way of English where both steps exist"
    )
    assert fails(ValueError, "zh-Hans-et").endswith("with firefox/zh-Hans-en and firefox/en-et")
    mozilla.publish("en", "da", "4.0")
    assert fails(ValueError, "en-da") == "wanted a model of en-da of version 3.x or older, got 4.0: update the toolkit"


@pytest.mark.parametrize("path", ["/records", "/v1/$", "/files/"])
def test_faults_that_pass_are_waited_for(mozilla, path):
    model = mozilla.publish("en", "de")
    mozilla.fault(path, 500, 2)
    assert content(fetch_firefox("en-de")) == model
    assert mozilla.slept == [1.0, 2.0]


@pytest.mark.parametrize("path", ["/records", "/v1/$", "/files/"])
def test_faults_that_stay_are_one_line(mozilla, cache, path):
    mozilla.publish("en", "de")
    mozilla.fault(path, 503, 9)
    assert "503" in (line := fails(OSError)) and mozilla.url in line
    assert len([request for request in mozilla.requests if re.search(path, request)]) == urls.REQUESTS
    assert file_names(cache) == []
    mozilla.faults, mozilla.slept[:] = [], []
    mozilla.fault(path, 403, 9)
    assert "403" in fails(OSError) and not mozilla.slept, "asking again would not help"


@pytest.mark.parametrize("fault", ["cut", "hang", "moved"])
@pytest.mark.parametrize("path", ["/records", "/v1/$", "/files/"])
def test_cut_and_silent_answers_are_asked_for_again_and_redirects_followed(mozilla, monkeypatch, fault, path):
    monkeypatch.setattr(urls, "SILENCE", 1.0)
    model = mozilla.publish("en", "de")
    if fault == "moved" and "files" not in path:
        body = mozilla.body
        monkeypatch.setattr(mozilla, "body", lambda path: body(path.removeprefix("/moved")))
    mozilla.fault(path, fault)
    assert content(fetch_firefox("en-de")) == model
    assert bool(mozilla.slept) == (fault != "moved")
    assert any(request.startswith("/moved") for request in mozilla.requests) == (fault == "moved")


def test_a_server_that_stays_silent_is_one_line_and_leaves_nothing(mozilla, cache, monkeypatch):
    monkeypatch.setattr(urls, "SILENCE", 0.2)
    mozilla.publish("en", "de")
    mozilla.fault("/files/", "hang", 9)
    assert "imeout" in fails(OSError)
    assert file_names(cache) == []


def test_a_server_that_is_not_there(mozilla, monkeypatch):
    monkeypatch.setenv(ADDRESS, "http://me:hunter2@127.0.0.1:9/v1")
    line = fails(OSError)
    assert "127.0.0.1:9" in line and "hunter2" not in line and mozilla.slept == [1.0, 2.0]
    monkeypatch.setenv(ADDRESS, "example.org")
    assert "got 'example.org': set it" in fails(ValueError)


def test_a_proxy_of_the_environment_is_used(mozilla, monkeypatch):
    model = mozilla.publish("en", "de")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", mozilla.url)
    monkeypatch.setenv(ADDRESS, "http://models.invalid/v1")
    folder = fetch_firefox("en-de")
    assert content(folder) == model and "models.invalid" in (folder / RECORD).read_text()


def test_a_password_is_in_no_record_and_no_message(mozilla, monkeypatch, capsys):
    mozilla.publish("en", "de")
    monkeypatch.setenv(ADDRESS, f"{mozilla.url.replace('//', '//me:hunter2@')}/v1")
    folder = fetch_firefox("en-de")
    assert json.loads((folder / RECORD).read_text())["server"] == f"{mozilla.url}/v1"
    assert "hunter2" not in (folder / RECORD).read_text() + (folder.parent / LOCK).read_text() + capsys.readouterr().err


@pytest.mark.parametrize(
    "answer", [b"<html>Sign in</html>", b"[]", b"null", b'{"data": 3}', b'{"records": []}', b"\xff", b""]
)
def test_an_answer_that_is_no_list(mozilla, cache, monkeypatch, answer):
    body = mozilla.body
    monkeypatch.setattr(mozilla, "body", lambda path: answer if path.endswith("records") else body(path))
    line = fails(ValueError)
    assert line.startswith('wanted a list of models in JSON ({"data": [...]}) at ') and line.endswith(
        "check the address"
    )
    monkeypatch.setattr(mozilla, "body", lambda path: answer if path == "/v1/" else body(path))
    mozilla.publish("en", "de")
    assert fails(ValueError).startswith("wanted capabilities.attachments.base_url in JSON at ")
    assert file_names(cache) == []


def test_a_server_without_collections_or_without_a_file(mozilla, cache):
    mozilla.publish("en", "de")
    mozilla.attachments.clear()
    assert "wanted model.ende.intgemm8.bin at" in (line := fails(FileNotFoundError)) or "wanted lex" in line
    assert line.endswith("fetch the model anew, or check the mirror") and file_names(cache) == []
    mozilla.collections.clear()
    assert f"/{NEW}/records: check the path" in fails(FileNotFoundError)


def damage(mozilla, kind, **attachment):
    """Let the record of a file say something else of what is sent."""
    record = next(entry for entry in mozilla.collections[NEW] if entry["fileType"] == kind)
    record["attachment"] |= attachment
    return record


@pytest.mark.parametrize("wrong", [{"hash": "0" * 64}, {"size": 7}])
def test_a_file_with_another_hash_or_size_gets_no_name(mozilla, cache, wrong):
    mozilla.publish("en", "de")
    damage(mozilla, "model", **wrong)
    line = fails(OSError)
    assert "bytes and SHA-256" in line and "check the network" in line
    assert "model.ende.intgemm8.bin" not in file_names(cache) and RECORD not in file_names(cache)
    assert not list(cache.rglob("*.tmp")) and mozilla.slept == [1.0, 2.0]


@pytest.mark.parametrize("wrong", ["hash", "size", "no zstd", "cut"])
def test_what_is_compressed_is_checked_too(mozilla, cache, wrong):
    mozilla.publish("en", "de")
    record = damage(mozilla, "vocab")
    location = record["attachment"]["location"]
    if wrong == "hash":
        record["decompressedHash"] = "0" * 64
    elif wrong == "size":
        record["decompressedSize"] = 5
    else:
        data = b"plain text" if wrong == "no zstd" else mozilla.attachments[location][:-9]
        mozilla.attachments[location] = data
        record["attachment"] |= {"hash": sha256(data), "size": len(data)}
    assert "compressed by zstd, got another content" in fails(ValueError)
    assert "vocab.ende.spm" not in file_names(cache) and not list(cache.rglob("*.tmp"))


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "../model.bin"}, {"name": "model.bin/../../x.bin"}, {"name": None}, {"name": "notes.bin"},
        {"attachment": None}, {"attachment": {}}, {"decompressedHash": "1234"}, {"decompressedSize": "many"},
        {"decompressedSize": 0}, {"decompressedHash": None},
    ],
)  # fmt: skip
def test_a_damaged_record_of_a_file_is_refused(mozilla, cache, fields):
    mozilla.publish("en", "de")
    damage(mozilla, "model").update(fields)
    assert "wanted name, size, hash and location of a model file" in fails(ValueError) and file_names(cache) == []


def test_a_compressed_file_of_which_no_hash_is_published_is_refused(mozilla):
    mozilla.publish("en", "de")
    del damage(mozilla, "model")["decompressedHash"]
    assert "wanted name, size, hash and location of a model file" in fails(ValueError)


def test_records_of_other_pairs_may_be_damaged(mozilla):
    model = mozilla.publish("en", "de")
    mozilla.publish("en", "fr", attachment=None, name=None)
    mozilla.collections[NEW] += [{}, {"fileType": 3}, {"fileType": "model", "version": "3.0", "fromLang": 4}, "text"]
    assert content(fetch_firefox("en-de")) == model


def test_a_damaged_file_in_the_cache_is_fetched_again_alone(mozilla):
    model = mozilla.publish("en", "de")
    folder = fetch_firefox("en-de")
    mozilla.requests.clear()
    path = folder / "model.ende.intgemm8.bin"
    path.write_bytes(b"X" + path.read_bytes()[1:])
    (folder / ".lex.ende.bin.1.plain.tmp").write_bytes(b"of a killed process")
    assert content(fetch_firefox("en-de")) == model
    assert len(mozilla.requests) == 2, "the address of attachments, and the file"


def test_a_damaged_record_in_the_cache_is_written_again_and_no_file_fetched(mozilla):
    model = mozilla.publish("en", "de")
    folder = fetch_firefox("en-de")
    for damaged in ('{"pair": "en', "[]", '{"files": []}', (folder / RECORD).read_text().replace("en-de", "en-fr")):
        (folder / RECORD).write_text(damaged)
        mozilla.requests.clear()
        assert content(fetch_firefox("en-de")) == model
        assert [request.rpartition("/")[2] for request in mozilla.requests] == ["records"]
        assert json.loads((folder / RECORD).read_text())["pair"] == "en-de"


def test_an_interrupted_fetching_goes_on_with_what_is_whole(mozilla, cache):
    model = mozilla.publish("en", "de")
    mozilla.fault(mozilla.collections[NEW][2]["attachment"]["location"], 500, 3)
    fails(OSError)
    assert sorted(file_names(cache)) == sorted(model)[:2]
    (cache / "en-de" / "firefox-en-de-3.0-tiny" / ".vocab.ende.spm.1.sent.tmp").write_bytes(b"of a killed process")
    mozilla.requests.clear()
    assert content(fetch_firefox("en-de")) == model, "and nothing temporary"
    assert len([request for request in mozilla.requests if "/files/" in request]) == 1


def test_without_a_network_the_cache_is_all(mozilla, cache, monkeypatch):
    model = mozilla.publish("en", "de")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fails(ValueError) == (
        f"wanted firefox/en-de whole in {cache / 'en-de'}, got none, and HF_HUB_OFFLINE, which forbids to fetch it: "
        "unset it"
    )
    assert not mozilla.requests and not cache.exists()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    folder = fetch_firefox("en-de")
    mozilla.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetch_firefox("en-de") == folder and content(folder) == model
    (folder / "vocab.ende.spm").write_bytes(b"short")
    assert "got vocab.ende.spm damaged or missing there, and HF_HUB_OFFLINE" in fails(ValueError)
    assert not mozilla.requests


def test_a_cache_that_is_read_only_is_read(mozilla, cache, monkeypatch):
    mozilla.publish("en", "de")
    folder = fetch_firefox("en-de")
    monkeypatch.setattr(fetch, "alone", None)
    assert fetch_firefox("en-de") == folder, "without a lock"


def test_a_cache_that_cannot_be_made_and_a_full_disk(mozilla, cache, monkeypatch):
    mozilla.publish("en", "de")
    cache.parent.mkdir(parents=True)
    cache.write_text("a file")
    assert fails(OSError).endswith("set HF_HOME to another folder")
    cache.unlink()

    def full(url, _):
        with urls._reached(url):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetch, "download", full)
    assert fails(OSError).endswith("got a full disk: make room, or set HF_HOME to another folder") and not mozilla.slept


def test_frames_of_zstd_one_after_the_other(mozilla):
    mozilla.publish("en", "de")
    record = damage(mozilla, "lex")
    data = zstandard.compress(b"first, ") + zstandard.compress(b"second")
    record["attachment"] |= {"hash": sha256(data), "size": len(data)}
    record |= {"decompressedHash": sha256(b"first, second"), "decompressedSize": 13}
    mozilla.attachments[record["attachment"]["location"]] = data
    assert (fetch_firefox("en-de") / record["name"]).read_bytes() == b"first, second"


def start_process(mozilla, tmp_path, pair="en-de"):
    """Another process that fetches a model into the same cache."""
    home = {"HF_ASSETS_CACHE": str(tmp_path / "assets"), "HF_HUB_OFFLINE": "0", ADDRESS: f"{mozilla.url}/v1"}
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_START, pair], env=ENVIRONMENT | home, cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.slow
def test_two_processes_fetch_every_file_once(mozilla, tmp_path):
    model = mozilla.publish("en", "de")
    mozilla.fault("/files/", "hang")
    first = start_process(mozilla, tmp_path)
    assert mozilla.silent.wait(60)
    second = start_process(mozilla, tmp_path)
    waits = second.stderr.readline()
    assert f"waiting for process {first.pid} on" in waits
    mozilla.go.set()
    folders = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert folders[0] == folders[1] == f"{fetch_firefox('en-de')}\n"
    assert content(fetch_firefox("en-de")) == model
    assert len([request for request in mozilla.requests if "/files/" in request]) == len(model)


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_under_a_name_and_frees_the_lock(mozilla, tmp_path, cache):
    model = mozilla.publish("en", "de")
    mozilla.fault("/files/", "hang")
    killed = start_process(mozilla, tmp_path)
    assert mozilla.silent.wait(60)
    for _ in range(600):
        if list(cache.rglob(".*.tmp")):
            break
        threading.Event().wait(0.1)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert file_names(cache) == [] and len(list(cache.rglob(".*.tmp"))) == 1
    assert content(fetch_firefox("en-de")) == model and not list(cache.rglob(".*.tmp"))
