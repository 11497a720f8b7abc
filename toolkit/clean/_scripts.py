"""The scripts that languages are written in."""

from __future__ import annotations

import re

# The blocks of a script as the inside of a regular expression's brackets.
BLOCKS = {
    "Latin": "A-Za-zªºÀ-ÖØ-öø-ʯ\u1e00-\u1effﬀ-ﬆＡ-Ｚａ-ｚ",
    "Cyrillic": "\u0400-\u052f\u1c80-\u1c8f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "Hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "Han": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "Kana": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "Devanagari": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Gurmukhi": "\u0a00-\u0a7f",
    "Gujarati": "\u0a80-\u0aff",
    "Tamil": "\u0b80-\u0bff",
    "Telugu": "\u0c00-\u0c7f",
    "Kannada": "\u0c80-\u0cff",
    "Malayalam": "\u0d00-\u0d7f",
    "Sinhala": "\u0d80-\u0dff",
    "Thai": "\u0e00-\u0e7f",
    "Lao": "\u0e80-\u0eff",
    "Burmese": "\u1000-\u109f",
    "Georgian": "\u10a0-\u10ff\u1c90-\u1cbf",
    "Ethiopic": "\u1200-\u139f",
    "Khmer": "\u1780-\u17ff",
    "Armenian": "\u0530-\u058f",
}
LANGUAGES = {
    ("Latin",): "af ca cs cy da de en eo es et eu fi fo fr ga gd gl hr hu id is it lb lt lv mi ms mt nb nl nn no pl pt "
    "ro sk sl so sq sv sw tl tr vi xh yo zu",
    ("Latin", "Cyrillic"): "az bs sr uz",
    ("Cyrillic",): "be bg kk ky mk mn ru tg uk",
    ("Arabic",): "ar fa ps ur",
    ("Hebrew",): "he yi",
    ("Devanagari",): "hi mr ne sa",
    ("Ethiopic",): "am",
    ("Bengali",): "bn",
    ("Greek",): "el",
    ("Gujarati",): "gu",
    ("Armenian",): "hy",
    ("Han", "Kana"): "ja",
    ("Georgian",): "ka",
    ("Khmer",): "km",
    ("Kannada",): "kn",
    ("Hangul",): "ko",
    ("Lao",): "lo",
    ("Malayalam",): "ml",
    ("Burmese",): "my",
    ("Gurmukhi",): "pa",
    ("Sinhala",): "si",
    ("Tamil",): "ta",
    ("Telugu",): "te",
    ("Thai",): "th",
    ("Han",): "zh",
}
SCRIPTS = {lang: scripts for scripts, langs in LANGUAGES.items() for lang in langs.split()}
OWN_LETTERS = {lang: re.compile(f"[{''.join(BLOCKS[s] for s in scripts)}]+") for lang, scripts in SCRIPTS.items()}
OTHER_LETTERS = {
    lang: re.compile(rf"[^\W\d_{''.join(BLOCKS[s] for s in scripts)}]+") for lang, scripts in SCRIPTS.items()
}


def in_latin_script(lang: str) -> bool:
    """Whether a language is written in the Latin script, alone or beside another."""
    return "Latin" in SCRIPTS.get(lang, ())
