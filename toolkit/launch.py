"""Several processes on this machine, started by torch's launcher: this command line again in each of them.

`accelerate launch` and `torchrun` do the same, for several machines too; where a process fails they print their own
report after its line. Here the line is all.
"""

from __future__ import annotations

import logging
import os
import sys
import uuid

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from toolkit import SPIN_BUSY, SPIN_IDLE


def launch(processes: int) -> int:
    """Run this command line in several processes, which share its work.

    Args:
        processes: How many.

    Returns:
        0 if all did their work, else the exit status of the first that failed or was interrupted; it has said why.
    """
    logging.disable()  # nothing but the launcher's own report is logged in this process
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as torchrun; the --threads of a command are set by the command
    if os.environ.get("GOMP_SPINCOUNT") == str(SPIN_IDLE):  # the processes are one another's other work
        os.environ["GOMP_SPINCOUNT"] = str(SPIN_BUSY)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        logs_specs=DefaultLogsSpecs(),
    )
    try:
        elastic_launch(config, sys.executable)(*sys.orig_argv[1:])
    except ChildFailedError as error:
        return max(1, error.get_first_failure()[1].exitcode)
    except SignalException as signalled:
        return 128 + signalled.sigval
    return 0
