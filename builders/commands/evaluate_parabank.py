r"""Measure parabanks and print them side by side, in Markdown.

    parabank evaluate parabank DIR OTHER.tsv RUN1.shards,RUN2.shards --parser link-grammar

Each PARABANK is a packaged parabank (folder or Hub name), a run's folder of shards, or a .parquet, .tsv or .jsonl file
of references and paraphrases. Runs of the same recipe, joined by commas, become one column with means and standard
deviations. A parabank with more references than --sample is measured on two samples, and its column also has means and
standard deviations. Without --parser, tree edit distance and parse entropy are left out. To use another parser, write
the texts with --write_texts FILE, parse its lines, `paste FILE TREES > PARSED`, and give --parser file:PARSED.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import toolkit
from toolkit.bitext.idf import read_idf
from toolkit.data.rows import Row
from toolkit.evaluate.parsers import FORMS, one_line, open_parser, parse
from toolkit.evaluate.report import evaluate, markdown, read_pieces, texts_of
from toolkit.package.samples import samples
from toolkit.starters import idf_file
from toolkit.system.command import run_command
from toolkit.system.outputs import check_output_file, is_ours
from toolkit.system.settings import Parser
from toolkit.system.whole_files import write_whole

PROGRAM = "parabank evaluate parabank"
SAMPLE = 10_000  # ours: two samples take 6 s without a parser, and their 1-BLEU differs by some tenths


def main(arguments: list[str]) -> int:
    """Parse the command line, measure, print; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parabanks", metavar="PARABANK", nargs="+", help="folder, Hub name or file; or several runs joined by commas"
    )
    parser.add_argument("--idf", help="IDF table of parabank count idf, or starter/NAME, for the mean IDF")
    parser.add_argument("--pieces", type=Path, help="SentencePiece model, for intersection/union over pieces")
    parser.add_argument("--parser", help=f"parser for tree edit distance and parse entropy: {FORMS}")
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"most references of a sample (default {SAMPLE:,})")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first sample; the second has SEED + 1 (default 0)"
    )
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument(
        "--write_texts", type=Path, help="write the texts to parse to this file, one per line, and stop"
    )
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: _measure(options))


def _measure(options: argparse.Namespace) -> None:
    """Read the parabanks, parse their texts, measure them and print the tables."""
    inputs = [
        *options.parabanks,
        *([options.idf] if options.idf else []),
        *([options.pieces] if options.pieces else []),
    ]
    for output, is_own_output in ((options.json, is_ours), (options.write_texts, None)):
        if output:
            check_output_file(output, inputs, is_own_output)
    parse_with = open_parser(options.parser) if options.parser else None
    idf = read_idf(idf_file(options.idf)) if options.idf else None
    pieces = read_pieces(options.pieces) if options.pieces else None
    rows = {name: _read_runs(name, options.sample, options.seed) for name in dict.fromkeys(options.parabanks)}
    texts = dict.fromkeys(text for runs in rows.values() for run in runs for text in texts_of(run))
    if options.write_texts:
        write_whole(options.write_texts, "".join(f"{one_line(text)}\n" for text in texts))
        return
    parses = parse(texts, *parse_with) if parse_with else None
    figures = {name: [evaluate(run, pieces, idf, parses) for run in runs] for name, runs in rows.items()}
    print(markdown(figures))
    if parses is None:
        print("\nTree edit distance and parse entropy are left out: give a --parser")
    if options.json:
        record = {"toolkit": toolkit.__version__, "parabanks": figures}
        write_whole(options.json, json.dumps(record, indent=1) + "\n")


def _read_runs(name: str, sample: int, seed: int) -> list[list[Row]]:
    """The rows of a parabank, of its samples, or of several runs that are joined by commas."""
    paths = [name] if Path(name).exists() else name.split(",")
    return [rows for path in paths for rows in samples(path, sample, seed)]
