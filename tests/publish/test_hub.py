"""Versions on a Hub that fails: whatever goes wrong, no tag names a part of a version, and the same call goes on."""

import hashlib

import pytest
from huggingface_hub import HfApi

from tests.hub import GUEST, READER, WRITER, Blob, Fault, Repository
from toolkit.publish.hub import _check_token, _planned, _published, publish

NAME, RECORD = "org/bank", "parabank.json"
LARGE = {f"data/{n}.parquet": bytes([n]) * 1000 * (n + 1) for n in range(3)}
FILES = {RECORD: b'{"toolkit": "1"}', "README.md": b"# A bank\n", **LARGE}


def sums(files):
    lines = [f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(files.items())]
    return files | {"SHA256SUMS": "".join(lines).encode()}


def plan(api, version="1.0.0", files=FILES):
    return _planned(api, NAME, "dataset", version, sums(files), RECORD)


def publish_plan(api, version="1.0.0", files=FILES, public=False):
    return _published(api, plan(api, version, files), public)


def bank(hub):
    return hub.repositories["datasets", NAME]


def at(hub, tag):
    """The contents of the files that a tag names."""
    files = bank(hub).commits[bank(hub).tags[tag]]
    return {path: blob.content for path, blob in files.items() if path != ".gitattributes"}


def test_a_version_is_one_commit_and_its_tag(hub, api):
    address = publish_plan(api)
    assert address == f"{hub.url}/datasets/{NAME}/tree/v1.0.0"
    assert at(hub, "v1.0.0") == sums(FILES)
    assert len(bank(hub).commits) == 2, "the first commit is the Hub's own"
    assert bank(hub).private
    assert hub.uploaded == sum(map(len, LARGE.values()))


def test_public_on_request(hub, api):
    publish_plan(api, public=True)
    assert not bank(hub).private


def test_a_dry_run_changes_nothing(hub, api, capsys):
    assert publish(api, NAME, lambda: plan(api), dry_run=True) == ""
    stdout = capsys.readouterr().out
    assert "      new           3,000 bytes  data/2.parquet" in stdout and "6 new, 0 changed" in stdout
    assert not hub.repositories and not any(request.startswith(("POST", "PUT")) for request in hub.requests)


def test_a_second_version_sends_what_changed(hub, api):
    publish_plan(api)
    before = hub.uploaded
    files = {path: content for path, content in FILES.items() if path != "data/0.parquet"}
    files |= {"data/1.parquet": b"other" * 100, "data/3.parquet": b"more" * 10}
    version = plan(api, "1.1.0", files)
    assert version.states["data/0.parquet"] == "removed"
    assert {path for path in version.sent if path.startswith("data")} == {"data/1.parquet", "data/3.parquet"}
    _published(api, version)
    assert hub.uploaded - before == 540
    assert at(hub, "v1.1.0") == sums(files) and at(hub, "v1.0.0") == sums(FILES)


def test_a_file_of_the_user_stays(hub, api):
    publish_plan(api)
    now = bank(hub).commits[bank(hub).main]
    bank(hub).commit(now | {"LICENSE": Blob(b"CC BY", False)})
    publish_plan(api, "1.1.0", FILES | {"README.md": b"# New\n"})
    assert at(hub, "v1.1.0")["LICENSE"] == b"CC BY"


def test_a_version_that_is_there_is_not_sent_again(hub, api):
    publish_plan(api)
    tags, commits = dict(bank(hub).tags), len(bank(hub).commits)
    publish_plan(api)
    assert bank(hub).tags == tags and len(bank(hub).commits) == commits


def test_a_second_version_waits_until_it_is_known_what_the_first_has(hub, api):
    publish_plan(api)
    hub.faults = [Fault("HEAD", "SHA256SUMS", 500, times=100)]
    with pytest.raises(ConnectionError, match="wanted the Hub"):
        plan(api, "1.1.0", {path: content for path, content in FILES.items() if path != "data/0.parquet"})


def test_every_request_fails_once_for_good(hub, api):
    """Each request of a whole publication in turn fails until the command ends; the next call completes the version."""
    publish_plan(api)
    requests = [request.split(" ", 1) for request in hub.requests]
    assert len(requests) > 8
    for number, (method, path) in enumerate(requests):
        for answer in (500, "drop"):
            hub.repositories.clear()
            hub.stored.clear()
            same = [i for i, request in enumerate(requests) if request == [method, path]]
            pattern = f"^{path}$" if "/tree/" not in path and "/tag/" not in path else path.rpartition("/")[0]
            hub.faults = [Fault(method, pattern, answer, times=100, skip=same.index(number))]
            try:
                publish_plan(api)
                failed = False
            except (OSError, ValueError) as error:
                failed = True
                assert "\n" not in str(error) and "wanted" in str(error)
            hub.faults = []
            repository = hub.repositories.get(("datasets", NAME), Repository(True))
            assert failed or repository.tags
            for commit in repository.tags.values():
                assert set(repository.commits[commit]) >= set(FILES)
            publish_plan(api)
            assert at(hub, "v1.0.0") == sums(FILES), f"after {answer} at {method} {path}"
            assert len(bank(hub).commits) == 2


