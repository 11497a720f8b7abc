"""Settings as frozen dataclasses: their fields are the flags, the keys of the YAML file and the record of a run.

The help of a flag is the line of its field in the `Attributes` section of the dataclass.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
import json
import os
import re
import sys
import typing
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import IO, Any, TypeVar

import yaml

from toolkit.system.code_version import CODE, check_code, code_version
from toolkit.system.contents import CONTENT
from toolkit.system.errors import one_line, public_record
from toolkit.system.extras import require
from toolkit.system.ranges import Marker, Range, _markers_of
from toolkit.system.whole_files import read_record, write_whole
from toolkit.version import VERSION

T = TypeVar("T")
SETTINGS = "settings.json"  # the record of the settings with which the run or the training in a folder began
OPEN = {"batch_rows", "batch_tokens"}  # settings that, where they are None, are chosen when a run begins, and recorded
REQUIRED, OWN = "required", "settings"  # groups of the help: the others are named by the dataclasses that many share


class Parser(argparse.ArgumentParser):
    """A parser whose help can be printed where the terminal lacks a letter of it."""

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a help text or an error; argparse calls it for both."""
        if message and file is not None:
            file.write(printable(message, file))

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a command line; or complete it, if a shell asks for that."""
        if "_ARGCOMPLETE" in os.environ:
            require("argcomplete").autocomplete(self)
        return super().parse_args(args, namespace)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a command line, where `--source-lang` is `--source_lang`, and name the flag that is meant."""
        arguments = list(map(self._known, sys.argv[1:] if args is None else args))
        options, unknown = super().parse_known_args(arguments, namespace)
        for name in (argument.partition("=")[0] for argument in unknown if argument.startswith("--")):
            if near := difflib.get_close_matches(name, self._option_string_actions, n=1, cutoff=0.7):
                self.error(f"unrecognized arguments: {' '.join(unknown)}: did you mean {near[0]}?")
        return options, unknown

    def _known(self, argument: str) -> str:
        """An argument; if it is a flag of this parser but for hyphens for underscores, that flag, with its value."""
        if not argument.startswith("--"):
            return argument
        name, equals, value = argument.partition("=")
        spellings = name, f"--{name[2:].replace('-', '_')}", f"--no-{name[5:].replace('-', '_')}"
        known = next((spelling for spelling in spellings if spelling in self._option_string_actions), name)
        return known + equals + value


