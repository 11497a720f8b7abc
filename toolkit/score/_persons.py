"""Whether a candidate speaks of other persons than its reference: he for she, your for their, we for I.

A translator meets such pronouns in languages that leave them out ("disse"), or have one for several ("sua" is his, her,
its, your and their). Compared is which of the persons a text has, not how often. "It" is none of them: it often stands
for nothing ("it is raining").
"""

from __future__ import annotations

import re
from functools import lru_cache

from toolkit.score._quantities import RECENT

PERSONS = {
    "en": (
        "i me my mine myself",
        "we us our ours ourselves let's",
        "you your yours yourself yourselves",
        "he him his himself",
        "she her hers herself",
        "they them their theirs themselves 'em",
    )
}
WORD = re.compile(r"'?[^\W\d_]+(?:'s\b)?")
APOSTROPHES = str.maketrans("’‘", "''")
NUMBERS = {
    lang: {word: person for person, words in enumerate(groups) for word in words.split()}
    for lang, groups in PERSONS.items()
}


@lru_cache(RECENT)
def _persons(text: str, lang: str) -> frozenset[int]:
    """The persons of a text, by their place in `PERSONS`; none in a language that is not there.

    >>> sorted(_persons("He's told us about your dog.", "en"))
    [1, 2, 3]
    """
    numbers = NUMBERS.get(lang, {})
    words = WORD.findall(text.lower().translate(APOSTROPHES)) if numbers else []
    return frozenset(numbers[form] for word in words for form in (word, word.removesuffix("'s")) if form in numbers)


def changes_person(reference: str, candidate: str, lang: str) -> bool:
    """Whether a candidate has other persons than its reference.

    >>> changes_person("She lost her keys.", "He lost his keys.", "en")
    True
    >>> changes_person("My sister sold her car.", "Her car was sold by my sister.", "en")
    False
    """
    return _persons(reference, lang) != _persons(candidate, lang)
