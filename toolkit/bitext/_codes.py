"""Codes of languages: those of ISO 639-1, which the toolkit uses, and the others that stand for them."""

from __future__ import annotations

import difflib
import re

# The codes of ISO 639-1, each with those of ISO 639-3 and 639-2 and the older ones that stand for it, and its name.
# Source: the tables of langcodes 3.5.1, which is not a dependency because it takes 30 MB.
_TABLE = (
    "aa:aar:Afar; ab:abk:Abkhazian; ae:ave:Avestan; af:afr:Afrikaans; ak:aka:Akan; am:amh:Amharic; an:arg:Aragonese; "
    "ar:ara,arb:Arabic; as:asm:Assamese; av:ava:Avaric; ay:aym:Aymara; az:aze,azj:Azerbaijani; ba:bak:Bashkir; "
    "be:bel:Belarusian; bg:bul:Bulgarian; bh:bih:Bihari; bi:bis:Bislama; bm:bam:Bambara; bn:ben:Bengali; "
    "bo:bod,tib:Tibetan; br:bre:Breton; bs:bos:Bosnian; ca:cat:Catalan; ce:che:Chechen; ch:cha:Chamorro; "
    "co:cos:Corsican; cr:cre:Cree; cs:ces,cze:Czech; cu:chu:Church Slavonic; cv:chv:Chuvash; cy:cym,wel:Welsh; "
    "da:dan:Danish; de:deu,ger:German; dv:div:Divehi; dz:dzo:Dzongkha; ee:ewe:Ewe; el:ell,gre:Greek; en:eng:English; "
    "eo:epo:Esperanto; es:spa:Spanish; et:est,ekk:Estonian; eu:eus,baq:Basque; fa:fas,per,pes:Persian; ff:ful:Fula; "
    "fi:fin:Finnish; fj:fij:Fijian; fo:fao:Faroese; fr:fra,fre:French; fy:fry:Western Frisian; ga:gle:Irish; "
    "gd:gla:Scottish Gaelic; gl:glg:Galician; gn:grn,gug:Guarani; gu:guj:Gujarati; gv:glv:Manx; ha:hau:Hausa; "
    "he:heb,iw:Hebrew; hi:hin:Hindi; ho:hmo:Hiri Motu; hr:hrv:Croatian; ht:hat:Haitian Creole; hu:hun:Hungarian; "
    "hy:hye,arm:Armenian; hz:her:Herero; ia:ina:Interlingua; id:ind,in:Indonesian; ie:ile:Interlingue; ig:ibo:Igbo; "
    "ii:iii:Sichuan Yi; ik:ipk:Inupiaq; io:ido:Ido; is:isl,ice:Icelandic; it:ita:Italian; iu:iku:Inuktitut; "
    "ja:jpn:Japanese; jv:jav,jw:Javanese; ka:kat,geo:Georgian; kg:kon:Kongo; ki:kik:Kikuyu; kj:kua:Kuanyama; "
    "kk:kaz:Kazakh; kl:kal:Kalaallisut; km:khm:Khmer; kn:kan:Kannada; ko:kor:Korean; kr:kau:Kanuri; ks:kas:Kashmiri; "
    "ku:kur,kmr:Kurdish; kv:kom,kpv:Komi; kw:cor:Cornish; ky:kir:Kyrgyz; la:lat:Latin; lb:ltz:Luxembourgish; "
    "lg:lug:Ganda; li:lim:Limburgish; ln:lin:Lingala; lo:lao:Lao; lt:lit:Lithuanian; lu:lub:Luba-Katanga; "
    "lv:lav,lvs:Latvian; mg:mlg,plt:Malagasy; mh:mah:Marshallese; mi:mri,mao:Māori; mk:mkd,mac:Macedonian; "
    "ml:mal:Malayalam; mn:mon,khk:Mongolian; mr:mar:Marathi; ms:msa,may,zsm:Malay; mt:mlt:Maltese; "
    "my:mya,bur:Burmese; na:nau:Nauru; nb:nob:Norwegian Bokmål; nd:nde:North Ndebele; ne:nep,npi:Nepali; "
    "ng:ndo:Ndonga; nl:nld,dut:Dutch; nn:nno:Norwegian Nynorsk; no:nor:Norwegian; nr:nbl:South Ndebele; "
    "nv:nav:Navajo; ny:nya:Nyanja; oc:oci:Occitan; oj:oji:Ojibwa; om:orm,gaz:Oromo; or:ori,ory:Odia; os:oss:Ossetic; "
    "pa:pan:Punjabi; pi:pli:Pali; pl:pol:Polish; ps:pus:Pashto; pt:por:Portuguese; qu:que:Quechua; rm:roh:Romansh; "
    "rn:run:Rundi; ro:ron,rum,mo:Romanian; ru:rus:Russian; rw:kin:Kinyarwanda; sa:san:Sanskrit; sc:srd:Sardinian; "
    "sd:snd:Sindhi; se:sme:Northern Sami; sg:sag:Sango; sh:hbs:Serbo-Croatian; si:sin:Sinhala; sk:slk,slo:Slovak; "
    "sl:slv:Slovenian; sm:smo:Samoan; sn:sna:Shona; so:som:Somali; sq:sqi,alb,als:Albanian; sr:srp:Serbian; "
    "ss:ssw:Swati; st:sot:Southern Sotho; su:sun:Sundanese; sv:swe:Swedish; sw:swa,swh:Swahili; ta:tam:Tamil; "
    "te:tel:Telugu; tg:tgk:Tajik; th:tha:Thai; ti:tir:Tigrinya; tk:tuk:Turkmen; tl:tgl,fil:Tagalog; tn:tsn:Tswana; "
    "to:ton:Tongan; tr:tur:Turkish; ts:tso:Tsonga; tt:tat:Tatar; tw:twi:Twi; ty:tah:Tahitian; ug:uig:Uyghur; "
    "uk:ukr:Ukrainian; ur:urd:Urdu; uz:uzb,uzn:Uzbek; ve:ven:Venda; vi:vie:Vietnamese; vo:vol:Volapük; "
    "wa:wln:Walloon; wo:wol:Wolof; xh:xho:Xhosa; yi:yid,ji,ydd:Yiddish; yo:yor:Yoruba; za:zha:Zhuang; "
    "zh:zho,chi,cmn:Chinese; zu:zul:Zulu"
)
_ENTRIES = [entry.split(":") for entry in _TABLE.split("; ")]
CODES = frozenset(code for code, _, _ in _ENTRIES)
_SHORT = {other: code for code, others, _ in _ENTRIES for other in (code, *others.split(","))}
_NAMES = {name.lower(): code for code, _, name in _ENTRIES}
# A code, perhaps with a script, a region or variants: zh-Hans, pt_BR, es-419, ca-valencia
_TAG = re.compile(r"([a-z]{2,3})(?:[-_](?:[a-z]{4}|[a-z]{2}|\d{3}|[a-z\d]{5,8}))*", re.IGNORECASE)


def short_code(tag: str) -> str | None:
    """The code of ISO 639-1 that a code of ISO 639, or a tag of BCP 47 with a script or a region, stands for.

    >>> [short_code(tag) for tag in ("deu", "en-US", "zh_Hans", "cmn", "pt_br", "EN", "English", "tlh")]
    ['de', 'en', 'zh', 'zh', 'pt', 'en', None, None]
    """
    match = _TAG.fullmatch(tag)
    return _SHORT.get(match[1].lower()) if match else None


def code_of_name(text: str) -> str | None:
    """The code of ISO 639-1 of the language that somebody named in English, perhaps with a slip.

    >>> code_of_name("English"), code_of_name("germna"), code_of_name("xx")
    ('en', 'de', None)
    """
    matches = difflib.get_close_matches(text.lower(), _NAMES, n=1, cutoff=0.8)
    return _NAMES[matches[0]] if matches else None
