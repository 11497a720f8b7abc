"""Build a small parabank from the bitext that ships with the package, show it, and paraphrase five sentences.

parabank demo [--output_dir build/parabank2]
"""

from __future__ import annotations

from builders import demo

PROGRAM = "parabank demo"


def main(arguments: list[str]) -> int:
    """Build a parabank, load it and print it; print an error as one line."""
    return demo.main(arguments, PROGRAM)
