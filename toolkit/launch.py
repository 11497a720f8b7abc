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

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from toolkit import SPIN_BUSY, SPIN_IDLE

PATIENCE = 10  # seconds between the signal to an interrupted launch's processes and their end by force


def launch(processes: int) -> int:
    """Run this command line in several processes, which share its work.

    Args:
        processes: The number of processes.

    Returns:
        0 if all processes succeeded, else the exit status of the first that failed, which has printed its error, or
        that was ended by a signal.

    Raises:
        KeyboardInterrupt: The launch was interrupted, and its processes have ended. A process that waits for another
            one does not see the signal; it is killed after PATIENCE.
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
    )
    try:
        elastic_launch(config, sys.executable)(*sys.orig_argv[1:])
    except ChildFailedError as error:
        return max(1, error.get_first_failure()[1].exitcode)
    except SignalException as signalled:
        if signalled.sigval == signal.SIGINT:
            raise KeyboardInterrupt from signalled
        return 128 + signalled.sigval
    return 0
