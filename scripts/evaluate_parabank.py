r"""Measure parabanks and print them side by side, in Markdown.

    python scripts/evaluate_parabank.py DIR OTHER.tsv RUN1.shards,RUN2.shards --parser link-grammar

Each is a packaged parabank (folder or Hub name), a run's folder of shards, or a .parquet, .tsv or .jsonl file of
references and paraphrases. Runs of one recipe, joined by a comma, are one column of means and standard deviations; a
parabank with more references than --sample is measured on two samples, and is such a column, too. Without --parser tree
edit distance and parse entropy are left out; to use a parser that is not here: --write_texts FILE, parse its lines,
`paste FILE TREES > PARSED`, --parser file:PARSED.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import toolkit
from toolkit.bitext.idf import read_idf
from toolkit.command import run_command
from toolkit.evaluate.parsers import FORMS, one_line, open_parser, parse
from toolkit.evaluate.report import evaluate, markdown, read_pieces, texts_of
from toolkit.outputs import check_output_file, is_ours
from toolkit.package.samples import samples
from toolkit.rows import Row
from toolkit.shards import write_whole
from toolkit.starters import idf_file

PROGRAM = "evaluate_parabank.py"
SAMPLE = 10_000  # ours: two samples take 6 s without a parser, and their 1-BLEU differs by some tenths


def main(arguments: list[str]) -> int:
    """Parse the command line, measure, print, and say in one line what went wrong."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parabanks", metavar="PARABANK", nargs="+", help="folder or file; runs joined by a comma")
    parser.add_argument("--idf", help="table of scripts/count_idf.py, or starter/NAME, for the mean IDF")
    parser.add_argument("--pieces", type=Path, help="SentencePiece model, for intersection/union over pieces")
    parser.add_argument("--parser", help=FORMS)
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"references at most (default {SAMPLE:,})")
    parser.add_argument("--seed", type=int, default=0, help="of the first sample; the second has the next (default 0)")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--write_texts", type=Path, help="write the texts to parse here, one a line, and stop")
    given = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: measure(given))


def measure(given: argparse.Namespace) -> None:
    """Read, parse, measure and print what the command line names."""
    inputs = [*given.parabanks, *([given.idf] if given.idf else []), *([given.pieces] if given.pieces else [])]
    for output, made in ((given.json, is_ours), (given.write_texts, None)):
        if output:
            check_output_file(output, inputs, made)
    parse_with = open_parser(given.parser) if given.parser else None
    idf = read_idf(idf_file(given.idf)) if given.idf else None
    pieces = read_pieces(given.pieces) if given.pieces else None
    rows = {name: read_runs(name, given.sample, given.seed) for name in dict.fromkeys(given.parabanks)}
    texts = dict.fromkeys(text for runs in rows.values() for run in runs for text in texts_of(run))
    if given.write_texts:
        write_whole(given.write_texts, "".join(f"{one_line(text)}\n" for text in texts))
        return
    parses = parse(texts, *parse_with) if parse_with else None
    figures = {name: [evaluate(run, pieces, idf, parses) for run in runs] for name, runs in rows.items()}
    print(markdown(figures))
    if parses is None:
        print("\nTree edit distance and parse entropy are left out: give a --parser")
    if given.json:
        record = {"toolkit": toolkit.__version__, "parabanks": figures}
        write_whole(given.json, json.dumps(record, indent=1) + "\n")


def read_runs(name: str, sample: int, seed: int) -> list[list[Row]]:
    """The rows of a parabank, of its samples, or of the runs that commas join."""
    paths = [name] if Path(name).exists() else name.split(",")
    return [rows for path in paths for rows in samples(path, sample, seed)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
