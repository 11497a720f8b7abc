"""Languages of translators: ISO 639-1 codes, the codes of a checkpoint's tokenizer, and the languages it states."""

from __future__ import annotations

import re
import warnings

from transformers import MarianTokenizer, PreTrainedConfig, PreTrainedTokenizerBase

from toolkit.bitext.subwords import LANGUAGE_TOKEN

# NLLB has ISO 639-3 codes with a script, "deu_Latn"; for a macrolanguage, the code of its most written language.
ISO_639_3: dict[str, str] = dict(
    re.findall(
        r"(\w+):(\w+)",
        """
        af:afr ak:aka am:amh ar:arb as:asm ay:ayr az:azj ba:bak be:bel bg:bul bm:bam bn:ben bo:bod bs:bos ca:cat
        cs:ces cy:cym da:dan de:deu dz:dzo ee:ewe el:ell en:eng eo:epo es:spa et:est eu:eus fa:pes ff:fuv fi:fin
        fj:fij fo:fao fr:fra ga:gle gd:gla gl:glg gn:grn gu:guj ha:hau he:heb hi:hin hr:hrv ht:hat hu:hun hy:hye
        id:ind ig:ibo is:isl it:ita ja:jpn jv:jav ka:kat kg:kon ki:kik kk:kaz km:khm kn:kan ko:kor kr:knc ks:kas
        ku:kmr ky:kir lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lv:lvs mg:plt mi:mri mk:mkd ml:mal mn:khk mr:mar
        ms:zsm mt:mlt my:mya nb:nob ne:npi nl:nld nn:nno no:nob ny:nya oc:oci om:gaz or:ory pa:pan pl:pol ps:pbt
        pt:por qu:quy rn:run ro:ron ru:rus rw:kin sa:san sc:srd sd:snd sg:sag si:sin sk:slk sl:slv sm:smo sn:sna
        so:som sq:als sr:srp ss:ssw st:sot su:sun sv:swe sw:swh ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl
        tn:tsn tr:tur ts:tso tt:tat tw:twi ug:uig uk:ukr ur:urd uz:uzn vi:vie wo:wol xh:xho yi:ydd yo:yor zh:zho
        zu:zul
        """,
    )
)
# OPUS-MT has the ISO 639-3 code of the macrolanguage where NLLB has that of a language of it
MACROLANGUAGES: dict[str, str] = dict(
    re.findall(
        r"(\w+):(\w+)",
        """
        ar:ara ay:aym az:aze fa:fas ff:ful gn:grn ku:kur lv:lav mg:mlg mn:mon ms:msa ne:nep no:nor om:orm or:ori ps:pus
        qu:que sq:sqi sw:swa uz:uzb yi:yid zh:cmn
        """,
    )
)
# codes that include others, and older codes
ALSO = {"sh": ("hr", "bs", "sr"), "no": ("nb", "nn"), "iw": ("he",), "in": ("id",), "ji": ("yi",)}
NLLB_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")
TARGET_TAG = re.compile(r"<2[a-z]{2,3}(_\w+)?>")


