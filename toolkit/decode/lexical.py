"""The lexical constraints of many searches as tensors, made once before a batch is decoded.

Constraints are given as words of running text (`constraint_set.py`) and hold on the decoded text. Words are compared by
their hashes (`words.py`), so that "for" is forbidden however it is segmented, and "fortune" is not. The pieces of a
required phrase only guide the search to it (`_automata.py`).

What it does not do: follow hypotheses (`_constraint_state.py`), allocate the beam (`_allocation.py`), or search
(`beam.py`). Samples obey the forbidden phrases (`forbidden.py`). Constraints on ids, which a word evades by another
segmentation, are in `constraints.py`; ParaBank 2 wants those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.decode._automata import PieceAutomata
from toolkit.decode.constraint_set import ConstraintSet, _anchored_forms, _phrase_forms
from toolkit.decode.words import BOS, NOTHING, KnownWords, WordTable, _word_hash
from toolkit.models.padding import pad

PhraseHashes = tuple[list[int], list[int]]  # the hashes of a phrase's words in its two forms, which are equally long


@dataclass
class _HashedPhrases:
    """The phrases of each search as hashes of their words.

    Attributes:
        forms: (2, searches, phrases, window) hashes, right-aligned, NOTHING where any word may stand; the two forms
            differ in one word at most. Where a search has fewer phrases the last word is NOTHING too, and nothing
            matches.
    """

    forms: Tensor

    @classmethod
    def of(
        cls, phrases: Sequence[Sequence[PhraseHashes]], window: int, device: torch.device | None = None
    ) -> _HashedPhrases:
        """The tensor of each search's phrases; `window` is the greatest number of words of any."""
        phrase_count = max(map(len, phrases), default=0)
        forms = torch.full((2, len(phrases), phrase_count, window), NOTHING)
        for search, row in enumerate(phrases):
            for number, phrase in enumerate(row):
                for form, words in enumerate(phrase):
                    forms[form, search, number, window - len(words) :] = torch.tensor(words)
        return cls(forms.to(device))

    def keep(self, searches: Tensor) -> _HashedPhrases:
        """The phrases of the searches of these numbers, in this order."""
        return _HashedPhrases(self.forms[:, searches])

    def match(self, window: Tensor) -> Tensor:
        """Whether the last words of each row are a phrase.

        Args:
            window: (searches, rows, window) hashes of words, the last word at the end.

        Returns:
            (searches, rows, phrases) booleans.
        """
        first, second = self.forms[:, :, None]
        window = window[:, :, None]
        return ((first == window) | (second == window) | (first == NOTHING)).all(-1) & (first[..., -1] != NOTHING)


