"""Language codes, and a check that a bitext is in the languages that its settings name.

The identifier (py3langid) works offline. It identifies most single sentences correctly, so that a sample of lines is
enough to find swapped columns and wrong codes. No single line is refused for its language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from toolkit.bitext.read import Pair

# ISO 639-1, the two-letter codes
ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee "
    "el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is "
    "it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms "
    "mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si "
    "sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh "
    "yi yo za zh zu "
)
CODES = frozenset(ISO_639_1.split())
# What the identifier heliport calls a language (ISO 639-3, or its own), by the code of ISO 639-1, where it knows it
_LABELS = (
    "ab:abk af:afr am:amh ar:ara,arl as:asm ay:ayr az:aze ba:bak be:bel bg:bul bn:ben bo:bod br:bre bs:hbs,hbsbos "
    "ca:cat ce:che co:cos cs:ces cv:chv cy:cym da:dan de:deu dv:div ee:ewe el:ell en:eng eo:epo es:spa "
    "et:est,estvro eu:eus fa:pes fi:fin,fini,fink,finl,finm,fino,finp,finr,fins,fint,finx fj:fij fo:fao fr:fra "
    "fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj gv:glv he:heb hi:hin ho:hmo hr:hbs,hbshrv ht:hat hu:hun hy:hye "
    "ia:ina id:msa,msaind ig:ibo io:ido is:isl it:ita iu:iku ja:jpn ka:kat kk:kaz kl:kal km:khm kn:kan ko:kor "
    "ku:kmr,ckb kv:kpv,koi kw:cor ky:kir la:lat lb:ltz lg:lug ln:lin lo:lao lt:lit lv:lav mg:mlg mi:mri mk:mkd "
    "ml:mal mn:mon mr:mar ms:msa,msazsm,msamalay mt:mlt my:mya nb:nob ne:nep nl:nld nn:nno no:nob,nno nv:nav "
    "oc:oci om:gaz or:ori os:oss pa:pan pi:pli pl:pol ps:pbt pt:por qu:que rm:roh ro:ron ru:rus sc:srd sd:snd "
    "se:sme sg:sag,sagb sh:hbs,hbsbos,hbshrv,hbssrp si:sin sk:slk sl:slv sn:sna so:som sq:sqi sr:hbs,hbssrp "
    "st:sot sv:swe sw:swa ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tr:tur ts:tso tt:tat tw:twi ug:uig "
    "uk:ukr ur:urd uz:uzn vi:vie vo:vol wa:wln yi:yid yo:yor zh:cmn,cdo zu:zul"
)
LABELS = {code: frozenset(labels.split(",")) for code, _, labels in (entry.partition(":") for entry in _LABELS.split())}
SAMPLE = 500  # ours: lines that are identified, which takes a second
FEWEST = 10  # ours: fewer lines are not checked
# ours: languages that the identifier confuses in short sentences; "wuu" and "yue" are written like zh
NEAR = (
    ("no", "nb", "nn", "da"),
    ("bs", "hr", "sr", "sh"),
    ("id", "ms"),
    ("zh", "wuu", "yue"),
    ("cs", "sk"),
    ("gl", "pt"),
)


def check_code(lang: str, flag: str) -> str:
    """The code itself, if it is one of ISO 639-1.

    >>> check_code("en", "--lang")
    'en'

    Args:
        lang: The code.
        flag: The command-line flag that gave it, for the message.

    Raises:
        ValueError: It is not.
    """
    if lang not in CODES:
        hint = f": did you mean {code!r}?" if (code := _two_letters(lang)) else ""
        raise ValueError(f'wanted {flag} as a code of ISO 639-1, two letters like "en" or "de", got {lang!r}{hint}')
    return lang


def _two_letters(code: str) -> str | None:
    """The code of ISO 639-1 that a code of ISO 639-3, or of a language in a region or a script, stands for.

    >>> _two_letters("deu"), _two_letters("en-US"), _two_letters("zh_Hans"), _two_letters("English")
    ('de', 'en', 'zh', None)
    """
    language = re.split("[-_]", code.lower())[0]
    return next((short for short in sorted(CODES) if language == short or language in LABELS.get(short, ())), None)


def _coded(name: str, lang: str, settings: object) -> None:
    """Refuse a setting that is no code of ISO 639-1.

    Raises:
        ValueError: It is not.
    """
    check_code(lang, f"--{name}")


Language = Annotated[str, _coded]


def check_languages(pairs: Sequence[Pair], source_lang: str, lang: str) -> None:
    """Refuse a bitext of which one side is in another language than the settings say.

    Args:
        pairs: Cleaned pairs; the first `SAMPLE` of them are identified.
        source_lang: The language of the sources according to the settings (ISO 639-1).
        lang: The language of the references according to the settings.

    Raises:
        ValueError: More than half of a side's lines are identified as one other language.
    """
    if len(pairs) < FEWEST:
        return
    sides = [pair.source for pair in pairs[:SAMPLE]], [pair.reference for pair in pairs[:SAMPLE]]
    detections = [main_language(texts) for texts in sides]
    for side, expected, (actual, share) in zip(("source", "reference"), (source_lang, lang), detections, strict=True):
        if actual is not None and not near(expected, actual):
            swapped = detections[0][0] == lang and detections[1][0] == source_lang
            hint = "check the columns and the language codes"
            if swapped:
                hint = (
                    "the columns are swapped (of a TSV: --source_column 1 --reference_column 0), or the language codes"
                )
            raise ValueError(
                f"wanted the {side} side in {expected}, got {actual} in {share:.0%} of {len(sides[0])} lines: {hint}, "
                "or say --no-check_language"
            )


def check_language(texts: Sequence[str], lang: str) -> None:
    """Refuse text in another language than the settings say.

    Args:
        texts: Its sentences; the first `SAMPLE` of them are identified.
        lang: The language according to the settings (ISO 639-1).

    Raises:
        ValueError: More than half of the sentences are identified as one other language.
    """
    language, share = main_language(texts[:SAMPLE]) if len(texts) >= FEWEST else (None, 0.0)
    if language is not None and not near(lang, language):
        raise ValueError(
            f"wanted text in {lang}, got {language} in {share:.0%} of {len(texts[:SAMPLE])} sentences: "
            "check the text and --lang, or say --no-check_language"
        )


def main_language(texts: Sequence[str]) -> tuple[str | None, float]:
    """The language of more than half of the texts, and their share; None if no language has so many."""
    from py3langid import classify  # its model takes a second to load

    label, count = Counter(str(classify(text)[0]) for text in texts).most_common(1)[0]
    share = count / len(texts)
    return (label if share > 0.5 else None), share


def near(lang: str, other: str) -> bool:
    """Whether two languages are the same, or too similar to be distinguished by single sentences.

    >>> near("nb", "da"), near("de", "nl")
    (True, False)
    """
    return lang == other or any(lang in group and other in group for group in NEAR)
