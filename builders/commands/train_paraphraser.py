r"""Train a paraphraser on parabanks: a new model, or any seq2seq model of the Hub, whole or by LoRA.

    parabank train paraphraser --pairs build/parabank2 --output_dir build/paraphraser
    parabank train paraphraser --pairs build/parabank2 --size starter --output_dir build/new-paraphraser
    parabank train paraphraser --pairs build/parabank2 --base_model google-t5/t5-base --lora \
        --prefix "paraphrase: " --output_dir build/t5-paraphraser
    accelerate launch scripts/train_paraphraser.py --preset paramod \
        --pairs build/paranet --output_dir build/paramod

`--direction to_reference` reads the machine's paraphrases and says the people's references (ParaZh). The presets hold
what the papers say. In English the training goes on from starter/paraphraser unless --base_model or --size is given.
Held-out iBLEU is measured at every checkpoint, the best one is saved, and `--patience N` ends the training when N in a
row are no better. The last lines say how good the result is beside its base model and a copy of the text.
`--processes N` starts N processes on this machine. Run the same command again after an interruption: it continues from
the last checkpoint.
"""

from __future__ import annotations

from toolkit.paraphraser.settings import PRESETS, ParaphraserTraining
from toolkit.system.command import run_script

PROGRAM = "parabank train paraphraser"


def main(arguments: list[str]) -> int:
    """Parse the command line, train; print an error as one line."""
    return run_script(PROGRAM, __doc__ or "", ParaphraserTraining, _work, arguments, resumes=True, presets=PRESETS)


def _work(settings: ParaphraserTraining) -> None:
    """Train, and print how to load the paraphraser and how good it is."""
    from toolkit.run.workspace import outcome_lines
    from toolkit.system.processes import processes
    from toolkit.train.paraphraser import train

    folder = train(settings)
    if processes().is_main_process:
        print(f"{folder}: load it with toolkit.Paraphraser({str(folder)!r})", *outcome_lines(folder), sep="\n")
