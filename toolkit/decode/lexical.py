"""Lexical constraints on what a text says, different for every search: words it must say and words it must not.

Constraints are given as words of running text and hold on the decoded text. Words are followed by their hashes
(`words.py`), so that "for" is forbidden however it is segmented, and "fortune" is not. The pieces of a required phrase
only guide the search to it: an automaton of each tells how far a row has come and which piece goes on.

What it does not do: allocate the beam (`allocation.py`), or search (`beam.py`). Constraints on ids, which a word evades
by another segmentation, are in `constraints.py`; ParaBank 2 wants those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from toolkit.decode.words import (
    BOS,
    NOTHING,
    KnownWords,
    WordTable,
    anchored_forms,
    begins_with,
    phrase_forms,
    runs,
    times_said,
    word_hash,
)

NO_PIECE = -1
CLOSE = -2  # in place of a piece: any that closes the open word


@dataclass(frozen=True)
class ConstraintSet:
    """The lexical constraints of one search, in words of running text.

    Attributes:
        positive: Phrases that the text must say, its first word perhaps with a capital; one that stands twice, twice.
        negative: Phrases that it must not say, neither as given nor with a capital.
        not_first: Phrases that it must not begin with, whatever the case of their first letter: "<BOS> w1 [w2 [w3]]" in
            ParaBank's table 3.
    """

    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    not_first: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no text can meet.

        Raises:
            ValueError: A phrase has no word, or is required and forbidden.
        """
        for field in fields(self):
            for phrase in getattr(self, field.name):
                if not any(runs(phrase)):
                    raise ValueError(f"wanted words in every {field.name} phrase, got {phrase!r}; drop it")
        for wanted in self.positive:
            for banned in self.negative:
                if times_said(wanted, banned):
                    raise ValueError(
                        f"wanted phrases that are required or forbidden, got {wanted!r} required and {banned!r} "
                        "forbidden; drop one of them"
                    )

    def unmet(self, text: str) -> list[str]:
        """The constraints that a text does not meet, in words.

        >>> ConstraintSet(("often",), ("do",), ("How",)).unmet("How do they?")
        ['says no "often"', 'says "do"', 'begins with "How"']
        """
        missing = {p for p in self.positive if times_said(text, p) < self.positive.count(p)}
        return [
            *(f'says no "{p}"' for p in dict.fromkeys(self.positive) if p in missing),
            *(f'says "{p}"' for p in self.negative if times_said(text, p)),
            *(f'begins with "{p}"' for p in self.not_first if begins_with(text, p)),
        ]


@dataclass
class Phrases:
    """Phrases to look for, by search, as hashes of their words.

    Attributes:
        forms: (2, searches, phrases, window) hashes, right-aligned, NOTHING where any word may stand; the two differ in
            one word at most. A search with fewer phrases has some without a last word, which never match.
    """

    forms: Tensor

    @classmethod
    def of(cls, forms: Sequence[Sequence[tuple[Sequence[int], Sequence[int]]]], window: int) -> Phrases:
        """The tensor of each search's phrases, each in two forms of equal length."""
        most = max((len(phrases) for phrases in forms), default=0)
        found = torch.full((2, len(forms), most, window), NOTHING)
        for search, phrases in enumerate(forms):
            for number, phrase in enumerate(phrases):
                for form, words in enumerate(phrase):
                    found[form, search, number, window - len(words) :] = torch.tensor(words)
        return cls(found)

    def said(self, window: Tensor) -> Tensor:
        """Which phrases the last words of each row are.

        Args:
            window: (searches, rows, window) hashes of words, the last at the end.

        Returns:
            (searches, rows, phrases) booleans.
        """
        one, other = self.forms[:, :, None]
        window = window[:, :, None]
        return ((one == window) | (other == window) | (one == NOTHING)).all(-1) & (one[..., -1] != NOTHING)


