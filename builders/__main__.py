r"""Build a parabank from a bitext, or from running text.

    python -m builders parabank2 --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --backward starter/en-de --output_dir DIR
    python -m builders parabank2 --text BOOKS --lang en --pivot starter/en-pt starter/pt-en --output_dir DIR
    python -m builders paranmt --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --semantic_model ENCODER --output_dir DIR
    python -m builders parabank --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --idf starter/de-en --output_dir DIR
    python -m builders parazh --bitext FILE --source_lang en --lang zh \
        --forward MODEL --backward MODEL --output_dir DIR
    python -m builders paranet --text BOOKS --lang en \
        --infiller starter/infiller --fluency_model starter/infiller --output_dir DIR
    python -m builders demo

--processes N starts N processes on this machine, each with a GPU of its own or all on the CPUs. On several machines, or
under Slurm, use `accelerate launch -m builders ...` or `torchrun -m builders ...`, or `--engine ray` with a cluster of
Ray. After an interruption, run the same command again: it keeps the finished shards and makes the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import toolkit
from builders import demo, parabank, parabank2, paranet, paranmt, parazh
from toolkit.run.shard_runs import shards_done
from toolkit.system.command import run_command
from toolkit.system.errors import without_secrets
from toolkit.system.settings import parse_settings, printable

BUILDERS: dict[str, tuple[type[Any], Callable[[Any], dict]]] = {
    "parabank2": (parabank2.ParaBank2Run, parabank2.build),
    "parabank": (parabank.ParaBankRun, parabank.build),
    "paranmt": (paranmt.ParaNMTRun, paranmt.build),
    "parazh": (parazh.ParaZhRun, parazh.build),
    "paranet": (paranet.ParaNetRun, paranet.build),
}
OF_TEXT: dict[str, type[Any]] = {"parabank2": parabank2.ParaBank2TextRun}  # with --text instead of --bitext
PROGRAM = "builders"


def main(arguments: list[str], program: str = PROGRAM, command: str = "python -m builders") -> int:
    """Parse the command line, build a parabank, and print an error as one line.

    Args:
        arguments: The name of a builder and its flags, or "demo" and the flags of the demo.
        program: The program's name at the beginning of an error line.
        command: The command that the help shows before a builder's name.

    Returns:
        The exit status.
    """
    name = arguments[0] if arguments else "none"
    if name == "demo":
        return demo.main(arguments[1:], f"{program} demo")
    if name == "--version":
        print(f"parabank-toolkit {toolkit.__version__}")
        return 0
    if name in ("-h", "--help"):
        help_commands = "\n".join(f"    {command} {builder} --help" for builder in (*BUILDERS, "demo"))
        text = f"{(__doc__ or '').replace('python -m builders', command)}\nEvery setting of a builder:\n{help_commands}"
        print(printable(text, sys.stdout))
        return 0
    if name not in BUILDERS:
        names = ", ".join((*BUILDERS, "demo"))
        print(f"{program}: wanted one of {names}, got {name}: see {command} --help", file=sys.stderr)
        return 2
    settings_of, build = BUILDERS[name]
    if any(argument.split("=")[0] == "--text" for argument in arguments):
        settings_of = OF_TEXT.get(name, settings_of)
    settings = parse_settings(settings_of, arguments[1:], __doc__ or "", f"{program} {name}")

    def work() -> None:
        if figures := build(settings):
            total = figures["total"]
            print(
                f"{without_secrets(settings.output_dir)}: {total['pairs']:,} pairs of {total['kept']:,} references, in "
                f"the splits {', '.join(figures['splits'])}; README.md in it says what was refused and why"
            )

    done = partial(shards_done, settings.shards_dir)
    return run_command(program, work, resumes=True, processes=settings.processes, done=done)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
