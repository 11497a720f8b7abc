r"""Fine-tune any transformer as a sentence encoder on a parabank.

    accelerate launch scripts/train_transformer_encoder.py --pairs build/parabank2 \
        --base_model sentence-transformers/all-MiniLM-L6-v2 --output_dir build/minilm

`--base_model` is a folder or Hub id of a transformer or of a sentence encoder made of one. All other pairs of a batch
are negatives (MultipleNegativesRankingLoss, cached); `--loss margin` is the papers', against the nearest of the batch.
Several GPUs: `accelerate launch --num_processes N ...`: they share a batch and its negatives. On CPUs:
`ACCELERATE_USE_CPU=true torchrun --nproc_per_node N scripts/train_transformer_encoder.py ...`. Run the same command
again after an interruption: it goes on from the last checkpoint.
"""

from __future__ import annotations

import sys

from toolkit.settings import parse_settings


def main(arguments: list[str]) -> int:
    """Parse the command line, train, and say in one line what went wrong."""
    from toolkit.encoder.transformer import TransformerTraining, train
    from toolkit.parallel import processes

    settings = parse_settings(TransformerTraining, arguments, __doc__ or "", "train_transformer_encoder.py")
    try:
        folder = train(settings)
        if processes().is_main_process:
            print(f"{folder}: load it with SentenceTransformer(...)")
    except (ValueError, RuntimeError, OSError) as error:
        print(f"train_transformer_encoder.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
