"""A paraphraser that paraphrases no text twice: the arms, sizes and seeds of a study have many texts in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from toolkit.data.rows import Candidate
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.paraphraser.paraphraser import CHUNK, Paraphraser
from toolkit.paraphraser.settings import Paraphrasing

NO_PHRASES = ConstraintSet()
Query = tuple[str, ConstraintSet]


class CachedParaphraser(Paraphraser):
    """A loaded paraphraser that keeps its paraphrases for as long as it lives; what it refuses it does not keep.

    A text has the same paraphrases whatever seed is asked for: that of the paraphraser's settings counts. So the seeds
    of a study differ in the rows that are drawn, not in what is said of a row.

    Args:
        paraphraser: The paraphraser.
        texts: Texts that will be asked for without phrases. They are paraphrased together at the first question, which
            takes less time than one by one.
    """

    def __init__(self, paraphraser: Paraphraser, texts: Iterable[str] = ()) -> None:
        vars(self).update(vars(paraphraser))
        self._texts = list(dict.fromkeys(text for text in texts if text and text.strip()))
        self._cache: dict[tuple[Paraphrasing, str | None], dict[Query, list[Candidate]]] = {}

    def _chunk(
        self, texts: Sequence[str], sets: Sequence[ConstraintSet], settings: Paraphrasing, template: str | None
    ) -> Iterator[list[Candidate]]:
        """The paraphrases of each text of a chunk."""
        settings = replace(settings, seed=self.settings.seed)
        queries = list(zip(texts, sets, strict=True))
        cache = self._cache.setdefault((settings, template), {})
        prefetch_queries = [] if cache or set(sets) != {NO_PHRASES} else [(text, NO_PHRASES) for text in self._texts]
        missing_queries = [query for query in dict.fromkeys([*prefetch_queries, *queries]) if query not in cache]
        for begin in range(0, len(missing_queries), CHUNK):
            part = missing_queries[begin : begin + CHUNK]
            candidate_lists = super()._chunk(
                [text for text, _ in part], [phrases for _, phrases in part], settings, template
            )
            for query, candidates in zip(part, candidate_lists, strict=True):
                cache[query] = [candidate for candidate in candidates if candidate.rank is not None]
        yield from (cache[query] for query in queries)
