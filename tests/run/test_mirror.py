"""A run in a bucket is a local run that is mirrored: what is missing on either side is fetched or sent, and no more."""

import json
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.paranmt import ParaNMTRun
from tests.conftest import demo_rows, write_run
from toolkit.data.shards import dropped_of
from toolkit.package.build import package_parabank
from toolkit.package.load import load_parabank
from toolkit.package.read import read_pairs, read_references
from toolkit.run import mirror
from toolkit.run.mirror import _run_folder, _send_shard, fetch_run, send_parabank, send_run, sending, working_folder
from toolkit.system.lock import held
from toolkit.system.outputs import check_output_folder
from toolkit.system.settings import check_record
from toolkit.system.urls import below

SETTINGS = {"lang": "en", "seed": 0, "output_dir": "one"}
RUN = [f"{kind}-{n:05d}.parquet" for kind in ("input", "rows") for n in range(3)] + ["inputs.json", "settings.json"]
MODELS = [{"role": "forward", "name": "tiny", "bleu": None, "signature": None, "license": None}]


@pytest.fixture(params=["memory", "file"])
def bank(request, tmp_path, monkeypatch):
    """The URL of a parabank that is not there yet."""
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path / "cache"))
    yield "memory://bucket/bank" if request.param == "memory" else f"file://{tmp_path}/bucket/bank"
    fsspec.filesystem("memory").store.clear()


def make_run(bank):
    """A finished run in the folder in which it works, as the builder leaves it."""
    folder = write_run(_run_folder(bank), demo_rows())
    (folder / "settings.json").unlink()
    check_record(folder / "settings.json", SETTINGS, set())
    return folder


def add_counts(folder):
    """Counts of what a shard no longer has; any table will do."""
    pq.write_table(pa.table({"n": [1, 2]}), dropped_of(folder / "rows-00001.parquet"), write_page_checksum=True)


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def elsewhere(bank, monkeypatch, tmp_path):
    """The folder in which the same command works on another machine."""
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path / "elsewhere"))
    return _run_folder(bank)


def test_the_folder_of_a_url_is_in_the_cache_and_has_its_name(monkeypatch, tmp_path):
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path))
    first, second = working_folder("s3://bucket/banks/bank"), working_folder("s3://other/banks/bank/")
    assert first.name == second.name == "bank" and first.parent != second.parent and first.parent.parent == tmp_path
    assert (
        working_folder("s3://bucket/banks/bank/") == first
        and _run_folder("s3://bucket/banks/bank").parent == first.parent
    )
    assert _run_folder("build/bank") == Path("build/bank.shards") and working_folder("~x") == Path("~x")
    monkeypatch.delenv("PARABANK_CACHE")
    assert working_folder("s3://bucket/bank").parent.parent == Path.home() / ".cache" / "parabank"


def test_a_folder_on_the_disk_is_not_mirrored(tmp_path, monkeypatch):
    monkeypatch.setattr(mirror, "send", None)
    for call in (send_run, send_parabank):
        call(str(tmp_path / "bank"))
    _send_shard(str(tmp_path / "bank"), tmp_path / "rows-00000.parquet")
    fetch_run(str(tmp_path / "bank"), {}, set())


def test_a_run_goes_on_elsewhere_with_all_that_was_finished(bank, tmp_path, monkeypatch, capsys):
    folder = make_run(bank)
    add_counts(folder)
    shard = folder / "rows-00002.parquet"
    files, later = contents(folder), shard.read_bytes()
    shard.unlink()
    (folder / ".rows-00002.parquet.1.tmp").write_bytes(b"half")
    fetch_run(bank, SETTINGS, set())  # the URL has nothing yet
    send_run(bank)
    assert set(below(f"{bank}.shards")) == {*RUN, "dropped-00001.parquet"} - {"rows-00002.parquet"}
    shard.write_bytes(later)
    _send_shard(bank, shard)

    new_folder = elsewhere(bank, monkeypatch, tmp_path)
    fetch_run(bank, SETTINGS | {"output_dir": "two"}, {"output_dir"})
    assert contents(new_folder) == files
    assert f"{bank}.shards: 9 files fetched to {new_folder}" == capsys.readouterr().err.splitlines()[-1]
    times = {path: path.stat().st_mtime_ns for path in new_folder.iterdir()}
    fetch_run(bank, SETTINGS, set())
    assert {path: path.stat().st_mtime_ns for path in new_folder.iterdir()} == times
    assert f"{bank}.shards: 0 files fetched to {new_folder}\n" == capsys.readouterr().err


