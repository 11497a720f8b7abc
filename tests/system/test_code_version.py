"""Other code than that of a run is refused wherever a run goes on; a finished run is left as it is."""

import json
import shutil
import subprocess
import sys

import pytest

from builders.commands.build_parabank import main
from tests.run.test_shard_runs import flags
from tests.run.test_workspace import FREE, checked
from tests.run.test_workspace import settings as settings
from tests.tiny import ENVIRONMENT, ROOT
from toolkit.run.workspace import in_folder
from toolkit.system import code_version as module
from toolkit.system.code_version import check_code, code_version
from toolkit.system.processes import processes
from toolkit.system.settings import check_record, compare_code


@pytest.fixture
def other_code(monkeypatch):
    """Has the checkout of this process change."""
    known = code_version()

    def change(**libraries):
        for place in (module, sys.modules["toolkit.system.settings"]):
            monkeypatch.setattr(place, "code_version", lambda: known | {"sources": "other"} | libraries)

    return change


def test_one_changed_digit_in_a_source_is_other_code(tmp_path):
    for package in ("toolkit", "builders"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors", "*.spm")
        )
    code = "from toolkit.system.code_version import code_version; print(code_version()['sources'])"

    def sources():
        environment = ENVIRONMENT | {"PYTHONPATH": str(tmp_path)}
        process = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        return process.stdout.strip()

    assert sources() == code_version()["sources"], "where the checkout is does not matter"
    changed = tmp_path / "builders" / "paranmt.py"
    changed.write_text(changed.read_text() + "\n")
    assert len(sources()) == len(code_version()["sources"]) and sources() != code_version()["sources"]


@pytest.mark.slow
def test_a_run_does_not_go_on_with_other_code_unless_it_is_finished(tmp_path, capsys, other_code):
    bank = tmp_path / "bank"
    assert main(flags(bank, limit=4)) == 0
    record = json.loads((tmp_path / "bank.shards" / "settings.json").read_text())
    assert (
        record["code"] == code_version() and "code" not in json.loads((bank / "parabank.json").read_text())["settings"]
    )
    other_code()
    assert main(flags(bank, limit=4)) == 0, "nothing is made"
    assert json.loads((tmp_path / "bank.shards" / "settings.json").read_text()) == record
    (tmp_path / "bank.shards" / "rows-00001.parquet").unlink()
    assert main(flags(bank, limit=4)) == 1
    message = f"wanted the code of the run in {bank}.shards, sources {record['code']['sources']}, got other: install"
    assert message in capsys.readouterr().err


def test_a_training_does_not_go_on_with_other_code_unless_it_is_finished(settings, tmp_path, other_code):
    folder = tmp_path / "model"
    with in_folder(folder, checked(folder, settings), FREE, processes()):
        pass
    other_code(torch="1.0")
    with pytest.raises(ValueError, match=rf"wanted the code of the run in {folder}, .*; torch .*, got 1.0: install"):
        checked(folder, settings)
    (folder / "training.json").write_text("{}")
    checked(folder, settings)


def test_every_process_compares_its_own_code_with_the_record(tmp_path, other_code):
    check_record(tmp_path / "settings.json", {"seed": 0}, FREE)
    compare_code(tmp_path / "settings.json")
    other_code()
    with pytest.raises(ValueError, match="wanted the code of the run in"):
        compare_code(tmp_path / "settings.json")


def test_a_record_without_code_is_of_an_older_toolkit():
    with pytest.raises(ValueError, match="wanted the code of a run, sources unknown, got"):
        check_code({}, "a run")
