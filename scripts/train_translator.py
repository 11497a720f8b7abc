r"""Train a translator from a bitext.

    accelerate launch scripts/train_translator.py --bitext deu-eng.tsv.gz --source_lang de --lang en \
        --output_dir build/de-en

The other direction of the same file: `--source_column 1 --reference_column 0 --source_lang en --lang de`. The paper's
own translators: `--size parabank2-generation` and `--size parabank2-scoring`. Run the same command again after an
interruption: it goes on from the last checkpoint. The model is in OUTPUT_DIR/model.
"""

from __future__ import annotations

import sys

from toolkit.models.training import TrainingSettings, train
from toolkit.settings import parse_settings


def main(arguments: list[str]) -> int:
    """Parse the command line, train, and say in one line what went wrong."""
    settings = parse_settings(TrainingSettings, arguments, __doc__ or "", "train_translator.py")
    try:
        print(f"{train(settings) / 'model'}: load it with --forward or --backward of build_parabank.py")
    except (ValueError, RuntimeError, OSError) as error:
        print(f"train_translator.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
