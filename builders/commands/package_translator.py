r"""Measure a trained translator on a held-out bitext and save it in float16 with its card.

    parabank package translator --model build/de-en/model --bitext deu-eng.test.tsv.gz \
        --source_lang de --lang en --license cc-by-2.0 \
        --text "Tatoeba (CC BY 2.0 FR), by manythings.org/anki and tatoeba.org" --output_dir DIR

`parabank publish model` takes the folder that it makes.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolkit.bitext.languages import Language
from toolkit.system.command import run_script
from toolkit.system.ranges import Settings

PROGRAM = "parabank package translator"


@dataclass(frozen=True)
class _PackageSettings(Settings):
    """The settings of the package.

    Attributes:
        model: Folder of the trained model.
        bitext: Held-out bitext for BLEU; the model must not have been trained on it.
        source_lang: Language of the source (ISO 639-1).
        lang: Language of the translation (ISO 639-1).
        output_dir: Folder of the packaged model.
        license: Licence of the model, as the Hub names it.
        text: Description of the training text, with the attribution that its licence requires.
        source_column: Column of the source.
        reference_column: Column of the reference.
        check_language: Refuse a bitext if one side is not in the language that the settings name.
    """

    model: str
    bitext: list[str]
    source_lang: Language
    lang: Language
    output_dir: str
    license: str
    text: str
    source_column: str | None = None
    reference_column: str | None = None
    check_language: bool = True


def main(arguments: list[str]) -> int:
    """Parse the command line, measure and package; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", _PackageSettings, _work, arguments)


def _work(s: _PackageSettings) -> None:
    """Package the translator, and print its BLEU."""
    from toolkit.publish.translator import package_translator

    columns, langs = (s.source_column, s.reference_column), (s.source_lang, s.lang)
    card = s.output_dir, s.license, s.text
    record = package_translator(s.model, s.bitext, *columns, *langs, *card, check_language=s.check_language)
    print(f"{s.output_dir}: BLEU {record['bleu']} on {record['pairs']} pairs ({record['signature']})")
