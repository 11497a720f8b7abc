r"""Extract a paraphrase lexicon from a parabank: word pairs with their PMIs (ParaNMT-50M, appendix A.1).

    parabank extract lexicon --parabank DIR_OR_FILE --output lexicon.parquet \
        --show laughed respectful --simlex SimLex-999.txt

The parabank is a packaged one, a run's folder of shards, or a file: .parquet (sentence1, sentence2, semantic), .jsonl
with the same keys, or .tsv (reference TAB paraphrase, optionally TAB paraphrase score). SimLex-999 is at
https://fh295.github.io/simlex.html.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import toolkit
from toolkit.evaluate.simlex import PAPER, SIMLEX_SIGNATURE, WordPair, correlation, read_simlex
from toolkit.lexicon.pmi import MIN_COUNT, Entry, extract_lexicon, is_lexicon, paraphrases_of
from toolkit.system.command import run_script
from toolkit.system.outputs import check_output_file, is_ours
from toolkit.system.ranges import Count, Settings
from toolkit.system.whole_files import write_whole

PROGRAM = "parabank extract lexicon"
SHOWN = 20  # ours: about as many as in table 12
SCORES = {"cross-sentence PMI": "cross_pmi", "adjusted PMI": "adjusted_pmi"}  # as table 13 names them


@dataclass(frozen=True)
class _LexiconSettings(Settings):
    """The settings of the extraction.

    Attributes:
        parabank: Folder, Hub name or file of the parabank.
        output: Parquet file of the lexicon.
        min_count: Pairs of words that co-occur less often across sentences are left out.
        show: Words whose paraphrases are printed, as in table 12.
        simlex: File SimLex-999.txt, to print the correlation of the PMIs with its scores, as in table 13; `min_count`
            does not apply to its pairs.
        json: File for the counts and, with --simlex, the correlations.
    """

    parabank: str
    output: str
    min_count: Count = MIN_COUNT
    show: list[str] = field(default_factory=list)
    simlex: str | None = None
    json: str | None = None


def main(arguments: list[str]) -> int:
    """Parse the command line, extract, print; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", _LexiconSettings, _work, arguments)


def _work(s: _LexiconSettings) -> None:
    """Extract the lexicon, and print what the settings ask for."""
    inputs = [s.parabank, *([s.simlex] if s.simlex else [])]
    check_output_file(Path(s.output), inputs, is_lexicon)
    if s.json:
        check_output_file(Path(s.json), [*inputs, s.output], is_ours)
    pairs = read_simlex(Path(s.simlex)) if s.simlex else []
    lexicon = extract_lexicon(Path(s.parabank), Path(s.output), s.min_count, [pair[:2] for pair in pairs])
    print(_summary(lexicon.counts))
    print(f"{s.output}: {lexicon.entries} entries")
    for word in s.show:
        paraphrases = paraphrases_of(Path(s.output), word, SHOWN)
        print(f"{word}: {', '.join(entry.paraphrase for entry in paraphrases) or 'not in the lexicon'}")
    correlations = _simlex_figures(pairs, lexicon.wanted) if pairs else {}
    for name, figures in correlations.items():
        pair_coverage = f"{figures['pairs'] - figures['unseen']} of {figures['pairs']} word pairs seen"
        print(f"{name}: {figures['rho']:.2f} ({pair_coverage}; the paper's {PAPER[name]:.2f}) {SIMLEX_SIGNATURE}")
    if s.json:
        header = {"toolkit": toolkit.__version__, "parabank": Path(s.parabank).name, "counts": lexicon.counts}
        record = header | {"entries": lexicon.entries, "simlex": correlations, "signature": SIMLEX_SIGNATURE}
        write_whole(Path(s.json), json.dumps(record, indent=1) + "\n")


def _summary(counts: dict) -> str:
    """The numbers of pairs read, kept and refused, on one line."""
    refused = ", ".join(f"{reason} {number}" for reason, number in counts["refused"].items()) or "none"
    return f"{counts['pairs']} pairs, {counts['kept']} kept ({counts['unscored']} without a score), refused: {refused}"


def _simlex_figures(pairs: list[WordPair], entries: dict[tuple[str, str], Entry]) -> dict[str, dict[str, float]]:
    """For each PMI: rho x 100, the number of word pairs and the number of unseen pairs, as JSON can represent them."""
    return {
        name: correlation(pairs, {words: getattr(entry, column) for words, entry in entries.items()})._asdict()
        for name, column in SCORES.items()
    }
