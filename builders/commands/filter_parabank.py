r"""Make a new version of a parabank by a condition on its scores, without decoding again.

    parabank filter parabank build/my-parabank --where "dual > -2 and intersection_over_union < 0.6" \
        --ranks 1-3 --output_dir build/my-parabank-strict

The condition is an expression of SQL over the scores of a candidate; an unknown name is answered with all of them. The
run of the parabank, DIR.shards, must be beside it. A paraphrase that does not meet the condition is refused, and a
candidate that only lost to it may take its place, if the run kept it (--keep). The new version has its own card.

Of what remains, the best pairs of the whole corpus may be chosen, as ParaZh does, without pairs that nearly repeat a
better one:

    parabank filter parabank build/my-parabank --best_share 0.5 --max_similarity 0.8 \
        --output_dir build/my-parabank-best
"""

from __future__ import annotations

import argparse
from pathlib import Path

from toolkit.select.pairs import SCORES
from toolkit.system.command import run_command
from toolkit.system.settings import Parser

PROGRAM = "parabank filter parabank"


def main(arguments: list[str]) -> int:
    """Parse the command line, choose, package; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parabank", metavar="DIR", type=Path, help="folder that a builder made")
    parser.add_argument("--output_dir", type=Path, required=True, help="folder of the new version")
    parser.add_argument("--where", help="condition of SQL on the scores of a candidate (default: all meet it)")
    parser.add_argument("--ranks", help="ranks that remain, counted from 1: 1, 1-3 or 2- (default: as many as before)")
    corpus = parser.add_argument_group("over the whole corpus, after the condition and the ranks")
    corpus.add_argument("--by", choices=sorted(SCORES), default="dual_per_token", help="score to compare pairs by")
    corpus.add_argument("--best_pairs", type=int, metavar="N", help="the N best pairs remain")
    corpus.add_argument(
        "--best_share", type=float, metavar="SHARE", help="the best share of the pairs remains, in (0, 1]"
    )
    corpus.add_argument("--least_score", type=float, metavar="SCORE", help="pairs with at least this score remain")
    corpus.add_argument("--one_per_reference", action="store_true", help="of equal references the best pair remains")
    corpus.add_argument(
        "--max_similarity", type=float, default=1.0, metavar="JACCARD",
        help="pairs as similar as this to a better one are refused; 0.8 is good (default: 1, none)",
    )  # fmt: skip
    parser.add_argument("--version", help="MAJOR.MINOR.PATCH (default: the next MINOR after that of DIR)")
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: _work(options), resumes=True)


def _work(options: argparse.Namespace) -> None:
    """Make the new version, and print what it has."""
    from builders.filter import Filter, filter_parabank

    figures = filter_parabank(Filter(**vars(options)))
    over_corpus = ("duplicate", "better_pair", "near_duplicate", options.by)
    total, refused = figures["total"], figures["candidates"]["refused"]
    lost = sum(refused.get(reason, 0) for reason in over_corpus)
    print(
        f"{options.output_dir}: {total['pairs']:,} pairs of {total['kept']:,} references; refused in this and earlier "
        f"versions by conditions: {refused.get('where', 0):,}; over the corpus: {lost:,}; README.md in it says more"
    )
