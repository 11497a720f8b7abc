"""Start several processes on this machine with torch's launcher; each of them runs this command line again.

`accelerate launch` and `torchrun` do the same, also on several machines. Where a process fails, they print a report of
their own after its error line; this launcher prints no report.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import uuid

import psutil
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from toolkit import SPIN_BUSY, SPIN_IDLE
from toolkit.system.errors import signal_cause
from toolkit.system.signals import ChildKilled, Stopped

PATIENCE = 10  # seconds between the signal to an interrupted launch's processes and their end by force


def launch(processes: int) -> int:
    """Run this command line in several processes, which share its work.

    Args:
        processes: The number of processes.

    Returns:
        0 if all processes succeeded, else the exit status of the first that failed, which has printed its error.

    Raises:
        ChildKilled: A signal ended a process, which could print nothing.
        KeyboardInterrupt: The launch was interrupted, and its processes have ended. A process that waits for another
            one does not see the signal; it is killed after PATIENCE.
        Stopped: SIGTERM came, and the processes have ended: those that make shards after the one in flight.
    """
    logging.disable()  # this process logs only the launcher's report
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as torchrun does; a command sets its own --threads
    if os.environ.get("GOMP_SPINCOUNT") == str(SPIN_IDLE):  # each process competes with the others for the cores
        os.environ["GOMP_SPINCOUNT"] = str(SPIN_BUSY)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        shutdown_timeout=PATIENCE,
        logs_specs=DefaultLogsSpecs(),
        signals_to_handle="SIGINT,SIGHUP,SIGQUIT",
    )
    signal.signal(signal.SIGTERM, _pass_on)
    try:
        elastic_launch(config, sys.executable)(*sys.orig_argv[1:])
    except ChildFailedError as error:
        status = error.get_first_failure()[1].exitcode
        if status in (-signal.SIGTERM, 128 + signal.SIGTERM):
            raise Stopped from error
        _check_killed(error)
        return max(1, status)
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            raise KeyboardInterrupt from error
        return 128 + error.sigval
    return 0


def _check_killed(error: ChildFailedError) -> None:
    """Raise an error of our own if a signal ended one of the processes; the others may have failed for its absence.

    Raises:
        ChildKilled: It names the first of them.
    """
    for rank, failure in sorted(error.failures.items()):
        if failure.exitcode < 0 and failure.exitcode != -signal.SIGTERM:
            raise ChildKilled(
                f"process {rank} (PID {failure.pid}) was ended by {signal_cause(-failure.exitcode)}"
            ) from error


def _pass_on(number: int, frame: object) -> None:
    """Pass SIGTERM on to the processes and wait for them, however long a shard takes; a second SIGTERM kills them.

    torch's launcher would kill them after some seconds; it finds out after this that they have ended.

    Raises:
        Stopped: There is no process yet.
    """
    signal.signal(signal.SIGTERM, kill)
    processes = _process_ids()
    if not processes:
        raise Stopped
    for process in processes:
        os.kill(process, signal.SIGTERM)
    for process in processes:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)


def kill(number: int, frame: object) -> None:
    """Kill the processes."""
    for process in _process_ids():
        os.kill(process, signal.SIGKILL)


def _process_ids() -> list[int]:
    """The processes of this launch, also those that have ended and that torch's launcher has not looked at."""
    return [child.pid for child in psutil.Process().children() if _is_of_launch(child)]


def _is_of_launch(child: psutil.Process) -> bool:
    """Whether a child of this process has a rank; one that has just ended does not tell."""
    try:
        return "RANK" in child.environ()
    except psutil.NoSuchProcess:
        return True
