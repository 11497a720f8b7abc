"""The files of an evaluation: inputs with human paraphrases, and the outputs of other systems."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from toolkit.bitext.text_file import text_lines
from toolkit.evaluate.paraphraser import Paraphrased
from toolkit.package.read import read_references


def read_test(source: str, references: int = 1, limit: int | None = None) -> list[Paraphrased]:
    """Read inputs with human paraphrases, without outputs.

    Args:
        source: `toolkit.package.read.FORMS`: references are the inputs, and their paraphrases the references.
        references: Of each input; inputs with fewer are left out.
        limit: The most inputs that are read.

    Raises:
        ValueError: The source has another form, or no input has so many references.
        FileNotFoundError: There is no such source.
    """
    rows = (row for row in read_references(source) if len(row.candidates) >= references)
    test = [
        Paraphrased(row.reference, tuple(candidate.text for candidate in row.candidates[:references]), ())
        for row in islice(rows, limit)
    ]
    if not test:
        raise ValueError(f"wanted inputs with {references} human paraphrases each, got none in {source}")
    return test


def read_outputs(path: Path, inputs: int) -> list[list[str]]:
    """Read the outputs of another system: a line for each input, outputs between tabs.

    Raises:
        ValueError: The file is not there, is not UTF-8, or has another number of lines.
    """
    if not path.is_file():
        raise ValueError(f"wanted a file of outputs, got {path}, which is none; give NAME=FILE")
    outputs = [[part.strip() for part in text.split("\t") if part.strip()] for text in text_lines(str(path))]
    if len(outputs) != inputs:
        raise ValueError(f"wanted a line of outputs for each of {inputs} inputs, got {len(outputs)} lines in {path}")
    return outputs
