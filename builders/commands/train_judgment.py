r"""Fit the regression that `toolkit/score/judgment.json` is, and measure it on held-out references.

    parabank train judgment --judgments DIR [--output FILE] [--encoder MODEL]
    parabank train judgment --judgments DIR --target grammaticality --output FILE

DIR holds ref.tsv.gz and candidates.tsv.gz as ParaBank's authors published them. Grammaticality is measured to show that
these features do not predict it: no file of it ships. What is written is fitted on all references.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from toolkit.encoder.load import load_encoder
from toolkit.evaluate.judgment_fit import (
    SIMILARITY,
    TARGETS,
    cosine_figures,
    fit,
    fit_figures,
    is_regression_record,
    read_judgments,
    regression_record,
)
from toolkit.score.judgment import SHIPPED
from toolkit.system.command import run_script
from toolkit.system.outputs import check_output_file
from toolkit.system.ranges import Settings, one_of
from toolkit.system.whole_files import write_whole

PROGRAM = "parabank train judgment"


@dataclass(frozen=True)
class _JudgmentSettings(Settings):
    """What the regression is fitted on and where it goes.

    Attributes:
        judgments: Folder with ref.tsv.gz and candidates.tsv.gz.
        target: "similarity" to the reference, or "grammaticality", which wants an output.
        output: The file to write; of similarity the one that ships unless given.
        encoder: A sentence encoder, a Hub id or a folder, whose cosine alone is measured beside the regression.
    """

    judgments: str
    target: Annotated[str, one_of(TARGETS)] = SIMILARITY
    output: str | None = None
    encoder: str | None = None

    def __post_init__(self) -> None:
        """Refuse another target for what ships."""
        super().__post_init__()
        if self.output is None and self.target != SIMILARITY:
            raise ValueError(f"wanted --output with --target {self.target}, got none: name a file of its own")


def main(arguments: list[str]) -> int:
    """Parse the command line, fit and measure, and say in one line what went wrong."""
    return run_script(PROGRAM, __doc__ or "", _JudgmentSettings, _train_judgment, arguments)


def _train_judgment(s: _JudgmentSettings) -> None:
    """Measure on held-out references, fit on all, print the figures and write the regression."""
    output = Path(s.output or SHIPPED)
    check_output_file(output, [s.judgments], is_regression_record)
    judged = read_judgments(Path(s.judgments), s.target)
    figures: dict[str, Any] = dict(fit_figures(judged))
    if s.encoder:
        figures |= cosine_figures(judged, load_encoder(s.encoder), s.encoder)
    regression = fit(judged.values, judged.scores, judged.groups)
    print(*(f"{name:32}{figure}" for name, figure in figures.items()), sep="\n")
    write_whole(output, json.dumps(regression_record(regression, figures, s.target), indent=1) + "\n")
