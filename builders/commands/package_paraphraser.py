r"""Measure a trained paraphraser on inputs with human paraphrases and save it in float16 with its card.

    parabank package paraphraser --model build/paraphraser --test TEST.tsv --license cc-by-2.0 \
        --text "Tatoeba (CC BY 2.0 FR), by manythings.org/anki and tatoeba.org" --output_dir DIR

`parabank publish model` takes the folder that it makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolkit.system.command import run_script
from toolkit.system.ranges import Range, Settings

PROGRAM = "parabank package paraphraser"
RoundTrip = Annotated[
    list[str], Range("two translators, there and back, or none", lambda models: len(models) in (0, 2), show=len)
]


@dataclass(frozen=True)
class _PackageSettings(Settings):
    """The settings of the package.

    Attributes:
        model: Folder of the trained model.
        test: Inputs with human paraphrases; the model must not have been trained on them.
        output_dir: Folder of the packaged model.
        license: Licence of the model, as the Hub names it.
        text: Description of the training text, with the attribution that its licence requires.
        translators: Two translators, into another language and back, for a baseline in the table.
        limit: The most inputs that are measured; by default all.
    """

    model: str
    test: str
    output_dir: str
    license: str
    text: str
    translators: RoundTrip = field(default_factory=list)
    limit: int | None = None


def main(arguments: list[str]) -> int:
    """Parse the command line, measure and package; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", _PackageSettings, _work, arguments)


def _work(s: _PackageSettings) -> None:
    """Package the paraphraser, and print its iBLEU."""
    from toolkit.publish.paraphraser import package_paraphraser

    record = package_paraphraser(s.model, s.test, s.output_dir, s.license, s.text, s.translators, s.limit)
    first, best = (record["figures"]["this paraphraser"][name]["ibleu"] for name in ("first", "best"))
    print(f"{s.output_dir}: iBLEU {first:.2f}, best of five {best:.2f}, on {record['inputs']} inputs")
