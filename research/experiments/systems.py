"""Compare systems by their outputs for the same references.

A system is a system of ParaBank, the translator's best hypothesis (ParaNMT), or a rank of ParaBank 2; its outputs are a
dictionary by row id.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from toolkit.data.rows import Candidate, Row
from toolkit.evaluate import corpus, lengths, trees
from toolkit.score.overlap import PieceSplitter

Texts = dict[str, str]  # row id -> the system's output for the reference of the row

ORACLES = ("max", "median", "min")  # ParaBank 2, section 3.4

OUTPUT_REASONS = (None, "copy")  # the reasons of candidates that count as outputs: copies of the reference, too

# ParaBank 2, table 1: (1-BLEU) x 100, intersection/union x 100, tree edit distance, length ratio; Czech-English
PAPER_AGAINST = {
    "ParaNMT": (66.29, 48.76, 6.62, 1.00),
    "ParaBank 17": (62.85, 46.21, 6.21, 1.01),
    "ParaBank 34": (58.16, 51.01, 6.51, 1.02),
    **{
        f"ParaBank 2, rank {rank}": (bleu, shared, trees.PAPER_BY_RANK[rank][0], length)
        for rank, (bleu, shared, length) in corpus.PAPER_BY_RANK.items()
    },
}
# ParaBank 2, table 2: the same without the length ratio; BLEU's reference first
PAPER_BETWEEN = {
    ("ParaBank 17", "ParaBank 34"): (20.58, 80.93, 2.26),
    **{
        (f"ParaBank 2, rank {a}", f"ParaBank 2, rank {b}"): (*figures, trees.PAPER_BETWEEN_RANKS[a, b][0])
        for (a, b), figures in corpus.PAPER_BETWEEN_RANKS.items()
    },
}
# ParaBank 2, tables 1 and 2: the same of the oracle systems; and, of table 1, "Semantics" and "Grammar" by people
PAPER_ORACLES_AGAINST = {
    "ParaBank 2, max": (76.71, 37.15, 7.38, 1.05),
    "ParaBank 2, median": (78.34, 35.34, 7.52, 1.06),
    "ParaBank 2, min": (79.29, 33.13, 7.65, 1.05),
}
PAPER_ORACLES_BETWEEN = {("ParaBank 2, max", "ParaBank 2, min"): (66.03, 49.10, 5.84)}
PAPER_ORACLES_JUDGED = {
    "ParaBank 2, max": (91.2, 93.1),
    "ParaBank 2, median": (84.1, 88.2),
    "ParaBank 2, min": (72.5, 81.5),
}
# ParaBank, table 4, top, Czech-English, "Avg.": human judgments of semantic similarity, 0 to 100
PAPER_JUDGED = {
    "ParaNMT": 73.39,
    "ParaBank 17": 76.07,
    "ParaBank 21": 66.74,
    "ParaBank 28": 79.63,
    "ParaBank 31": 78.81,
    "ParaBank 34": 78.67,
}
PAPER_JUDGED_BY_LENGTH = {  # the same by the length of the reference
    "ParaNMT": {5: 73.47, 10: 73.49, 20: 75.49, 40: 71.09},
    "ParaBank 17": {5: 71.59, 10: 75.71, 20: 79.67, 40: 77.31},
    "ParaBank 21": {5: 59.86, 10: 66.56, 20: 70.76, 40: 69.77},
    "ParaBank 28": {5: 76.63, 10: 78.35, 20: 83.19, 40: 80.35},
    "ParaBank 31": {5: 77.12, 10: 75.22, 20: 82.98, 40: 79.91},
    "ParaBank 34": {5: 74.03, 10: 77.74, 20: 81.88, 40: 81.04},
}
# ParaBank, table 4, bottom, Czech-English: modified BLEU by the length of the reference
PAPER_BY_LENGTH = lengths.PAPER_BY_LENGTH | {
    "ParaBank 21": {5: 0.00, 10: 7.84, 20: 22.04, 40: 28.90},
    "ParaBank 28": {5: 19.32, 10: 28.41, 20: 42.02, 40: 46.63},
    "ParaBank 31": {5: 19.09, 10: 29.16, 20: 41.42, 40: 46.96},
}
# ParaBank, table 4, "Avg.": BLEU of Czech-English and of French-English, human judgments of French-English
PAPER_SECOND = {
    "ParaBank 17": (26.88, 20.87, 77.52),
    "ParaBank 21": (14.70, 12.10, 72.80),
    "ParaBank 28": (34.10, 26.11, 80.31),
    "ParaBank 31": (34.16, 26.51, 79.76),
    "ParaBank 34": (30.47, 23.40, 79.84),
}
# the order of systems in the papers' tables, as differences of the papers' figures
PAPER_ORDERS = {
    "1-BLEU, ParaBank 2's rank 1 - ParaNMT": 75.83 - 66.29,  # ParaBank 2, table 1
    "IoU, ParaBank 2's rank 1 - ParaNMT": 37.75 - 48.76,  # ParaBank 2, table 1
    "1-BLEU, ParaBank 2's ranks 1/3 - ParaBank 17/34": 64.16 - 20.58,  # ParaBank 2, table 2
    "IoU, ParaBank 2's ranks 1/3 - ParaBank 17/34": 52.77 - 80.93,  # ParaBank 2, table 2
    "1-BLEU, ParaBank 21 - the next most diverse": 26.88 - 14.70,  # ParaBank, table 4, bottom, "Avg.", 17 - 21
}


def system_texts(rows: Iterable[Row], system: str | None) -> Texts:
    """The output of one system for each reference, whether or not the candidate was chosen later.

    Args:
        rows: Rows whose candidates' origins name systems.
        system: `Origin.recipe`, such as "17"; None for a search without a recipe.

    Returns:
        The outputs by row id. A row is left out if the system had no constraints for it, or if the output does not meet
        the constraints, is empty, or is incomplete.
    """
    return {
        row.id: candidate.text
        for row in rows
        for candidate in row.candidates
        if candidate.reason in OUTPUT_REASONS and any(o.recipe == system and not o.unmet for o in candidate.origins)
    }


def rank_texts(rows: Iterable[Row]) -> list[Texts]:
    """The outputs of ParaBank 2's ranks, best rank first; missing ranks are filled with the last paraphrase.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.4: "we treat candidates at each rank as an individual system".
    """
    ranked_texts = {row.id: corpus.fill_ranks(row) for row in rows if row.paraphrases}
    return [{id: texts[rank] for id, texts in ranked_texts.items()} for rank in range(corpus.RANKS)]


def oracle_texts(systems: Sequence[Texts], scores: Mapping[tuple[str, str], float]) -> dict[str, Texts]:
    """For each reference, the outputs of several systems with the best, the median and the worst judgment.

    >>> ranks = [{"a": "Go!"}, {"a": "Leave!"}, {"a": "Swim!"}]
    >>> oracle_texts(ranks, {("a", "Go!"): 80, ("a", "Leave!"): 95, ("a", "Swim!"): 10})
    {'max': {'a': 'Leave!'}, 'median': {'a': 'Go!'}, 'min': {'a': 'Swim!'}}

    Args:
        systems: The outputs by row id, usually of ParaBank 2's ranks (`rank_texts`), where a text that fills a missing
            rank counts again.
        scores: The human or predicted judgment by row id and text; a text without judgment, or with NaN, is skipped.

    Returns:
        The texts by name in `ORACLES` and row id, without the rows that have no judgment. Of equal judgments, that
        of the earlier system ranks first; of an even number of texts, the worse of the two middle ones is the median;
        both are ours.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.4: "the paraphrase with the maximum, minimum, and median human
    semantic similarity judgment under each reference".
    """
    oracles: dict[str, Texts] = {name: {} for name in ORACLES}
    for id in dict.fromkeys(id for texts in systems for id in texts):
        outputs = [texts[id] for texts in systems if id in texts]
        judged_outputs = [text for text in outputs if not math.isnan(scores.get((id, text), math.nan))]
        if judged_outputs:
            ranked_outputs = sorted(judged_outputs, key=lambda text: -scores[id, text])
            for name, text in zip(
                ORACLES, (ranked_outputs[0], ranked_outputs[len(ranked_outputs) // 2], ranked_outputs[-1]), strict=True
            ):
                oracles[name][id] = text
    return oracles


def common_rows(systems: Iterable[Texts]) -> set[str]:
    """The ids of the rows for which every system has an output.

    >>> sorted(common_rows([{"a": "Hi.", "b": "Go."}, {"b": "Leave.", "c": "Stay."}]))
    ['b']
    """
    return set.intersection(*(set(texts) for texts in systems))


def select_rows(texts: Texts, ids: Iterable[str]) -> Texts:
    """A system's outputs for some rows, in their order."""
    row_ids = set(ids)
    return {id: text for id, text in texts.items() if id in row_ids}


