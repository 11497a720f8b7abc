"""One launch at a time on a folder: the second says who is at work; the lock dies with its processes."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from accelerate import PartialState

from tests.tiny import ENVIRONMENT
from toolkit.system.lock import alone, check_free, held
from toolkit.system.outputs import LOCK

HOLDER = """
import sys, time
from pathlib import Path
from toolkit.system.lock import held
from toolkit.system.processes import processes
state = processes()
with held(Path(sys.argv[1]), state):
    sys.stdout.write("held\\n")
    sys.stdout.flush()
    time.sleep(120)
"""


def hold(folder: Path, *launcher: str) -> subprocess.Popen:
    """Another program that holds the folder when this returns."""
    program = folder.parent / "holder.py"
    program.write_text(HOLDER)
    command = [sys.executable, *launcher, str(program), str(folder)]
    running = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert running.stdout is not None
    for _ in range(2 if launcher else 1):
        assert running.stdout.readline() == "held\n"
    return running


@pytest.mark.slow
def test_the_second_says_who_holds_it_and_a_kill_frees_it(tmp_path):
    folder = tmp_path / "run"
    owner = hold(folder)
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match=rf"got it held by process {owner.pid} on .* \({tmp_path.parent}.*wait for it, or end it"
        ):
            check_free(folder)
    with pytest.raises(RuntimeError, match=str(owner.pid)), held(folder, PartialState(cpu=True)):
        raise AssertionError("held twice")
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    check_free(folder)
    with held(folder, PartialState(cpu=True)):
        pass


@pytest.mark.slow
def test_workers_that_outlive_their_killed_launcher_keep_it(tmp_path):
    folder = tmp_path / "run"
    launcher = hold(folder, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    workers = [int(line.split('"pid": ')[1].split(",")[0]) for line in (folder / LOCK).read_text().splitlines()]
    assert len(workers) == 2
    try:
        with pytest.raises(RuntimeError) as error:
            check_free(folder)
        assert all(str(worker) in str(error.value) for worker in workers)
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
    for _ in range(100):
        try:
            return check_free(folder)
        except RuntimeError:
            time.sleep(0.1)
    raise AssertionError("the lock outlived its processes")


def test_a_folder_without_a_lock_is_free(tmp_path):
    check_free(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_the_lock_ends_with_the_block_and_again_with_an_error(tmp_path):
    state = PartialState(cpu=True)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), held(tmp_path / "run", state):
            raise ZeroDivisionError


def test_a_folder_of_another_user_is_one_line(tmp_path, monkeypatch):
    (tmp_path / ".lock").touch()

    def refuse(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(
        PermissionError, match=f"wanted a folder in which this user may write, got {tmp_path} of another"
    ):
        check_free(tmp_path)


def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(OSError, match=rf"got {tmp_path}/file \(.*\): set HOME$"),
        alone(tmp_path / "file", "set HOME"),
    ):
        raise AssertionError("a file")


def test_threads_that_want_a_folder_alone_take_turns(tmp_path, capsys):
    inside, event = [], threading.Event()

    def work():
        with alone(tmp_path / "folder", "set HOME"):
            event.set()
            inside.append("begin")
            time.sleep(0.05)
            inside.append("end")

    threads = [threading.Thread(target=work) for _ in range(3)]
    with alone(tmp_path / "folder", "set HOME"):
        for thread in threads:
            thread.start()
        assert not event.wait(0.1)
    for thread in threads:
        thread.join()
    assert inside == ["begin", "end"] * 3
    assert f"{tmp_path / 'folder'}: waiting for process {os.getpid()} on" in capsys.readouterr().err
