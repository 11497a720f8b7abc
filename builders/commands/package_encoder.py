r"""Package a trained encoder for publication: small weights, measured tables, a card.

    parabank package encoder --model build/word-trigram --data DIR --lang en --license cc-by-2.0 \
        --text "..." --output_dir build/my-encoder

DIR holds the evaluation sets in the layout that parabank evaluate encoder --help describes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from toolkit.bitext.languages import Language
from toolkit.system.command import run_script
from toolkit.system.ranges import Settings

PROGRAM = "parabank package encoder"


@dataclass(frozen=True, kw_only=True)
class _PackageSettings(Settings):
    """The settings of the package.

    Attributes:
        model: Folder of the trained encoder.
        data: Folder of the evaluation sets; without it nothing is measured, and the card says so.
        lang: Language of the sentences (ISO 639-1).
        license: Licence of the model, as the Hub names it.
        text: Description of the training text, with the attribution that its licence requires.
        output_dir: Folder of the packaged encoder.
        tasks: Tasks to measure among "sts", "benchmark", "sick", "chinese" and "transfer".
        dtype: What the tables of words and trigrams are stored in: "float16", or "float8", which takes half the bytes.
    """

    model: str
    lang: Language
    license: str
    text: str
    output_dir: str
    data: str | None = None
    tasks: list[str] = field(default_factory=lambda: ["sts", "benchmark", "sick"])
    dtype: str = "float16"


def main(arguments: list[str]) -> int:
    """Parse the command line, measure and package; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", _PackageSettings, _work, arguments)


def _work(s: _PackageSettings) -> None:
    """Package the encoder, and print the figures."""
    from toolkit.publish.encoder import package_encoder

    record = package_encoder(s.model, s.data, s.tasks, s.output_dir, s.lang, s.license, s.text, s.dtype)
    figures = record["evaluation"]["figures"]
    scores = ", ".join(f"{name} {figure['value']:.1f}" for name, figure in figures.items() if "Spearman" not in name)
    print(f"{s.output_dir}, {record['megabytes']} MB: {scores or 'not measured, for want of --data'}")
