"""What a paraphraser is measured against: the input itself, and translation there and back."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.bitext.normalize import match_key
from toolkit.generate.rewrite import rewrite
from toolkit.translator.load import Translator

BEAM = 12  # ParaNMT-50M, section 3.1


def round_trip(texts: Sequence[str], there: Translator, back: Translator, n: int = 1) -> list[list[str]]:
    """Each text translated into another language and back, as ParaNMT-50M translates its bitext's other side.

    Args:
        texts: Texts in a language.
        there: Translates it into another; the best translation is taken.
        back: Translates back; its n best are taken, without copies of the text, which a paraphraser never gives either.
        n: How many.

    Returns:
        For each text at most n other texts, best first; none where a translation is too long or empty.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 3.
    """
    foreign = [translations[0] if translations else "" for translations in _beam(texts, there, 1)]
    back_translations = _beam(foreign, back, BEAM)
    keys = [match_key(text) for text in texts]
    return [
        [translation for translation in translations if match_key(translation) != key][:n]
        for translations, key in zip(back_translations, keys, strict=True)
    ]


def _beam(texts: Sequence[str], translator: Translator, n: int) -> list[list[str]]:
    """The n best translations of each text; none of an empty text, or of one that is longer than the model reads."""
    indices = [i for i, text in enumerate(texts) if text.strip()]
    translations: list[list[str]] = [[] for _ in texts]
    rewritten = rewrite([texts[i] for i in indices], translator, beam=BEAM, n_best=n)
    for i, candidates in zip(indices, rewritten, strict=True):
        translations[i] = [candidate.text for candidate in candidates if candidate.text]
    return translations
