r"""Build a parabank from a bitext.

    python scripts/build_parabank.py parabank2 --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --backward starter/en-de --output_dir DIR
    python scripts/build_parabank.py paranmt --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --paraphrase_model ENCODER --output_dir DIR
    python scripts/build_parabank.py parabank --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --idf starter/de-en --output_dir DIR

Several processes on one machine, with a GPU each or all on the CPUs: --processes N. On several machines, or under
Slurm: `accelerate launch scripts/build_parabank.py ...` or `torchrun`. Run the same command again after an
interruption: finished shards are not made again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from builders import parabank, parabank2, paranmt
from toolkit.command import run_command
from toolkit.settings import parse_settings

BUILDERS: dict[str, tuple[type[Any], Callable[[Any], dict]]] = {
    "parabank2": (parabank2.ParaBank2Run, parabank2.build),
    "parabank": (parabank.ParaBankRun, parabank.build),
    "paranmt": (paranmt.ParaNMTRun, paranmt.build),
}
PROGRAM = "build_parabank.py"


def main(arguments: list[str]) -> int:
    """Parse the command line, build, and say in one line what went wrong."""
    if not arguments or arguments[0] not in BUILDERS:
        print(__doc__)
        every = "\n".join(f"    python scripts/{PROGRAM} {name} --help" for name in BUILDERS)
        print(f"Every setting of a builder:\n{every}")
        if arguments[:1] in (["-h"], ["--help"]):
            return 0
        print(
            f"{PROGRAM}: wanted one of {', '.join(BUILDERS)}, got {' '.join(arguments[:1]) or 'none'}", file=sys.stderr
        )
        return 2
    settings_of, build = BUILDERS[arguments[0]]
    settings = parse_settings(settings_of, arguments[1:], __doc__ or "", f"{PROGRAM} {arguments[0]}")

    def work() -> None:
        if figures := build(settings):
            total = figures["total"]
            print(f"{settings.output_dir}: {total['pairs']:,} pairs of {total['kept']:,} references")

    return run_command(PROGRAM, work, resumes=True, processes=settings.processes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
