r"""Let people judge paraphrases: make a sheet, serve it as a page, summarise the answers.

    parabank annotate make parabank my_parabank my_paranmt --output_dir my_sheet
    parabank annotate serve my_sheet
    parabank annotate summarise my_sheet

Sheets: parabank (ParaBank and ParaBank 2: similarity from 0 to 100 of five paraphrases beside each other, flags for
ungrammatical and nonsensical ones, controls), paranmt (ParaNMT-50M: strength and fluency from 1 to 3, by ranges of the
score) and parazh (ParaZh-22M: consistency, fluency and diversity from 1 to 5).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from toolkit.system.command import run_command
from toolkit.system.settings import Parser

PROGRAM = "parabank annotate"
SHEETS = ("parabank", "paranmt", "parazh")


def main(arguments: list[str]) -> int:
    """Parse the command line and do what it says; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="sample paraphrases and write the pages")
    make.add_argument("sheet", choices=SHEETS, help="whose questions are asked")
    make.add_argument("parabanks", metavar="PARABANK", nargs="+", help="folder, Hub name or file")
    make.add_argument("--output_dir", type=Path, required=True, help="a new folder")
    make.add_argument(
        "--size", type=int, help="references, or pairs of each range or parabank (default: the paper's number)"
    )
    make.add_argument("--ranks", default="1", help="parabank: ranks that are judged, such as 1 or 1-5 (default 1)")
    make.add_argument(
        "--by_length", action="store_true", help="parabank: --size references of each of 5, 10, 20 and 40 words"
    )
    make.add_argument("--judgments", type=int, help="annotators of each page (default: parabank 3, the others 2)")
    make.add_argument("--seed", type=int, default=0, help="seed of the sample and the order (default 0)")
    serve = commands.add_parser("serve", help="serve the pages to browsers until Ctrl-C")
    serve.add_argument("folder", metavar="DIR", type=Path, help="folder of a sheet")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen to (default: this machine only)")
    serve.add_argument("--port", type=int, default=8000, help="0 takes a free one (default 8000)")
    summarise = commands.add_parser("summarise", help="print what the annotators said")
    summarise.add_argument(
        "folder",
        metavar="DIR",
        type=Path,
        help="folder of a sheet, or of the judgments that ParaBank's authors released",
    )
    summarise.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args(arguments)
    serves = options.command == "serve"
    return run_command(PROGRAM, lambda: WORK[options.command](options), serves, done=lambda: "every answer is saved")


def _make_one(options: argparse.Namespace) -> None:
    """Make a sheet and say what is on it."""
    from toolkit.annotation.make import make_sheet
    from toolkit.annotation.sheets import SHEETS as KNOWN

    record = make_sheet(
        options.parabanks,
        KNOWN[options.sheet],
        options.output_dir,
        options.size,
        _parse_ranks(options.ranks),
        options.by_length,
        options.judgments,
        options.seed,
    )
    controls = f" and {_counted(record['controls'], 'control')}" if record["controls"] else ""
    sampled = record["sampled"]
    if options.sheet == "parabank" and (short_samples := {key: n for key, n in sampled.items() if n < record["size"]}):
        sample_sizes = ", ".join(
            f"{n:,}" if key == "all" else f"{n:,} of about {key} words" for key, n in short_samples.items()
        )
        print(f"wanted {record['size']:,} references, found only {sample_sizes}", file=sys.stderr)
    for name, counts in sampled.items() if options.sheet != "parabank" else ():
        if empty := counts.get("empty"):
            print(f"{name}: {empty:,} pairs with an empty text are left out", file=sys.stderr)
    print(
        f"{options.output_dir}: {_counted(record['pages'], 'page')} with {_counted(record['texts'], 'paraphrase')}"
        f"{controls}; each page is for {_counted(record['judgments'], 'annotator')}.\n"
        f"Next: {PROGRAM} serve {options.output_dir}"
    )


def _counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> _counted(1, "page"), _counted(1200, "page")
    ('1 page', '1,200 pages')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _parse_ranks(ranks: str) -> tuple[int, int]:
    """The first and the last of ranks such as "1" or "1-5".

    Raises:
        ValueError: They are no ranks.
    """
    first, _, last = ranks.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()):
        raise ValueError(f"wanted ranks such as 1 or 1-5, got {ranks!r}: correct --ranks")
    return int(first), int(last or first)


def _serve_one(options: argparse.Namespace) -> None:
    """Serve a sheet until Ctrl-C."""
    from toolkit.annotation.serve import serve

    serve(options.folder, options.host, options.port)


def _summarise_one(options: argparse.Namespace) -> None:
    """Print the tables of a sheet."""
    import toolkit
    from toolkit.annotation.summary import markdown, summarise
    from toolkit.system.outputs import check_output_file, is_ours
    from toolkit.system.whole_files import write_whole

    if options.json:
        check_output_file(options.json, [options.folder], is_ours)
    figures = summarise(options.folder)
    print(markdown(figures))
    if options.json:
        write_whole(options.json, json.dumps({"toolkit": toolkit.__version__, **figures}, indent=1) + "\n")


WORK = {"make": _make_one, "serve": _serve_one, "summarise": _summarise_one}
