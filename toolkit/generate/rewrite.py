"""Rewriting texts in their own language with a monolingual model, with or without constraints (ParaBank, section 6)."""

from __future__ import annotations

from collections.abc import Sequence, Set

from toolkit.bitext.subwords import check_texts
from toolkit.data.rows import Candidate, Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import constrain_rows
from toolkit.translator.load import Translator

BEAM, BATCH_ROWS = 12, 1200  # ours: ParaNMT's beam; 100 searches


def rewrite(
    texts: Sequence[str],
    rewriter: Translator,
    constraints: Sequence[ConstraintSet] | None = None,
    beam: int = BEAM,
    n_best: int = 1,
    batch_rows: int = BATCH_ROWS,
    known_words: Set[str] = frozenset(),
) -> list[list[Candidate]]:
    """The best rewritings of each text, under its constraints.

    Args:
        texts: Sentences to rewrite, in the model's language.
        rewriter: Any seq2seq model (`load_translator`) that was trained to rewrite.
        constraints: One set for each text; None rewrites without constraints.
        beam: Hypotheses that a search follows at a time.
        n_best: Rewritings of each text, 1 to `beam`.
        batch_rows: Hypotheses that are decoded at a time.
        known_words: If given, only these words and those of the text and its constraints are said.

    Returns:
        For each text its distinct rewritings, best first. A rewriting with a `reason` cannot be used;
        `origins[0].unmet` lists the constraints that it does not meet.

    Raises:
        ValueError: There are not as many constraint sets as texts, or the texts are no list of strings.

    Source: ParaBank (Hu et al. 2019a), section 6.
    """
    check_texts(texts)
    if constraints is not None and len(constraints) != len(texts):
        raise ValueError(f"wanted a constraint set for each of {len(texts)} texts, got {len(constraints)}")
    sets = constraints or [ConstraintSet()] * len(texts)
    rows = [Row(f"text-{i}", "text", None, None, text, "", "train") for i, text in enumerate(texts)]
    sets_by_row = {row.id: [(None, constraint_set)] for row, constraint_set in zip(rows, sets, strict=True)}
    rewritten = constrain_rows(
        rows, rewriter, lambda row: sets_by_row[row.id], beam, batch_rows, "constrain", n_best, known_words
    )
    return [row.candidates for row in rewritten]
