r"""Extract a paraphrase lexicon from a parabank: word pairs with their PMIs, as ParaNMT-50M's appendix A.1 has it.

    python scripts/extract_lexicon.py --parabank DIR_OR_FILE --output lexicon.parquet \
        --show laughed respectful --simlex SimLex-999.txt

The parabank is a packaged one, a run's folder of shards, or a .parquet (sentence1, sentence2, semantic) or .tsv file
(reference TAB paraphrase, perhaps TAB paraphrase score). SimLex-999 is from https://fh295.github.io/simlex.html.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from toolkit.evaluate.simlex import PAPER, SIMLEX_SIGNATURE, WordPair, correlation, read_simlex
from toolkit.lexicon.pmi import MIN_COUNT, Entry, extract_lexicon, paraphrases_of
from toolkit.settings import parse_settings

SHOWN = 20  # ours: about as many as table 12 has
SCORES = {"cross-sentence PMI": "cross_pmi", "adjusted PMI": "adjusted_pmi"}  # as table 13 names them


@dataclass(frozen=True)
class LexiconSettings:
    """What is extracted.

    Attributes:
        parabank: Folder or file of the parabank.
        output: Parquet file of the lexicon.
        min_count: Words that meet less often across pairs are left out.
        show: Words whose paraphrases are printed, as in table 12.
        simlex: SimLex-999.txt, to print how well the PMIs rank its pairs, as in table 13; rare pairs count there, too.
    """

    parabank: str
    output: str
    min_count: int = MIN_COUNT
    show: list[str] = field(default_factory=list)
    simlex: str | None = None


def main(arguments: list[str]) -> int:
    """Parse the command line, extract, print, and say in one line what went wrong."""
    s = parse_settings(LexiconSettings, arguments, __doc__ or "", "extract_lexicon.py")
    try:
        pairs = read_simlex(Path(s.simlex)) if s.simlex else []
        wanted = [pair[:2] for pair in pairs]
        lexicon = extract_lexicon(Path(s.parabank), Path(s.output), s.min_count, wanted)
        print(summary(lexicon.counts))
        print(f"{s.output}: {lexicon.entries} entries")
        for word in s.show:
            shown = paraphrases_of(Path(s.output), word, SHOWN)
            print(f"{word}: {', '.join(entry.paraphrase for entry in shown) or 'not in the lexicon'}")
        if pairs:
            print_simlex(pairs, lexicon.wanted)
    except (ValueError, OSError) as error:
        print(f"extract_lexicon.py: {error}", file=sys.stderr)
        return 1
    return 0


def summary(counts: dict) -> str:
    """What became of the pairs, in one line."""
    refused = ", ".join(f"{reason} {number}" for reason, number in counts["refused"].items()) or "none"
    return f"{counts['pairs']} pairs, {counts['kept']} kept ({counts['unscored']} without a score), refused: {refused}"


def print_simlex(pairs: list[WordPair], entries: dict[tuple[str, str], Entry]) -> None:
    """Print rho x 100 of both PMIs beside the paper's, and how many word pairs were seen."""
    for name, column in SCORES.items():
        found = correlation(pairs, {words: getattr(entry, column) for words, entry in entries.items()})
        seen = f"{found.pairs - found.unseen} of {found.pairs} word pairs seen"
        print(f"{name}: {found.rho:.2f} ({seen}; the paper's {PAPER[name]:.2f}) {SIMLEX_SIGNATURE}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
