"""Which texts are in another language than they should be, by heliport, which is offline and installed on request.

It is right in nearly all sentences of thirty letters and more, and often wrong in shorter ones. It takes about ten
microseconds for a text, and nearly a gigabyte in every process.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

EXTRA = "pip install '.[language]' in the checkout"
# What heliport calls a language (ISO 639-3, or its own) by the code of ISO 639-1, where it knows the language
CODES = (
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
LABELS = {code: frozenset(labels.split(",")) for code, _, labels in (one.partition(":") for one in CODES.split())}
UNSURE = ("und", "undhtml", "zxx")  # heliport's labels for text that it cannot tell, for markup, and for no language
# ours: languages that it confuses also in long sentences; of ja and zh only text without kana, `min_script_share` tells
NEAR = ("no nb nn da", "bs hr sr sh", "id ms", "zh ja", "cs sk", "gl pt", "ru uk be bg mk")


def check_identifier(*langs: str) -> None:
    """Refuse to identify languages where heliport is not installed, or does not know one of them.

    Raises:
        ValueError: It is so.
    """
    if importlib.util.find_spec("heliport") is None:
        raise ValueError(f"wanted heliport for --identify_from, got no such package: {EXTRA}, or leave it out")
    for lang in langs:
        if lang not in LABELS:
            raise ValueError(f"wanted languages that heliport knows, got {lang!r}: leave --identify_from out")


def in_other_language(texts: Sequence[str], lang: str) -> np.ndarray:
    """Whether each text is surely in another language, and in none that is much like its own: (N,) of bool.

    Args:
        texts: Of thirty letters or more; of shorter ones the identifier is rarely sure.
        lang: Their language (ISO 639-1), one of `LABELS`.
    """
    passing, identify = _accepted(lang), identifier().identify
    return np.array([identify(text) not in passing for text in texts], bool)


@cache
def _accepted(lang: str) -> frozenset[str]:
    """The labels with which a text of a language passes."""
    codes = {lang, *(code for group in NEAR for code in group.split() if lang in group.split())}
    return frozenset(UNSURE).union(*(LABELS[code] for code in codes))


@cache
def identifier() -> Any:
    """The identifier; it takes two seconds to load."""
    from heliport import Identifier

    return Identifier()
