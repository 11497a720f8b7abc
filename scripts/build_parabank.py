r"""Build a parabank from a bitext.

    accelerate launch scripts/build_parabank.py parabank2 --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --backward starter/en-de --output_dir DIR
    accelerate launch scripts/build_parabank.py paranmt --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --paraphrase_model ENCODER --output_dir DIR
    accelerate launch scripts/build_parabank.py parabank --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --idf starter/de-en --output_dir DIR

On several GPUs: `accelerate launch --num_processes N ...`. On CPUs Accelerate 1.15 starts one process whatever N is;
several start with `ACCELERATE_USE_CPU=true torchrun --nproc_per_node N scripts/build_parabank.py ...`. Run the same
command again after an interruption: finished shards are not made again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from builders import parabank, parabank2, paranmt
from toolkit.settings import parse_settings

BUILDERS: dict[str, tuple[type[Any], Callable[[Any], dict]]] = {
    "parabank2": (parabank2.ParaBank2Run, parabank2.build),
    "parabank": (parabank.ParaBankRun, parabank.build),
    "paranmt": (paranmt.ParaNMTRun, paranmt.build),
}


def main(arguments: list[str]) -> int:
    """Parse the command line, build, and say in one line what went wrong."""
    if not arguments or arguments[0] not in BUILDERS:
        print(__doc__)
        print(f"wanted one of: {', '.join(BUILDERS)}; then --help shows every knob", file=sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    settings_of, build = BUILDERS[arguments[0]]
    settings = parse_settings(settings_of, arguments[1:], __doc__ or "", f"build_parabank.py {arguments[0]}")
    try:
        figures = build(settings)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"build_parabank.py: {error}", file=sys.stderr)
        return 1
    if figures:
        total = figures["total"]
        print(f"{settings.output_dir}: {total['pairs']:,} pairs of {total['kept']:,} references")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