def compare(
    references: Mapping[str, str],
    texts: Texts,
    pieces: PieceSplitter | None = None,
    parses: trees.Parses | None = None,
) -> dict[str, float]:
    """The measures of `Comparison` for the outputs of a system, with the number of `references`.

    >>> round(compare({"a": "We will go home now.", "b": "Yes."}, {"a": "We will go home today!"})["one_minus_bleu"], 2)
    33.13

    Args:
        references: The references, or the outputs of another system, by row id.
        texts: The outputs by row id, BLEU's hypotheses. Rows that only one side has are skipped.
        pieces: Splits a text into subword pieces, for intersection/union; None splits at white space.
        parses: The trees of all texts, for the tree edit distance; None leaves it out.

    Raises:
        ValueError: The sides have no row in common, or a text was not parsed.
    """
    common_ids = [id for id in texts if id in references]
    if not common_ids:
        raise ValueError("wanted rows that both sides have a text for, got none: give both the same rows")
    comparison = corpus.Comparison(pieces, parses)
    for id in common_ids:
        comparison.add(references[id], texts[id])
    return {"references": len(common_ids), **comparison.measures()}


def by_length(rows: Sequence[Row], texts: Texts) -> dict:
    """The result of `toolkit.evaluate.lengths.by_length` for one system.

    Raises:
        ValueError: The system has no output for these rows.
    """
    output_rows = [replace(row, candidates=[Candidate(texts[row.id], "", rank=0)]) for row in rows if row.id in texts]
    return lengths.by_length(output_rows)


