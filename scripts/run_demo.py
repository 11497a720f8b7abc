"""Build a small parabank from the bitext that ships with the package, show it, and paraphrase five sentences.

python scripts/run_demo.py [--output_dir build/parabank2]
"""

from __future__ import annotations

import sys

from builders import demo

PROGRAM = "run_demo.py"


def main(arguments: list[str]) -> int:
    """Build a parabank, load it and print it; print an error as one line."""
    return demo.main(arguments, PROGRAM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