def test_only_what_is_missing_is_sent(bank, monkeypatch):
    folder = make_run(bank)
    send_run(bank)
    names = []
    monkeypatch.setattr(mirror, "send", lambda path, url: names.append(path.name))
    monkeypatch.setattr(mirror, "send_together", lambda urls: names.extend(path.name for path in urls.values()))
    (folder / "rows-00007.parquet").write_bytes(b"made before the network was lost")
    send_run(bank)
    assert names == ["settings.json", "rows-00007.parquet"]


def cutting(monkeypatch, name, times, content=lambda data: data[: len(data) // 2]):
    """Damage a file on its way, the first `times` times that it is fetched; no checksum tells."""
    for kind in ("memory", "file"):
        system = type(fsspec.filesystem(kind))

        left = [False] + [True] * (times if times < 9 else 99)

        def get_file(self, source, target, *rest, get=system.get_file, left=left, **options):
            get(self, source, target, *rest, **options)
            if str(source).endswith(name) and (left.pop() if len(left) > 1 else left[0]):
                Path(target).write_bytes(content(Path(target).read_bytes()))

        monkeypatch.setattr(system, "get_file", get_file)


@pytest.mark.parametrize("name", ["rows-00001.parquet", "input-00002.parquet", "inputs.json"])
def test_a_file_that_is_cut_on_its_way_is_fetched_again(bank, name, tmp_path, monkeypatch):
    folder = make_run(bank)
    send_run(bank)
    new_folder = elsewhere(bank, monkeypatch, tmp_path)
    cutting(monkeypatch, name, 1)
    assert fetch_run(bank, SETTINGS, set()) == set() and contents(new_folder) == contents(folder)


def test_a_file_that_is_cut_every_time_does_not_count_and_is_not_sent_back(bank, tmp_path, monkeypatch):
    folder = make_run(bank)
    send_run(bank)
    new_folder = elsewhere(bank, monkeypatch, tmp_path)
    cutting(monkeypatch, "rows-00001.parquet", 9)
    size = (folder / "rows-00001.parquet").stat().st_size
    message = rf"wanted {bank}.shards/rows-00001.parquet whole, got {size // 2:,} of {size:,} bytes: check the network"
    with pytest.raises(OSError, match=message):
        fetch_run(bank, SETTINGS, set())
    assert not (new_folder / "rows-00001.parquet").exists() and not list(new_folder.glob(".*"))
    monkeypatch.undo()
    monkeypatch.setenv("PARABANK_CACHE", str(new_folder.parents[1]))
    fetch_run(bank, SETTINGS, set())
    assert contents(new_folder) == contents(folder)


def flipped(data: bytes) -> bytes:
    """One bit of a page of a Parquet file, or the first of a record, is another."""
    place = 30 if data.startswith(b"PAR1") else 0
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize("name", ["rows-00001.parquet", "dropped-00001.parquet", "input-00001.parquet", "inputs.json"])
@pytest.mark.parametrize("damage", [flipped, lambda data: data[: len(data) // 2]])
def test_a_file_that_is_damaged_in_the_bucket_is_named_made_again_and_replaced(
    bank, name, damage, tmp_path, monkeypatch, capsys
):
    folder = make_run(bank)
    add_counts(folder)
    send_run(bank)
    (tmp_path / "damaged").write_bytes(damage((folder / name).read_bytes()))
    mirror.send(tmp_path / "damaged", f"{bank}.shards/{name}")
    new_folder = elsewhere(bank, monkeypatch, tmp_path)
    damaged = fetch_run(bank, SETTINGS, set())
    assert f"{bank}.shards/{name}: damaged there, so it is made again and replaced" in capsys.readouterr().err
    also = {"rows-00001.parquet"} if name.startswith("dropped") else set()
    assert damaged == {name} | also and not any((new_folder / file_name).exists() for file_name in damaged)
    assert (new_folder / "inputs.json").exists() != name.startswith("input")
    for file_name in {*damaged, "inputs.json"}:
        shutil.copy(folder / file_name, new_folder / file_name)  # made again
    send_run(bank, damaged)
    assert below(f"{bank}.shards") == {path.name: path.stat().st_size for path in folder.iterdir()}
    assert mirror.read_bytes(f"{bank}.shards/{name}") == (folder / name).read_bytes()


def test_a_shard_of_the_bucket_is_not_replaced_by_a_cut_one_of_this_machine(bank, capsys):
    folder = make_run(bank)
    send_run(bank)
    shard = folder / "rows-00001.parquet"
    whole = shard.read_bytes()
    shard.write_bytes(whole[: len(whole) // 2])
    send_run(bank)
    assert f"{bank}.shards/rows-00001.parquet: another file of that name came there, which is kept" in (
        capsys.readouterr().err
    )
    assert mirror.read_bytes(f"{bank}.shards/rows-00001.parquet") == whole
    fetch_run(bank, SETTINGS, set())
    assert shard.read_bytes() == whole, "the next call takes the whole one"


def test_a_damaged_record_in_the_bucket_is_one_line(bank, tmp_path):
    make_run(bank)
    send_run(bank)
    (tmp_path / "record").write_bytes(b'{"toolk')
    mirror.send(tmp_path / "record", f"{bank}.shards/settings.json")
    with pytest.raises(ValueError, match=f"wanted the record of a run in JSON, got {bank}.shards/settings.json, which"):
        fetch_run(bank, SETTINGS, set())


def test_input_shards_without_their_record_are_cut_again_and_finished_shards_are_kept(bank, tmp_path, monkeypatch):
    folder = make_run(bank)
    add_counts(folder)
    send_run(bank)
    mirror.remove([f"{bank}.shards/inputs.json"])
    new_folder = elsewhere(bank, monkeypatch, tmp_path)
    fetch_run(bank, SETTINGS, set())
    file_names = ["dropped-00001.parquet", *(f"rows-{n:05d}.parquet" for n in range(3)), "settings.json"]
    assert contents(new_folder) == {name: data for name, data in contents(folder).items() if name in file_names}
    assert sorted(contents(new_folder)) == file_names


def test_finished_shards_are_sent_after_their_counts_and_before_input_shards(bank, monkeypatch):
    folder = make_run(bank)
    add_counts(folder)
    names, send_together = [], mirror.send_together

    def sending(urls):
        names.extend(path.name for path in urls.values())
        send_together(urls)

    monkeypatch.setattr(mirror, "send_together", sending)
    send_run(bank)
    assert names == ["dropped-00001.parquet", *sorted(RUN[3:6]), *sorted(RUN[:3]), "inputs.json"]
    assert set(below(f"{bank}.shards")) == {*RUN, "dropped-00001.parquet"}


def test_an_address_that_refuses_a_shard_stops_no_work_and_gets_it_later(bank, monkeypatch, capsys):
    folder, send = make_run(bank), mirror.send
    monkeypatch.setattr(mirror, "time", SimpleNamespace(monotonic=lambda: 0.0))
    tries, request, answer = [], threading.Event(), threading.Event()

    def refuse(path, url):
        tries.append(path.name)
        request.set()
        assert answer.wait(60)
        raise OSError(f"wanted a URL to write to, got {url}")

    monkeypatch.setattr(mirror, "send", refuse)
    with sending(bank) as send_shard:
        send_shard(folder / "rows-00000.parquet")
        assert request.wait(60), "the address does not answer, and the run goes on"
        send_shard(folder / "rows-00001.parquet")
        answer.set()
    line = f"rows-00000.parquet: not sent yet, the run goes on: wanted a URL to write to, got {bank}.shards/rows-00000"
    assert capsys.readouterr().err == f"{line}.parquet\n"
    assert tries == ["rows-00000.parquet"], "no further try for a while"

    def recovered(path, url):
        tries.append(path.name)
        if len(tries) == 2:
            raise OSError("not yet")
        send(path, url)

    monkeypatch.setattr(mirror, "send", recovered)
    monkeypatch.setattr(mirror, "time", SimpleNamespace(monotonic=count(0, mirror.PAUSE).__next__))
    with sending(bank) as send_shard:
        for number in range(3):
            send_shard(folder / f"rows-0000{number}.parquet")
    assert sorted(below(f"{bank}.shards")) == [f"rows-0000{number}.parquet" for number in range(3)]


def test_a_new_url_is_written_to_before_anything_else(bank, monkeypatch):
    fetch_run(bank, SETTINGS, set())
    assert below(f"{bank}.shards") == {}, "the probe is removed"
    monkeypatch.setattr(mirror, "remove", lambda urls: None)  # as where the process is killed
    fetch_run(bank, SETTINGS, set())
    assert list(below(f"{bank}.shards")) == [".probe"]
    fetch_run(bank, SETTINGS, set())


@pytest.fixture
def web(tmp_path):
    """The URL of a server that only reads."""
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("url", ["file:///proc/nope", "http"])
def test_a_url_that_cannot_be_written_is_refused(url, web, monkeypatch, tmp_path):
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path / "cache"))
    url = f"{web}/bank" if url == "http" else url
    with pytest.raises(OSError, match=rf"wanted a URL to write to, got {url}.shards/.probe \(\w+: .*\): check the URL"):
        fetch_run(url, SETTINGS, set())
    assert not (tmp_path / "cache").exists()


def test_a_url_of_another_run_or_of_other_files_is_refused(bank, tmp_path, monkeypatch):
    make_run(bank)
    send_run(bank)
    message = rf"{bank}.shards holds a run with other settings: seed was 0, now 1; take them back or choose another"
    with pytest.raises(ValueError, match=message):
        fetch_run(bank, SETTINGS | {"seed": 1}, set())
    url = f"{bank}-of-others"
    (tmp_path / "a.txt").write_text("theirs")
    mirror.send(tmp_path / "a.txt", f"{url}/a.txt")
    with pytest.raises(FileExistsError, match=rf"wanted a new URL, or that of a run, got {url}, which holds a.txt"):
        fetch_run(url, SETTINGS, set())
    assert not _run_folder(url).exists()


def test_another_launch_on_this_machine_is_refused(bank):
    from accelerate import PartialState

    make_run(bank)
    with held(_run_folder(bank), PartialState(cpu=True)), pytest.raises(RuntimeError, match="for this command alone"):
        fetch_run(bank, SETTINGS, set())


@pytest.mark.slow
def test_a_parabank_takes_the_place_of_an_older_one_and_is_read_where_it_is(bank, monkeypatch, tmp_path):
    folder, local = make_run(bank), working_folder(bank)
    package_parabank(folder, local, "bank", "1.0.0", "cc-by-2.0", MODELS, max_rows_per_file=2)
    mirror.send(local / "README.md", f"{bank}/data/pairs/train-00007-of-00008.parquet")  # of an older one
    mirror.send(local / "parabank.json", f"{bank}/parabank.json")
    names, send = [], mirror.send

    def sending(path, url):
        assert "parabank.json" not in below(bank), "a parabank of which a part is missing is none"
        names.append(path.name)
        send(path, url)

    monkeypatch.setattr(mirror, "send", sending)
    send_parabank(bank)
    assert sorted(below(bank)) == sorted(contents(local)) and names[-1] == "parabank.json"

    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    for config, read in (("pairs", read_pairs), ("references", read_references)):
        assert list(read(bank)) == list(read(local)) and list(read(bank, "train")) == list(read(local, "train"))
        loaded, expected = load_parabank(bank, config), load_parabank(local, config)
        assert {name: part.to_list() for name, part in loaded.items()} == {n: p.to_list() for n, p in expected.items()}
    streamed = load_parabank(bank, split="train", streaming=True)
    assert list(streamed) == load_parabank(local, split="train").to_list()


def test_what_is_no_whole_parabank_at_a_url_is_an_error(bank):
    folder, local = make_run(bank), working_folder(bank)
    package_parabank(folder, local, "bank", "1.0.0", "cc-by-2.0", MODELS)
    with pytest.raises(FileNotFoundError, match=f"wanted a packaged parabank, got {bank} without parabank.json: check"):
        load_parabank(bank)
    with pytest.raises(FileNotFoundError, match=f"wanted a packaged parabank, got {bank} without parabank.json: check"):
        list(read_pairs(bank))
    send_parabank(bank)
    with pytest.raises(ValueError, match=f"wanted no revision for {bank}, got 'v1': only the Hub keeps revisions"):
        load_parabank(bank, revision="v1")
    if bank.startswith("memory:"):
        with pytest.raises(OSError, match=f"wanted a network for {bank}, got HF_HUB_OFFLINE, which `datasets` obeys"):
            load_parabank(bank)
    mirror.remove([f"{bank}/data/pairs/train-00000-of-00001.parquet"])
    with pytest.raises(ValueError, match=f"wanted 5 rows in {bank}/data/pairs/train-[*].parquet, got 0: a file is"):
        load_parabank(bank)


def test_outputs_that_cannot_be_mirrored_are_refused(tmp_path, monkeypatch):
    settings = {"bitext": ["a.tsv"], "source_lang": "de", "lang": "en", "forward": "starter/de-en"}
    for url in ("s3://bucket", "s3://bucket/"):
        with pytest.raises(ValueError, match=f"wanted a folder in a bucket, got {url}: add the name of the parabank"):
            ParaNMTRun(**settings, output_dir=url)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="wanted a folder on the disk, got s3:/bucket/model: only builders write"):
        check_output_folder(Path("s3://bucket/model"), "settings.json")
    assert not list(tmp_path.iterdir())


def test_the_settings_of_a_card_name_no_bucket(bank):
    folder, local = make_run(bank), working_folder(bank)
    record = json.loads((folder / "settings.json").read_text()) | {
        "bitext": ["s3://secret/a.tsv.gz"],
        "output_dir": bank,
    }
    (folder / "settings.json").write_text(json.dumps(record))
    package_parabank(folder, local, "bank", "1.0.0", "cc-by-2.0", MODELS)
    settings = json.loads((local / "parabank.json").read_text())["settings"]
    assert settings["bitext"] == ["a.tsv.gz"] and settings["output_dir"] == "bank"
    shutil.rmtree(local)