@dataclass
class Progress:
    """How far rows have come, by search and row; `pick` moves all of it alike.

    Attributes:
        open_word: (searches, rows) hash of the word that a row is in.
        recent: (searches, rows, window - 1) hashes of the last words that it has closed.
        count: (searches, rows, phrases) how often it has said a required phrase.
        state: (searches, rows, phrases) how many pieces of a required phrase its last pieces are.
    """

    open_word: Tensor
    recent: Tensor
    count: Tensor
    state: Tensor

    def pick(self, parents: Tensor) -> Progress:
        """The rows `parents` (searches, n) of each search."""
        search = torch.arange(len(parents), device=parents.device)[:, None]
        return Progress(*(getattr(self, field.name)[search, parents] for field in fields(self)))

    def keep(self, searches: Tensor) -> Progress:
        """The searches of these numbers, in this order."""
        return Progress(*(getattr(self, field.name)[searches] for field in fields(self)))


@dataclass
class Lexical:
    """The constraints of a batch of searches, as tensors.

    Attributes:
        table: What each piece does to a word.
        required: Phrases to say.
        forbidden: Phrases not to say; anchored ones begin with the word BOS.
        wanted: (searches, phrases) how often a required phrase is to be said; 0 where a search has fewer.
        pieces: (searches, phrases, longest) ids of the required phrases, NO_PIECE at the end.
        length: (searches, phrases) how many those are.
        after: (searches, phrases, longest + 1, longest) the automaton: state and the phrase's k-th piece to next state.
        checked: Ids that close a forbidden or unknown word inside themselves perhaps; empty with most vocabularies.
        known: The words that may be said; None where any may.
    """

    table: WordTable
    required: Phrases
    forbidden: Phrases
    wanted: Tensor
    pieces: Tensor
    length: Tensor
    after: Tensor
    checked: Tensor
    known: KnownWords | None

    @classmethod
    def of(
        cls,
        sets: Sequence[ConstraintSet],
        table: WordTable,
        spell: Callable[[str], list[int] | None],
        known: KnownWords | None = None,
    ) -> Lexical | None:
        """The tensors of one constraint set for each search; None if none has any.

        Args:
            sets: One for each search.
            table: Of the vocabulary, on the device of the search.
            spell: The ids that say a phrase after a space, without EOS; None where the vocabulary cannot say it.
            known: The words that may be said; None where any may.

        Raises:
            ValueError: A required phrase cannot be spelled.
        """
        if known is None and not any(one.positive or one.negative or one.not_first for one in sets):
            return None
        required = [dict.fromkeys(one.positive) for one in sets]
        spelled = [[_spelled(phrase, spell) for phrase in phrases] for phrases in required]
        positive = [[_hashes(phrase_forms(phrase)) for phrase in phrases] for phrases in required]
        negative = [
            [_hashes(phrase_forms(p)) for p in dict.fromkeys(one.negative)]
            + [_hashes(anchored_forms(p), BOS) for p in dict.fromkeys(one.not_first)]
            for one in sets
        ]
        window = max((len(form) for row in (*positive, *negative) for forms in row for form in forms), default=1)
        most, longest = max(map(len, spelled)), max((len(ids) for row in spelled for ids in row), default=0)
        wanted, length = (torch.zeros(len(sets), most, dtype=torch.long) for _ in range(2))
        pieces = torch.full((len(sets), most, longest), NO_PIECE)
        after = torch.zeros(len(sets), most, longest + 1, longest, dtype=torch.long)
        for search, one in enumerate(sets):
            for number, (phrase, ids) in enumerate(zip(required[search], spelled[search], strict=True)):
                wanted[search, number], length[search, number] = one.positive.count(phrase), len(ids)
                pieces[search, number, : len(ids)] = torch.tensor(ids)
                after[search, number, : len(ids) + 1, : len(ids)] = torch.tensor(automaton(ids))
        last = torch.tensor([form[-1] for phrases in negative for forms in phrases for form in forms], dtype=torch.long)
        device = table.head.device
        headed = table.closes & ~table.fresh
        inner = torch.isin(table.inner, torch.cat([last, torch.tensor([NOTHING + 1])]).to(device)).any(-1)
        heads = headed if len(last) or known is not None else torch.zeros_like(headed)
        checked = torch.nonzero(heads | inner).flatten()
        found = (Phrases.of(positive, window).forms.to(device), Phrases.of(negative, window).forms.to(device))
        wanted, pieces, length, after = (t.to(device) for t in (wanted, pieces, length, after))
        return cls(table, Phrases(found[0]), Phrases(found[1]), wanted, pieces, length, after, checked, known)

    @property
    def tokens(self) -> Tensor:
        """(searches,) pieces of all required phrases, each as often as it is wanted."""
        return (self.wanted * self.length).sum(-1)

    def keep(self, searches: Tensor) -> Lexical:
        """The constraints of the searches of these numbers, in this order."""
        return Lexical(
            self.table,
            Phrases(self.required.forms[:, searches]),
            Phrases(self.forbidden.forms[:, searches]),
            self.wanted[searches],
            self.pieces[searches],
            self.length[searches],
            self.after[searches],
            self.checked,
            None if self.known is None else self.known.keep(searches),
        )

    def start(self, rows: int) -> Progress:
        """Rows that have said nothing."""
        searches, phrases = self.wanted.shape
        window = self.required.forms.shape[-1]
        recent = self.wanted.new_full((searches, rows, window - 1), NOTHING)
        recent[..., -1:] = BOS
        nothing = self.wanted.new_zeros(searches, rows, phrases)
        return Progress(self.wanted.new_zeros(searches, rows), recent, nothing, nothing)

    def say(self, progress: Progress, ids: Tensor) -> tuple[Progress, Tensor]:
        """Let each row say a piece.

        Args:
            progress: Of (searches, rows).
            ids: (searches, rows).

        Returns:
            Where the rows are then, and (searches, rows) whether one has said something forbidden with that piece.
        """
        closed, open_word = self.table.events(ids, progress.open_word)
        recent, count, bad = progress.recent, progress.count, torch.zeros_like(ids, dtype=torch.bool)
        state, fresh_match = self._go_on(progress.state, ids), torch.zeros_like(count, dtype=torch.bool)
        for place, word in enumerate(closed):
            window = torch.cat([recent, word[..., None]], -1)
            spoken = (word != NOTHING)[..., None]
            met = self.required.said(window) & spoken
            count, fresh_match = count + met, (fresh_match | met) if place else fresh_match
            bad |= (self.forbidden.said(window) & spoken).any(-1)
            recent = torch.where(spoken, window[..., 1:], recent)
        # A phrase that its own last piece closes, such as a punctuation mark, is met: it is no longer on the way.
        state = torch.where(fresh_match & (state == self.length[:, None]), 0, state)
        return Progress(open_word, recent, count, state), bad

    def _go_on(self, state: Tensor, ids: Tensor) -> Tensor:
        """The automata's next states (searches, rows, phrases)."""
        if not self.pieces.numel():
            return state
        same = self.pieces[:, None] == ids[..., None, None]  # (searches, rows, phrases, longest)
        search = torch.arange(len(state), device=ids.device)[:, None, None]
        phrase = torch.arange(state.shape[-1], device=ids.device)
        found = self.after[search, phrase, state, same.long().argmax(-1)]
        return torch.where(same.any(-1), found, 0)

    def next_pieces(self, progress: Progress) -> Tensor:
        """The piece that goes on with each phrase not yet met: (searches, rows, phrases) ids.

        CLOSE where the phrase is spelled out and its last word still open; NO_PIECE where there is nothing to say.
        """
        if not self.pieces.numel():
            return progress.state
        ended = self.pieces.new_full((*self.pieces.shape[:2], 1), NO_PIECE)
        pieces = torch.cat([self.pieces, ended], -1)[:, None].expand(-1, progress.state.shape[1], -1, -1)
        piece = pieces.gather(-1, progress.state[..., None])[..., 0]
        piece = torch.where(progress.state == self.length[:, None], CLOSE, piece)
        return torch.where(progress.count < self.wanted[:, None], piece, NO_PIECE)

    def banks(self, progress: Progress) -> Tensor:
        """(searches, rows) constraint tokens met: those of phrases said, and of the one that is furthest on its way."""
        wanted, length = self.wanted[:, None], self.length[:, None]
        met = (torch.minimum(progress.count, wanted) * length).sum(-1)
        on_the_way = torch.where(progress.count < wanted, progress.state, 0)
        return met + (on_the_way.amax(-1) if on_the_way.shape[-1] else 0)

    def closing(self, progress: Progress) -> tuple[Tensor, Tensor]:
        """What it means to close the open word, as EOS and every piece after a space do.

        Returns:
            (searches, rows) whether that says something forbidden or unknown, and whether all required phrases are
            said then.
        """
        window = torch.cat([progress.recent, progress.open_word[..., None]], -1)
        spoken = progress.open_word != NOTHING
        count = progress.count + (self.required.said(window) & spoken[..., None])
        bad = self.forbidden.said(window).any(-1)
        if self.known is not None:
            bad = bad | ~self.known.whole(progress.open_word)
        return bad & spoken, (count >= self.wanted[:, None]).all(-1)

    def refused(self, progress: Progress) -> Tensor:
        """(searches, rows, `checked`) whether such a piece says something forbidden or closes an unknown word."""
        searches, rows = progress.open_word.shape
        each = len(self.checked)
        parents = torch.arange(rows, device=self.checked.device).repeat_interleave(each).expand(searches, -1)
        before, ids = progress.pick(parents), self.checked.repeat(rows).expand(searches, -1)
        _, bad = self.say(before, ids)
        if self.known is not None:
            word = self.table.events(ids, before.open_word)[0][0]
            bad |= (word != NOTHING) & ~self.known.whole(word)
        return bad.view(searches, rows, each)

    def hopeless(self, progress: Progress, ids: Tensor) -> Tensor:
        """Whether a piece would leave a row in a word that it can neither close nor go on to a known one.

        Args:
            progress: Of (searches, rows).
            ids: (searches, rows, n).

        Returns:
            (searches, rows, n) booleans; all false without `known`.
        """
        if self.known is None:
            return torch.zeros_like(ids, dtype=torch.bool)
        searches, rows, each = ids.shape
        parents = torch.arange(rows, device=ids.device).repeat_interleave(each).expand(searches, -1)
        then, _ = self.say(progress.pick(parents), ids.flatten(1))
        return (self.closing(then)[0] & ~self.known.begun(then.open_word)).view(searches, rows, each)


def automaton(pieces: Sequence[int]) -> list[list[int]]:
    """Next state by state and the phrase's k-th piece: how many first pieces of the phrase the last ones then are.

    >>> automaton([5, 5, 6])
    [[1, 1, 0], [2, 2, 0], [2, 2, 3], [1, 1, 0]]
    """
    table = []
    for state in range(len(pieces) + 1):
        row = []
        for piece in pieces:
            said = [*pieces[:state], piece]
            row.append(max(n for n in range(min(len(pieces), len(said)) + 1) if said[len(said) - n :] == [*pieces[:n]]))
        table.append(row)
    return table


def _hashes(forms: tuple[list[str], list[str]], *before: int) -> tuple[list[int], list[int]]:
    one, other = ([*before, *map(word_hash, form)] for form in forms)
    return one, other


def _spelled(phrase: str, spell: Callable[[str], list[int] | None]) -> list[int]:
    ids = spell(phrase)
    if not ids:
        raise ValueError(
            f"wanted required phrases that the model's vocabulary can spell, got {phrase!r}; "
            "choose other words or another model"
        )
    return ids
