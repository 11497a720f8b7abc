r"""How often ParaNet's paraphrases have the errors of the paper's appendix B, before and after the guards.

    python -m research.experiments.paranet_errors --run build/paranet.shards --data DIR \
        --json research/experiments/results/paranet_errors.json

--run is a run of `builders/paranet.py` without guards, whose shards have all candidates. Before the guards the
paraphrase of a reference is the best by the run's ranking; after them it is the best of those that keep negations,
numbers and names. DIR holds lexical/wordnet_antonyms.txt, a pair of words a line. Counted are paraphrases

- that break a guard: a negation, a number or a name is lost or added;
- with an antonym: a new word that is an antonym of a word of the reference;
- without a noun: a noun of the reference has no form of it in the paraphrase;
- with a split hyphen: a hyphenated word of the reference is not whole in the paraphrase.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from research.reports import report
from research.reports.figures import number, table
from toolkit.bitext.words import COMPOUND
from toolkit.data.rows import Candidate, Row
from toolkit.data.shards import read_shard
from toolkit.generate.inflections import part_of_speech
from toolkit.generate.synonyms import bases
from toolkit.package.parquet import finished_shards
from toolkit.score.guards import broken_guard

ANTONYMS = "lexical/wordnet_antonyms.txt"
LANG = "en"
GUARDS = ("negation", "number", "name")  # the errors of ParaMac, appendix B, that guards find
KINDS = (*GUARDS, "antonym", "noun", "hyphen")


def read_antonyms(path: Path) -> dict[str, set[str]]:
    """The antonyms of each word, in both directions."""
    antonyms: defaultdict[str, set[str]] = defaultdict(set)
    for line in path.read_text(encoding="utf-8").splitlines():
        word, antonym = line.split()[:2]
        antonyms[word].add(antonym)
        antonyms[antonym].add(word)
    return dict(antonyms)


def errors(reference: str, text: str, antonyms: Mapping[str, set[str]]) -> set[str]:
    """The kinds of errors of a paraphrase."""
    kinds = {guard for guard in GUARDS if broken_guard(reference, text, LANG, (guard,))}
    words, text_words = COMPOUND.findall(reference), COMPOUND.findall(text.lower())
    ours, theirs = ({base for word in side for base in bases(word)} for side in (words, text_words))
    if any(antonyms.get(word, set()) & (theirs - ours) for word in ours):
        kinds.add("antonym")
    nouns = [word for word, tag in zip(words, part_of_speech(words), strict=True) if tag == "NOUN"]
    if any(not bases(noun) & theirs for noun in nouns):
        kinds.add("noun")
    if any("-" in word and word.lower() not in text_words for word in words):
        kinds.add("hyphen")
    return kinds


def best(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate with the greatest ranking; of equal ones the first by text."""
    return min(candidates, key=lambda candidate: (-(candidate.scores.ranking or 0.0), candidate.text), default=None)


def count(rows: Sequence[Row], antonyms: Mapping[str, set[str]]) -> dict[str, Any]:
    """The errors of the paraphrases before and after the guards."""
    results: dict[str, Any] = {}
    for name, guards in (("before the guards", ()), ("after the guards", GUARDS)):
        counts, paraphrases = dict.fromkeys(KINDS, 0), 0
        for row in rows:
            candidates = [c for c in row.candidates if c.scores.ranking is not None]
            valid_candidates = (
                [c for c in candidates if not broken_guard(row.reference, c.text, LANG, guards)]
                if guards
                else candidates
            )
            if (paraphrase := best(valid_candidates)) is not None:
                paraphrases += 1
                for kind in errors(row.reference, paraphrase.text, antonyms):
                    counts[kind] += 1
        results[name] = {"paraphrases": paraphrases, "errors": counts}
    return results | {"references": len(rows)}


def main() -> None:
    """Read the run, count, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of the shards of a run without guards")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = [row for shard in finished_shards(options.run) for row in read_shard(shard) if row.reason is None]
    results = count(rows, read_antonyms(options.data / ANTONYMS))
    lines = [
        [name, number(figures["paraphrases"], 0), *(number(figures["errors"][kind], 0) for kind in KINDS)]
        for name, figures in results.items()
        if isinstance(figures, dict)
    ]
    print(table(["", "paraphrases", *KINDS], lines))
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