@dataclass
class LexicalConstraints:
    """The constraints of a batch of searches. They do not change while the searches run.

    Attributes:
        table: What each piece does to a word.
        required: Phrases to say.
        forbidden: Phrases not to say; those that the text must not begin with start with the word BOS.
        times: (searches, phrases) how often each required phrase is to be said; 0 where a search has fewer.
        automata: Of the required phrases.
        checked: Ids of pieces that can close a forbidden or unknown word within their own text, so that only trying
            them tells; empty with most vocabularies.
        known: The words that may be said; None where any may.
        most_tokens: No search has more constraint tokens than this number.
    """

    table: WordTable
    required: _HashedPhrases
    forbidden: _HashedPhrases
    times: Tensor
    automata: PieceAutomata
    checked: Tensor
    known: KnownWords | None
    most_tokens: int

    @classmethod
    def of(
        cls,
        sets: Sequence[ConstraintSet],
        table: WordTable,
        spell: Callable[[str], list[int] | None],
        known: KnownWords | None = None,
    ) -> LexicalConstraints | None:
        """The tensors of one constraint set for each search; None if no search is constrained.

        Args:
            sets: One for each search.
            table: Of the vocabulary, on the device of the search.
            spell: The ids that say a phrase after a space, without EOS; None where the vocabulary cannot say it.
            known: The words that may be said; None where any may.

        Raises:
            ValueError: A required phrase cannot be spelled.
        """
        if known is None and not any(
            constraints.positive or constraints.negative or constraints.not_first for constraints in sets
        ):
            return None
        device = table.head.device
        distinct = [list(dict.fromkeys(constraints.positive)) for constraints in sets]
        spelled = [[_spelled_phrase(phrase, spell) for phrase in phrases] for phrases in distinct]
        required = [[_phrase_hashes(_phrase_forms(phrase)) for phrase in phrases] for phrases in distinct]
        forbidden = [_forbidden_phrases(constraints) for constraints in sets]
        times = [
            [constraints.positive.count(p) for p in phrases]
            for constraints, phrases in zip(sets, distinct, strict=True)
        ]
        most_tokens = max(
            sum(count * len(ids) for count, ids in zip(counts, search, strict=True))
            for counts, search in zip(times, spelled, strict=True)
        )
        window = max((len(form) for search in (*required, *forbidden) for forms in search for form in forms), default=1)
        return cls(
            table,
            _HashedPhrases.of(required, window, device),
            _HashedPhrases.of(forbidden, window, device),
            pad(times, 0).to(device),
            PieceAutomata.of(spelled, device),
            _checked_pieces(table, forbidden, known),
            known,
            most_tokens,
        )

    def __len__(self) -> int:
        """The number of searches."""
        return len(self.times)

    @property
    def tokens(self) -> Tensor:
        """(searches,) constraint tokens: pieces of all required phrases, each as often as it is to be said."""
        return (self.times * self.automata.length).sum(-1)

    @property
    def phrases(self) -> int:
        """The greatest number of distinct required phrases of a search."""
        return self.times.shape[1]

    def keep(self, searches: Tensor) -> LexicalConstraints:
        """The constraints of the searches of these numbers, in this order."""
        return LexicalConstraints(
            self.table,
            self.required.keep(searches),
            self.forbidden.keep(searches),
            self.times[searches],
            self.automata.keep(searches),
            self.checked,
            None if self.known is None else self.known.keep(searches),
            self.most_tokens,
        )


def _spelled_phrase(phrase: str, spell: Callable[[str], list[int] | None]) -> list[int]:
    """The ids of a required phrase.

    Raises:
        ValueError: The vocabulary cannot spell it.
    """
    ids = spell(phrase)
    if not ids:
        raise ValueError(
            f"wanted required phrases that the model's vocabulary can spell, got {phrase!r}; "
            "choose other words or another model"
        )
    return ids


def _phrase_hashes(forms: tuple[list[str], list[str]], *before: int) -> PhraseHashes:
    """The hashes of the words of a phrase in both forms, after the hashes `before`."""
    first, second = ([*before, *map(_word_hash, form)] for form in forms)
    return first, second


def _forbidden_phrases(constraints: ConstraintSet) -> list[PhraseHashes]:
    """The phrases that a text must not say, then those that it must not begin with."""
    anywhere = [_phrase_hashes(_phrase_forms(phrase)) for phrase in dict.fromkeys(constraints.negative)]
    first = [_phrase_hashes(_anchored_forms(phrase), BOS) for phrase in dict.fromkeys(constraints.not_first)]
    return [*anywhere, *first]


def _checked_pieces(table: WordTable, forbidden: Sequence[Sequence[PhraseHashes]], known: KnownWords | None) -> Tensor:
    """(n,) the ids that can close a forbidden or unknown word within their own text.

    These are pieces that first continue the open word and then close it, if any word is forbidden or unknown, and
    pieces that contain the last word of a forbidden phrase.
    """
    last = [form[-1] for phrases in forbidden for forms in phrases for form in forms]
    inner = torch.isin(table.inner, torch.tensor(last, dtype=torch.long, device=table.inner.device)).any(-1)
    continuing = table.closes & ~table.closes_first
    heads = continuing if last or known is not None else torch.zeros_like(continuing)
    return torch.nonzero(heads | inner).flatten()