def orders(against: Mapping[str, Mapping[str, float]], between: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The differences of `PAPER_ORDERS` in measured figures; the paper's order is reproduced if the sign is equal.

    Args:
        against: `compare` of each system with the references, by the names of `PAPER_AGAINST` and `PAPER_JUDGED`.
        between: `compare` of pairs of systems, by their names joined by " / ".

    Returns:
        The differences by the names of `PAPER_ORDERS`; empty if a system is missing.
    """
    names = "ParaBank 2, rank 1", "ParaNMT", "ParaBank 2, rank 1 / ParaBank 2, rank 3", "ParaBank 17 / ParaBank 34"
    rank1, paranmt, rank_pair, parabank_pair = ({**against, **between}.get(name) for name in names)
    if rank1 is None or paranmt is None or rank_pair is None or parabank_pair is None or "ParaBank 21" not in against:
        return {}
    bleu, shared = "one_minus_bleu", "intersection_over_union"
    other_bleus = [
        against[name][bleu] for name in PAPER_JUDGED if name in against and name not in ("ParaNMT", "ParaBank 21")
    ]
    differences = (
        rank1[bleu] - paranmt[bleu],
        rank1[shared] - paranmt[shared],
        rank_pair[bleu] - parabank_pair[bleu],
        rank_pair[shared] - parabank_pair[shared],
        against["ParaBank 21"][bleu] - max(other_bleus),
    )
    return dict(zip(PAPER_ORDERS, differences, strict=True))
