r"""Build a parabank from a bitext, or from running text.

    parabank build parabank2 --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --backward starter/en-de --output_dir DIR
    parabank build parabank2 --text BOOKS --lang en --pivot starter/en-pt starter/pt-en --output_dir DIR
    parabank build paranmt --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --semantic_model ENCODER --output_dir DIR
    parabank build parabank --bitext FILE --source_lang de --lang en \
        --forward starter/de-en --idf starter/de-en --output_dir DIR
    parabank build parazh --bitext FILE --source_lang en --lang zh \
        --forward MODEL --backward MODEL --output_dir DIR
    parabank build paranet --text BOOKS --lang en \
        --infiller starter/infiller --fluency_model starter/infiller --output_dir DIR

With --text parabank2 has other flags: `parabank build parabank2 --text BOOKS --help` lists them.

--processes N starts N processes on this machine, each with a GPU of its own or all on the CPUs. On several machines, or
under Slurm, use `accelerate launch scripts/build_parabank.py ...` or `torchrun -m builders build ...`, or `--engine
ray` with a cluster of Ray. After an interruption, run the same command again: it keeps the finished shards and makes
the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from builders import parabank, parabank2, paranet, paranmt, parazh
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
PROGRAM = "parabank build"
PRESETS = Path(__file__).parents[1] / "presets"  # a folder for each builder


def main(arguments: list[str]) -> int:
    """Parse the command line, build a parabank, and print an error as one line.

    Args:
        arguments: The name of a builder and its flags.

    Returns:
        The exit status.
    """
    name = arguments[0] if arguments else "none"
    if name in ("-h", "--help"):
        help_commands = "\n".join(f"    {PROGRAM} {builder} --help" for builder in BUILDERS)
        print(printable(f"{__doc__ or ''}\nEvery setting of a builder:\n{help_commands}", sys.stdout))
        return 0
    if name not in BUILDERS:
        print(f"{PROGRAM}: wanted one of {', '.join(BUILDERS)}, got {name}: see {PROGRAM} --help", file=sys.stderr)
        return 2
    settings_class, build = BUILDERS[name]
    if _has_text(arguments):
        settings_class = OF_TEXT.get(name, settings_class)
    settings = parse_settings(settings_class, arguments[1:], __doc__ or "", f"{PROGRAM} {name}", PRESETS / name)

    def work() -> None:
        if figures := build(settings):
            total = figures["total"]
            print(
                f"{without_secrets(settings.output_dir)}: {total['pairs']:,} pairs of {total['kept']:,} references, in "
                f"the splits {', '.join(figures['splits'])}; README.md in it says what was refused and why"
            )

    describe_progress = partial(shards_done, settings.shards_dir)
    return run_command(PROGRAM, work, resumes=True, processes=settings.processes, done=describe_progress)


def _has_text(arguments: list[str]) -> bool:
    """Whether a command, or the file of its --config, has running text and no bitext."""
    flags = [argument.partition("=")[::2] for argument in arguments]
    if any(name == "--text" for name, _ in flags):
        return True
    for (name, value), following in zip(flags, [*arguments[1:], ""], strict=True):
        if name == "--config":
            try:
                config = yaml.safe_load(Path(value or following).expanduser().read_text(encoding="utf-8"))
            except (OSError, ValueError, yaml.YAMLError):
                return False  # what is wrong with the file is said when the settings are read
            return isinstance(config, dict) and "text" in config
    return False
