r"""Augment a file, or a data set of the Hub, with paraphrases of its rows.

    parabank augment --data train.csv --columns text --copies 2 --output bigger.csv
    parabank augment --data qa.jsonl --columns context --spans context=answers --output bigger.jsonl
    parabank augment --data glue --data_config rte --columns sentence1 sentence2 --output rte.parquet \
        --preview rte.html
    accelerate launch scripts/augment_dataset.py --data train.parquet --columns text --output bigger.parquet

All rows of the data come first, unchanged; new rows follow. At the end, rows that have no paraphrase are counted by
reason. `--processes N` starts N processes on this machine. Run the same command again after an interruption: finished
shards of 1,000 rows are kept.
"""

from __future__ import annotations

import sys

from toolkit.augmentation.file_settings import AugmentFile
from toolkit.system.command import run_script

PROGRAM = "parabank augment"


def main(arguments: list[str]) -> int:
    """Parse the command line, augment; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", AugmentFile, _work, arguments, resumes=True)


def _work(settings: AugmentFile) -> None:
    """Augment, and say where the rows are."""
    from toolkit.augmentation._augment_file import augment_file
    from toolkit.system.processes import processes

    output = augment_file(settings)
    if processes(exchange=False).is_main_process:
        print(output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
