r"""Train an infiller on running text: a T5 model that writes the words between the keywords of a sentence (ParaNet).

    parabank train infiller --text novels/ --output_dir build/infiller
    accelerate launch scripts/train_infiller.py --text books/ --base_model google-t5/t5-base \
        --learning_rate 1e-3 --output_dir build/t5-infiller

Unless --base_model names a T5-type checkpoint, the model is new and small. `--sentences` adds files of single
sentences. Run the same command again after an interruption: it continues from the last checkpoint.
"""

from __future__ import annotations

from toolkit.system.command import run_script
from toolkit.train.infiller_settings import InfillerTraining

PROGRAM = "parabank train infiller"


def main(arguments: list[str]) -> int:
    """Parse the command line, train; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", InfillerTraining, _work, arguments, resumes=True)


def _work(settings: InfillerTraining) -> None:
    """Train, and print where the infiller is and how good it is."""
    from toolkit.run.workspace import outcome_lines
    from toolkit.system.processes import processes
    from toolkit.train.infiller import train

    folder = train(settings)
    if processes().is_main_process:
        print(f"{folder}: an infiller; README.md in it says how it reads and writes", *outcome_lines(folder), sep="\n")
