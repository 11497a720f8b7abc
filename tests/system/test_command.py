"""One line for what went wrong, whatever started the command; and threads that sleep while they wait."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import ENVIRONMENT, PYTHON
from toolkit import SPIN_BUSY, SPIN_IDLE, _spin_count
from toolkit.system import signals
from toolkit.system.command import LOST, run_command
from toolkit.system.errors import FULL_DISK, one_line

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "LOCAL_WORLD_SIZE")
PROGRAM = """
import os, signal, sys, time
from toolkit.system.command import run_command

def work():
    from toolkit.system.processes import processes
    state = processes()
    sys.stdout.write(f"{state.process_index} of {state.num_processes}, {os.environ.get('GOMP_SPINCOUNT')} turns\\n")
    sys.stdout.flush()
    if sys.argv[1] == "fail" and state.process_index == 0:
        raise ValueError("wanted this, got that")
    if sys.argv[1] == "killed" and state.process_index == 1:
        signal.raise_signal(signal.SIGKILL)
    if sys.argv[1] == "deaf":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.argv[1] in ("wait", "deaf"):
        time.sleep(120)
    state.wait_for_everyone()

sys.exit(run_command("program.py", work, resumes=True, processes=2))
"""

# Its processes have shards of three seconds without end.
ENDLESS = """
import os, sys, time
from toolkit.system.command import run_command
from toolkit.system.signals import Stopped, stoppable

def work():
    with stoppable() as stopped:
        sys.stdout.write("begun\\n")
        sys.stdout.flush()
        while not stopped():
            time.sleep(3)
        sys.stdout.write("finished\\n")
        sys.stdout.flush()
    raise Stopped

sys.exit(run_command("endless.py", work, resumes=True, processes=int(sys.argv[1]), done=lambda: "2 of 7 shards"))
"""


def fails(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("wanted a,\n got b"), "p.py: wanted a, got b"),
        (OSError(28, "No space left on device", "x/rows-1.parquet"), "p.py: No space left on device: x/rows-1.parquet"),
        (OSError(28, "No space left on device"), f"p.py: No space left on device: {FULL_DISK}"),
        (FileNotFoundError("wanted an existing file, got x"), "p.py: wanted an existing file, got x"),
        (MemoryError(), "p.py: MemoryError"),
    ],
)
def test_what_goes_wrong_is_one_line(error, line, capsys):
    assert run_command("p.py", lambda: fails(error)) == 1
    assert capsys.readouterr().err == f"{line}\n"


def test_a_fault_of_our_own_keeps_its_traceback():
    with pytest.raises(TypeError):
        run_command("p.py", lambda: fails(TypeError("a bug")))


@pytest.mark.parametrize(("resumes", "message"), [(True, "goes on from there"), (False, "nothing was written")])
def test_an_interruption_is_one_line(resumes, message, capsys):
    assert run_command("p.py", lambda: fails(KeyboardInterrupt()), resumes=resumes) == 130
    assert message in capsys.readouterr().err


def test_another_process_that_ended_is_not_reported_as_an_error_of_this_one(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    assert run_command("p.py", lambda: fails(RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed"))) == 1
    assert capsys.readouterr().err == f"p.py (process 1): {LOST}\n"


def test_a_command_whose_work_is_not_shared_refuses_the_processes_of_a_launcher(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert run_command("p.py", lambda: pytest.fail("worked")) == 1
    assert capsys.readouterr().err == "p.py: wanted one process, got 2 (WORLD_SIZE): start p.py without a launcher\n"
    assert run_command("p.py", lambda: None, processes=1) == 0
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert run_command("p.py", lambda: None) == 0


def test_one_line_says_which_path():
    assert one_line(PermissionError(13, "Permission denied", "/x")) == "Permission denied: /x"


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    return [PYTHON, str(tmp_path / "program.py")]


@pytest.mark.slow
def test_several_processes_share_the_work_and_an_error_is_one_line(program):
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in WAITING}
    process = subprocess.run([*program, "work"], env=environment, capture_output=True, text=True, timeout=300)
    expected = [f"{number} of 2, {SPIN_BUSY} turns" for number in (0, 1)]
    assert (process.returncode, sorted(process.stdout.splitlines()), process.stderr) == (0, expected, "")
    failed = subprocess.run([*program, "fail"], env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert failed.returncode == 1
    messages = [line for line in failed.stderr.splitlines() if LOST not in line]
    assert messages == ["program.py: wanted this, got that"]


@pytest.mark.slow
def test_a_process_that_a_signal_ends_is_named_with_the_likely_cause(program):
    process = subprocess.run([*program, "killed"], env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    (line,) = [line for line in process.stderr.splitlines() if LOST not in line]
    assert process.returncode == 1 and line.startswith("program.py: process 1 (PID "), line
    assert ") was ended by SIGKILL (the system sends it where memory is short: fewer processes" in line
    assert line.endswith("; what is finished is kept, the same command goes on from there")


@pytest.mark.slow
@pytest.mark.parametrize("work", ["wait", "deaf"])
def test_interrupted_processes_say_one_line_and_end(program, work):
    process = subprocess.Popen(
        [*program, work], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert sorted(process.stdout.readline()[:6] for _ in range(2)) == ["0 of 2", "1 of 2"]
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=120)
    assert process.returncode == 130
    assert message.strip() == "program.py: interrupted; what is finished is kept, the same command goes on from there"


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_after_sigterm_every_process_finishes_what_it_does(processes, tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS)
    command = [PYTHON, str(tmp_path / "endless.py"), str(processes)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(processes)] == ["begun\n"] * processes
    process.send_signal(signal.SIGTERM)
    output, message = process.communicate(timeout=120)
    assert (process.returncode, output) == (143, "finished\n" * processes)
    assert message.strip() == "endless.py: ended by SIGTERM; 2 of 7 shards, the same command goes on from there"


def test_a_second_sigterm_ends_the_process_unless_it_is_the_same(monkeypatch):
    numbers: list[int] = []
    monkeypatch.setattr(os, "kill", lambda process, number: numbers.append(number))
    handler, now = signal.getsignal(signal.SIGTERM), [0.0]
    monkeypatch.setattr(signals.time, "monotonic", lambda: now[0])
    with signals.stoppable() as should_stop:
        assert not should_stop()
        for now[0], ends in ((1.0, []), (2.0, []), (9.0, [signal.SIGTERM])):
            signal.raise_signal(signal.SIGTERM)
            assert should_stop() and numbers == ends
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.parametrize(("variables", "policy"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_sleep_soon_while_they_wait_unless_the_user_says_otherwise(variables, policy):
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in WAITING} | variables
    code = (
        "import sys, toolkit, os\n"
        "print(os.environ['OMP_WAIT_POLICY'], 'GOMP_SPINCOUNT' in os.environ, 'torch' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert process.stdout == f"{policy} {not variables} False\n"


@pytest.mark.parametrize(
    ("running", "launch", "spins"),
    [(1, "1", SPIN_IDLE), (3, "1", SPIN_BUSY), (1, "2", SPIN_BUSY), (2, "1", SPIN_BUSY)],
)
def test_threads_beside_other_work_spin_less(running, launch, spins, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", launch)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr("builtins.open", lambda *_, **__: io.StringIO(f"0.1 0.2 0.3 {running}/150 4711\n"))
    assert _spin_count() == spins


def test_a_launcher_that_is_there_is_used(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "0")
    assert run_command("p.py", lambda: print(os.environ["RANK"]), processes=8) == 0
    assert capsys.readouterr().out == "0\n", "no further process was started"
