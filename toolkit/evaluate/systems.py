"""Systems side by side: what each says for a reference, compared on references that all of them have.

A system is a ParaBank system, the translator's best, or a rank of ParaBank 2; its texts are a dictionary by row id.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from toolkit.evaluate import corpus, lengths, trees
from toolkit.rows import Candidate, Row
from toolkit.score.overlap import PieceSplitter

Texts = dict[str, str]  # the id of a row -> what a system says for its reference

ORACLES = ("max", "median", "min")  # ParaBank 2, section 3.4

SAID = (None, "copy")  # the reasons of texts that are a system's: a copy of the reference is its text, too

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
# ParaBank, table 4, bottom, Czech-English: modified BLEU by the length of the reference
PAPER_BY_LENGTH = lengths.PAPER_BY_LENGTH | {
    "ParaBank 21": {5: 0.00, 10: 7.84, 20: 22.04, 40: 28.90},
    "ParaBank 28": {5: 19.32, 10: 28.41, 20: 42.02, 40: 46.63},
    "ParaBank 31": {5: 19.09, 10: 29.16, 20: 41.42, 40: 46.96},
}
# the orders that the papers report, as differences of what they print
PAPER_ORDERS = {
    "1-BLEU, ParaBank 2's rank 1 - ParaNMT": 75.83 - 66.29,  # ParaBank 2, table 1
    "IoU, ParaBank 2's rank 1 - ParaNMT": 37.75 - 48.76,  # ParaBank 2, table 1
    "1-BLEU, ParaBank 2's ranks 1/3 - ParaBank 17/34": 64.16 - 20.58,  # ParaBank 2, table 2
    "IoU, ParaBank 2's ranks 1/3 - ParaBank 17/34": 52.77 - 80.93,  # ParaBank 2, table 2
    "1-BLEU, ParaBank 21 - the next most diverse": 26.88 - 14.70,  # ParaBank, table 4, bottom, "Avg.", 17 - 21
}


def system_texts(rows: Iterable[Row], system: str | None) -> Texts:
    """What one system says for each reference, whatever became of the text afterwards in the ranking.

    Args:
        rows: Rows whose candidates' origins name systems.
        system: `Origin.recipe`, such as "17"; None for a search without a recipe.

    Returns:
        By row id; a row is left out where the system had no constraints, or where its text does not meet them, is
        empty or did not end.
    """
    return {
        row.id: candidate.text
        for row in rows
        for candidate in row.candidates
        if candidate.reason in SAID and any(o.recipe == system and not o.unmet for o in candidate.origins)
    }


def rank_texts(rows: Iterable[Row]) -> list[Texts]:
    """What each of ParaBank 2's ranks says, best first, empty ranks filled with the last paraphrase.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.4: "we treat candidates at each rank as an individual system".
    """
    found = {row.id: corpus.filled(row) for row in rows if row.paraphrases}
    return [{id: texts[rank] for id, texts in found.items()} for rank in range(corpus.RANKS)]


def oracle_texts(systems: Sequence[Texts], scores: Mapping[tuple[str, str], float]) -> dict[str, Texts]:
    """Of what several systems say for each reference, the text that is judged best, in the middle, and worst.

    >>> ranks = [{"a": "Go!"}, {"a": "Leave!"}, {"a": "Swim!"}]
    >>> oracle_texts(ranks, {("a", "Go!"): 80, ("a", "Leave!"): 95, ("a", "Swim!"): 10})
    {'max': {'a': 'Leave!'}, 'median': {'a': 'Go!'}, 'min': {'a': 'Swim!'}}

    Args:
        systems: By row id; ParaBank 2's ranks (`rank_texts`), where a text that fills a rank counts once more.
        scores: Of a row id and a text: what people gave it, or a prediction; a text without one, or with nan, is
            passed over.

    Returns:
        By name in `ORACLES`; without the rows none of whose texts has a score. Among equal scores the earlier system is
        the better one, and of an even number of texts the worse of the two in the middle is the median; both are ours.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.4: "the paraphrase with the maximum, minimum, and median human
    semantic similarity judgment under each reference".
    """
    found: dict[str, Texts] = {name: {} for name in ORACLES}
    for id in dict.fromkeys(id for texts in systems for id in texts):
        said = [texts[id] for texts in systems if id in texts]
        known = [text for text in said if not math.isnan(scores.get((id, text), math.nan))]
        if known:
            ordered = sorted(known, key=lambda text: -scores[id, text])
            for name, text in zip(ORACLES, (ordered[0], ordered[len(ordered) // 2], ordered[-1]), strict=True):
                found[name][id] = text
    return found


def common(systems: Iterable[Texts]) -> set[str]:
    """The rows for which every system says something.

    >>> sorted(common([{"a": "Hi.", "b": "Go."}, {"b": "Leave.", "c": "Stay."}]))
    ['b']
    """
    return set.intersection(*(set(texts) for texts in systems))


def only(texts: Texts, ids: Iterable[str]) -> Texts:
    """A system's texts for some rows, in the order of the texts."""
    wanted = set(ids)
    return {id: text for id, text in texts.items() if id in wanted}


