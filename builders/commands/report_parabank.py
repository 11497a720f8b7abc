r"""Write a report of a parabank to look at: one HTML page, which needs no network.

    parabank report build/my-parabank
    parabank report build/my-parabank --output report.html --rows 2000

The page has the funnel, sliders on every score with the number of pairs that remain, and a sample of references with
their paraphrases and, if the run is beside the parabank, with the candidates that lost and why.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from toolkit.system.command import run_command
from toolkit.system.settings import Parser

PROGRAM = "parabank report"


def main(arguments: list[str]) -> int:
    """Parse the command line, write the page; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parabank", metavar="DIR", type=Path, help="folder that a builder made")
    parser.add_argument("--output", type=Path, help="the page (default: DIR.html, beside the folder)")
    parser.add_argument("--rows", type=int, default=5000, help="references of the sample at most (default 5000)")
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: _work(options))


def _work(options: argparse.Namespace) -> None:
    """Write the page, and print where it is."""
    from toolkit.package.report import write_report

    folder = options.parabank.resolve()
    output = options.output or folder.with_name(f"{folder.name}.html")
    size = write_report(options.parabank, output, options.rows)
    amount = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    print(f"{output}: {amount}; open it in a browser")
