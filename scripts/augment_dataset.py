r"""Grow a data set with paraphrases of its rows; `python -m toolkit.augmentation` is the same command.

    python scripts/augment_dataset.py --data train.csv --columns text --copies 2 --output bigger.csv
    accelerate launch scripts/augment_dataset.py --data train.parquet --columns text --output bigger.parquet

All rows of the data come first, unchanged; new rows follow.
"""

from __future__ import annotations

import sys

from toolkit.augmentation import __main__ as command

PROGRAM = "augment_dataset.py"


def main(arguments: list[str]) -> int:
    """Run the command under this script's name."""
    return command.main(arguments, PROGRAM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
