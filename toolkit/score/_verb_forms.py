"""Whether a candidate has a verb of its reference in another aspect: "is speaking" for "speaks", "has left" for "left".

Translators from languages with other aspects change them. Often that is wrong, at times it is fine, so it refuses
nothing: the judge weighs it (`toolkit.score.judge`). English alone; read are the words, not the grammar.
"""

from __future__ import annotations

import re
from functools import lru_cache

from toolkit.bitext.words import words_of
from toolkit.score._persons import APOSTROPHES
from toolkit.score._quantities import RECENT

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
BE = words_of("am is are was were be been isn't aren't wasn't weren't")
HAVE = words_of("has have had hasn't haven't hadn't")
SHORT_BE, SHORT_HAVE = ("'m", "'s", "'re"), ("'ve",)
BETWEEN = words_of("been not never ever always also just already still only recently")  # auxiliary and participle
NEAR = 3  # ours: words after a form of "have" of which the first that is not of BETWEEN is taken for its participle


@lru_cache(RECENT)
def _aspects(text: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The lemmas of the verbs of a text: of all words that can be verbs, of progressive forms, and of perfect ones.

    >>> _, progressive, perfect = _aspects("She has left, and he is singing.")
    >>> sorted(progressive), sorted(perfect)
    (['sing'], ['leave'])
    """
    words = WORD.findall(text.lower().translate(APOSTROPHES))
    lemmas, progressive, perfect = set[str](), set[str](), set[str]()
    for position, word in enumerate(words):
        lemmas |= _verb_lemmas(word)
        following = words[position + 1 : position + 1 + NEAR]
        if (word in BE or word.endswith(SHORT_BE)) and following and following[0].endswith("ing"):
            progressive |= _verb_lemmas(following[0])
        if word in HAVE or word.endswith(SHORT_HAVE):
            perfect |= _verb_lemmas(next((verb for verb in following if verb not in BETWEEN), ""))
    return frozenset(lemmas), frozenset(progressive), frozenset(perfect)


@lru_cache(1 << 16)
def _verb_lemmas(word: str) -> frozenset[str]:
    """The lemmas of a word in lower case as a verb; none if it can be none."""
    from lemminflect import getAllLemmas

    return frozenset(getAllLemmas(word).get("VERB", ())) if word else frozenset()


def changes_aspect(reference: str, candidate: str) -> bool:
    """Whether a verb of both texts is progressive or perfect in one of them alone.

    >>> changes_aspect("Mary speaks Portuguese.", "Mary is speaking Portuguese.")
    True
    >>> changes_aspect("He has left.", "He has gone away.")
    False
    """
    before, after = _aspects(reference), _aspects(candidate)
    return any(
        (lemmas ^ other_lemmas) & before[0] & after[0]
        for lemmas, other_lemmas in zip(before[1:], after[1:], strict=True)
    )
