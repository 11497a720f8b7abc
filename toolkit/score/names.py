"""Whether a candidate loses a name of its reference, or adds one.

A name is a word whose capital letter its place in the sentence does not explain. What that means depends on the
language:

- English: a word that the lexicon of `lemminflect` does not have in lower case ("Boston"), or that is a name as often
  as a word ("Tom", "Bill"). So "Council" and "Mother" are none.
- French, Spanish: any such word that does not begin a sentence.
- German: none. Every noun has a capital there, and a rule by its place was wrong more often than right.
- Chinese: words in Latin letters, and the parts of a name around "·".
"""

from __future__ import annotations

import re
from functools import lru_cache

from toolkit.score._quantities import RECENT


def words_of(text: str) -> frozenset[str]:
    """Words between spaces."""
    return frozenset(text.split())


WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
CONTRACTED = re.compile(r"n['’]t$", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?:;…\"“”„»«¿¡(—–-]\s*$")
CHINESE_NAME = re.compile(r"[A-Za-z][A-Za-z.]+|[\u4e00-\u9fff]{1,4}(?=·)|(?<=·)[\u4e00-\u9fff]{1,4}")
SHARED = 4  # ours: "Germany" and "German" begin alike
# Capitals that are no names: pronouns, titles, kin, letters that stand for words.
NO_NAMES = {
    "en": words_of(
        "i mr mrs ms miss dr sir madam ma'am lord lady mom dad mum mama papa mother father ok okay tv pm am god oh "
        "internet web earth sun moon santa"
    ),
    "fr": words_of("m mme mlle dr monsieur madame dieu ok"),
    "es": words_of("sr sra srta dr don doña usted ustedes ud uds dios ok"),
    "zh": words_of("ok tv"),
}
# English names that the lexicon has as words; those of the second list are words where they begin a sentence.
WORDS_TOO = words_of(
    "tom jack bill bob tim jim rob ray nick dick harry sue pat ted ned dan ben sam ron don ken joe jay carol "
    "kitty molly lily daisy ruby heather holly hazel robin terry jerry victor wade wayne glen dale cliff jasmine "
    "sandy rusty jordan georgia china turkey japan guinea chad jersey apple carl gene lance peg tony billy bobby "
    "tommy timmy maria"
)
WORDS_AT_FIRST = words_of(
    "mark frank will grant rose grace joy hope faith dawn eve may june april march august miles penny drew chase "
    "guy pat buck chuck bud norm dean angel christian amber ginger iris ivy olive pearl violet lent duke earl "
    "basil sterling polish turkish danish mercury mars"
)
# First words of English sentences that are in no lexicon of nouns, verbs, adjectives and adverbs.
FUNCTION_WORDS = words_of(
    "a about above after again against all although am an and another any anybody anyone anything are as at be "
    "because been before behind being below beneath beside besides between beyond both but by can could despite "
    "did do does down during each either enough even every everybody everyone everything except few for from had "
    "has have he her here hers herself him himself his how however i if in inside into is it its itself just "
    "least less like many may me might mine more most much must my myself near neither no nobody none nor not "
    "nothing now of off on once one only onto or other others ought our ours ourselves out outside over own past "
    "per perhaps please rather round same several shall she should since so some somebody someone something "
    "somewhere still such than that the their theirs them themselves then there these they this those though "
    "through throughout till to too toward towards under unless unlike until up upon us very was we were what "
    "whatever when whenever where wherever whether which whichever while who whoever whom whose why will with "
    "within without would yes yet you your yours yourself yourselves let hi hello hey yeah yep nope ah oh wow "
    "okay ok hm hmm huh isn aren wasn weren don doesn didn hasn haven hadn won wouldn couldn shouldn mustn needn "
    "ain cannot gonna wanna gotta whatcha lemme dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wont "
    "wouldnt cant couldnt shouldnt mustnt neednt aint shant im ive ill id youre youve theyre weve thats whats dunno"
)


@lru_cache(RECENT)
def _names(text: str, lang: str) -> frozenset[str]:
    """The names of a text, in lower case; none where most words have a capital, as in headlines.

    >>> sorted(_names("Tom said that Mr. Jackson's dog is in Boston.", "en"))
    ['boston', 'jackson', 'tom']
    >>> sorted(_names("Hier vit Tom avec son chien.", "fr"))
    ['tom']
    """
    if lang == "de":
        return frozenset()
    if lang == "zh":
        return frozenset(name.lower() for name in CHINESE_NAME.findall(text)) - NO_NAMES[lang]
    words = list(WORD.finditer(text))
    capitals = [match for match in words if match.group()[0].isupper()]
    if len(words) > 3 and 2 * len(capitals) > len(words):
        return frozenset()
    name_stems = frozenset(_stem(m.group(), lang) for m in capitals if _is_name(text, m, lang))
    return name_stems - NO_NAMES[lang]


def _is_name(text: str, match: re.Match, lang: str) -> bool:
    """Whether a capitalised word of a text is a name, as far as its place says."""
    before = text[: match.start()]
    is_first = not before.strip() or SENTENCE_END.search(before) is not None
    if lang == "en":
        word = _stem(match.group(), lang)
        if CONTRACTED.search(match.group()):  # "Don't" has no Don
            return False
        return word in WORDS_TOO or (word in WORDS_AT_FIRST and not is_first) or _is_rare(word)
    return not is_first


@lru_cache(1 << 14)
def _is_rare(word: str) -> bool:
    """Whether an English lexicon lacks a word in lower case."""
    from lemminflect import getAllLemmas

    return word not in FUNCTION_WORDS and not set(getAllLemmas(word)) & {"NOUN", "VERB", "ADJ", "ADV", "AUX"}


def _stem(word: str, lang: str) -> str:
    """A word in lower case, without what an apostrophe adds: "Tom's", "don't", "l'Europe" are "tom", "do", "europe"."""
    first, *further = re.split("['’]", CONTRACTED.sub("", word.lower()))
    return further[-1] if further and lang == "fr" else first


def _changes_name(reference: str, candidate: str, lang: str) -> bool:
    """Whether a name of one text is missing in the other.

    >>> _changes_name("Tom lives in Boston.", "He lives in Boston.", "en")
    True
    >>> _changes_name("He is from Germany.", "He is German.", "en")
    False

    Args:
        reference: A text.
        candidate: What should mean the same.
        lang: Of both, "de" or a key of `NO_NAMES`.
    """
    return _lacks(candidate, _names(reference, lang), lang) or _lacks(reference, _names(candidate, lang), lang)


def _lacks(text: str, required_names: frozenset[str], lang: str) -> bool:
    """Whether a text lacks one of these names, in any case and with any ending after `SHARED` letters."""
    if lang == "zh":
        return any(name not in text.lower() for name in required_names)
    if not required_names:
        return False
    stems = {_stem(word, lang) for word in WORD.findall(text)}
    return any(not any(_alike(name, word) for word in stems) for name in required_names - stems)


def _alike(name: str, word: str) -> bool:
    """Whether two words are one name with other endings."""
    return (len(name) >= SHARED and name[:SHARED] == word[:SHARED]) or name.removesuffix("s") == word.removesuffix("s")
