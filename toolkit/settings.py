"""A frozen dataclass is the flags, the YAML file and the record of a run: one definition, one documentation.

The help of a flag is its line in the dataclass's `Attributes` section.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

import yaml

import toolkit
from toolkit.contents import CONTENT
from toolkit.shards import read_record, write_whole

T = TypeVar("T")
SEEDS = 2**32  # numpy's generators take a seed below
SETTINGS = "settings.json"  # of a folder of ours: what the run or the training in it began with
DTYPES = ("auto", "bfloat16", "float32", "int8")  # of a translator that is loaded
MOST_THREADS = 1024  # ours: more than any machine has cores; a hundred thousand end the process


def parse_settings(cls: type[T], arguments: Sequence[str] | None, description: str, program: str | None = None) -> T:
    """Settings from flags, and from a YAML file given as `--config`; a flag beats the file.

    Args:
        cls: A dataclass with fields of type str, int, float, bool, `X | None` or list[str].
        arguments: The command line; `sys.argv` if None.
        description: What stands above the help.
        program: The command's name in the help.

    Raises:
        SystemExit: A flag or a key is unknown, a value has the wrong type, or a field without default is missing; the
            message says which, and what was wanted.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        usage="%(prog)s [--config FILE] [--KNOB VALUE ...], knobs as --help lists them",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with any of these settings; flags beat it")
    help_of, hints = attribute_help(cls), typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    for field in fields:
        add_flag(parser, field, hints[field.name], help_of[field.name])
    given = vars(parser.parse_args(arguments))
    config = given.pop("config")
    try:
        values = (read_yaml(Path(config), hints) if config else {}) | given
    except (OSError, ValueError) as error:
        parser.error(str(error))
    missing = [f"--{f.name}" for f in fields if f.name not in values and required(f)]
    if missing:
        parser.error(f"wanted {', '.join(missing)}; give it as a flag or in the --config file")
    try:
        return cls(**{name: expanded(value) for name, value in values.items()})
    except ValueError as error:
        parser.error(str(error))


def check_at_least_one(settings: object, *names: str) -> None:
    """Refuse settings below 1.

    Raises:
        ValueError: One of these is; the message names it.
    """
    for name in names:
        if getattr(settings, name) < 1:
            raise ValueError(f"wanted {name} of at least 1, got {getattr(settings, name)}")


def check_at_most(name: str, number: int, most: int) -> None:
    """Refuse a setting that no machine has room for.

    Raises:
        ValueError: The number is greater; the message names it.
    """
    if number > most:
        raise ValueError(f"wanted {name} of at most {most:,}, got {number:,}")


def check_between(settings: object, lowest: float, highest: float, *names: str) -> None:
    """Refuse settings outside of a range, its ends included.

    Raises:
        ValueError: One of these is; the message names it.
    """
    for name in names:
        if not lowest <= getattr(settings, name) <= highest:  # so that NaN is refused
            raise ValueError(f"wanted {name} in [{lowest:g}, {highest:g}], got {getattr(settings, name)}")


def check_above_zero(settings: object, *names: str) -> None:
    """Refuse settings that are not above 0, or not finite.

    Raises:
        ValueError: One of these is; the message names it.
    """
    for name in names:
        if not 0 < getattr(settings, name) < math.inf:
            raise ValueError(f"wanted {name} above 0, got {getattr(settings, name)}")


def check_machine(settings: object) -> None:
    """Refuse a seed that not all generators take, and threads or processes that no machine has.

    Raises:
        ValueError: One of these is; the message names it.
    """
    for name, lowest, highest in (("seed", 0, SEEDS - 1), ("threads", 1, MOST_THREADS), ("processes", 1, MOST_THREADS)):
        number = getattr(settings, name, lowest)
        if not lowest <= number <= highest:
            raise ValueError(f"wanted {name} from {lowest} to {highest}, got {number}")


def check_among(settings: object, name: str, possible: Sequence[str]) -> None:
    """Refuse a setting that is none of the words it can be.

    Raises:
        ValueError: It is another; the message names it.
    """
    if getattr(settings, name) not in possible:
        raise ValueError(f"wanted {name} of {', '.join(possible)}, got {getattr(settings, name)!r}")


