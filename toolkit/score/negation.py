"""Whether a candidate loses or adds a negation: the first error of ParaMac's appendix B, and of many translators.

A text negates with a word of `plain` ("not", "never", "nobody", "didn't"). Phrases of `neutral` are taken out before:
they have such a word and deny nothing ("not only", "isn't it?" at the end). A word of `weak` ("hardly", "impossible")
can say the same as a negation or undo one, so texts with different numbers of these are not judged. Nor are texts with
two negations, which may cancel each other, except in languages where several words are one ("no vino nadie"). What
chats leave out (the apostrophe of "dont" and "n'est", accents, letters of "nich") makes no difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from toolkit.score._quantities import RECENT


def _words(listed: str) -> re.Pattern:
    """A pattern of the listed words; "*" stands for any letters, "_" for a space.

    >>> _words("no_one *n't refus*").findall("no one refuses, and i don't")
    ['no one', 'refuses', "don't"]
    """
    alternatives = "|".join(re.escape(word).replace(r"\*", r"\w*").replace("_", " ") for word in listed.split())
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)")


@dataclass(frozen=True)
class _NegationWords:
    """The words of a language, as patterns for lower-cased text with straight apostrophes.

    Attributes:
        plain: Words that negate.
        weak: Words that can stand for a negation, or undo one.
        neutral: Phrases with a word of `plain` that negate nothing.
        concord: Whether several words make one negation.
        contracted: Negations that are written without their apostrophe, whose first group lacks it.
    """

    plain: re.Pattern
    weak: re.Pattern
    neutral: re.Pattern
    concord: bool = False
    contracted: re.Pattern | None = None


APOSTROPHES = str.maketrans(dict.fromkeys("’‘´`ʼ＇′", "'"))
SUBJECT = "(?:i|you|he|she|it|we|they|there|that|this)"
AUXILIARY = "(?:is|are|was|were|do|does|did|has|have|had|will|would|wo|ca|can|could|should|must|ai)"
NEGATION = {
    "en": _NegationWords(
        plain=_words("not cannot never no none nobody no_one noone nothing nowhere neither nope *n't dunno nothin"),
        contracted=re.compile(
            r"\b(do|does|did|is|are|was|were|have|has|had|wo|would|ca|can|could|should|must|need|ai|sha|might)"
            r"\s*n\s*'?\s*t\b"  # "dont", "do n't", "don t"
        ),
        weak=_words(
            "hardly scarcely barely rarely seldom without unless except against few little instead nor too only "
            "far_from free_of out_of fail* refus* lack* reject* miss* avoid* prevent* ignor* forbid* forbad* stop* "
            "quit* deny denies denied forget* forgot* *less disagree* disapprov* disbelie* dishonest* dislik* disobe* "
            "displeas* dissatisf* distrust* illegal* illiterate illogical* immature immoral* impatien* imperfect* "
            "impolite* impossib* improbab* inability inaccura* inadequa* inappropria* incapab* incomplet* "
            "inconvenien* incorrect* independen* ineffective* inevitab* informal* injustice insane insensitiv* "
            "insignifican* insufficien* invalid* invisib* irregular* irrelevan* irresponsib* irrational* nonsense "
            "unable unaware uncertain* unclear* uncomfortab* uncommon* undo* uneasy unemployed unfair* unfamiliar "
            "unforgettab* unfortunate* unfriendly ungrateful unhapp* unhealthy unhurt unimportant uninteresting "
            "unkind* unknown unlike* unlock* unluck* unnatural* unnecessar* unpleasant* unpopular unreal* unreliab* "
            "unsafe unsuccessful* unsure untidy untrue unusual* unwell unwilling* unwise"
        ),
        neutral=re.compile(
            rf",\s*(?:{AUXILIARY}n't\s+{SUBJECT}|{AUXILIARY}\s+{SUBJECT}\s+not|right|no)\s*\?"  # ", isn't it?"
            rf"|^{AUXILIARY}n't\s+[^?]*\?"  # "Isn't it nice?" asks what "Is it nice?" asks
            rf"|^{AUXILIARY}\s+(?:\w+\s+){{1,3}}not\s+[^?]*\?"  # and "Is it not nice?"
            r"|\b(?:why don't|why not|won't you|to mention|all or nothing|couldn't agree more)\b"
            r"|\bnot (?:only|just|merely|simply|least|less|more|later|earlier|to mention|until)\b"
            r"|\bno (?:doubt|matter|wonder|sooner|problem|less)\b|\bno (?:more|fewer|later|earlier) than\b"
            r"|\b(?:if|or|whether or) not\b|\bnothing (?:but|else than)\b|\bno\.\s*\d|\bcan(?:'t|not) (?:help|wait)\b"
        ),
    ),
    "de": _NegationWords(
        plain=_words("nicht nichts nie niemals niemand* nirgend* kein* nein nich nischt nix nee nö net"),
        weak=_words(
            "ohne kaum selten außer zu_wenig weder statt nur weiger* scheiter* verbiet* verbot* fehl* mangel* vermeid* "
            "leugne* bestreite* ablehn* lehn* vergess* vergisst vergaß* versäum* verpass* *los unbekannt* unfair* "
            "ungern* unglücklich* ungesund* unhöflich* unklar* unmöglich* unnötig* unrecht* unsicher* unwahr* "
            "unwichtig*"
        ),
        neutral=re.compile(
            r",\s*nicht(?: wahr)?\s*\?|\bnicht (?:nur|bloß|allein)\b|\boder nicht\b|\bnichts als\b|\bwenn nicht\b"
            r"|\bnicht (?:mehr|weniger) als\b|\bwarum [^?]*\bnicht\b|\bkein (?:wunder|zweifel|problem)\b"
            r"|\bkeine (?:ursache|frage)\b"
        ),
    ),
    "fr": _NegationWords(
        contracted=re.compile(r"\b(n)(?=(?:ai|as|avons|avez|ont|est|étai\w*|etai\w*|avai\w*|aura\w*|y)\b)"),
        plain=re.compile(
            r"\b(?:pas|pa|jamais|rien|aucune?|non)\b|\bpersonne n(?:e\b|')"
            r"|(?:\bne\b|\bn')[^.?!]*\b(?:plus|personne|ni|guère|nulle part)\b"  # alone they do not negate
        ),
        weak=_words(
            "sans à_peine rarement sauf peu seulement trop refus* manqu* évit* interdi* ignor* oubli* échou* rat* mal* "
            "impossib* imparf* impoli* incapab* inutil* injust* invisib* insuffis* incorrect* incompl* irrégul*"
        ),
        neutral=re.compile(
            r"n'est-ce pas|\bpas mal\b|\b(?:un|le|au|quelques|des) pas\b|\bpas à pas\b|\bnon seulement\b|\bde rien\b"
            r"|\bou (?:non|pas)\b|\bpourquoi (?:pas|ne)\b|\bsinon\b|\bsans aucun doute\b"
        ),
        concord=True,
    ),
    "es": _NegationWords(
        plain=_words("no nunca jamás jamas nada nadie ningun* ningún tampoco ni"),
        weak=_words(
            "sin apenas rara_vez excepto salvo poco solo sólo demasiado falt* neg* niega* rechaz* evit* prohib* olvid* "
            "ignor* imposib* imperf* improbab* incap* inútil* injust* invisib* insufic* incorrect* incompl* irregular*"
        ),
        neutral=re.compile(
            r",\s*¿\s*no\s*\?|\bno (?:solo|sólo|solamente|obstante|más que)\b|\bde nada\b|\bpor ?qu[eé] no\b|\bxq no\b"
            r"|\b(?:o|si) no\b"
        ),
        concord=True,
    ),
    "zh": _NegationWords(
        plain=re.compile("不|没|沒|未|无|無|勿|莫|甭|木有|[别別](?=[^人的处處墅称稱名])"),
        weak=re.compile("缺|很少|几乎|拒绝|避免|禁止|难以|失|只|才"),
        neutral=re.compile(
            "不(?:但|仅|只|错|过|同|管|论|如|久|少|断|禁|得不|一定|客气|好意思)|是不是|能不能|会不会|有没有|要不要|好不好|"
            "可不可以|想不想|对不起|差不多|了不起|没(?:关系|问题|事)|无(?:论|所谓|数|疑)|未(?:来|必|婚)|"
            "特别|分别|区别|类别|个别|性别|级别|特別|分別|區別|類別|個別|性別|級別"
        ),
    ),
}


@lru_cache(RECENT)
def _negations(text: str, lang: str) -> tuple[int, int]:
    """How many words of a text negate, and how many can stand for a negation.

    >>> _negations("He didn't come, because he was unable to.", "en")
    (1, 1)
    >>> _negations("It's late, isn't it?", "en")
    (0, 0)
    """
    patterns = NEGATION[lang]
    plain = text.lower().translate(APOSTROPHES)
    if patterns.contracted is not None:
        plain = patterns.contracted.sub(r"\1n't" if lang == "en" else r"\1'", plain)
    plain = patterns.neutral.sub(" ", plain)
    count = len(patterns.plain.findall(plain))
    return min(count, 1) if patterns.concord else count, len(patterns.weak.findall(plain))


def _changes_negation(reference: str, candidate: str, lang: str) -> bool:
    """Whether one of two texts negates and the other does not.

    >>> _changes_negation("He didn't come to our party.", "He came to our party.", "en")
    True
    >>> _changes_negation("It isn't possible.", "It's impossible.", "en")
    False

    Args:
        reference: A text.
        candidate: What should mean the same.
        lang: Of both, a key of `NEGATION`.
    """
    (count, weak), (other_count, other_weak) = _negations(reference, lang), _negations(candidate, lang)
    return count != other_count and max(count, other_count) == 1 and weak == other_weak
