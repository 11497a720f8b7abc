"""What a paraphraser is measured against: the input itself, and translation there and back."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.decode.beam import beam_search
from toolkit.decode.engine import engine_of
from toolkit.generate.constrain import batches
from toolkit.generate.merge import max_output_tokens
from toolkit.translator.load import Translator

BEAM, BATCH_ROWS = 12, 1200  # ParaNMT-50M, section 3: beam size 12; ours: 100 searches at a time


def round_trip(texts: Sequence[str], there: Translator, back: Translator, n: int = 1) -> list[list[str]]:
    """Each text translated into another language and back, as ParaNMT-50M translates its bitext's other side.

    Args:
        texts: Texts in a language.
        there: Translates it into another; the best translation is taken.
        back: Translates back; its n best are taken.
        n: How many.

    Returns:
        For each text at most n distinct texts, best first; none where a translation is too long or empty.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 3.
    """
    foreign = [found[0] if found else "" for found in beam(texts, there, 1)]
    return beam(foreign, back, n)


def beam(texts: Sequence[str], translator: Translator, n: int) -> list[list[str]]:
    """The n best translations of each text; none of an empty text, or of one that is longer than the model reads."""
    engine = engine_of(translator.model)
    sources = translator.source.encode(texts)
    order = [i for i in range(len(texts)) if texts[i].strip() and len(sources[i]) <= engine.limit]
    order.sort(key=lambda i: (len(sources[i]), i))
    found: list[list[str]] = [[] for _ in texts]
    for batch in batches(order, dict.fromkeys(order, 1), BEAM, BATCH_ROWS):
        limits = [max_output_tokens(len(sources[i])) for i in batch]
        hypotheses = beam_search(engine, [sources[i] for i in batch], BEAM, limits, n)
        for i, some in zip(batch, hypotheses, strict=True):
            said = translator.target.decode([one.ids for one in some])
            found[i] = [text for text in dict.fromkeys(said) if text]
    return found
