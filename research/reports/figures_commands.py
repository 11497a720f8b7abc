"""The page of commands, made from the parsers that print `--help`."""

from __future__ import annotations

import argparse
import contextlib
import io
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from unittest.mock import patch

from builders.command_line import COMMANDS, PROGRAM
from research.reports.figures import table

# Commands whose flags are in a table of docs/reference/settings/.
SETTINGS = {
    "build": "builders.md",
    "clean": "bitexts.md#clean",
    "filter bitext": "bitexts.md#filter-bitext",
    "train encoder": "encoders.md#encoders",
    "train static_encoder": "encoders.md#static-encoders",
    "train transformer_encoder": "encoders.md#transformers-as-encoders",
    "train paraphraser": "paraphrasers.md#paraphrasers",
    "train translator": "translators.md#translators",
    "train infiller": "translators.md#infillers",
    "train pair_classifier": "encoders.md#pair-classifiers",
    "augment": "augmentation.md#augmentation",
    "study": "augmentation.md#studies-of-augmentation",
    "backtranslate": "bitexts.md#back-translation",
}


def command_list() -> str:
    """All commands with what they do, in one line each."""
    lines = [[f"[`{PROGRAM} {name}`](#{anchor(name)})", description(name).partition("\n")[0]] for name in COMMANDS]
    return table(["command", "what it does"], lines)


def command_pages() -> str:
    """Every command: what its `--help` says, and a table of its flags or a link to it."""
    return "\n\n".join(command_page(name) for name in COMMANDS)


def anchor(name: str) -> str:
    """What the heading of a command is linked by."""
    return f"{PROGRAM} {name}".replace(" ", "-")


def command_page(name: str) -> str:
    """The section of one command."""
    parts = [f"## {PROGRAM} {name}", as_markdown(description(name))]
    if name in SETTINGS:
        parts.append(f"Flags: [settings](settings/{SETTINGS[name]}).")
    else:
        for program, parser in parsers_of(name):
            parts += [f"Flags of `{program}`:", flags(parser)]
    return "\n\n".join(parts)


def description(name: str) -> str:
    """The text above the flags in the help of a command."""
    return (import_module(f"builders.commands.{COMMANDS[name]}").__doc__ or "").strip()


def as_markdown(text: str) -> str:
    """A help text with its indented commands in fences, and with nothing that Markdown would take for HTML."""
    parts = []
    for part in text.split("\n\n"):
        if all(line.startswith("    ") for line in part.splitlines()):
            parts.append(f"```bash\n{textwrap.dedent(part)}\n```")
        else:
            parts.append(part)
    return "\n\n".join(parts)


def parsers_of(name: str) -> list[tuple[str, argparse.ArgumentParser]]:
    """The parser of a command, or those of its subcommands, each with its name."""
    parser = parser_of(name)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return [(f"{PROGRAM} {name} {word}", sub) for word, sub in leaves(action)]
    return [(f"{PROGRAM} {name}", parser)]


def leaves(action: argparse._SubParsersAction) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parsers of subcommands that have none themselves, with their words."""
    for word, parser in action.choices.items():
        below = [group for group in parser._actions if isinstance(group, argparse._SubParsersAction)]
        if below:
            yield from ((f"{word} {rest}", leaf) for group in below for rest, leaf in leaves(group))
        else:
            yield word, parser


@cache
def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser that a command prints its help with."""
    printed: list[argparse.ArgumentParser] = []
    main = import_module(f"builders.commands.{COMMANDS[name]}").main
    with (
        patch.object(argparse.ArgumentParser, "print_help", lambda self, file=None: printed.append(self)),
        contextlib.suppress(SystemExit),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        main(["--help"])
    if len(printed) != 1:
        raise ValueError(f"wanted one parser of {PROGRAM} {name}, got {len(printed)}: let its main parse --help once")
    return printed[0]


def flags(parser: argparse.ArgumentParser) -> str:
    """The flags of a parser, those that are required first."""
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    actions.sort(key=lambda action: not is_required(action))
    return table(["flag", "value", "meaning"], [flag_row(action) for action in actions])


def is_required(action: argparse.Action) -> bool:
    """Whether a command needs an argument."""
    return action.required or "(required)" in (action.help or "")


def flag_row(action: argparse.Action) -> list[str]:
    """The row of one argument: its names, what it takes, and what it means."""
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        value = ""
    elif action.choices is not None:
        value = ", ".join(f"`{choice}`" for choice in action.choices)
    else:
        dots = "..." if action.nargs in ("+", "*") else ""
        value = f"{action.metavar or action.dest.upper()}{dots}" if action.option_strings else dots
    meaning = (action.help or "") % {"default": action.default, "prog": ""} if action.help else ""
    return [names, value, " ".join(meaning.replace("|", "\\|").split())]


MADE = (command_list, command_pages)
