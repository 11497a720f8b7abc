"""What English adds to paraphrasing: a or an by sound, contractions, possessives, and text whose words stand apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from toolkit.bitext.subwords import SPACE, Pieces
from toolkit.data.rows import Row
from toolkit.score.names import FUNCTION_WORDS, words_of
from toolkit.score.negation import APOSTROPHES, NEGATION
from toolkit.score.word_changes import TOKEN

CLITIC = r"(?:n't|'(?:s|re|ve|ll|m|d))(?!\w)"
LOWER_WORD = re.compile(r"(?<![\w'’])[a-z]{2,}(?![\w’]|'(?!s\b))")  # no part of a contraction
APART = re.compile(rf"(?<=\w) (?={CLITIC})", re.IGNORECASE)  # "wo n't", "Tom 's"
MARK_APART = re.compile(r"(?<=[\w'\")\]%]) (?=[,.;:?!](?:\s|$))")  # "Who is it ?"
MARK_TOGETHER = re.compile(r"(?<=[\w'\")\]%])(?=[,;:?!](?:\s|$)|\.$)")
ARTICLE = re.compile(r"(?<![\w'’.-])(an?|(?:(?<=^)|(?<=[.!?] ))An?)(\s+)(?=([\w][\w'’.,-]*))")
# ours: words by sound, where their first letter does not tell it
CONSONANT = re.compile(
    r"(?:uni(?!n|m[ip])|us[aeiu]|ut[eio](?!r|c|a)|uk|ur[aio](?!l\b)|ubiq|eu|ewe|one(?!r)|once)", re.IGNORECASE
)
VOWEL = re.compile(r"(?:hour|hono[u]?r|honest|heir)|8|1[18](?!\d)|(?:[FHLMNRSX]|[AEIO])-", re.IGNORECASE)
LETTERS = re.compile(r"[B-DF-HJ-NP-TV-XZ]{2,}(?![a-z])")  # said letter by letter
LETTERS_AN = "FHLMNRSX"
STOPS = "'’.,-"
NO_NOUN = words_of("a an am and are as at i if in is it of on or to was you")  # after the letter "a"
SHORT = {"is": "s", "has": "s", "are": "re", "have": "ve", "will": "ll", "shall": "ll", "am": "m", "would": "d"} | {
    "had": "d", "not": "nt", "us": "s"}  # fmt: skip
IRREGULAR = (("won't", "will nt"), ("can't", "can nt"), ("cannot", "can nt"), ("shan't", "will nt"))
LIGHT = words_of("a an the that")  # what comes and goes without a change of meaning
DIGITS = {
    word: str(n)
    for n, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 2
    )
}
SPELLINGS = tuple(  # British endings, and the American ones in their place
    (re.compile(british), american)
    for british, american in (
        (r"^(\w{3,})is(e|ed|es|er|ers|ing|ation|ations)$", r"\1iz\2"),
        (r"^(\w*(?:neighb|harb|behavi|flav|col|fav|lab|hon|hum|rum|arm|sav|vap|vig))our(\w*)$", r"\1or\2"),
        (r"^(\w*(?:met|lit|cent|fib|theat))re(s?)$", r"\1er\2"),
        (r"^(\w*(?:cance|trave|jewe|mode|signa|labe))ll(ed|ing|er|ers)$", r"\1l\2"),
        (r"^practic(e|es|ed|ing)$", r"practiz\1"),
        (r"^sceptic", "skeptic"),
        (r"^program(?:me)?(s?)$", r"program\1"),
    )
)
SUBJECTS = words_of("he she it that this there here who what where when how why everything everyone let one")
ONE = re.compile(r"\bone\b(?!['’])", re.IGNORECASE)
# ours: none of a group may stand in the place of another
CLOSED = tuple(
    words_of(group)
    for group in (
        "second minute hour day week weekend month season year decade century",
        "seconds minutes hours days weeks weekends months seasons years decades centuries",
        "morning noon afternoon evening night midnight mornings afternoons evenings nights",
        "yesterday today tonight tomorrow",
        "spring summer autumn winter",
        "north south east west northern southern eastern western",
        "this that",
        "these those",
        "my our your his her its their",
        "he she it they we",
        "can must should will would",
        "before after since until",
        "always usually often sometimes rarely never",
        "all most many some few several",
        "left right",
        "above below",
        "over under",
        "in inside out outside",
        "and or but",
        "who where why how",
    )
)
CLITIC_S = re.compile(r"([\w-]+)'s(?= ([\w-]+)(?: ([\w-]+))?)")


def _with_articles(text: str, reference: str) -> str:
    """A text with "a" and "an" by the sound of the word after them, but as the reference has them before that word.

    >>> _with_articles("He had a apple, an unicorn and a hour in an hotel.", "It was an hotel.")
    'He had an apple, a unicorn and an hour in an hotel.'
    """

    def article(match: re.Match) -> str:
        original, space, word = match.groups()
        if word.lower() in NO_NOUN or re.search(
            rf"\b{original}\s+{re.escape(word.rstrip(STOPS))}\b", reference, re.IGNORECASE
        ):
            return match.group()
        return original[0] + ("n" if _begins_with_vowel(word, len(original) == 2) else "") + space

    return ARTICLE.sub(article, text)


def _begins_with_vowel(word: str, unsure: bool) -> bool:
    """Whether a word begins with the sound of a vowel.

    >>> [_begins_with_vowel(word, False) for word in ("uncle", "user", "hour", "FBI", "11", "100", "European")]
    [True, False, True, True, True, False, False]

    Args:
        word: A word or number.
        unsure: What is said of an acronym that may be a word ("NATO").
    """
    if LETTERS.match(word):
        return word[0] in LETTERS_AN
    if word[:3].isupper() and len(word) > 1 and word[1].isalpha():
        return unsure
    if CONSONANT.match(word):
        return False
    return VOWEL.match(word) is not None or word[0].lower() in "aeiouáéíóàèâêîô"


def contraction_key(text: str) -> str:
    """The letters of a text without what makes no paraphrase: equal for texts that differ in nothing else.

    That is contractions, articles, "that", British or American spelling, and digits for small numbers.

    >>> contraction_key("What's it, and why won't he go?") == contraction_key("What is it and why will he not go?")
    False
    >>> contraction_key("What's new? I won't go.") == contraction_key("What is new? I will not go.")
    True
    """
    plain = text.lower().translate(APOSTROPHES)
    contracted = NEGATION["en"].contracted
    plain = contracted.sub(r"\1n't", plain) if contracted is not None else plain
    for short, whole in IRREGULAR:
        plain = plain.replace(short, whole)
    words = [_american(word) for word in re.findall(r"[^\W_]+", plain.replace("n't", " nt"))]
    return "".join(DIGITS.get(word, SHORT.get(word, word)) for word in words if word not in LIGHT)


def _possessives(text: str) -> Iterator[str]:
    """The words of a text whose 's is a possessive, in lower case, as far as the next words tell.

    >>> list(_possessives("Tom's brother is ill, and Mary's singing."))
    ['tom']
    """
    for owner, following, further in CLITIC_S.findall(text.lower().translate(APOSTROPHES)):
        if owner not in SUBJECTS and (_is_noun(following) or (_is_adjective(following) and _is_noun(further))):
            yield owner


def _is_noun(word: str) -> bool:
    """Whether a word is a noun, and no form of a verb that "is" or "has" can stand before."""
    from lemminflect import getAllLemmas

    lemmas = getAllLemmas(word) if word else {}
    participle = any(lemma != word for lemma in lemmas.get("VERB", ())) and not word.endswith("s")
    return "NOUN" in lemmas and "ADV" not in lemmas and not participle


def _is_adjective(word: str) -> bool:
    """Whether a word can be an adjective."""
    from lemminflect import getAllLemmas

    return "ADJ" in getAllLemmas(word)


def _misreads_possessive(reference: str, candidate: str) -> bool:
    """Whether a candidate says "is" or "has" for a possessive of its reference.

    >>> _misreads_possessive("Tom's brother left.", "Tom is the brother who left.")
    True
    """
    text, other = reference.lower(), candidate.lower()
    if "'s" not in text.translate(APOSTROPHES):
        return False
    owners = [re.escape(owner) for owner in _possessives(text)]
    return any(re.search(rf"\b{o} (?:is|has)\b", other) and not re.search(rf"\b{o} (?:is|has)\b", text) for o in owners)


def _counts_article(reference: str, candidate: str) -> bool:
    """Whether a candidate says "one" where its reference has an article alone, as translators from other languages do.

    >>> _counts_article("A boy kicks the ball.", "One boy kicks the ball.")
    True
    """
    return ONE.search(candidate) is not None and ONE.search(reference) is None and "a" in reference.lower().split()


def _with_spelling(text: str, reference: str) -> str:
    """A text with the words of its reference as that spells them, in British or American English.

    >>> _with_spelling("A grey dog of that colour.", "The color of the dog is gray.")
    'A grey dog of that color.'
    """
    spelt = {_american(word): word for word in LOWER_WORD.findall(reference)}
    return LOWER_WORD.sub(lambda match: spelt.get(_american(match.group()), match.group()), text)


@lru_cache(1 << 16)
def _american(word: str) -> str:
    """A word in lower case with an American ending."""
    for pattern, american in SPELLINGS:
        word = pattern.sub(american, word)
    return word


def _swaps_closed_word(reference: str, candidate: str) -> bool:
    """Whether a candidate has a word of a closed group in the place of another one of it, or a negation of its own.

    >>> _swaps_closed_word("It failed on Tuesday morning.", "It failed on Tuesday afternoon.")
    True
    >>> _swaps_closed_word("Don't apologize, it was an accident.", "Do not apologize, it wasn't an accident.")
    True
    """
    for old, new in _replaced_words(reference.translate(APOSTROPHES), candidate.translate(APOSTROPHES)):
        pair = {old, new}
        if len(pair) == 2 and (any(pair <= group for group in CLOSED) or new == old + "n't"):
            return True
    return False


def _replaced_words(reference: str, candidate: str) -> Iterator[tuple[str, str]]:
    """Single tokens of a reference, each with the one that a candidate has in its place, in lower case."""
    before, after = TOKEN.findall(reference.lower()), TOKEN.findall(candidate.lower())
    for kind, begin, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "replace" and end - begin == last - first == 1:
            yield before[begin], after[first]


def _changes_form(reference: str, candidate: str) -> bool:
    """Whether a candidate has another form of a word in its place: another number or tense, or an error of agreement.

    >>> _changes_form("The prices rose again.", "The price rose again.")
    True
    >>> _changes_form("The prices have risen again.", "The prices rose again.")
    False
    """
    return any(
        new.isalpha() and bool(_lemmas(old) & _lemmas(new)) for old, new in _replaced_words(reference, candidate)
    )


@lru_cache(1 << 16)
def _lemmas(word: str) -> frozenset[str]:
    """The lemmas of a word in lower case, as any part of speech, and the word."""
    from lemminflect import getAllLemmas

    return frozenset(lemma for lemmas in getAllLemmas(word).values() for lemma in lemmas) | {word}


def correct_english(rows: Iterable[Row]) -> Iterator[Row]:
    """Write "a" and "an" by sound, and words as their reference spells them, in the candidates of English rows."""
    for row in rows:
        for candidate in row.candidates if row.lang == "en" else ():
            candidate.text = _with_spelling(_with_articles(candidate.text, row.reference), row.reference)
        yield row


def refuse_english(rows: Iterable[Row], allow_trivial: bool, forms: bool = False) -> Iterator[Row]:
    """Refuse candidates of English rows that read a possessive as a verb, or only contract or expand.

    The reasons are "possessive", "article" (`_counts_article`), "trivial", and of the candidates of translators "form"
    (`_changes_form`, `_swaps_closed_word`).

    Args:
        rows: Rows with candidates.
        allow_trivial: Whether a contraction alone is a paraphrase.
        forms: Whether another form of a word is refused.
    """
    for row in rows:
        waiting = [c for c in row.candidates if c.reason is None] if row.lang == "en" else []
        key = contraction_key(row.reference) if waiting else ""
        for candidate in waiting:
            if _misreads_possessive(row.reference, candidate.text):
                candidate.reason = "possessive"
            elif _counts_article(row.reference, candidate.text):
                candidate.reason = "article"
            elif not allow_trivial and contraction_key(candidate.text) == key:
                candidate.reason = "trivial"
            elif forms and (
                _changes_form(row.reference, candidate.text) or _swaps_closed_word(row.reference, candidate.text)
            ):
                candidate.reason = "form"
        yield row


def _refuse_no_words(rows: Iterable[Row], pieces: Pieces) -> Iterator[Row]:
    """Refuse candidates of English rows with a word that does not exist: reason "unknown_word".

    A translator that must not say a word spells others from pieces ("wokwed"). A word exists if the lexicon has it, if
    it is one piece of the translator's vocabulary, or if its reference has it. Words with a capital are not asked: they
    may be names.

    Args:
        rows: Rows with candidates.
        pieces: Of the translator that wrote them.
    """
    for row in rows:
        waiting = [c for c in row.candidates if c.reason is None] if row.lang == "en" else []
        known = set(LOWER_WORD.findall(row.reference.lower())) if waiting else set()
        for candidate in waiting:
            words = set(LOWER_WORD.findall(candidate.text)) - known
            if not all(_is_word(word) or SPACE + word in pieces.vocabulary for word in words):
                candidate.reason = "unknown_word"
        yield row


@lru_cache(1 << 16)
def _is_word(word: str) -> bool:
    """Whether the lexicon of English, or its list of function words, has a word in lower case.

    >>> [_is_word(word) for word in ("bakeries", "themselves", "wokwed")]
    [True, True, False]
    """
    from lemminflect import getAllLemmas

    return word in FUNCTION_WORDS or bool(getAllLemmas(word))


def _joined_up(text: str) -> tuple[str, bool, bool]:
    """A text without the spaces of a tokeniser, and whether clitics and marks stood apart.

    >>> _joined_up("I wo n't go , Tom .")
    ("I won't go, Tom.", True, True)
    """
    with_whole_words = APART.sub("", text)
    whole = MARK_APART.sub("", with_whole_words)
    return whole, with_whole_words != text, whole != with_whole_words


def _set_apart(text: str, clitics: bool, marks: bool) -> str:
    """A text with the spaces of a tokeniser.

    >>> _set_apart("I won't go, but Tom's sister can.", True, True)
    "I wo n't go , but Tom 's sister can ."
    """
    if clitics:
        text = re.sub(rf"(?<=\w)({CLITIC})", r" \1", re.sub(r"(?i)(?<=\bcan)not\b", " not", text), flags=re.IGNORECASE)
    return MARK_TOGETHER.sub(" ", text) if marks else text
