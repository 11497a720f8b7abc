r"""Make a new version of a parabank by a condition on its scores, without decoding again.

    parabank filter parabank build/my-parabank --where "dual > -2 and intersection_over_union < 0.6" \
        --ranks 1-3 --output_dir build/my-parabank-strict

The condition is an expression of SQL over the scores of a candidate; an unknown name is answered with all of them. The
run of the parabank, DIR.shards, must be beside it. A paraphrase that does not meet the condition is refused, and a
candidate that only lost to it may take its place, if the run kept it (--keep). The new version has its own card.

Stronger scores of meaning are measured now, by models of your choice, and may stand in the condition:

    parabank filter parabank build/my-parabank --nli cross-encoder/nli-deberta-v3-base --min_entailment 0.5 \
        --output_dir build/my-parabank-entailed

They stay beside the run: the same command after an interruption, and one with another condition, measure nothing twice.

Of what remains, the best pairs of the whole corpus may be chosen, as ParaZh does, without pairs that nearly repeat a
better one:

    parabank filter parabank build/my-parabank --best_share 0.5 --max_similarity 0.8 \
        --output_dir build/my-parabank-best
"""

from __future__ import annotations

from builders.filter import Filter, filter_parabank
from toolkit.system.command import run_command
from toolkit.system.settings import parse_settings

PROGRAM = "parabank filter parabank"


def main(arguments: list[str]) -> int:
    """Parse the command line, choose, package; print an error as one line."""
    settings = parse_settings(Filter, arguments, __doc__ or "", PROGRAM, positional="parabank")
    return run_command(PROGRAM, lambda: _work(settings), resumes=True, processes=1)


def _work(settings: Filter) -> None:
    """Make the new version, and print what it has."""
    figures = filter_parabank(settings)
    if not figures:  # this is not the main process
        return
    over_corpus = ("duplicate", "better_pair", "near_duplicate", settings.by)
    total, refused = figures["total"], figures["candidates"]["refused"]
    lost = sum(refused.get(reason, 0) for reason in over_corpus)
    print(
        f"{settings.output_dir}: {total['pairs']:,} pairs of {total['kept']:,} references; refused in this and earlier "
        f"versions by conditions: {refused.get('where', 0):,}; over the corpus: {lost:,}; README.md in it says more"
    )
