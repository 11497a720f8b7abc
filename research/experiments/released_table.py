r"""What else the released outputs of ParaBank's systems tell: BLEU and words, openings, and copies of short references.

    python -m research.experiments.released_table --judgments DIR --data DIR \
        --json research/experiments/results/released.json

The folder of --judgments holds ref.tsv.gz and candidates.tsv.gz as ParaBank's authors published them, with the outputs
of ParaNMT and of 34 systems for 299 references. --data is the folder of the Tatoeba pairs, of which the starter
translates 300 held-out references with ParaNMT's beam.

- `systems`: BLEU and unigram precision of each system against the references, x 100, and their rank correlation
  (ParaBank, section 5.4).
- `by_length`: BLEU of each system by the words of the reference (section 5.4; table 4).
- `openings`: how often a translation begins with the reference's first one, two or three tokens, in per cent. This is
  what the positional systems 32 to 34 forbid: the more often it happens, the more texts they change.
- `five_words`: BLEU against the references of five words, with and without the texts that repeat their reference.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from scipy.stats import spearmanr

from builders.paranmt import ParaNMT
from research.experiments.parabank_runs import in_shards, references_of
from research.experiments.systems import PAPER_BY_LENGTH, Texts, system_texts
from research.reports import report
from research.reports.figures import number, table
from toolkit.evaluate.corpus import bare_text, one_minus_bleu
from toolkit.evaluate.judged import COPIES, read_judged
from toolkit.generate.recipes import first_tokens
from toolkit.generate.translate import translate_rows
from toolkit.translator.load import load_translator

PAPER_CORRELATION = 0.98  # ParaBank, section 5.4: Spearman's, of BLEU without brevity penalty and unigram precision
SHORT = 5  # words of a reference
LENGTHS = (5, 10, 20, 40)  # words of a reference; ParaBank, section 5.3
TRANSLATED = 300  # ours: references that the starter translates
SHORT_ENOUGH = 12  # ours: tokens of a reference in CzEng that is as short as one of Tatoeba
BASELINE = "ParaBank 28"  # ParaBank, table 3: the system without constraints


def unigram_precision(references: Mapping[str, str], texts: Texts) -> float:
    """The share of a system's words that its references have, x 100; each word counts as often as the reference has it.

    >>> unigram_precision({"a": "We will go home."}, {"a": "We go to our home."})
    60.0
    """
    shared = words = 0
    for id, text in texts.items():
        counts, reference_counts = Counter(bare_text(text).split()), Counter(bare_text(references[id]).split())
        shared, words = shared + (counts & reference_counts).total(), words + counts.total()
    return 100 * shared / words


def bleu(references: Mapping[str, str], texts: Texts) -> float:
    """BLEU x 100 without brevity penalty, over all texts of a system."""
    return 100 - one_minus_bleu([references[id] for id in texts], list(texts.values()))


def bleu_by_length(
    references: Mapping[str, str], texts: Texts, lengths: Mapping[str, int | None], counts: Collection[int] = LENGTHS
) -> dict[str, float]:
    """BLEU of a system on the references of each number of words (ParaBank, section 5.3).

    Args:
        references: The references by row id.
        texts: The system's outputs by row id.
        lengths: The words of each reference.
        counts: The numbers of words.
    """
    return {
        str(count): bleu(references, {id: text for id, text in texts.items() if lengths[id] == count})
        for count in counts
    }


def begins_as(reference: str, text: str, count: int) -> bool:
    """Whether a text begins with the reference's first tokens, in any case of the letters.

    >>> begins_as("We will go.", "we will leave.", 2), begins_as("We will go.", "We'll go.", 2)
    (True, False)
    """
    phrase = first_tokens(reference, count)
    if phrase is None or not text.lower().startswith(phrase.lower()):
        return False
    after = text[len(phrase) :][:1]
    return not (phrase[-1].isalnum() and after.isalnum())


def openings(references: Mapping[str, str], texts: Texts) -> dict[str, float]:
    """The per cent of texts that begin with the first one, two and three tokens of the reference, and the texts."""
    shares = {
        str(count): 100 * sum(begins_as(references[id], text, count) for id, text in texts.items()) / len(texts)
        for count in (1, 2, 3)
    }
    return {"texts": len(texts), **shares}


def short_references(references: Mapping[str, str], run: Mapping[str, Texts], ids: set[str]) -> dict[str, dict]:
    """BLEU of each system with and without its copies, on some of the references."""
    figures = {}
    for name in PAPER_BY_LENGTH:
        texts = {id: text for id, text in run[name].items() if id in ids}
        changed = {id: text for id, text in texts.items() if bare_text(text) != bare_text(references[id])}
        figures[name] = {
            "texts": len(texts), "copies": len(texts) - len(changed), "bleu": bleu(references, texts),
            "bleu_without_copies": bleu(references, changed), "paper": PAPER_BY_LENGTH[name][SHORT],
        }  # fmt: skip
    return figures


def main() -> None:
    """Measure, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--translator", default="starter/de-en")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--json")
    options = parser.parse_args()
    references, judged = read_judged(options.judgments)
    run: dict[str, Texts] = {}
    for text in judged:
        for name in text.systems - {COPIES}:
            run.setdefault(name, {})[text.id] = text.text
    systems = {
        name: {"bleu": bleu(references, texts), "unigram_precision": unigram_precision(references, texts)}
        for name, texts in sorted(run.items())
    }
    lengths = {text.id: text.length for text in judged}
    by_length = {name: bleu_by_length(references, texts, lengths) for name, texts in sorted(run.items())}
    correlation = spearmanr(*zip(*(figures.values() for figures in systems.values()), strict=True)).statistic
    short = {id: text for id, text in run[BASELINE].items() if len(bare_text(references[id]).split()) <= SHORT_ENOUGH}
    rows = references_of("tatoeba", options.data, "test", TRANSLATED)
    translator = load_translator(options.translator, options.dtype, "cpu")
    best = in_shards(
        rows, lambda shard: translate_rows(shard, translator, ParaNMT().beam, ParaNMT().batch_sizes["batch_rows"])
    )
    begun = {
        f"{options.translator}, Tatoeba": openings({row.id: row.reference for row in rows}, system_texts(best, None)),
        f"{BASELINE}, CzEng": openings(references, run[BASELINE]),
        f"{BASELINE}, CzEng, at most {SHORT_ENOUGH} words": openings(references, short),
    }
    five_words = short_references(references, run, {text.id for text in judged if text.length == SHORT})
    print(table(["begins as the reference", "1 token", "2", "3"], [
        [name, *(number(shares[str(count)]) for count in (1, 2, 3))] for name, shares in begun.items()
    ]))  # fmt: skip
    results = {
        "systems": systems, "spearman_of_bleu_and_unigram_precision": float(correlation), "paper": PAPER_CORRELATION,
        "by_length": by_length, "openings": begun, "five_words": five_words,
    }  # fmt: skip
    report.write(options.json, 0, results, {"Spearman of BLEU and unigram precision": float(correlation)})


if __name__ == "__main__":
    main()
