"""Constraints on words: refused where no text can meet them, and followed through pieces as on the decoded text."""

import random
import re
from collections.abc import Sequence

import pytest
import torch

from toolkit.bitext.words import constraint_words
from toolkit.decode._automata import CLOSE_WORD, NO_PIECE, transition_table
from toolkit.decode._constraint_state import ConstraintState
from toolkit.decode.constraint_set import ConstraintSet, _begins_with, times_said
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.words import KnownWords, WordTable

EOS, UNSAID = 0, 1
PLAIN = ["", "", " a", "b", "c", " for", "tune", " f", "or", " For", ",", '"', " ", "f", "字", " 京", " ,"]
MIXED = ["", "", " a", "b", "s.", " (a", "...", "a-b", ",", "字", " b", "A", "-c-", " ", "."]  # words end inside pieces


def spell(phrase: str, surfaces: Sequence[str] = PLAIN) -> list[int] | None:
    """The first spelling that a search in depth finds, longest pieces first."""

    def rest(text: str) -> list[int] | None:
        pieces = sorted(
            (i for i, s in enumerate(surfaces) if s and text.startswith(s)), key=lambda i: -len(surfaces[i])
        )
        rests = ((i, rest(text[len(surfaces[i]) :])) for i in pieces)
        return next(([i, *more] for i, more in rests if more is not None), None) if text else []

    return rest(" " + phrase)


def text_of(ids: Sequence[int], surfaces: Sequence[str] = PLAIN) -> str:
    return "".join(surfaces[i] for i in ids).strip()


def lexical_of(
    *sets: ConstraintSet, surfaces: Sequence[str] = PLAIN, known: KnownWords | None = None
) -> LexicalConstraints:
    lexical = LexicalConstraints.of(sets, WordTable.of(surfaces, EOS), lambda phrase: spell(phrase, surfaces), known)
    assert lexical is not None
    return lexical


def after(lexical: LexicalConstraints, ids: Sequence[int]) -> tuple[ConstraintState, bool]:
    """One row of one search that has said `ids`, and whether that said something forbidden."""
    state, forbidden = ConstraintState.start(lexical, 1), False
    for i in ids:
        state, bad = state.advance(torch.tensor([[i]]))
        forbidden |= bool(bad)
    return state, forbidden


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
    message = rf"got '{positive}' required and '{negative}' forbidden; drop one"
    with pytest.raises(ValueError, match="wanted phrases that are required or forbidden, " + message):
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


def naive(pieces: list[int], ids: list[int]) -> int:
    """How many first pieces the last said ones are."""
    return max(n for n in range(min(len(pieces), len(ids)) + 1) if ids[len(ids) - n :] == pieces[:n])


@pytest.mark.parametrize("seed", range(40))
def test_the_automaton_against_a_suffix_matcher(seed):
    chance = random.Random(seed)
    letters = range(5, 5 + chance.choice((1, 2, 3)))
    pieces = [chance.choice(letters) for _ in range(chance.randint(1, 6))]
    table, state, ids = transition_table(pieces), 0, []
    for _ in range(60):
        piece = chance.choice([*letters, 99])
        ids.append(piece)
        state = table[state][pieces.index(piece)] if piece in pieces else 0
        assert state == naive(pieces, ids)


@pytest.mark.parametrize("seed", range(10))
def test_the_states_of_rows_are_those_of_the_automaton(seed):
    chance = random.Random(seed)
    sets = [ConstraintSet(("a", "ab", "a ab")), ConstraintSet(("bb",)), ConstraintSet(negative=("a",))]
    surfaces = ["", "", " a", "b", " b"]
    lexical = lexical_of(*sets, surfaces=surfaces)
    spelled = [[spell(phrase, surfaces) for phrase in constraint_set.positive] for constraint_set in sets]
    state, history = ConstraintState.start(lexical, 4), [[[] for _ in range(4)] for _ in sets]
    for _ in range(12):
        ids = [[chance.choice((2, 3, 4)) for _ in range(4)] for _ in sets]
        state, _ = state.advance(torch.tensor(ids))
        for search, row in ((s, r) for s in range(3) for r in range(4)):
            history[search][row].append(ids[search][row])
            states = state.spelled[search, row].tolist()
            assert states[: len(spelled[search])] == [naive(pieces, history[search][row]) for pieces in spelled[search]]
            assert not any(states[len(spelled[search]) :])


