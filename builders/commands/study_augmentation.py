r"""Does augmentation help a task? Train its classifier with and without, over sizes and seeds, and test the difference.

    parabank study --train train.csv --test test.csv --columns text --label label \
        --output_dir build/study

The arms are "none", "paraphrased" (`toolkit.augment`) and "oversampled", the control: as many rows, but no new text.
The answer, with p-values that are corrected for the number of comparisons, goes to study.txt, learning curves go to
curves.png. Run the same command again after an interruption: finished trainings are kept.
"""

from __future__ import annotations

from toolkit.study.study_settings import StudyFile
from toolkit.system.command import run_script

PROGRAM = "parabank study"


def main(arguments: list[str]) -> int:
    """Parse the command line, study; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", StudyFile, _work, arguments, resumes=True)


def _work(settings: StudyFile) -> None:
    """Study, and print the answer."""
    from toolkit.study.study_file import study_file

    print(study_file(settings))
