r"""Train a static sentence encoder on a parabank: one vector for each piece of a word.

    parabank train static_encoder --pairs build/parabank2 --output_dir build/static
    parabank train static_encoder --pairs build/parabank2 --teacher starter/encoder --output_dir build/static

The folder loads by sentence-transformers alone: `SentenceTransformer("build/static", truncate_dim=64)` takes the first
64 numbers of each vector, which are trained to stand for the whole. `--teacher` names any sentence encoder to learn
from. `--processes N` starts N processes on this machine. Run the same command again after an interruption: it continues
from the last checkpoint.
"""

from __future__ import annotations

from toolkit.encoder.settings import StaticTraining
from toolkit.system.command import run_script

PROGRAM = "parabank train static_encoder"


def main(arguments: list[str]) -> int:
    """Parse the command line, train; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", StaticTraining, _work, arguments, resumes=True)


def _work(settings: StaticTraining) -> None:
    """Train, and print how to load the encoder and how good it is."""
    from toolkit.run.workspace import outcome_lines
    from toolkit.system.processes import processes
    from toolkit.train.static_encoder import train

    folder = train(settings)
    if processes().is_main_process:
        print(f"{folder}: load it with SentenceTransformer({str(folder)!r})", *outcome_lines(folder), sep="\n")