# Words through pieces, by hand


FOR = ConstraintSet(negative=("for",))


@pytest.mark.parametrize(
    ("pieces", "forbidden", "closing"),
    [
        ((" for",), False, True),
        ((" f", "or"), False, True),  # another segmentation
        ((" For",), False, True),  # a capital
        ((" for", ","), True, False),  # punctuation right after it
        ((" for", " a"), True, False),
        ((" for", "字"), True, False),
        ((" for", "tune"), False, False),  # a part of a word
        ((" f", "or", "tune", " a"), False, False),
        ((" For", "tune", ","), False, False),
        (('"', "f", "or"), False, True),  # a quote before it
        ((" a", '"', "f", "or", '"'), True, False),
        (("字", "f", "or"), False, True),
        ((" a", "f", "or"), False, False),
        ((" a", " ", "f", "or"), False, True),
        ((" f", " ", "or"), False, False),
    ],
)
def test_a_forbidden_word_is_said_once_it_is_closed(pieces, forbidden, closing):
    lexical = lexical_of(FOR)
    state, bad = after(lexical, ids_of(*pieces))
    assert (bad, bool(state.closing()[0])) == (forbidden, closing)


@pytest.mark.parametrize(
    ("pieces", "bad"),
    [
        ((" a", " a", " ", "b"), True),
        ((" a", " a", " a", " ", "b"), True),  # the beginning repeats
        ((" a", " a", "b"), False),
        ((" a", " a", ",", "b"), False),
        ((" a", " ", "b"), False),
        ((" a", " a", " ", "b", "c"), False),
    ],
)
def test_a_forbidden_phrase_whose_beginning_repeats(pieces, bad):
    lexical = lexical_of(ConstraintSet(negative=("a a b",)))
    assert bool(after(lexical, ids_of(*pieces))[0].closing()[0]) is bad


@pytest.mark.parametrize("word", ["for", "For"])
@pytest.mark.parametrize(
    ("pieces", "bad"),
    [
        ((" for",), True),
        ((" For",), True),  # whatever the case of its first letter
        (("f", "or"), True),
        ((" for", "tune"), False),
        ((" a", " for"), False),  # only at the beginning
        (('"', "f", "or"), False),
        ((" ", " ", "f", "or"), True),
    ],
)
def test_an_anchored_word(word, pieces, bad):
    lexical = lexical_of(ConstraintSet(not_first=(word,)))
    assert bool(after(lexical, ids_of(*pieces))[0].closing()[0]) is bad


@pytest.mark.parametrize(("pieces", "bad"), [((" for", " a"), True), ((" for",), False), ((" a", " for", " a"), False)])
def test_an_anchored_phrase(pieces, bad):
    lexical = lexical_of(ConstraintSet(not_first=("for a",)))
    assert bool(after(lexical, ids_of(*pieces))[0].closing()[0]) is bad


@pytest.mark.parametrize(
    ("pieces", "bad"),
    [
        (('"', "f", "or"), True),
        (('"', " For"), True),  # whatever the case of its first letter, which is not the mark's
        ((" for",), False),
        (('"', " a", " for"), False),
    ],
)
def test_an_anchored_phrase_begins_with_its_marks(pieces, bad):
    lexical = lexical_of(ConstraintSet(not_first=('"For',)))
    assert bool(after(lexical, ids_of(*pieces))[0].closing()[0]) is bad