def check_record(file: Path, wanted: dict, free: Set[str]) -> None:
    """Write the settings of a run beside it, or refuse to go on with one that began with others.

    Args:
        file: The run's record.
        wanted: The settings of this call; the version of the toolkit goes with them.
        free: Names of those that may change from call to call.

    Raises:
        ValueError: Others changed; the message names them. Or the record is damaged.
    """
    compare_record(file, wanted, free)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(recorded(wanted), indent=1))


def compare_record(file: Path, wanted: dict, free: Set[str]) -> None:
    """Refuse settings that differ from those of a run's record; without a record there is nothing to refuse.

    Raises:
        ValueError: As `check_record`.
    """
    if not file.exists():
        return
    found = read_record(file)
    now = recorded(wanted)
    changed = [key for key in now if key.removeprefix(CONTENT) not in free and now[key] != found.get(key)]
    if changed:
        was = ", ".join(f"{key} was {found.get(key)!r}, now {now[key]!r}" for key in changed)
        raise ValueError(
            f"{file.parent} holds a run with other settings: {was}; take them back or choose another --output_dir"
        )


def recorded(settings: dict) -> dict:
    """Settings as JSON gives them back, with the version of the toolkit, by which it knows its own folders."""
    return json.loads(json.dumps({"toolkit": toolkit.__version__} | settings))


def required(field: dataclasses.Field) -> bool:
    """Whether a field has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def add_flag(parser: argparse.ArgumentParser, field: dataclasses.Field, hint: Any, text: str) -> None:
    """One field as a flag; a flag that is not given leaves no trace, so that the file or the default holds."""
    if required(field):
        default = "required"
    elif field.default_factory is dataclasses.MISSING:
        default = f"default {field.default}"
    else:
        default = f"default {field.default_factory()}"
    kind: dict[str, Any] = {"type": base_type(hint)}
    if base_type(hint) is bool:
        kind = {"action": argparse.BooleanOptionalAction}
    elif typing.get_origin(hint) is list:
        kind = {"type": str, "nargs": "+"}
    text = f"{text} ({default})".replace("%", "%%")
    parser.add_argument(f"--{field.name}", default=argparse.SUPPRESS, help=text, **kind)


def base_type(hint: Any) -> Any:
    """The scalar type of a hint: `int` of `int | None`."""
    if isinstance(hint, types.UnionType):
        return next(a for a in typing.get_args(hint) if a is not type(None))
    return hint


def read_yaml(path: Path, hints: dict[str, Any]) -> dict[str, Any]:
    """The settings of a YAML file.

    Raises:
        ValueError: It is no mapping, or has a key or a type that the dataclass does not know.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: wanted YAML, got {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: wanted a mapping of settings, got {type(found).__name__}")
    unknown = sorted(map(str, set(found) - set(hints)))
    if unknown:
        raise ValueError(f"{path}: unknown key {', '.join(unknown)}; known are {', '.join(hints)}")
    found = {key: as_number(value) if base_type(hints[key]) is float else value for key, value in found.items()}
    for key, value in found.items():
        if not fits(value, hints[key]):
            wanted = getattr(hints[key], "__name__", None) or str(hints[key])
            raise ValueError(f"{path}: wanted {key} as {wanted}, got {value!r}")
    return found


def as_number(value: Any) -> Any:
    """A YAML value of a field that is a float: 1 and the text 1e-3, which YAML takes for no number, become floats.

    >>> as_number("1e-3"), as_number(1), as_number("half"), as_number(True)
    (0.001, 1.0, 'half', True)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def expanded(value: Any) -> Any:
    """A text setting, or each of a list, with "~/" as the home folder, which no shell has seen in a YAML file.

    >>> expanded(["a.tsv", 3]), expanded("~/a.tsv") == str(Path.home() / "a.tsv")
    (['a.tsv', 3], True)
    """
    if isinstance(value, list):
        return [expanded(item) for item in value]
    return str(Path(value).expanduser()) if isinstance(value, str) and value.startswith("~/") else value


def fits(value: Any, hint: Any) -> bool:
    """Whether a YAML value has the type of a field; a whole number fits a float."""
    if isinstance(hint, types.UnionType):
        return value is None or fits(value, base_type(hint))
    if typing.get_origin(hint) is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def attribute_help(cls: type) -> dict[str, str]:
    """The line of each field in the `Attributes` sections of a dataclass and its bases, on one line each."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        for name, text in re.findall(r"^    (\w+): (.*(?:\n        .*)*)", section, flags=re.MULTILINE):
            found[name] = " ".join(text.split())
    return found
