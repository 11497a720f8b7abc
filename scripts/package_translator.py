r"""Measure a trained translator on a held-out bitext and save it in float16 with its card.

python scripts/package_translator.py --model build/de-en/model --bitext deu-eng.test.tsv.gz \
        --source_lang de --lang en --license cc-by-2.0 \
        --text "Tatoeba (CC BY 2.0 FR), by manythings.org/anki and tatoeba.org" --output_dir DIR
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from toolkit.bitext.languages import check_codes
from toolkit.command import run_script

PROGRAM = "package_translator.py"


@dataclass(frozen=True)
class PackageSettings:
    """What is measured on what.

    Attributes:
        model: Folder of the trained model.
        bitext: Held-out bitext that BLEU is measured on; the model must not have seen it.
        source_lang: Language of the source (ISO 639-1).
        lang: Language of the translation.
        output_dir: Where the packaged model goes.
        license: Licence of the model, as the Hub names it.
        text: Text it was trained on, with the attribution that its licence asks for.
        source_column: Column of the source.
        reference_column: Column of the reference.
        check_language: Refuse a bitext of which one side is in another language than said.
    """

    model: str
    bitext: list[str]
    source_lang: str
    lang: str
    output_dir: str
    license: str
    text: str
    source_column: str | None = None
    reference_column: str | None = None
    check_language: bool = True

    def __post_init__(self) -> None:
        """Check the languages.

        Raises:
            ValueError: One is no code of ISO 639-1.
        """
        check_codes(self)


def main(arguments: list[str]) -> int:
    """Parse the command line, measure and package, and say in one line what went wrong."""
    return run_script(PROGRAM, __doc__ or "", PackageSettings, work, arguments)


def work(s: PackageSettings) -> None:
    """Package, and print the BLEU."""
    from toolkit.publish.translator import package_translator

    columns, langs = (s.source_column, s.reference_column), (s.source_lang, s.lang)
    told = s.output_dir, s.license, s.text
    measured = package_translator(s.model, s.bitext, *columns, *langs, *told, check_language=s.check_language)
    print(f"{s.output_dir}: BLEU {measured['bleu']} on {measured['pairs']} pairs ({measured['signature']})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