@pytest.mark.parametrize(
    ("positive", "pieces", "bank", "following"),
    [
        (("ab", "for"), (), 0, (" a", " for")),
        (("ab", "for"), (" a",), 1, ("b", " for")),
        (("ab", "for"), (" a", " a"), 1, ("b", " for")),
        (("ab", "for"), (" a", "b"), 2, (CLOSE_WORD, " for")),  # spelled, and still open
        (("ab", "for"), (" a", "b", "c"), 0, (" a", " for")),  # "abc": all in vain
        (("ab", "for"), (" a", "b", " for"), 3, (None, CLOSE_WORD)),
        (("ab", "for"), (" a", "b", " for", "tune"), 2, (None, " for")),
        (("ab", "for"), (" for", " a"), 2, ("b", None)),
        (("ab", "for"), (" a", " for"), 1, (" a", CLOSE_WORD)),  # the one that is furthest counts
        (("for",), (" f", "or", ","), 1, (None,)),  # said in other pieces
        (("for",), (" For", ","), 1, (None,)),  # with a capital
        (("ab", "ab"), (" a", "b", " a"), 3, ("b",)),  # twice
        (("ab", "ab"), (" a", "b", " a", "b", " a", "b", ","), 4, (None,)),
        ((",",), (" ,",), 1, (None,)),  # a mark is said at once
        ((",", ","), (" ,",), 1, (" ,",)),
        ((",", ","), (" ,", ","), 2, (None,)),
        (("a", "a"), (" a", " a"), 2, (CLOSE_WORD,)),  # the second is on its way though it begins as the first is over
        (("字",), ("字",), 2, (None,)),  # in fewer pieces than its own two
    ],
)
def test_banks_and_the_pieces_that_go_on(positive, pieces, bank, following):
    lexical = lexical_of(ConstraintSet(positive))
    state, _ = after(lexical, ids_of(*pieces))
    assert state.banks().tolist() == [[bank]]
    pieces_of = {None: NO_PIECE, CLOSE_WORD: CLOSE_WORD} | {piece: i for i, piece in enumerate(PLAIN)}
    expected = [pieces_of[piece] for piece in following]
    assert state.next_pieces().tolist() == [[expected]]


@pytest.mark.parametrize(
    ("pieces", "complete"),
    [((), False), ((" a",), False), ((" a", "b"), True), ((" a", "b", "c"), False), ((" a", "b", ","), True)],
)
def test_the_end_of_a_text_closes_its_word(pieces, complete):
    lexical = lexical_of(ConstraintSet(("ab",)))
    assert bool(after(lexical, ids_of(*pieces))[0].closing()[1]) is complete


# Words through pieces, against the decoded text


def phrases(chance: random.Random, surfaces: Sequence[str], limit: int) -> list[str]:
    """Random words in a row of random texts."""
    texts = []
    for _ in range(chance.randint(0, limit)):
        words = list(constraint_words(text_of([chance.randrange(2, len(surfaces)) for _ in range(5)], surfaces)))
        i = chance.randrange(max(len(words), 1))
        texts += [" ".join(words[i : i + chance.choice((1, 1, 2))])] if words else []
    return texts


def constraints(chance: random.Random, surfaces: Sequence[str]) -> ConstraintSet:
    """A random set that can be required and spelled, and has something."""
    while True:
        try:
            constraint_set = ConstraintSet(*(tuple(phrases(chance, surfaces, limit)) for limit in (2, 2, 1)))
        except ValueError:
            continue
        if any(vars(constraint_set).values()) and all(spell(phrase, surfaces) for phrase in constraint_set.positive):
            return constraint_set


def broken(constraint_set: ConstraintSet, text: str) -> int:
    """How often a text says what it must not."""
    return sum(times_said(text, p) for p in constraint_set.negative) + sum(
        _begins_with(text, p) for p in constraint_set.not_first
    )


def closed_part(text: str) -> str:
    """The words of a text that no letter can change any more."""
    words = list(constraint_words(text))
    return " ".join(words[:-1] if text and (text[-1].isalnum() and text[-1] not in "字京") else words)


