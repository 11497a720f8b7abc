"""The keywords of a sentence: the words and phrases that a paraphrase of it must say.

Source: ParaNet (Liu et al. 2022), section 3.1 and appendix B. Its keywords are the candidates of RAKE (Rose et al.
2010): the runs of words between stop words and marks. RAKE ranks them and leaves the last ones out; the paper keeps
them all, adds the nouns and verbs that RAKE left out, and ranks by a language model (`toolkit.generate.infill`). Here a
noun or verb can be in no run only if it is a stop word.
"""

from __future__ import annotations

import math
import random
from collections.abc import Set
from dataclasses import dataclass

from toolkit.bitext.words import LANGUAGES_WITHOUT_WORDS, token_spans

NEGATION = "n't"  # appendix B: "adding n't as a special keyword"
PERMUTATIONS = 15  # appendix A: "a maximum of 15"
DROP_RATE = 0.15  # appendix A: "a keywords filtering rate of round(|k| * 0.15)"


def _words(text: str) -> frozenset[str]:
    """The set of the words of a text between spaces."""
    return frozenset(text.split())


# Function words, and the adverbs that say little. Modal verbs are content but for "can", "will" and "should", as in the
# keywords that the authors released.
STOP_WORDS = _words(
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself "
    "it its itself they them their theirs themselves what which who whom whose this that these those am is are was "
    "were be been being have has had having do does did doing a an the and but if or because as until while of at by "
    "for with about against between into through during before after above below to from up down in out on off over "
    "under again further then once here there when where why how all any both each few more most other some such no "
    "nor not only own same so than too very can will just should now ca wo sha ai"
)
NO_SPACES = (*LANGUAGES_WITHOUT_WORDS, "zh")  # languages that put no spaces between words
CLITICS = _words("'s 'll 're 've 'd 'm")


@dataclass(frozen=True, slots=True)
class _Keyword:
    """A word or phrase of a sentence.

    Attributes:
        text: As it stands in the sentence.
        begin: Its first character.
        end: The character after its last.
    """

    text: str
    begin: int
    end: int


def keywords(sentence: str, stop_words: Set[str] = STOP_WORDS) -> list[_Keyword]:
    """The keywords of a sentence, in its order; one that is there twice counts once.

    >>> [keyword.text for keyword in keywords("The final stage is nearing completion, controller.")]
    ['final stage', 'nearing completion', 'controller']
    >>> [keyword.text for keyword in keywords("The semi-fluidic crystals didn't grow, and he couldn't wait.")]
    ['semi-fluidic crystals', "n't", 'grow', "couldn't wait"]

    Args:
        sentence: A sentence of a language that is written with spaces.
        stop_words: Words that are no keywords, in lower case; by default those of English.

    Source: ParaNet, section 3.1 and appendix B: "n't" is a keyword, words with hyphens are whole, and no keyword has a
    mark. That a modal verb keeps its "n't" is ours.
    """
    occurrences: list[_Keyword] = []
    phrase: list[_Keyword] = []

    def end_phrase() -> None:
        if phrase:
            begin, end = phrase[0].begin, phrase[-1].end
            occurrences.append(_Keyword(sentence[begin:end], begin, end))
            phrase.clear()

    for unit in whole_words(sentence):
        word = unit.text.lower().replace("’", "'")
        if word != NEGATION and word not in stop_words and word not in CLITICS and any(map(str.isalnum, word)):
            phrase.append(unit)
            continue
        end_phrase()
        if word == NEGATION:
            occurrences.append(unit)
    end_phrase()
    first_by_text: dict[str, _Keyword] = {}
    for keyword in occurrences:
        first_by_text.setdefault(keyword.text.lower(), keyword)
    return list(first_by_text.values())


def whole_words(sentence: str) -> list[_Keyword]:
    """The tokens of a sentence, with hyphenated words whole, and modal verbs with their "n't".

    >>> [word.text for word in whole_words("A well-known man wouldn't, didn't.")]
    ['A', 'well-known', 'man', "wouldn't", ',', 'did', "n't", '.']
    """
    words: list[_Keyword] = []
    for begin, end in token_spans(sentence):
        text, last = sentence[begin:end], words[-1] if words else None
        is_adjacent = last is not None and last.end == begin
        if is_adjacent and last and (_joins(last.text, text, sentence[end : end + 1]) or _is_modal(last.text, text)):
            words[-1] = _Keyword(sentence[last.begin : end], last.begin, end)
        else:
            words.append(_Keyword(text, begin, end))
    return words


def _joins(before: str, text: str, after: str) -> bool:
    """Whether two neighbouring tokens are parts of a hyphenated word, by the character after them."""
    if text == "-":
        return before[-1].isalnum() and after.isalnum()
    return before[-1] == "-" and before[-2:-1].isalnum() and text[0].isalnum()


def _is_modal(before: str, text: str) -> bool:
    """Whether two neighbouring tokens are a content word and its "n't"."""
    return text.lower().replace("’", "'") == NEGATION and before.lower() not in STOP_WORDS


def _permutations(count: int, maximum: int, rng: random.Random) -> list[tuple[int, ...]]:
    """Different random orders of so many things; all orders, if there are no more than wanted.

    Args:
        count: The number of things.
        maximum: The most orders, >= 1.
        rng: Draws them.

    Source: ParaNet, appendix A.
    """
    order_count = min(maximum, math.factorial(count))
    orders: dict[tuple[int, ...], None] = {}
    while len(orders) < order_count:
        orders[tuple(rng.sample(range(count), count))] = None
    return list(orders)
