"""A builder reads from and writes to an S3 server on loopback: the bytes of a local run, also on a new machine."""

import json
import os
import signal
import subprocess
from pathlib import Path

import fsspec
import pytest

from tests.tiny import DEMO, ENVIRONMENT, PYTHON, ROOT, killing_at
from toolkit.system.urls import below, fetch, read_bytes

pytestmark = pytest.mark.slow
# It has had the time to send the second.
KILL_AFTER_TWO_SHARDS = killing_at("rows-00002.parquet").replace("os.kill(", "import time; time.sleep(3); os.kill(")


@pytest.fixture(scope="module")
def server():
    """What a process needs in its environment to find the server; the bucket "bucket" has the demo's bitext."""
    from moto.server import ThreadedMotoServer  # takes a second, which other tests need not wait

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)  # the system's free port
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    try:
        with pytest.MonkeyPatch.context() as patch:
            environment = {
                "AWS_ENDPOINT_URL": address,
                "AWS_ACCESS_KEY_ID": "tests",
                "AWS_SECRET_ACCESS_KEY": "tests",
                "AWS_DEFAULT_REGION": "us-east-1",
                "NO_PROXY": "127.0.0.1",
            }
            for name, value in environment.items():
                patch.setenv(name, value)
            system = fsspec.filesystem("s3")
            system.mkdir("bucket")
            system.put_file(str(DEMO), "bucket/texts/bitext.de-en.tsv")
            yield environment
    finally:
        server.stop()