def compare(
    references: Mapping[str, str],
    texts: Texts,
    pieces: PieceSplitter | None = None,
    parses: trees.Parses | None = None,
) -> dict[str, float]:
    """The measures of `Comparison` over what a system says, with the number of `references`.

    >>> round(compare({"a": "We will go home now.", "b": "Yes."}, {"a": "We will go home today!"})["one_minus_bleu"], 2)
    33.13

    Args:
        references: By row id; or another system's texts. Rows that are not in both are passed over.
        texts: By row id; BLEU's hypotheses.
        pieces: Cuts a text into subword pieces, for intersection/union; None cuts at white space.
        parses: Trees of all texts, for the tree edit distance; None leaves it out.

    Raises:
        ValueError: There is no row in both; a text was not parsed.
    """
    both = [id for id in texts if id in references]
    if not both:
        raise ValueError("wanted rows that both sides have a text for, got none: give both the same rows")
    comparison = corpus.Comparison(pieces, parses)
    for id in both:
        comparison.add(references[id], texts[id])
    return {"references": len(both), **comparison.measures()}


def by_length(rows: Sequence[Row], texts: Texts) -> dict:
    """What `toolkit.evaluate.lengths.by_length` measures, of one system.

    Raises:
        ValueError: The system says nothing for these rows.
    """
    said = [replace(row, candidates=[Candidate(texts[row.id], "", rank=0)]) for row in rows if row.id in texts]
    return lengths.by_length(said)


def orders(against: Mapping[str, Mapping[str, float]], between: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The differences of `PAPER_ORDERS` in other figures; one has the paper's sign where the paper's order comes out.

    Args:
        against: `compare` of each system with the references, by the names of `PAPER_AGAINST` and `PAPER_JUDGED`.
        between: `compare` of pairs, by their names with " / " between them.

    Returns:
        By order; nothing where a system is missing.
    """
    names = "ParaBank 2, rank 1", "ParaNMT", "ParaBank 2, rank 1 / ParaBank 2, rank 3", "ParaBank 17 / ParaBank 34"
    first, best, ranks, rewrites = ({**against, **between}.get(name) for name in names)
    if first is None or best is None or ranks is None or rewrites is None or "ParaBank 21" not in against:
        return {}
    bleu, shared = "one_minus_bleu", "intersection_over_union"
    others = [
        against[name][bleu] for name in PAPER_JUDGED if name in against and name not in ("ParaNMT", "ParaBank 21")
    ]
    found = (
        first[bleu] - best[bleu],
        first[shared] - best[shared],
        ranks[bleu] - rewrites[bleu],
        ranks[shared] - rewrites[shared],
        against["ParaBank 21"][bleu] - max(others),
    )
    return dict(zip(PAPER_ORDERS, found, strict=True))