@pytest.mark.parametrize("surfaces", [PLAIN, MIXED], ids=["plain", "mixed"])
@pytest.mark.parametrize("seed", range(30))
def test_rows_against_their_decoded_texts(seed, surfaces):
    chance = random.Random(seed)
    constraint_set = constraints(chance, surfaces)
    lexical = lexical_of(constraint_set, surfaces=surfaces)
    state, ids, said_bad = ConstraintState.start(lexical, 1), [], False
    for _ in range(9):
        bad, complete = map(bool, state.closing())
        text = "".join(surfaces[i] for i in ids)
        assert (said_bad or bad) == (broken(constraint_set, text) > 0)
        assert complete == (
            not any(times_said(text, p) < constraint_set.positive.count(p) for p in constraint_set.positive)
        )
        refused = dict(zip(lexical.checked.tolist(), state.refused()[0, 0].tolist(), strict=True))
        before = broken(constraint_set, closed_part(text))
        for i in range(2, len(surfaces)):
            says = bool(state.advance(torch.tensor([[i]]))[1])
            assert says == (broken(constraint_set, closed_part(text + surfaces[i])) > before)
            assert says == refused.get(i, bad and bool(lexical.table.closes_first[i])), "what the search masks"
        ids.append(chance.randrange(1, len(surfaces)))
        state, bad_now = state.advance(torch.tensor([[ids[-1]]]))
        said_bad |= bool(bad_now)
        assert int(state.banks()) <= int(lexical.tokens)


def test_rows_of_many_searches_are_each_on_its_own():
    chance = random.Random(5)
    sets = [constraints(chance, MIXED) for _ in range(12)]
    together = lexical_of(*sets, surfaces=MIXED)
    alone = [lexical_of(constraint_set, surfaces=MIXED) for constraint_set in sets]
    state, each = ConstraintState.start(together, 3), [ConstraintState.start(lexical, 3) for lexical in alone]
    for _ in range(8):
        ids = torch.tensor([[chance.randrange(1, len(MIXED)) for _ in range(3)] for _ in sets])
        state, bad = state.advance(ids)
        for n in range(len(sets)):
            each[n], own_bad = each[n].advance(ids[n : n + 1])
            assert bad[n].tolist() == own_bad[0].tolist()
        order = torch.tensor([[chance.randrange(3) for _ in range(3)] for _ in sets])
        state, each = state.pick(order), [p.pick(order[n : n + 1]) for n, p in enumerate(each)]
        banks, closing = state.banks(), torch.stack(state.closing())
        for n, single_state in enumerate(each):
            assert banks[n].tolist() == single_state.banks()[0].tolist()
            assert closing[:, n].tolist() == torch.stack(single_state.closing())[:, 0].tolist()


def test_keep_keeps_searches_in_the_order_asked_for():
    sets = [ConstraintSet(("a",)), ConstraintSet(("b", "c"), ("for",)), ConstraintSet(negative=("a",))]
    order = torch.tensor([2, 1])
    subset, expected = lexical_of(*sets).keep(order), lexical_of(sets[2], sets[1])
    ids = torch.tensor([ids_of(" a", " "), ids_of(" for", " a")])
    assert subset.tokens.tolist() == expected.tokens.tolist() == [0, 4]
    state, bad = ConstraintState.start(subset, 2).advance(ids)
    expected_state, expected_bad = ConstraintState.start(expected, 2).advance(ids)
    assert bad.tolist() == expected_bad.tolist()
    assert torch.stack(state.closing()).tolist() == torch.stack(expected_state.closing()).tolist()
    back = state.keep(torch.tensor([1]))
    assert back.constraints.tokens.tolist() == [4]
    assert back.open_word.tolist() == state.open_word[1:].tolist()
    assert back.banks().tolist() == state.banks()[1:].tolist()


# Making the tensors


def test_no_constraints_are_none_unless_words_are_known():
    table, empty = WordTable.of(PLAIN, EOS), [ConstraintSet(), ConstraintSet()]
    assert LexicalConstraints.of(empty, table, spell) is None
    assert LexicalConstraints.of([], table, spell) is None
    assert LexicalConstraints.of(empty, table, spell, KnownWords.of(["a"]).with_own(["", ""])) is not None


def test_a_phrase_that_the_vocabulary_cannot_spell_is_an_error():
    message = "wanted required phrases that the model's vocabulary can spell, got 'xyz'; choose other words or another"
    with pytest.raises(ValueError, match=message):
        lexical_of(ConstraintSet(("a", "xyz")))
    lexical_of(ConstraintSet(("a",), ("xyz",), ("xyz",)))  # what cannot be said need not be spelled


