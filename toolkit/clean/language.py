"""Which texts are in another language than they should be, by heliport, which is offline and installed on request.

It is right in nearly all sentences of thirty letters and more, and often wrong in shorter ones. It takes about ten
microseconds for a text, and nearly a gigabyte in every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from toolkit.bitext.languages import LABELS
from toolkit.system.extras import require

UNSURE = ("und", "undhtml", "zxx")  # heliport's labels for text that it cannot tell, for markup, and for no language
# ours: languages that it confuses also in long sentences; of ja and zh only text without kana, `min_script_share` tells
NEAR = ("no nb nn da", "bs hr sr sh", "id ms", "zh ja", "cs sk", "gl pt", "ru uk be bg mk")


def _check_identifier(*langs: str) -> None:
    """Refuse to identify languages where heliport is not installed, or does not know one of them.

    Raises:
        ModuleNotFoundError: It is not installed.
        ValueError: It does not know one.
    """
    require("heliport")
    for lang in langs:
        if lang not in LABELS:
            raise ValueError(f"wanted languages that heliport knows, got {lang!r}: leave --identify_from out")


def _in_other_language(texts: Sequence[str], lang: str) -> np.ndarray:
    """Whether each text is surely in another language, and in none that is much like its own: (N,) of bool.

    Args:
        texts: Of thirty letters or more; of shorter ones the identifier is rarely sure.
        lang: Their language (ISO 639-1), one of `LABELS`.
    """
    accepted_labels, identify = _accepted_labels(lang), _identifier().identify
    return np.array([identify(text) not in accepted_labels for text in texts], bool)


@cache
def _accepted_labels(lang: str) -> frozenset[str]:
    """The labels with which a text of a language passes."""
    codes = {lang, *(code for group in NEAR for code in group.split() if lang in group.split())}
    return frozenset(UNSURE).union(*(LABELS[code] for code in codes))


@cache
def _identifier() -> Any:
    """The identifier; it takes two seconds to load."""
    return require("heliport").Identifier()
