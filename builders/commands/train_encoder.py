r"""Train a paraphrastic sentence encoder on a parabank.

    parabank train encoder --pairs build/parabank2 --output_dir build/word-trigram

`--parts word` trains the papers' WORD, `--parts word trigram lstm --combine concatenation` another row of ParaNMT-50M's
table 8. `--loss ranking` uses all other pairs of a mini-batch as negatives. `--processes N` starts N processes on this
machine, one for each GPU; for several machines use `accelerate launch` or `torchrun`. Run the same command again after
an interruption: it continues from the last checkpoint.
"""

from __future__ import annotations

from toolkit.encoder.settings import EncoderTraining
from toolkit.system.command import run_script

PROGRAM = "parabank train encoder"


def main(arguments: list[str]) -> int:
    """Parse the command line, train; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", EncoderTraining, _work, arguments, resumes=True)


def _work(settings: EncoderTraining) -> None:
    """Train, and print how to load the encoder and how good it is."""
    from toolkit.run.workspace import outcome_lines
    from toolkit.system.processes import processes
    from toolkit.train.encoder import train

    folder = train(settings)
    if processes().is_main_process:
        print(f"{folder}: load it with toolkit.load_encoder({str(folder)!r})", *outcome_lines(folder), sep="\n")
