"""Accelerate reads the configurations of scripts/configs; the Slurm script starts, ends and queues a job again."""

import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file

from tests.tiny import ROOT

CONFIGS = ROOT / "scripts" / "configs"
SLURM = CONFIGS / "build_parabank.slurm"
# What the script finds in place of Slurm and Accelerate: a job on one machine of two, whose work takes a while.
# As Slurm's own, this srun kills its task where it gets SIGTERM, and scancel sends a signal to the task.
PROGRAMS = {
    "srun": "trap 'kill -KILL $(cat task)' TERM; shift; export SLURM_NODEID=1; \"$@\" & wait $!; wait $!",
    "scancel": '[ "$*" = "--signal=TERM 7" ] && kill -TERM $(cat task)',
    "scontrol": 'if [ "$1" = show ]; then printf "first\\nsecond\\n"; else echo "$@" >> told; fi',
    "accelerate": (
        'trap "echo finished >> told; exit 1" TERM; echo $$ > task; echo "$@" >> told; '
        "for _ in {1..600}; do sleep 0.1; done"
    ),
}


@pytest.mark.parametrize(("name", "processes", "machines"), [("1_gpu", 1, 1), ("8_gpus", 8, 1), ("8x8_gpus", 64, 8)])
def test_accelerate_reads_every_configuration(name, processes, machines):
    config = load_config_from_file(str(CONFIGS / f"accelerate_{name}.yaml"))
    assert (config.num_processes, config.num_machines, config.use_cpu) == (processes, machines, False)
    assert str(config.distributed_type).endswith("NO" if processes == 1 else "MULTI_GPU")
    assert {path.name for path in CONFIGS.glob("*.yaml")} == {
        f"accelerate_{variant}.yaml" for variant in ("1_gpu", "8_gpus", "8x8_gpus")
    }


def start_job(folder: Path, **programs: str) -> subprocess.Popen:
    """The Slurm script, at work when this returns."""
    for name, text in (PROGRAMS | programs).items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(stat.S_IRWXU)
    job = {"SLURM_JOB_NODELIST": "two", "SLURM_NNODES": "2", "SLURM_JOB_ID": "7"}
    environment = {**os.environ, **job, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.Popen(["bash", str(SLURM), "parazh", "--bitext", "my file.tsv"], env=environment, cwd=folder)
    for _ in range(600):
        if (folder / "told").exists():
            return process
        time.sleep(0.1)
    raise AssertionError("it starts nothing")


def test_at_the_end_of_its_time_the_job_finishes_what_it_does_and_is_queued_again(tmp_path):
    process = start_job(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 1
    launched, *after = (tmp_path / "told").read_text().splitlines()
    assert after == ["finished", "requeue 7"]
    assert launched == (
        "launch --config_file scripts/configs/accelerate_8x8_gpus.yaml --num_machines 2 --num_processes 16 "
        "--machine_rank 1 --main_process_ip first scripts/build_parabank.py parazh --bitext my file.tsv"
    )


@pytest.mark.parametrize("status", [0, 1])
def test_a_job_that_ends_by_itself_is_not_queued_again(tmp_path, status):
    assert start_job(tmp_path, accelerate=f"echo done >> told; exit {status}").wait(60) == status
    assert (tmp_path / "told").read_text() == "done\n"


def test_slurm_signals_before_torch_kills():
    script = SLURM.read_text()
    seconds = int(script.partition("--signal=B:TERM@")[2].partition("\n")[0])
    left = int(script.partition("TORCH_ELASTIC_SHUTDOWN_TIMEOUT=")[2].partition("\n")[0])
    assert 300 < left < seconds
