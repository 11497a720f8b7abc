r"""Translate text in one language back, for pairs that train a translator into that language.

    parabank backtranslate --model build/en-de/model --text news.en.txt.gz --source_lang de --lang en \
        --output build/synthetic.de-en.tsv.gz

The model reads the language of the text (`--lang`). The output has the line translation TAB sentence for each sentence,
for `--synthetic` of parabank train translator. `--processes N` starts N processes on this machine, one for each GPU.
Run the same command again after an interruption: it continues after the last shard. Unusable sentences and translations
are counted by reason.
"""

from __future__ import annotations

from toolkit.generate.monolingual import BackTranslation
from toolkit.system.command import run_script

PROGRAM = "parabank backtranslate"


def main(arguments: list[str]) -> int:
    """Parse the command line, translate; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", BackTranslation, _work, arguments, resumes=True)


def _work(settings: BackTranslation) -> None:
    """Translate, and print how many pairs were written and what was refused for which reason."""
    from toolkit.generate.backtranslate import back_translate

    counts = back_translate(settings)
    if counts:
        kept_count = counts.pop("kept")
        refused = ", ".join(f"{count:,} as {reason}" for reason, count in counts.most_common()) or "none"
        print(f"{settings.output}: {kept_count:,} pairs of {kept_count + counts.total():,} lines, refused: {refused}")
