"""The name of a paraphraser: a model, two translators ("starter/en-pt > starter/pt-en"), or what is installed."""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.models.coverage import covers
from toolkit.starters import model_name, packaged
from toolkit.system.errors import check_several

BEST = "best"  # the translators of `PIVOT` where they are installed, else the starter
STARTER = "starter/paraphraser"  # what a training begins with, too, unless it is told otherwise
PIVOT = ("starter/en-pt", "starter/pt-en")  # real translators, of the package that the extra [pt] installs
ENCODER, CRITIC = "starter/encoder", "starter/rewriter"  # give the cosine, and read candidates for the judge
THEN = " > "  # between two translators


def models_of(name: str, lang: str | None = None) -> list[str]:
    """The models of a paraphraser: one that reads and writes a language, or two translators, there and back.

    >>> models_of("firefox/en-de > firefox/de-en")
    ['firefox/en-de', 'firefox/de-en']

    Args:
        name: "best", a model (starter/NAME, a Hub id or a folder), or two of them with " > " between.
        lang: Of the texts (ISO 639-1), for "best"; None is English.

    Raises:
        ValueError: There are more than two, or one has no name.
    """
    name = model_name(name)
    if name == BEST:
        installed = lang in (None, "en") and all(packaged(translator.removeprefix("starter/")) for translator in PIVOT)
        return list(PIVOT) if installed else [STARTER]
    models = name.split(THEN)
    if len(models) > 2 or not all(model.strip() for model in models):
        raise ValueError(f"wanted a model, or two translators as 'THERE > BACK', got {name!r}")
    return [model.strip() for model in models]


def installed_critic() -> str | None:
    """The language model that reads candidates and adds its own, where the package of its weights is installed."""
    return CRITIC if packaged("smollm2") else None


def encoder_for(lang: str, encoder: str | None = None) -> str | None:
    """The sentence encoder that measures meaning: the one given, else the starter where it knows the language.

    >>> encoder_for("en"), encoder_for("de"), encoder_for("de", "sentence-transformers/LaBSE")
    ('starter/encoder', None, 'sentence-transformers/LaBSE')

    Args:
        lang: Of the texts (ISO 639-1).
        encoder: starter/encoder, a Hub id or a folder.
    """
    return encoder if encoder is not None or not covers(ENCODER, lang) else ENCODER


def pivot_name(pivot: Sequence[str]) -> str:
    """The name of two translators.

    >>> pivot_name(("starter/en-pt", "starter/pt-en"))
    'starter/en-pt > starter/pt-en'

    Raises:
        ValueError: They are not two.
    """
    check_several(pivot, "two translators as pivot")
    if len(pivot) != 2:
        raise ValueError(f"wanted two translators as pivot, there and back, got {len(pivot)}: {', '.join(pivot)}")
    return THEN.join(pivot)
