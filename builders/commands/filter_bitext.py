r"""Filter a bitext by dual conditional cross-entropy: keep the pairs that two translators find probable and agree on.

    parabank filter bitext --bitext crawled.de-en.tsv.gz --source_lang de --lang en \
        --forward build/de-en/model --backward build/en-de/model --output filtered.tsv.zst --best_share 0.8

The bitext is cleaned first, by the same rules as everywhere. The translators should be trained on clean text. Run the
same command again after an interruption: it continues after the last shard; with another --max_cross_entropy or
--best_share it only chooses again. `--processes N` starts N processes on this machine, one for each GPU.
"""

from __future__ import annotations

from toolkit.clean.rules import refusals
from toolkit.score.cross_entropy import BitextFilter
from toolkit.system.command import run_script

PROGRAM = "parabank filter bitext"


def main(arguments: list[str]) -> int:
    """Parse the command line, filter; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", BitextFilter, _work, arguments, resumes=True)


def _work(settings: BitextFilter) -> None:
    """Filter, and print how many lines were kept and refused for which reason."""
    from toolkit.score.filter_bitext import filter_bitext

    counts = filter_bitext(settings)
    if counts:
        kept_count = counts.pop("kept")
        print(
            f"{settings.output}: {kept_count:,} of {kept_count + counts.total():,} lines kept, "
            f"refused: {refusals(counts)}"
        )
