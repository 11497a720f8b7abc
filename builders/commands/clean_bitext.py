r"""Clean a bitext: normalise it, and leave out the lines that cannot be translations.

    parabank clean --bitext crawled.zh-en.tsv.gz --source_lang en --lang zh \
        --source_column 1 --reference_column 0 --output clean.tsv.zst --refused refused.tsv.zst

Every builder and the training of translators clean what they read by the same rules; this script is for all else, and
to see what is refused. It needs no GPU, uses all cores, and holds no more of a large bitext in memory than of a small
one.
"""

from __future__ import annotations

from toolkit.clean.clean_file import CleanFile, clean_file
from toolkit.clean.rules import refusals
from toolkit.system.command import run_script

PROGRAM = "parabank clean"


def main(arguments: list[str]) -> int:
    """Parse the command line, clean; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", CleanFile, _work, arguments)


def _work(settings: CleanFile) -> None:
    """Clean, and print how many lines were kept and refused for which reason."""
    counts = clean_file(settings)
    kept_count = counts.pop("kept")
    print(
        f"{settings.output}: {kept_count:,} of {kept_count + counts.total():,} lines kept, refused: {refusals(counts)}"
    )
