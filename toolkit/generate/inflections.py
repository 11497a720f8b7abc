"""The inflections of a word and, roughly, its part of speech in a sentence.

Both come from LemmInflect's dictionary, offline. What it does not do: parse. The tagger looks up which parts of speech
a word can be and chooses by the words beside it; an installed spaCy model can replace it (`spacy_tagger`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import lemminflect

from toolkit.system.errors import first_line

Tagger = Callable[[Sequence[str]], list[str]]  # words and marks of a sentence -> a tag of PARTS for each

PARTS = ("NOUN", "VERB", "ADJ", "ADV", "OTHER")
PENN = {"NN": "NOUN", "VB": "VERB", "JJ": "ADJ", "RB": "ADV"}  # the first two letters of a Penn tag say the part
CACHE = 1 << 16  # ours: words whose parts are remembered


def _words(text: str) -> frozenset[str]:
    """The set of the words of a text between spaces."""
    return frozenset(text.split())


SUBJECTS = _words("i you he she it we they who")
OBJECTS = _words("me you him her it us them myself yourself himself herself themselves")
DETERMINERS = _words("a an the this that these those my your his her its our their some any no every each another 's")
PREPOSITIONS = _words(
    "about above across after against along among around as at before behind below beside between beyond by despite "
    "down during for from in inside into like near of off on onto out over past per since than through throughout till "
    "to toward towards under until unto up upon via with within without"
)
CONJUNCTIONS = _words("and or but nor if because while although though unless whether so yet when where")
MODALS = _words("can could will would shall should may might must cannot 'll 'd")
CLOSED = SUBJECTS | OBJECTS | DETERMINERS | PREPOSITIONS | CONJUNCTIONS | MODALS | _words("what which whose there")
BEFORE_BASE = MODALS | _words("to not do does did let")
BEFORE_PARTICIPLE = _words("am is are was were be been being get got have has had having 'm 're 've")
ADJECTIVE_ENDINGS = ("able", "ible", "ous", "al", "ive", "ful", "less", "ic", "ish")


def _inflections(word: str) -> list[str]:
    """All single-word, lower-case, alphabetical forms of all lemmas of a word, sorted, the word among them.

    >>> _inflections("took"), _inflections("myth"), _inflections("for")
    (['take', 'taken', 'takes', 'taking', 'took'], ['myth', 'myths'], ['for'])

    Args:
        word: In lower case. A word that is not in the dictionary has no other forms.

    Source: ParaBank (Hu et al. 2019a), section 3.2, "Morphological Variants".
    """
    lemmas = [(lemma, part) for part, part_lemmas in lemminflect.getAllLemmas(word).items() for lemma in part_lemmas]
    spellings = [forms for lemma, part in lemmas for forms in lemminflect.getAllInflections(lemma, upos=part).values()]
    return sorted({word, *(form for forms in spellings for form in forms if _is_plain(form))})


def _verb_forms(word: str) -> list[str]:
    """The forms of a verb, sorted, the word among them, in the spelling that the dictionary gives first.

    A text will be required to say one of them, so rare spellings are left out (LemmInflect has "occured" beside
    "occurred"). Of two lemmas the first counts ("saw" is a form of "see").

    >>> _verb_forms("occurred"), _verb_forms("saw")
    (['occur', 'occurred', 'occurring', 'occurs'], ['saw', 'see', 'seeing', 'seen', 'sees'])
    """
    lemmas = lemminflect.getAllLemmas(word, upos="VERB").get("VERB", ())[:1]
    first = [forms[0] for lemma in lemmas for forms in lemminflect.getAllInflections(lemma, upos="VERB").values()]
    return sorted({word, *filter(_is_plain, first)})


def _is_plain(word: str) -> bool:
    """Whether a word is of lower-case letters only: "only lowercased alphabetical tokens" (ParaBank, section 3.2).

    >>> [_is_plain(word) for word in ("work", "Work", "o'clock", "3rd")]
    [True, False, False, False]
    """
    return word.isalpha() and word.islower()


def _coarse(penn: str) -> str:
    """The coarse part of speech of a Penn Treebank tag.

    >>> [_coarse(tag) for tag in ("NNS", "VBD", "JJR", "RB", "IN", "MD")]
    ['NOUN', 'VERB', 'ADJ', 'ADV', 'OTHER', 'OTHER']
    """
    return PENN.get(penn[:2], "OTHER")


def part_of_speech(words: Sequence[str]) -> list[str]:
    """Roughly the part of speech of each word of an English sentence.

    The dictionary says which parts of speech a word can be, and a dozen rules on its neighbours choose one of them. On
    13,406 words in examples of Open English WordNet, on which no rule was made, 89 % get the part of speech of their
    entry; precision and recall of verbs are 92 %.

    >>> part_of_speech("I told her I was proud to work for them .".split())[1:8:2]
    ['VERB', 'OTHER', 'ADJ', 'VERB']

    Args:
        words: Words and punctuation marks in order, clitics ("'s") apart.

    Returns:
        A tag of `PARTS` for each word.
    """
    lower_words = [word.lower().replace("’", "'") for word in words]
    tags: list[str] = []
    before, tag_before = "", ""  # of the last word that is no adverb
    for word, after in zip(lower_words, [*lower_words, ""][1:], strict=True):
        parts = _parts(word)
        tag = next(iter(parts)) if len(parts) == 1 else _choose(word, parts, before, tag_before, after, "VERB" in tags)
        tags.append(tag)
        if tag != "ADV" or word == "not" or not before:
            before, tag_before = word, tag
    return tags


def _choose(word: str, parts: frozenset[str], before: str, tag_before: str, after: str, verb_said: bool) -> str:
    """The part of speech of an ambiguous word: that of the first rule which holds and whose part the word can be."""
    verb = _penn_tags(word) if "VERB" in parts else frozenset()
    base, participle = "VB" in verb, bool(verb & {"VBG", "VBN"}) or word.endswith(("ed", "en", "ing"))
    to_noun = "NOUN" in _parts(after)
    rules = (
        (base and (before in BEFORE_BASE or before.endswith("n't")), "VERB"),
        (before in DETERMINERS and to_noun, "ADJ"),
        (before in DETERMINERS, "NOUN"),
        (before in SUBJECTS, "VERB"),
        (before in BEFORE_PARTICIPLE and participle, "VERB"),
        (before in BEFORE_PARTICIPLE, "ADJ"),
        (before in PREPOSITIONS and to_noun, "ADJ"),
        (before in PREPOSITIONS, "NOUN"),
        (after in DETERMINERS or after in OBJECTS, "VERB"),
        (to_noun and tag_before != "NOUN", "ADJ"),
        (tag_before == "ADJ", "NOUN"),
        (not before and base, "VERB"),
        (tag_before == "NOUN" and not verb_said, "VERB"),
    )
    matching_parts = [part for holds, part in rules if holds and part in parts]
    return (matching_parts or [part for part in ("NOUN", "ADV", "ADJ", "VERB") if part in parts])[0]


@lru_cache(CACHE)
def _parts(word: str) -> frozenset[str]:
    """The parts of speech that a lower-cased word can be: those of the dictionary, or by its ending if it has none."""
    if word in CLOSED or not word[:1].isalpha():
        return frozenset({"OTHER"})
    parts = frozenset("VERB" if part == "AUX" else part for part in lemminflect.getAllLemmas(word)) & set(PARTS)
    if word.endswith(("ed", "en", "ing")) and parts <= {"VERB"} and word not in BEFORE_PARTICIPLE:
        return frozenset({"VERB", "ADJ"})
    if parts or not word.isalpha():
        return parts or frozenset({"OTHER"})
    return frozenset({"ADV" if word.endswith("ly") else "ADJ" if word.endswith(ADJECTIVE_ENDINGS) else "NOUN"})


@lru_cache(CACHE)
def _penn_tags(word: str) -> frozenset[str]:
    """The Penn tags that a lower-cased word can have as a verb."""
    lemmas = lemminflect.getAllLemmas(word, upos="VERB").get("VERB", ())
    tables = [lemminflect.getAllInflections(lemma, upos="VERB") for lemma in lemmas]
    return frozenset(tag for table in tables for tag, forms in table.items() if word in forms)


def spacy_tagger(name: str) -> Tagger:
    """The tagger of a spaCy model, which can replace `part_of_speech`; the paper used spaCy's.

    Args:
        name: An installed model ("en_core_web_sm") or its folder.

    Raises:
        ValueError: spaCy or the model is not installed, or the model gives no tags.
    """
    try:
        import spacy

        pipeline = spacy.load(name)
    except (ImportError, OSError) as error:
        raise ValueError(
            f"wanted spaCy and its model {name!r}, got neither or one ({first_line(error)}): "
            f"pip install spacy; python -m spacy download {name}; or leave the tagger out"
        ) from None
    if "tagger" not in pipeline.pipe_names:
        raise ValueError(f"wanted a spaCy model with a tagger, got {name!r} with {pipeline.pipe_names}: name another")

    def tag(words: Sequence[str]) -> list[str]:
        return [_coarse(token.tag_) for token in pipeline(spacy.tokens.Doc(pipeline.vocab, words=list(words)))]

    return tag
