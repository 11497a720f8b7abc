r"""Build a parabank from a bitext: `python -m builders`, from a checkout.

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
    """Build, and say in one line what went wrong."""
    return build(arguments, PROGRAM, f"python scripts/{PROGRAM}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
