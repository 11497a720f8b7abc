r"""Fine-tune any transformer as a sentence encoder on a parabank.

    parabank train transformer_encoder --pairs build/parabank2 \
        --base_model sentence-transformers/all-MiniLM-L6-v2 --output_dir build/minilm

`--base_model` is a folder or Hub id of a transformer, or of a sentence encoder based on one. The negatives of a pair
are all other pairs of the batch (MultipleNegativesRankingLoss, cached); `--loss margin` is the papers' loss, with the
nearest text of the batch as negative. `--processes N` starts N processes on this machine, one for each GPU, which share
a batch and its negatives; for several machines use `accelerate launch` or `torchrun`. Run the same command again after
an interruption: it continues from the last checkpoint.
"""

from __future__ import annotations

from toolkit.encoder.settings import TransformerTraining
from toolkit.system.command import run_script

PROGRAM = "parabank train transformer_encoder"


def main(arguments: list[str]) -> int:
    """Parse the command line, train; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", TransformerTraining, _work, arguments, resumes=True)


def _work(settings: TransformerTraining) -> None:
    """Train, and print how to load the encoder and how good it is."""
    from toolkit.run.workspace import outcome_lines
    from toolkit.system.processes import processes
    from toolkit.train.transformer_encoder import train

    folder = train(settings)
    if processes().is_main_process:
        print(f"{folder}: load it with SentenceTransformer({str(folder)!r})", *outcome_lines(folder), sep="\n")
