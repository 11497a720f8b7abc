r"""Train a translator from a bitext.

    parabank train translator --bitext deu-eng.tsv.gz --source_lang de --lang en \
        --output_dir build/de-en

For the other direction of the same file: `--source_column 1 --reference_column 0 --source_lang en --lang de`. For the
translators of ParaBank 2: `--size parabank2-generation` and `--size parabank2-scoring`. `--synthetic` adds pairs of
parabank backtranslate, and `--base_model` begins with a trained translator. `--processes N` starts N processes on this
machine, one for each GPU. Run the same command again after an interruption: it continues from the last checkpoint. The
model is in OUTPUT_DIR/model.
"""

from __future__ import annotations

from toolkit.system.command import run_script
from toolkit.translator.settings import TrainingSettings

PROGRAM = "parabank train translator"


def main(arguments: list[str]) -> int:
    """Parse the command line, train; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", TrainingSettings, _work, arguments, resumes=True)


def _work(settings: TrainingSettings) -> None:
    """Train, and print how to load the translator and how good it is."""
    from toolkit.run.workspace import outcome_lines
    from toolkit.system.processes import processes
    from toolkit.train.translator import train

    folder = train(settings)
    if processes().is_main_process:
        print(
            f"{folder / 'model'}: load it with --forward or --backward of parabank build",
            *outcome_lines(folder / "model"),
            sep="\n",
        )
