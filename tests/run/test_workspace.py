"""The folder of a training: refused, held, recorded and finished."""

import errno
import json
from dataclasses import dataclass, replace

import pytest

from toolkit.run.workspace import RECORD, check_folder, finish, in_folder, is_finished
from toolkit.system.lock import check_free
from toolkit.system.outputs import LOCK
from toolkit.system.processes import processes
from toolkit.system.settings import SETTINGS

FREE = {"save_every"}


@dataclass(frozen=True)
class Settings:
    pairs: str
    seed: int = 0
    save_every: int = 5


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "pairs.tsv").write_text("dog\thound\n")
    return Settings(str(tmp_path / "pairs.tsv"))


def checked(folder, settings):
    return check_folder(folder, settings, {"pairs": [settings.pairs]}, {}, FREE, processes())


def test_the_record_is_written_in_the_block_and_binds_the_next_call(settings, tmp_path):
    folder = tmp_path / "run"
    record = checked(folder, settings)
    assert not folder.exists(), "checking writes nothing"
    with in_folder(folder, record, FREE, processes()):
        content = json.loads((folder / SETTINGS).read_text())
    assert content["seed"] == 0 and content["content of pairs"].startswith("10 bytes, sha256 ")
    checked(folder, replace(settings, save_every=6))
    with pytest.raises(ValueError, match="seed was 0, now 1; take them back or choose another output"):
        checked(folder, replace(settings, seed=1))
    (tmp_path / "pairs.tsv").write_text("dog\tpuppy\n")
    with pytest.raises(ValueError, match="content of pairs was '10 bytes"):
        checked(folder, settings)


def test_the_folder_is_held_in_the_block_and_free_after_an_error(settings, tmp_path):
    folder = tmp_path / "run"
    record = checked(folder, settings)
    with pytest.raises(KeyError), in_folder(folder, record, FREE, processes()):
        with pytest.raises(RuntimeError, match=f"wanted {folder} for this command alone, got it held by process"):
            check_free(folder)
        raise KeyError
    check_free(folder)
    assert {path.name for path in folder.iterdir()} == {LOCK, SETTINGS}


def test_a_full_disk_in_the_block_names_the_folder(settings, tmp_path):
    folder = tmp_path / "run"
    record = checked(folder, settings)
    with (
        pytest.raises(OSError, match=f"^wanted to write {folder}, got a full disk .* the same command goes on from it"),
        in_folder(folder, record, FREE, processes()),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_finished_model_has_its_record_and_no_checkpoints(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "a").write_text("x")
    (tmp_path / "checkpoint.pt").write_text("x")
    (tmp_path / "weights").write_text("x")
    assert not is_finished(tmp_path)
    finish(tmp_path, {"loss": [0.5]}, [tmp_path / name for name in ("checkpoints", "checkpoint.pt", "lost")])
    assert is_finished(tmp_path) and json.loads((tmp_path / RECORD).read_text()) == {"loss": [0.5]}
    assert {path.name for path in tmp_path.iterdir()} == {"weights", RECORD}


def test_checkpoints_stay_where_the_record_cannot_be_written(tmp_path, monkeypatch):
    def no_room(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "checkpoint.pt").write_text("x")
    monkeypatch.setattr("toolkit.run.workspace.write_whole", no_room)
    with pytest.raises(OSError, match="No space left"):
        finish(tmp_path, {}, [tmp_path / "checkpoint.pt"])
    assert (tmp_path / "checkpoint.pt").exists() and not is_finished(tmp_path)
