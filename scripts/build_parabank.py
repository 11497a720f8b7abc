r"""Build a parabank from a bitext; the same as `python -m builders`, for a checkout of the repository.

python scripts/build_parabank.py parabank2 --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --backward starter/en-de --output_dir DIR
accelerate launch scripts/build_parabank.py parabank2 ...
"""

from __future__ import annotations

import sys

from builders.__main__ import BUILDERS as BUILDERS
from builders.__main__ import main as build

PROGRAM = "build_parabank.py"


def main(arguments: list[str]) -> int:
    """Build a parabank; print an error as one line."""
    return build(arguments, PROGRAM, f"python scripts/{PROGRAM}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
