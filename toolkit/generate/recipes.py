"""From a reference to the words that its paraphrases must or must not say, as a system of `systems.py` chooses them.

A recipe turns a reference into sets of constraints, one for each decoding. What it does not do: decode.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from toolkit.bitext.idf import Idf
from toolkit.bitext.words import token_spans, tokens
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.inflections import Tagger, _inflections, _is_plain, _verb_forms, part_of_speech
from toolkit.generate.ppdb import Ppdb
from toolkit.generate.systems import PPDB_RELATIONS, RECIPES, Recipe
from toolkit.system.processes import row_seed

MIN_IDF, MAX_IDF = 7.0, 17.0  # ParaBank, section 3.2, "IDF Criteria"
PREPOSITIONS = frozenset(  # ParaBank, section 3.2, "Prepositions": in the pool however frequent
    ("about", "as", "at", "by", "for", "from", "in", "into", "of", "on", "onto", "over", "to", "with")
)
TAKES_NOT = re.compile(  # a phrase that ends in a word to which "n't" can be added
    r"\b(?:ai|are|ca|could|dare|did|do|does|had|has|have|is|may|might|must|need|ought|sha|should|was|were|wo|would)$",
    re.IGNORECASE,
)
CUT_SHORT = frozenset(("ai", "ca", "sha", "wo"))  # those that are no words without "n't"


def constraint_sets(
    recipe: Recipe,
    reference: str,
    row_id: str,
    seed: int,
    idf: Idf,
    tag: Tagger = part_of_speech,
    ppdb: Ppdb | None = None,
) -> list[ConstraintSet]:
    """The constraints that a recipe has for a reference, a set for each decoding.

    >>> idf = Idf(1 << 12, {"told": 20, "proud": 2, "was": 400, "for": 300, "to": 900})
    >>> constraint_sets(RECIPES[18], "I told her I was proud to work for them.", "demo-1", 0, idf)
    [ConstraintSet(positive=(), negative=('to', 'for'), not_first=())]

    Args:
        recipe: Of `toolkit.generate.systems.RECIPES`.
        reference: The human sentence.
        row_id: Of the row of the reference. Random numbers depend on it, the seed and the recipe.
        seed: Of the run.
        idf: Counted on the training text.
        tag: Finds verbs (29-31) and the parts of speech that PPDB's entries must match (35-37).
        ppdb: Paraphrases for 35-37.

    Returns:
        One set, for 35-37 one for each word that has a paraphrase; none where the reference has too few words for the
        recipe's ranks.

    Raises:
        ValueError: A system of 35-37 without PPDB, or 36-37 with pairs that have no relation.

    Source: ParaBank (Hu et al. 2019a), section 3.2 and table 3.
    """
    if recipe.kind == "none":
        return [ConstraintSet()]
    if recipe.kind == "positional":
        phrase = first_tokens(reference, len(recipe.ranks))
        return [ConstraintSet(not_first=_forbidden_forms(phrase))] if phrase else []
    pool, rng = _token_pool(reference, idf), random.Random(row_seed(seed, row_id, f"recipe-{recipe.name}"))
    if recipe.kind == "ppdb":
        return _paraphrase_pairs(recipe, pool, _part_of_speech_by_word(reference, tag), ppdb, rng)
    words = _choose(recipe, pool, idf, rng)
    if not words:
        return []
    if recipe.kind == "verb_form":
        part_by_word = _part_of_speech_by_word(reference, tag)
        return [ConstraintSet(positive=tuple(_random_form(word, part_by_word[word], rng) for word in words))]
    variants = [form for word in words for form in (word, *(_inflections(word) if recipe.variants else []))]
    return [ConstraintSet(negative=tuple(dict.fromkeys(form for word in variants for form in _forbidden_forms(word))))]


def _token_pool(reference: str, idf: Idf) -> list[str]:
    """The words of a reference that constraints may be about, each once, in descending IDF; ties in textual order.

    They are the lower-case alphabetical words of the table with an IDF of at most `MAX_IDF` and, unless they are
    prepositions, at least `MIN_IDF`.
    """
    rarity = {word: idf.idf(word) for word in tokens(reference) if _is_plain(word) and word not in CUT_SHORT}
    idf_by_word = {word: bits for word, bits in rarity.items() if bits is not None and bits <= MAX_IDF}
    pool = [word for word, bits in idf_by_word.items() if bits >= MIN_IDF or word in PREPOSITIONS]
    return sorted(pool, key=lambda word: -idf_by_word[word])


def _choose(recipe: Recipe, pool: Sequence[str], idf: Idf, rng: random.Random) -> list[str]:
    """The words that a recipe selects from a pool in descending IDF; none if the pool is smaller than its ranks need.

    Source: ParaBank (Hu et al. 2019a), table 3, footnote 4: "Highest within the token pool. Same for lowest."
    """
    if len(pool) < max(recipe.ranks):
        return []
    order = list(pool)
    if recipe.kind == "idf_low":
        order.sort(key=lambda word: idf.idf(word) or 0.0)
    elif recipe.kind == "random":
        rng.shuffle(order)
    return [order[rank - 1] for rank in recipe.ranks]


def first_tokens(reference: str, count: int) -> str | None:
    """The first tokens of a reference, spelled as there: a phrase that a text must not begin with.

    Marks before the first word are part of the phrase but are not counted as tokens; later marks are counted. The paper
    does not say so, but the outputs that its authors released with their judgments do: under system 32 a text may begin
    with the reference's opening quotation mark, but not with that mark and the reference's first word.

    >>> first_tokens("How often?", 2), first_tokens("No, they do.", 2)
    ('How often', 'No,')
    >>> first_tokens("Didn't you?", 1), first_tokens("'Go!'", 1)
    ('Did', "'Go")

    Args:
        reference: The human sentence.
        count: Of tokens (`toolkit.bitext.words.tokens`).

    Returns:
        The phrase; None if the reference has fewer tokens.

    Source: ParaBank (Hu et al. 2019a), section 3.2, "Positional Constraints".
    """
    spans = token_spans(reference)
    first = next((n for n, (begin, end) in enumerate(spans) if any(map(str.isalnum, reference[begin:end]))), len(spans))
    return reference[: spans[first + count - 1][1]].strip() if first + count <= len(spans) else None


def _forbidden_forms(phrase: str) -> tuple[str, ...]:
    """A phrase to forbid, and its forms with "n't", which have the same tokens: "didn't" is "did" and "n't".

    The constraints of the decoder are on runs of letters: if "did" alone were forbidden, "didn't" could be said.

    >>> _forbidden_forms("often"), _forbidden_forms("Why did")
    (('often',), ('Why did', "Why didn't", 'Why didn’t'))
    """
    return (phrase, f"{phrase}n't", f"{phrase}n’t") if TAKES_NOT.search(phrase) else (phrase,)


def _paraphrase_pairs(
    recipe: Recipe, pool: Sequence[str], part_by_word: dict[str, str], ppdb: Ppdb | None, rng: random.Random
) -> list[ConstraintSet]:
    """One constraint set for each word of a pool with paraphrases: forbid the word, require one paraphrase at random.

    Raises:
        ValueError: There is no PPDB, or it cannot tell the recipe's relation from others.

    Source: ParaBank (Hu et al. 2019a), section 3.2, "PPDB Constraints": one pair per decoding.
    """
    relation = recipe.relation or ""
    check_ppdb([recipe.number], ppdb is not None)
    assert ppdb is not None
    word_paraphrases = [(word, ppdb.lookup(word, relation, part_by_word[word])) for word in pool]
    return [
        ConstraintSet((rng.choice(paraphrases),), _forbidden_forms(word))
        for word, paraphrases in word_paraphrases
        if paraphrases
    ]


def check_ppdb(systems: Sequence[int], has_ppdb: bool) -> None:
    """Refuse systems 35 to 37 where no PPDB is given.

    Args:
        systems: Numbers of table 3.
        has_ppdb: Whether PPDB 2.0 is given.

    Raises:
        ValueError: It is not, and one of these systems is asked for.
    """
    for number in (n for n in systems if n in PPDB_RELATIONS and not has_ppdb):
        raise ValueError(
            f"wanted PPDB for system {number}, got none: give --ppdb FILE (the PPDB 2.0 lexical XL pack) "
            "or leave systems 35-37 out"
        )


def check_pools(references: Iterable[str], systems: Sequence[int], idf: Idf) -> None:
    """Refuse a run in which no reference has the words that its systems choose from.

    Args:
        references: All of the run; read until one has enough words. None at all are not refused here.
        systems: Numbers of table 3.
        idf: The run's table.

    Raises:
        ValueError: No pool is large enough for any of the systems that choose from it.
    """
    choosing = [RECIPES[number] for number in systems if RECIPES[number].kind not in ("none", "positional")]
    min_words, count, largest = min((max(recipe.ranks, default=1) for recipe in choosing), default=0), 0, 0
    for reference in references:
        count, largest = count + 1, max(largest, len(_token_pool(reference, idf)))
        if largest >= min_words:
            return
    if count:
        raise ValueError(
            f"wanted references with {min_words} or more words of an IDF from {MIN_IDF} to {MAX_IDF} bits, got "
            f"{f'at most {largest}' if largest else 'no word that passes these limits'} in {count:,} references: give "
            "--idf a table of text in their language (parabank count idf), or take systems 28 and 32-34 only"
        )


def _part_of_speech_by_word(reference: str, tag: Tagger) -> dict[str, str]:
    """The part of speech of each word of a reference at its first occurrence."""
    words = tokens(reference)
    return dict(reversed(list(zip(words, tag(words), strict=True))))


def _random_form(word: str, part: str, rng: random.Random) -> str:
    """A random form of a verb; any other word as it is (ParaBank, table 3, footnote 5)."""
    return rng.choice(_verb_forms(word)) if part == "VERB" else word
