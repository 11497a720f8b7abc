"""Language codes, and a check that a bitext is in the languages that its settings name.

The identifier (py3langid) works offline. It identifies most single sentences correctly, so that a sample of lines is
enough to find swapped columns and wrong codes. No single line is refused for its language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from toolkit.bitext import _codes
from toolkit.bitext._codes import code_of_name, short_code
from toolkit.bitext.read import Pair
from toolkit.system.ranges import NormalForm

CODES = _codes.CODES  # of ISO 639-1
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
    """The code of ISO 639-1 of a language, which may be given by another code or with a script or a region.

    Scripts and regions are dropped: zh-Hans and zh-Hant are both "zh", of which cleaning with `simplified` makes one.

    >>> check_code("en", "--lang"), check_code("deu", "--lang"), check_code("pt_BR", "--lang")
    ('en', 'de', 'pt')

    Args:
        lang: A code of ISO 639-1, ISO 639-2 or ISO 639-3, or a tag of BCP 47.
        flag: The command-line flag that gave it, for the message.

    Raises:
        ValueError: It is none, or of a language without a code of ISO 639-1.
    """
    code = short_code(lang)
    if code is None:
        hint = f": did you mean {named!r}?" if (named := code_of_name(lang)) else ""
        raise ValueError(f'wanted {flag} as a code of ISO 639-1, two letters like "en" or "de", got {lang!r}{hint}')
    return code


Language = Annotated[str, NormalForm(lambda name, lang: check_code(lang, f"--{name}"))]


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
