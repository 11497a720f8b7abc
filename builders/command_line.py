"""`parabank`: build corpora of paraphrases, filter, measure and publish them, and train models and augment data.

    parabank demo
    parabank build parabank2 --help

A command is one or two words and its flags. `accelerate launch` and `torchrun` start the scripts of a checkout, which
are the same commands; a command whose work processes do not share refuses several.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from toolkit.system.settings import Parser, printable
from toolkit.version import VERSION

PROGRAM = "parabank"
# The words of a command, and the module of `builders.commands` that does it.
COMMANDS = {
    "demo": "run_demo",
    "build": "build_parabank",
    "fetch opus": "fetch_opus",
    "clean": "clean_bitext",
    "filter bitext": "filter_bitext",
    "filter parabank": "filter_parabank",
    "report": "report_parabank",
    "train encoder": "train_encoder",
    "train static_encoder": "train_static_encoder",
    "train transformer_encoder": "train_transformer_encoder",
    "train paraphraser": "train_paraphraser",
    "train translator": "train_translator",
    "train infiller": "train_infiller",
    "train pair_classifier": "train_pair_classifier",
    "train judgment": "train_judgment",
    "augment": "augment_dataset",
    "study": "study_augmentation",
    "paraphrase": "paraphrase_document",
    "rewrite": "rewrite_text",
    "backtranslate": "backtranslate_text",
    "evaluate parabank": "evaluate_parabank",
    "evaluate encoder": "evaluate_encoder",
    "evaluate paraphraser": "evaluate_paraphraser",
    "annotate": "annotate",
    "extract lexicon": "extract_lexicon",
    "count idf": "count_idf",
    "mine negatives": "mine_negatives",
    "package encoder": "package_encoder",
    "package paraphraser": "package_paraphraser",
    "package translator": "package_translator",
    "publish parabank": "publish_parabank",
    "publish model": "publish_model",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; print an error as one line.

    Args:
        arguments: The words of a command and its flags; `sys.argv` if None.

    Returns:
        The exit status.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    completing = "_ARGCOMPLETE" in os.environ  # a shell asks for the rest of its line
    words = os.environ.get("COMP_LINE", "").split()[1:] if completing else arguments
    name = next((name for name in (" ".join(words[:2]), " ".join(words[:1])) if name in COMMANDS), None)
    if name is None:
        if completing:
            _parser_of_words().parse_args([])
        return _without_command(arguments)
    count = len(name.split())
    if completing:
        arguments = words[: count + (name == "build")]  # a builder has flags of its own
        os.environ["_ARGCOMPLETE"] = str(1 + len(arguments))
    return import_module(f"builders.commands.{COMMANDS[name]}").main(arguments[count:])


def _without_command(arguments: list[str]) -> int:
    """Answer --version, --help, or words that are no command."""
    if arguments[:1] == ["--version"]:
        print(f"parabank-toolkit {VERSION}")
        return 0
    if not arguments or arguments[0] in ("-h", "--help"):
        print(printable(f"{__doc__}\n{_summary(list(COMMANDS))}", sys.stdout))
        return 0
    word, *rest = arguments
    words = _words()
    known_names, unknown_name, command = list(words), word, PROGRAM
    if word in words:
        if rest[:1] in ([], ["-h"], ["--help"]):
            print(printable(_summary([f"{word} {second}" for second in words[word]]), sys.stdout))
            return 0
        known_names, unknown_name, command = words[word], rest[0], f"{PROGRAM} {word}"
    print(
        f"{command}: wanted one of {', '.join(known_names)}, got {unknown_name}: see {command} --help", file=sys.stderr
    )
    return 2


def _words() -> dict[str, list[str]]:
    """The first words of the commands, each with its second words; none where the first word is a command."""
    words: dict[str, list[str]] = {}
    for first, *second in map(str.split, COMMANDS):
        words.setdefault(first, []).extend(second)
    return words


def _parser_of_words() -> Parser:
    """A parser that knows the words of the commands, for a shell that completes them."""
    parser = Parser(prog=PROGRAM)
    first_words = parser.add_subparsers()
    for first, seconds in _words().items():
        command = first_words.add_parser(first)
        if seconds:
            second_words = command.add_subparsers()
            for second in seconds:
                second_words.add_parser(second)
    return parser


def _summary(commands: Sequence[str]) -> str:
    """What some commands do, a line each."""
    width = max(map(len, commands))
    lines = [f"    {name:{width}}  {_first_line(COMMANDS[name])}" for name in commands]
    return "\n".join(lines) + f"\n\n`{PROGRAM} COMMAND --help` lists the flags of a command."


def _first_line(module: str) -> str:
    """What a command does, in one line."""
    return (import_module(f"builders.commands.{module}").__doc__ or "").splitlines()[0]