def printable(text: str, file: IO[str]) -> str:
    """A text in which "?" stands for every character that the encoding of an output file lacks.

    >>> import io
    >>> printable("Café", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    'Caf?'
    """
    encoding = getattr(file, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def parse_settings(
    cls: type[T],
    arguments: Sequence[str] | None,
    description: str,
    program: str | None = None,
    presets: Path | None = None,
    positional: str | None = None,
) -> T:
    """Read settings from flags, the YAML file of `--config`, and a preset: each overrides those after it.

    Args:
        cls: A dataclass with fields of type str, int, float, bool, `X | None` or list[str], also `Annotated`.
        arguments: The command line; `sys.argv` if None.
        description: The text above the flags in the help.
        program: The command's name in the help.
        presets: A folder with the settings that `--preset NAME` stands for, as NAME.yaml.
        positional: A field without default that is given without its flag, first.

    Raises:
        SystemExit: A flag or a key is unknown, a value has the wrong type, or a field without default is missing; the
            message names the flag or key and what it must be.
    """
    parser = Parser(
        prog=program,
        usage=f"%(prog)s {f'{positional.upper()} ' if positional else ''}[--config FILE] [--FLAG VALUE ...]; "
        "--help lists the flags",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with any of these settings; flags override it")
    if presets is not None and (names := sorted(path.stem for path in presets.glob("*.yaml"))):
        parser.add_argument("--preset", choices=names, help="settings that go together; others override them")
    types, marked = typing.get_type_hints(cls), typing.get_type_hints(cls, include_extras=True)
    groups, help_texts = _grouped_fields(cls), attribute_help(cls)
    fields = [field for group_fields in groups.values() for field in group_fields]
    hints = {field.name: types[field.name] for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for title, group_fields in groups.items():
        group = parser.add_argument_group(title)
        for field in group_fields:
            if field.name == positional:
                text = help_texts[field.name]
                group.add_argument(
                    positional, metavar=positional.upper(), nargs="?", default=argparse.SUPPRESS, help=text
                )
                continue
            _add_flag(group, field, hints[field.name], _markers_of(marked[field.name]), help_texts[field.name])
    flag_values = vars(parser.parse_args(arguments))
    config, preset = flag_values.pop("config"), flag_values.pop("preset", None)
    files = [presets / f"{preset}.yaml"] if presets is not None and preset else []
    try:
        values: dict[str, Any] = {}
        for file in [*files, *([Path(config)] if config else [])]:
            values |= _read_yaml(file, hints)
        values |= flag_values
    except (OSError, ValueError) as error:
        parser.error(one_line(error))
    missing = [
        f.name.upper() if f.name == positional else f"--{f.name}"
        for f in fields
        if f.name not in values and required(f)
    ]
    if missing:
        parser.error(f"wanted {', '.join(missing)}; give it as a flag or in the --config file")
    if empty := [f"--{f.name}" for f in fields if _is_empty(values.get(f.name)) and f.default != ""]:
        parser.error(f"wanted a value of {', '.join(empty)}, got an empty text: is a variable of the shell unset?")
    try:
        return cls(**{name: _expand_home(value) for name, value in values.items()})
    except ValueError as error:
        parser.error(one_line(error))


def check_record(file: Path, settings: dict, free: Set[str], is_finished: bool = False) -> None:
    """Write the record of a run, or refuse to continue a run that began with other settings or other code.

    Args:
        file: The record of the run.
        settings: The settings of this call; the version of the toolkit is added to them.
        free: Names of the settings that may differ from call to call.
        is_finished: Whether nothing is left to make, so that other code changes nothing.

    Raises:
        ValueError: Another setting or the code differs (the message names it), or the record is damaged.
    """
    compare_record(file, settings, free, is_finished)
    code = read_record(file).get(CODE, {}) if file.exists() else code_version()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(_recorded(settings) | {CODE: code}, indent=1))


def compare_record(file: Path, settings: dict, free: Set[str], is_finished: bool = False) -> None:
    """Refuse settings or code that differ from the record of a run; do nothing if there is no record.

    Raises:
        ValueError: As `check_record`.
    """
    if not file.exists():
        return
    compare_settings(read_record(file), settings, free, str(file.parent))
    compare_code(file, is_finished)


def compare_code(file: Path, is_finished: bool = False) -> None:
    """Refuse code that differs from that of a run's record; every process of a launch calls it.

    Args:
        file: The record.
        is_finished: Whether nothing is left to make, so that other code changes nothing.

    Raises:
        ValueError: It differs; the message says what and what to do.
    """
    if not is_finished:
        check_code(read_record(file).get(CODE, {}), f"the run in {file.parent}")


def compare_settings(record: dict, settings: dict, free: Set[str], location: str) -> None:
    """Refuse settings that differ from those that a run has recorded.

    Args:
        record: The record of the run.
        settings: The settings of this call; batch sizes that are None will be those of the record.
        free: Names of the settings that may differ from call to call.
        location: The folder of the run or its URL, for the message.

    Raises:
        ValueError: Another setting differs; the message names it.
    """
    current = _recorded(settings)
    record = public_record(record)
    compared = [
        key for key in current if key.removeprefix(CONTENT) not in free and not (key in OPEN and current[key] is None)
    ]
    changed = [key for key in compared if current[key] != record.get(key)]
    if changed:
        differences = ", ".join(f"{key} was {record.get(key)!r}, now {current[key]!r}" for key in changed)
        raise ValueError(
            f"{location} holds a run with other settings: {differences}; take them back or choose another output"
        )


def _recorded(settings: dict) -> dict:
    """Settings after a round trip through JSON, with the key "toolkit" that marks a folder of the toolkit.

    Passwords in URLs are left out, so that a run may go on with another password.
    """
    return public_record(json.loads(json.dumps({"toolkit": VERSION} | settings)))


def required(field: dataclasses.Field) -> bool:
    """Whether a field has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _grouped_fields(cls: type) -> dict[str, list[dataclasses.Field]]:
    """The fields of a dataclass in groups by title, in the order of the help.

    The fields without a default come first, then those of dataclasses without a `GROUP` of their own, then those of
    the dataclasses with one, the nearest first. A field belongs to the last dataclass that declares it.
    """
    declaring = {name: base for base in reversed(cls.__mro__) for name in inspect.get_annotations(base)}
    titles = [REQUIRED, OWN, *(vars(base).get("GROUP", OWN) for base in cls.__mro__)]
    groups: dict[str, list[dataclasses.Field]] = {title: [] for title in titles}
    for field in dataclasses.fields(cls):
        groups[REQUIRED if required(field) else vars(declaring[field.name]).get("GROUP", OWN)].append(field)
    return {title: fields for title, fields in groups.items() if fields}


def _add_flag(
    group: argparse._ArgumentGroup, field: dataclasses.Field, hint: Any, markers: Iterable[Marker], text: str
) -> None:
    """Add the flag of a field; its help has a range of the field alone, unless the text names it already.

    The result has no value for a flag that is not given: the file or the default counts.
    """
    if required(field):
        note_of_default = ["required"]
    else:
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        spelled = " ".join(default) if isinstance(default, list) else default
        note_of_default = [] if spelled == "" else [f"default {spelled}"]
    options: dict[str, Any] = {"type": base_type(hint)}
    if base_type(hint) is bool:
        options = {"action": argparse.BooleanOptionalAction}
    elif typing.get_origin(hint) is list:
        options = {"type": str, "nargs": "+"}
    ranges = [str(marker) for marker in markers if isinstance(marker, Range) and not marker.shown]
    notes = [*(note for note in ranges if note not in text), *note_of_default]
    text = f"{text} ({'; '.join(notes)})" if notes else text
    group.add_argument(f"--{field.name}", default=argparse.SUPPRESS, help=text.replace("%", "%%"), **options)


def base_type(hint: Any) -> Any:
    """The type of a hint without None: `int` for `int | None`."""
    return next(a for a in typing.get_args(hint) if a is not type(None)) if _may_be_none(hint) else hint


def _may_be_none(hint: Any) -> bool:
    """Whether None fits a hint."""
    return type(None) in typing.get_args(hint)


def _read_yaml(path: Path, hints: dict[str, Any]) -> dict[str, Any]:
    """The settings of a YAML file.

    Raises:
        ValueError: The file is no mapping, has an unknown key, or a value has the wrong type.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: wanted YAML, got {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: wanted a mapping of settings, got {type(values).__name__}")
    unknown = sorted(map(str, set(values) - set(hints)))
    if unknown:
        raise ValueError(f"{path}: unknown key {', '.join(unknown)}; known are {', '.join(hints)}")
    values = {key: _as_number(value) if base_type(hints[key]) is float else value for key, value in values.items()}
    for key, value in values.items():
        if not _fits(value, hints[key]):
            type_name = base_type(hints[key]).__name__ + " | None" * _may_be_none(hints[key])
            raise ValueError(f"{path}: wanted {key} as {type_name}, got {value!r}")
    return values


def _as_number(value: Any) -> Any:
    """The YAML value of a float field as a float; other values stay as they are. YAML reads 1 as int and 1e-3 as text.

    >>> _as_number("1e-3"), _as_number(1), _as_number("half"), _as_number(True)
    (0.001, 1.0, 'half', True)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _is_empty(value: Any) -> bool:
    """Whether a value is a text without a letter, or a list with one.

    >>> _is_empty(["a.tsv", ""]), _is_empty([]), _is_empty(0)
    (True, False, False)
    """
    return any(map(_is_empty, value)) if isinstance(value, list) else isinstance(value, str) and not value.strip()


def _expand_home(value: Any) -> Any:
    """Expand a leading "~/" to the home folder in a text or in each item of a list, as a shell would.

    >>> _expand_home(["a.tsv", 3]), _expand_home("~/a.tsv") == str(Path.home() / "a.tsv")
    (['a.tsv', 3], True)
    """
    if isinstance(value, list):
        return [_expand_home(item) for item in value]
    return str(Path(value).expanduser()) if isinstance(value, str) and value.startswith("~/") else value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a YAML value has the type of a field; an int is accepted for a float."""
    if _may_be_none(hint):
        return value is None or _fits(value, base_type(hint))
    if typing.get_origin(hint) is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def attribute_help(cls: type) -> dict[str, str]:
    """The help of each field, on one line: its text in the `Attributes` sections of a dataclass and its bases."""
    help_texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        for name, text in re.findall(r"^    (\w+): (.*(?:\n        .*)*)", section, flags=re.MULTILINE):
            help_texts[name] = " ".join(text.split())
    return help_texts
