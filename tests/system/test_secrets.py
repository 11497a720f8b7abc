"""A password in a URL is in no record, no lock, no message and no parabank; neither is the key of a server."""

import importlib.util
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from builders.commands.build_parabank import main
from tests.run.test_shard_runs import flags
from tests.tiny import DEMO, ROOT
from toolkit.system.errors import without_secrets

WORD = "hunter2"


@pytest.fixture
def web(tmp_path):
    """The address of a server that has the demo's bitext, with a name and a password."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Say nothing."""

    folder = tmp_path / "served"
    folder.mkdir()
    lines = DEMO.read_text(encoding="utf-8").splitlines()[:6]
    (folder / "a.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    pairs = "".join(f"The dog {n} is sleeping now.\tThe hound {n} is asleep now.\n" for n in range(6))
    (folder / "pairs.tsv").write_text(pairs)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://me:{WORD}@127.0.0.1:{server.server_port}"
        server.shutdown()


def output_of(folder, capsys):
    """All that a command has written, to the terminal and to files."""
    streams = capsys.readouterr()
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return streams.out + streams.err + "".join(path.read_bytes().decode("latin-1") for path in paths)


@pytest.mark.slow
def test_a_builder_keeps_no_password_and_goes_on_with_another(web, tmp_path, capsys):
    bank = tmp_path / "bank"
    assert main(flags(bank, bitext=f"{web}/a.tsv", limit=4, decontaminate=f"{web}/pairs.tsv")) == 0
    output = output_of(tmp_path, capsys)
    assert "127.0.0.1" in output and WORD not in output
    assert (
        main(flags(bank, bitext=f"{web.replace(WORD, 'other')}/a.tsv", limit=4, decontaminate=f"{web}/pairs.tsv")) == 0
    )


def test_messages_have_no_password(web, tmp_path, capsys):
    assert main(flags(tmp_path / "bank", bitext=f"{web}/lost.tsv")) == 1
    with pytest.raises(SystemExit):
        main(flags(f"memory://me:{WORD}@", limit=4))
    assert main(flags(tmp_path / "bank", bitext=f"s4://me:{WORD}@bucket/a.tsv")) == 1
    output = output_of(tmp_path, capsys)
    assert "lost.tsv: check the path" in output and WORD not in output


def test_a_training_keeps_no_password(web, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("train_encoder", ROOT / "scripts" / "train_encoder.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = ["--dimensions", "8", "--min_count", "1", "--epochs", "1", "--threads", "1"]
    assert module.main(["--pairs", f"{web}/pairs.tsv", "--output_dir", str(tmp_path / "encoder"), *settings]) == 0
    output = output_of(tmp_path, capsys)
    assert "127.0.0.1" in output and WORD not in output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://KEY:SE/CRET@bucket/a and s3://bucket/a:b@c", "s3://bucket/a and s3://bucket/a:b@c"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("got https://token@host/a.tsv: check", "got https://host/a.tsv: check"),
        ("'ftp://me:p@ss:word@host/x'", "'ftp://host/x'"),
        ("abfs://me:word@host/x, abfs://container@account/x", "abfs://host/x, abfs://container@account/x"),
        ("https://host/a?id=5&sig=abc%2F and b", "https://host/a and b"),
        ("https://host/a?id=5", "https://host/a?id=5"),
        ("mail me@host.de? No: him@host.de", "mail me@host.de? No: him@host.de"),
    ],
)
def test_the_user_part_and_keys_of_a_url_are_left_out(text, expected):
    assert without_secrets(text) == expected
