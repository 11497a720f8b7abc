"""Constraints on words: refused where no text can meet them, and followed through pieces as on the decoded text."""

import random
import re
from collections.abc import Sequence

import pytest
import torch

from toolkit.decode.lexical import NO_PIECE, ConstraintSet, Lexical, Progress, automaton
from toolkit.decode.words import KnownWords, WordTable, begins_with, runs, times_said

EOS, UNSAID = 0, 1
PLAIN = ["", "", " a", "b", "c", " for", "tune", " f", "or", " For", ",", " ,", '"', ' "', ".", " ", "字", " 京"]
MIXED = ["", "", " a", "b", "s.", " (a", "...", "a-b", ",", "字", " b", "A", "-c-", " ", "."]  # words end inside pieces


def spell(phrase: str, surfaces: Sequence[str] = PLAIN) -> list[int] | None:
    """The first spelling that a search in depth finds, longest pieces first."""

    def rest(text: str) -> list[int] | None:
        pieces = sorted(
            (i for i, s in enumerate(surfaces) if s and text.startswith(s)), key=lambda i: -len(surfaces[i])
        )
        found = ((i, rest(text[len(surfaces[i]) :])) for i in pieces)
        return next(([i, *more] for i, more in found if more is not None), None) if text else []

    return rest(" " + phrase)


def text_of(ids: Sequence[int], surfaces: Sequence[str] = PLAIN) -> str:
    return "".join(surfaces[i] for i in ids).strip()


def lexical_of(*sets: ConstraintSet, surfaces: Sequence[str] = PLAIN, known: KnownWords | None = None) -> Lexical:
    found = Lexical.of(sets, WordTable.of(surfaces, EOS), lambda phrase: spell(phrase, surfaces), known)
    assert found is not None
    return found


def after(lexical: Lexical, ids: Sequence[int]) -> tuple[Progress, bool]:
    """One row of one search that has said `ids`, and whether that said something forbidden."""
    progress, said = lexical.start(1), False
    for i in ids:
        progress, bad = lexical.say(progress, torch.tensor([[i]]))
        said |= bool(bad)
    return progress, said


def ids_of(*pieces: str) -> list[int]:
    return [PLAIN.index(piece) for piece in pieces]


# The set itself


@pytest.mark.parametrize("phrase", ["", "  ", "\n\u00a0"])
@pytest.mark.parametrize("field", ["positive", "negative", "not_first"])
def test_a_phrase_without_words_is_refused(field, phrase):
    with pytest.raises(
        ValueError, match=f"wanted words in every {field} phrase, got {re.escape(repr(phrase))}; drop it"
    ):
        ConstraintSet(**{field: ("a", phrase)})


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("for", "for"),
        ("For", "for"),  # "for" forbids "For" too
        ("wait for me", "for"),  # a part of what is required
        ("wait for me", "for me"),
        ("For me", "for me"),
        ("you, me", ","),
    ],
)
def test_required_and_forbidden_at_once_is_refused(positive, negative):
    wanted = rf"wanted phrases that are required or forbidden, got '{positive}' required and '{negative}' forbidden; drop one"
    with pytest.raises(ValueError, match=wanted):
        ConstraintSet(("often", positive), ("go", negative))


@pytest.mark.parametrize(
    ("positive", "negative", "not_first"),
    [
        ("fortune", "for", "x"),  # a part of a word is no word
        ("for", "for me", "x"),  # the text may say less than what is forbidden
        ("for", "For", "x"),
        ("for", "x", "for"),  # it may stand later
        ("me for", "for me", "x"),
    ],
)
def test_what_a_text_can_meet_is_not_refused(positive, negative, not_first):
    ConstraintSet((positive,), (negative,), (not_first,))


@pytest.mark.parametrize(
    ("text", "unmet"),
    [
        ("Often they do", ['says "do"']),
        ("How often", ['begins with "How"']),
        ("how often", ['begins with "How"']),
        ("Do", ['says no "often"', 'says "do"']),
        ("often often", []),
        ("oftentimes it is show, how", ['says no "often"']),
    ],
)
def test_unmet_names_each_constraint(text, unmet):
    assert ConstraintSet(("often",), ("do",), ("How",)).unmet(text) == unmet


def test_a_phrase_that_stands_twice_must_be_said_twice():
    twice = ConstraintSet(("a", "b", "a"))
    assert twice.unmet("a b") == ['says no "a"']
    assert twice.unmet("A b a") == []
    assert twice.unmet("") == ['says no "a"', 'says no "b"']


# The automaton


def naive(pieces: list[int], said: list[int]) -> int:
    """How many first pieces the last said ones are."""
    return max(n for n in range(min(len(pieces), len(said)) + 1) if said[len(said) - n :] == pieces[:n])


@pytest.mark.parametrize("seed", range(40))
def test_the_automaton_against_a_suffix_matcher(seed):
    chance = random.Random(seed)
    letters = range(5, 5 + chance.choice((1, 2, 3)))
    pieces = [chance.choice(letters) for _ in range(chance.randint(1, 6))]
    table, state, said = automaton(pieces), 0, []
    for _ in range(60):
        piece = chance.choice([*letters, 99])
        said.append(piece)
        state = table[state][pieces.index(piece)] if piece in pieces else 0
        assert state == naive(pieces, said)


@pytest.mark.parametrize("seed", range(10))
def test_the_states_of_rows_are_those_of_the_automaton(seed):
    chance = random.Random(seed)
    sets = [ConstraintSet(("a", "ab", "a ab")), ConstraintSet(("bb",)), ConstraintSet(negative=("a",))]
    surfaces = ["", "", " a", "b", " b"]
    lexical = lexical_of(*sets, surfaces=surfaces)
    spelled = [[spell(phrase, surfaces) for phrase in one.positive] for one in sets]
    progress, said = lexical.start(4), [[[] for _ in range(4)] for _ in sets]
    for _ in range(12):
        ids = [[chance.choice((2, 3, 4)) for _ in range(4)] for _ in sets]
        progress, _ = lexical.say(progress, torch.tensor(ids))
        for search, row in ((s, r) for s in range(3) for r in range(4)):
            said[search][row].append(ids[search][row])
            states = progress.state[search, row].tolist()
            assert states[: len(spelled[search])] == [naive(pieces, said[search][row]) for pieces in spelled[search]]
            assert not any(states[len(spelled[search]) :])


# Words through pieces, by hand


@pytest.mark.parametrize(
    ("pieces", "bad"),
    [
        ((" for", "tune"), False),  # a part of a word
        ((" for",), True),
        ((" f", "or"), True),  # another segmentation
        ((" f", "or", "tune"), False),
        ((" For",), True),  # a capital
        ((" For", "tune"), False),
        ((" for", ","), True),  # punctuation right after
        ((" for", " a"), True),
        ((' "', "for"), None),
        (('"', "f", "or"), None),
        (("字", "or"), False),
        ((" a", "for"), None),
        ((" a", "b", "or"), False),
    ],
)
def test_a_forbidden_word(pieces, bad):
    if bad is None:
        pytest.skip("no such piece")
    lexical = lexical_of(ConstraintSet(negative=("for",)))
    progress, said = after(lexical, ids_of(*pieces))
    assert (said or bool(lexical.closing(progress)[0])) is bad
    assert said is (bad and len(pieces) == 2 and pieces[1] in (",", " a")), "only a closed word is said"