def test_constraint_tokens_count_a_phrase_as_often_as_it_is_wanted():
    assert lexical_of(ConstraintSet(("ab", "for", "ab")), ConstraintSet(), FOR).tokens.tolist() == [5, 0, 0]


def test_checked_is_empty_where_pieces_do_not_close_words_inside():
    whole = [piece for piece in PLAIN if piece not in (",", '"', " ,", "字", " 京")]
    assert not len(lexical_of(FOR, surfaces=whole).checked)
    assert lexical_of(ConstraintSet(negative=(",",))).checked.tolist() == ids_of(",", " ,")
    headed = [i for i, piece in enumerate(MIXED) if piece in ("s.", "a-b")]
    assert lexical_of(FOR, surfaces=MIXED).checked.tolist() == headed
    assert not len(lexical_of(ConstraintSet(("a",)), surfaces=MIXED).checked)


# Known words


KNOWN, OWN = ("a", "ab", "bb", "as", "c"), "abb"


def walk(chance: random.Random, lexical: LexicalConstraints, surfaces: Sequence[str]) -> list[int]:
    """Random pieces of those that a search would not mask; a row with none, or that EOS may end, ends."""
    state, output = ConstraintState.start(lexical, 1), []
    while True:
        shut = bool(state.closing()[0])
        refused = dict(zip(lexical.checked.tolist(), state.refused()[0, 0].tolist(), strict=True))
        ids = list(range(2, len(surfaces)))
        dead_ends = state.dead_ends(torch.tensor([[ids]]))[0, 0].tolist()
        free = [
            i
            for i, lost in zip(ids, dead_ends, strict=True)
            if not (lost or refused.get(i) or (shut and bool(lexical.table.closes_first[i])))
        ]
        if not free or (len(output) > 6 and not shut):
            return [] if shut else output
        output.append(chance.choice(free))
        state, _ = state.advance(torch.tensor([[output[-1]]]))


@pytest.mark.slow
def test_only_known_words_and_those_of_the_search_are_said():
    known = KnownWords.of(KNOWN).with_own([OWN])
    lexical = lexical_of(ConstraintSet(), surfaces=MIXED, known=known)
    words = set()
    for seed in range(60):
        text = text_of(walk(random.Random(seed), lexical, MIXED), MIXED)
        words |= {word for word in constraint_words(text) if word.isalpha() and word != "字"}
    assert words <= {form for word in KNOWN for form in (word, word.upper(), word.capitalize())} | {OWN}
    assert {"a", "ab", "As", OWN} <= words


@pytest.mark.parametrize(
    ("pieces", "piece", "lost"),
    [
        ((), " a", False),
        ((), "c", False),
        ((" a",), "b", False),
        ((" a", "b"), "b", False),  # of this search
        ((" a", "b", "b"), "b", True),
        ((" b",), "b", False),
        ((), " b", False),  # no word, but "bb" begins so
        ((" b",), "c", True),
        ((" a",), " b", False),
    ],
)
def test_a_row_is_lost_in_a_word_that_no_known_one_begins_with(pieces, piece, lost):
    surfaces = [*MIXED, "c"]
    lexical = lexical_of(ConstraintSet(), surfaces=surfaces, known=KnownWords.of(KNOWN).with_own([OWN]))
    state, _ = after(lexical, [surfaces.index(p) for p in pieces])
    assert bool(state.dead_ends(torch.tensor([[[surfaces.index(piece)]]]))) is lost


def test_a_piece_cannot_close_an_unknown_word_inside_itself():
    lexical = lexical_of(ConstraintSet(), surfaces=MIXED, known=KnownWords.of(["a", "as"]).with_own([""]))
    at = lexical.checked.tolist().index(MIXED.index("s."))
    for pieces, refused in ((["A"], False), ([" a"], False), ([" b"], True), ([" (a", "b"], True), ([], True)):
        state, _ = after(lexical, [MIXED.index(p) for p in pieces])
        assert bool(state.refused()[0, 0, at]) is refused
