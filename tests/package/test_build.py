import json
import subprocess
import sys

import pytest

from tests.tiny import ENVIRONMENT
from toolkit.package import build
from toolkit.package.build import package_parabank
from toolkit.package.checksums import CHECKSUMS
from toolkit.system.contents import hash_file


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_packaging_twice_gives_the_same_bytes(demo_run, demo_models, pictures, tmp_path):
    for name in ("one", "other"):
        package_parabank(demo_run, tmp_path / name, "demo", "1.0.0", "cc-by-2.0", demo_models)
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    assert len(contents(tmp_path / "one")) == 14


def test_statistics_are_returned_and_written(demo_run, demo_models, tmp_path):
    statistics = package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "cc-by-2.0", demo_models)
    assert json.loads((tmp_path / "demo/statistics.json").read_text()) == statistics
    manifest = json.loads((tmp_path / "demo/parabank.json").read_text())
    assert manifest["counts"]["total"] == statistics["total"]
    assert manifest["settings"]["forward"] == "de-en" and manifest["models"] == demo_models
    assert (manifest["name"], manifest["version"], manifest["builder"]) == ("demo", "1.0.0", "parabank2")


def test_pieces_are_named_in_the_signature(demo_run, demo_models, tmp_path):
    statistics = package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models, pieces=list)
    assert "unit:piece" in statistics["diversity"]["signatures"]["intersection_over_union"]


def assert_as_listed(folder):
    lines = (folder / CHECKSUMS).read_text().splitlines()
    assert lines and all(line.split("  ") == [hash_file(folder / line[66:]), line[66:]] for line in lines)


@pytest.mark.slow
def test_an_older_one_is_replaced_whole(demo_run, demo_models, tmp_path):
    package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models, max_rows_per_file=1)
    package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.1", "mit", demo_models)
    assert len(list((tmp_path / "demo/data/pairs").iterdir())) == 3
    assert json.loads((tmp_path / "demo/parabank.json").read_text())["version"] == "1.0.1"
    assert_as_listed(tmp_path / "demo")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "demo.shards"]


def test_something_else_is_not_replaced(demo_run, demo_models, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("dear")
    (tmp_path / "file").write_text("dear")
    for name in ("mine", "file", "demo.shards"):
        with pytest.raises(OSError, match=f"^wanted a .*folder.*, got .*{name}.*: choose another"):
            package_parabank(demo_run, tmp_path / name, "demo", "1.0.0", "mit", demo_models)
    assert (tmp_path / "mine/thesis.tex").read_text() == "dear"


def test_an_empty_folder_is_used(demo_run, demo_models, tmp_path):
    (tmp_path / "demo").mkdir()
    package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models)
    assert_as_listed(tmp_path / "demo")


def test_a_failure_leaves_the_older_one_and_nothing_else(demo_run, demo_models, tmp_path, monkeypatch):
    package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models)
    before = contents(tmp_path / "demo")

    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.1", "mit", demo_models)
    assert contents(tmp_path / "demo") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "demo.shards"]


PACKAGE = """
import json, sys
from pathlib import Path
from toolkit.package import build

run, target, models = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
written = build._write_parquet

def slow(*arguments):
    files = written(*arguments)
    print("written", flush=True)
    sys.stdin.readline()
    return files

build._write_parquet = slow
build.package_parabank(run, target, "demo", "1.0.0", "mit", models)
"""


def packaging(run, target, models):
    """A process that packages, and waits for a line when the Parquet files are written."""
    command = [sys.executable, "-c", PACKAGE, str(run), str(target), json.dumps(models)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stdout.readline() == "written\n"
    return process


@pytest.mark.slow
def test_two_processes_at_once_do_not_share_a_folder(demo_run, demo_models, pictures, tmp_path):
    package_parabank(demo_run, tmp_path / "alone", "demo", "1.0.0", "mit", demo_models)
    with packaging(demo_run, tmp_path / "demo", demo_models) as first:
        with packaging(demo_run, tmp_path / "demo", demo_models) as second:
            assert len(list(tmp_path.glob(".demo.packaging.*"))) == 2
            second.communicate("go\n")
        assert second.returncode == 0 and len(list(tmp_path.glob(".demo.packaging.*"))) == 1
        first.communicate("go\n")
    assert first.returncode == 0 and contents(tmp_path / "demo") == contents(tmp_path / "alone")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "demo", "demo.shards"]


@pytest.mark.slow
def test_what_a_killed_process_left_is_removed(demo_run, demo_models, tmp_path):
    with packaging(demo_run, tmp_path / "demo", demo_models) as process:
        process.kill()
    (leftover,) = tmp_path.glob(".demo.packaging.*")
    foreign_folders = tmp_path / ".demo.packaging.another-machine.1", tmp_path / ".demo.packaging.notes"
    for folder in foreign_folders:
        folder.mkdir()
    package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models)
    assert not leftover.exists() and all(folder.exists() for folder in foreign_folders)


def test_a_process_of_the_same_number_may_have_been_killed_before(demo_run, demo_models, tmp_path):
    for _ in range(2):
        left = build._sibling(tmp_path / "demo", "replaced")
        left.mkdir()
        (left / "older").touch()
        package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models)
        assert (tmp_path / "demo/parabank.json").exists()


def test_the_older_one_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/older").write_text("dear")
    with pytest.raises(FileNotFoundError):
        build._replace_folder(tmp_path / "demo", tmp_path / "nothing")
    assert (tmp_path / "demo/older").read_text() == "dear" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_damaged_settings_are_one_line(demo_run, demo_models, tmp_path, content):
    (demo_run / "settings.json").write_text(content)
    with pytest.raises(ValueError, match=r"wanted a record in JSON, got .*settings.json, .*: delete its") as caught:
        package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models)
    assert "\n" not in str(caught.value) and not (tmp_path / "demo").exists()


def test_what_is_checked_before_the_work_needs_no_torch():
    code = (
        "import sys; import toolkit.package.build; from toolkit.package.card import _template as template;"
        "from toolkit.package.folder import check_version; check_version('1.0.0'); template('paranmt');"
        "print('torch' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert process.stdout == "False\n"


def test_no_paraphrase_leaves_no_folder(empty_run, demo_models, tmp_path):
    with pytest.raises(ValueError, match="wanted at least one paraphrase, got none"):
        package_parabank(empty_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models)
    assert not (tmp_path / "demo").exists()


def test_a_model_that_keeps_silent_is_refused(demo_run, tmp_path):
    with pytest.raises(ValueError, match=r"wanted models with role, .*, got one without .'bleu'"):
        package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", [{"role": "forward", "name": "x"}])


def test_a_bad_version_is_refused(demo_run, tmp_path):
    with pytest.raises(ValueError, match="wanted a version"):
        package_parabank(demo_run, tmp_path / "demo", "demo", "1.0", "mit", [])