def test_what_was_sent_before_a_failure_is_not_sent_again(hub, api, monkeypatch):
    monkeypatch.setattr("toolkit.publish.hub.GROUP", 1)
    hub.faults = [Fault("PUT", "/lfs/", 507, times=100, skip=2)]
    with pytest.raises(ConnectionError, match=r"got 507 .*: nothing was tagged; run the same command again"):
        publish_plan(api)
    assert len(hub.stored) == 2 and not bank(hub).tags
    hub.faults = []
    publish_plan(api)
    assert hub.uploaded == sum(map(len, LARGE.values()))
    assert at(hub, "v1.0.0") == sums(FILES)


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/lfs/"), ("POST", "/tag/"), ("GET", "/refs"), ("POST", "/commit/")]
)
def test_a_busy_hub_is_waited_for(hub, api, method, path):
    hub.repositories["datasets", NAME] = Repository(True)
    bank(hub).commit({})
    hub.faults = [Fault(method, path, 429, times=2, headers={"Retry-After": "7"})]
    publish_plan(api)
    assert at(hub, "v1.0.0") == sums(FILES)
    assert len(hub.slept) == 2 and all(7 <= seconds <= 8 for seconds in hub.slept)


def test_a_dropped_connection_in_mid_upload(hub, api):
    hub.faults = [Fault("PUT", "/lfs/", "drop", times=2)]
    publish_plan(api)
    assert at(hub, "v1.0.0") == sums(FILES)


def test_a_commit_of_somebody_else_in_between(hub, api):
    publish_plan(api)
    version = plan(api, "1.1.0", FILES | {"README.md": b"# New\n"})
    bank(hub).commit(bank(hub).commits[bank(hub).main] | {"LICENSE": Blob(b"x", False)})
    with pytest.raises(ConnectionError, match="newer commit: nothing was tagged; run the same command again"):
        _published(api, version)
    assert list(bank(hub).tags) == ["v1.0.0"]


def test_a_commit_that_lost_a_file_gets_no_tag(hub, api, monkeypatch):
    monkeypatch.setattr(Repository, "commit", lambda self, files, old=Repository.commit: old(
        self, {path: blob for path, blob in files.items() if path != "data/1.parquet"}))  # fmt: skip
    with pytest.raises(ConnectionError, match=r"wanted all files in the commit of org/bank, got another or no data/1"):
        publish_plan(api)
    assert not bank(hub).tags


def test_tokens(hub):
    for token, message in ((READER, "one that may only read"), (False, "none"), ("hf_unknown", "one that may not")):
        with pytest.raises(PermissionError, match=f"wanted a token that may write to {NAME}, got {message}"):
            _check_token(HfApi(endpoint=hub.url, token=token), NAME)
    _check_token(HfApi(endpoint=hub.url, token=WRITER), NAME)
    api = HfApi(endpoint=hub.url, token=GUEST)
    with pytest.raises(PermissionError, match="one that may not write there: run `hf auth login`"):
        publish(api, NAME, lambda: plan(api))
    assert not hub.repositories


def test_versions_that_cannot_be_published(hub, api):
    publish_plan(api)
    publish_plan(api, "1.10.0", FILES | {"README.md": b"# New\n"})
    changed = FILES | {"data/0.parquet": b"other"}
    for version, message in (
        ("1.0.0", "wanted a version that org/bank does not have, got 1.0.0, which it has with another"),
        ("1.9.0", "wanted a version after 1.10.0, got 1.9.0"),
        ("1.9", "wanted a version MAJOR.MINOR.PATCH, got '1.9'"),
    ):
        with pytest.raises(ValueError, match=message):
            publish_plan(api, version, changed)


@pytest.mark.parametrize("name", ["bank", "org/bank/more", "../bank", "org/", "https://x.org/a/b"])
def test_names_that_are_none(api, name):
    with pytest.raises(ValueError, match="wanted a name on the Hub such as someone/parabank2"):
        _planned(api, name, "dataset", "1.0.0", FILES, RECORD)


def test_a_repository_of_others_is_not_touched(hub, api):
    hub.repositories["datasets", NAME] = Repository(False)
    bank(hub).commit({"README.md": Blob(b"# Mine\n", False), "train.csv": Blob(b"a,b\n", False)})
    with pytest.raises(ValueError, match=r"got org/bank with train.csv and without parabank.json: choose another name"):
        publish_plan(api)
    assert len(bank(hub).commits) == 1


def test_offline(hub, api, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConnectionError, match="wanted the Hub for org/bank, got HF_HUB_OFFLINE=1: unset it"):
        plan(api)


def test_no_hub_at_all(hub):
    with pytest.raises(ConnectionError, match="wanted the Hub to take org/bank, got ConnectError"):
        plan(HfApi(endpoint="http://127.0.0.1:9", token=WRITER))