def build(output, bitext, folder, environment, before="", processes=1):
    """Run the builder in a process of its own; `before` is Python that it runs when it starts."""
    (folder / "start").mkdir(parents=True, exist_ok=True)
    (folder / "start" / "sitecustomize.py").write_text(before)
    settings = {
        "bitext": bitext,
        "source_lang": "de",
        "lang": "en",
        "forward": "starter/de-en",
        "semantic_model": "starter/encoder",
        "output_dir": output,
        "limit": 40,
        "shard_rows": 10,
        "beam": 2,
        "threads": 1,
        "processes": processes,
        "dtype": "float32",
    }
    flags = [part for key, value in settings.items() for part in (f"--{key}", str(value))]
    start = {"PYTHONPATH": f"{folder / 'start'}{os.pathsep}{ROOT}", "ACCELERATE_USE_CPU": "true"}
    return subprocess.run(
        [PYTHON, "-m", "builders", "build", "paranmt", *flags],
        env={**ENVIRONMENT, **start, **environment, "PARABANK_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=1200,
    )


def without_origin(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a run and its parabank, less what says from where its bitext was read and by how many processes."""
    contents = {
        name: data for name, data in files.items() if Path(name).name not in (".lock", "settings.json", "SHA256SUMS")
    }
    origin = json.loads(contents["bank/parabank.json"])["settings"]["content of bitext"].encode()
    assert b"sha256" in origin and origin in contents["bank/README.md"]
    replacements = ((b'"processes": 2', b'"processes": 1'), (b"| `processes` | 2 |", b"| `processes` | 1 |"))
    for old, new in ((origin, b"the same bytes"), *replacements):
        contents = {name: data.replace(old, new) for name, data in contents.items()}
    return contents


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The files of a run without a bucket, by their paths."""
    folder = tmp_path_factory.mktemp("local")
    process = build(folder / "bank", DEMO, folder, {})
    assert process.returncode == 0, process.stderr
    paths = [path for part in ("bank", "bank.shards") for path in (folder / part).rglob("*") if path.is_file()]
    return without_origin({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def assert_same(url, expected):
    """A run at a URL has the same files with the same bytes."""
    names = [f"{part}/{name}" for part in ("bank", "bank.shards") for name in below(f"{url}/{part}")]
    files = without_origin({name: read_bytes(f"{url}/{name}") for name in names})
    assert sorted(files) == sorted(expected)
    assert [name for name in expected if files[name] != expected[name]] == []


def test_a_run_between_buckets_has_the_bytes_of_a_local_run(server, expected, tmp_path):
    process = build("s3://bucket/whole/bank", "s3://bucket/texts/bitext.de-en.tsv", tmp_path, server, processes=2)
    assert process.returncode == 0, process.stderr
    assert "s3://bucket/whole/bank: " in process.stdout and "40 lines read" in process.stderr
    assert len([name for name in expected if "/rows-" in name]) == 4, "nothing would be compared"
    assert_same("s3://bucket/whole", expected)


def sent_at(name):
    """When a file of the run that was killed came to its bucket."""
    system = fsspec.filesystem("s3")
    system.invalidate_cache()
    return system.info(f"bucket/killed/bank.shards/{name}")["LastModified"]


def test_another_machine_makes_only_the_missing_shards(server, expected, tmp_path):
    command = "s3://bucket/killed/bank", "s3://bucket/texts/bitext.de-en.tsv"
    killed = build(*command, tmp_path / "one", server, KILL_AFTER_TWO_SHARDS)
    assert killed.returncode == -signal.SIGKILL
    shards = [name for name in below("s3://bucket/killed/bank.shards") if name.startswith("rows-")]
    assert shards == ["rows-00000.parquet", "rows-00001.parquet"]
    assert below("s3://bucket/killed/bank") == {}
    before = [sent_at(name) for name in shards]
    again = build(*command, tmp_path / "two", server)
    assert again.returncode == 0, again.stderr
    assert "s3://bucket/killed/bank.shards: 8 files fetched to " in again.stderr
    (folder,) = (tmp_path / "two" / "cache").glob("*/bank.shards")
    for number in range(4):
        fetched = (folder / f"rows-0000{number}.parquet").stat().st_mtime < (folder / ".lock").stat().st_mtime
        assert fetched == (number < 2)
    assert [sent_at(name) for name in shards] == before, "they were not sent again"
    assert_same("s3://bucket/killed", expected)


@pytest.mark.parametrize(
    ("call", "port", "message"),
    [
        ("read_bitext(['s3://bucket/lost.tsv'])", None, "wanted an existing file, got s3://bucket/lost.tsv: check"),
        ("read_bitext(['s3://lost/a.tsv'])", None, "wanted an existing file, got s3://lost/a.tsv: check the path"),
        ("fetch_run('s3://lost/bank', {}, set())", None, "wanted an existing bucket, got s3://lost: create it, or"),
        ("read_bitext(['s3://bucket/a.tsv'])", 9, "wanted s3://bucket/a.tsv, got EndpointConnectionError: Could not"),
        ("fetch_run('s3://bucket/bank', {}, set())", 9, "wanted s3://bucket, got EndpointConnectionError: Could not"),
    ],
)
def test_what_cannot_be_reached_is_one_line(server, tmp_path, call, port, message):
    code = "from toolkit.bitext.read import read_bitext; from toolkit.system.command import run_command; "
    code += f"from toolkit.run.mirror import fetch_run; run_command('it', lambda: {call})"
    away = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_MAX_ATTEMPTS": "1"} if port else {}
    environment = {**ENVIRONMENT, **server, **away, "PARABANK_CACHE": str(tmp_path)}
    process = subprocess.run([PYTHON, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert process.stderr.count("\n") == 1 and process.stderr.startswith(f"it: {message}"), process.stderr
    assert not list(tmp_path.iterdir())


def test_a_large_file_is_fetched_as_it_was_sent(server, tmp_path):
    """In several parts, as s3fs sends and fetches what is larger than some megabytes."""
    large = os.urandom(60 << 20)
    (tmp_path / "large").write_bytes(large)
    fsspec.filesystem("s3").put_file(str(tmp_path / "large"), "bucket/large")
    assert below("s3://bucket/")["large"] == len(large)
    fetch({"s3://bucket/large": tmp_path / "back"})
    assert (tmp_path / "back").read_bytes() == large