def _language_codes(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """The language codes of a tokenizer and the ids of their tokens; none for a tokenizer of one language."""
    codes = getattr(tokenizer, "lang_code_to_id", None)  # mBART, mBART-50, M2M100
    if codes:
        return dict(codes)
    vocabulary = tokenizer.get_vocab()
    return {name: vocabulary[name] for name in tokenizer.all_special_tokens if NLLB_CODE.fullmatch(name)}


def _own_code(lang: str, codes: dict[str, int], name: str) -> str:
    """A checkpoint's own code of a language: "de_DE" in mBART, "de" in M2M100, "deu_Latn" in NLLB.

    Where there are several, a code without a script or a region is taken, else the first by name; for Chinese
    simplified characters (zho_Hans).

    Args:
        lang: An ISO 639-1 code, or the checkpoint's own.
        codes: `_language_codes`.
        name: Of the checkpoint, for the error.

    Raises:
        ValueError: The checkpoint does not know the language.
    """
    names = (lang, ISO_639_3.get(lang, lang), MACROLANGUAGES.get(lang, lang))
    matching = [code for code in codes if code == lang or code.strip("_").split("_")[0] in names]
    matching.sort(key=lambda code: (not code.endswith("_Hans"), "_" in code.strip("_"), code))
    if not matching:
        raise ValueError(f"wanted a language that {name!r} knows, got {lang!r}; it knows {', '.join(sorted(codes))}")
    return lang if lang in matching else matching[0]


def _marian_codes(tokenizer: MarianTokenizer) -> dict[str, int]:
    """The target languages among which a token before the source selects, and the ids of these tokens.

    >>> _marian_codes(MarianTokenizer.from_pretrained("Helsinki-NLP/opus-mt-en-ROMANCE"))["fr"]   # doctest: +SKIP
    6
    """
    tokens = {**dict(tokenizer.encoder), **tokenizer.get_added_vocab()}
    matches = {token: LANGUAGE_TOKEN.fullmatch(token) for token in tokens}
    return {match[1]: tokens[token] for token, match in matches.items() if match}


def _marian_language_token(tokenizer: MarianTokenizer, lang: str | None, name: str) -> int | None:
    """The id of the token that selects the target language of a Marian model; None if it has one language only.

    Args:
        tokenizer: Its tokenizer.
        lang: Language that it writes (ISO 639-1), or the model's own code; None where the caller does not say.
        name: Of the checkpoint, for the error.

    Raises:
        ValueError: The model has several languages and none is given, or it has no token of the language.
    """
    codes = _marian_codes(tokenizer)
    if not codes:
        return None
    if lang is None and len(codes) > 1:
        raise ValueError(f"wanted lang for {name!r}, got None: it writes one of {', '.join(sorted(codes))}")
    return codes[_own_code(lang, codes, name) if lang is not None else next(iter(codes))]


def check_stated(
    name: str, model_langs: tuple[str | None, str | None], expected_langs: tuple[str | None, str | None]
) -> None:
    """Compare the languages that a translator states with those that it is to read and to write.

    Only codes of two letters are compared: Marian models also state groups ("ROMANCE", "mul").

    Args:
        name: Name of the translator, for the error.
        model_langs: Source and target language that it states; None where it states none.
        expected_langs: Source and target language that it should have; None where any is accepted.

    Raises:
        ValueError: They differ.
    """
    if all(map(_may_be, model_langs, expected_langs)):
        return
    remedy = "the other direction" if all(map(_may_be, model_langs[::-1], expected_langs)) else "another translator"
    description = " and ".join(
        f"{verb} {lang}" for verb, lang in zip(("reads", "writes"), model_langs, strict=True) if lang
    )
    kind = f"a translator from {expected_langs[0]} to {expected_langs[1]}"
    if expected_langs[0] == expected_langs[1]:
        kind, remedy = f"a model that rewrites {expected_langs[0]}", f"a model for {expected_langs[0]}"
    raise ValueError(f"wanted {kind}, got {name!r}, which {description}: give {remedy}")


def _may_be(model_lang: str | None, expected_lang: str | None) -> bool:
    """Whether a stated language may be the wanted one: equal, unknown, a group, or another code of it."""
    if model_lang is None or expected_lang is None or not re.fullmatch("[a-z]{2}", model_lang):
        return True
    return (
        model_lang == expected_lang
        or expected_lang in ALSO.get(model_lang, ())
        or model_lang in ALSO.get(expected_lang, ())
    )


def _target_tag(tokenizer: PreTrainedTokenizerBase, lang: str | None, name: str) -> str:
    """What a T5 model of many languages (MADLAD-400) reads before a source: "<2de> "; "" of a model without such tags.

    Args:
        tokenizer: Of the checkpoint.
        lang: Language that it writes (ISO 639-1).
        name: Name of the checkpoint, for errors.

    Raises:
        ValueError: The model has such tags, and the language is not given or has none.
    """
    tags = {token for token in tokenizer.get_vocab() if TARGET_TAG.fullmatch(token)}
    if not tags:
        return ""
    if f"<2{lang}>" not in tags:
        raise ValueError(f"wanted lang, one of the {len(tags)} languages that {name!r} has tags for, got {lang}")
    return f"<2{lang}> "


def _task_prefix(config: PreTrainedConfig, source_lang: str | None, lang: str | None, name: str) -> str:
    """The prefix that a T5 checkpoint expects before a source: "translate English to German: ".

    It is the prefix that the checkpoint's configuration has for the two languages. If the configuration only names
    other languages, there is no prefix, and a warning says so: the checkpoint may have been trained further.

    Args:
        config: Configuration of the checkpoint.
        source_lang: Language that it reads.
        lang: Language that it writes.
        name: Name of the checkpoint, for the warning.
    """
    tasks = getattr(config, "task_specific_params", None) or {}
    prefixes = {
        task: parameters["prefix"] for task, parameters in tasks.items() if "prefix" in parameters and "_to_" in task
    }
    if prefixes and source_lang != lang and f"translation_{source_lang}_to_{lang}" not in prefixes:
        known_tasks = ", ".join(prefixes)
        warnings.warn(
            f"{name} names no prefix for {source_lang} to {lang}, only {known_tasks}; it reads texts as they are",
            stacklevel=3,
        )
    return prefixes.get(f"translation_{source_lang}_to_{lang}", "")
