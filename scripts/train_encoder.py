r"""Train a paraphrastic sentence encoder on a parabank.

    accelerate launch scripts/train_encoder.py --pairs build/parabank2 --output_dir build/word-trigram

`--parts word` is the papers' WORD, `--parts word trigram lstm --combine concatenation` another row of ParaNMT-50M's
table 8; `--loss ranking` takes all other pairs of a mini-batch as negatives. Several GPUs: `accelerate launch
--num_processes N ...`; several processes on CPUs: `ACCELERATE_USE_CPU=true torchrun --nproc_per_node N
scripts/train_encoder.py ...`. Run the same command again after an interruption: it goes on from the last checkpoint.
"""

from __future__ import annotations

import sys

from toolkit.encoder.training import EncoderTraining, train
from toolkit.settings import parse_settings


def main(arguments: list[str]) -> int:
    """Parse the command line, train, and say in one line what went wrong."""
    settings = parse_settings(EncoderTraining, arguments, __doc__ or "", "train_encoder.py")
    try:
        print(f"{train(settings)}: load it with SentenceTransformer(..., trust_remote_code=True)")
    except (ValueError, RuntimeError, OSError) as error:
        print(f"train_encoder.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
