"""Flags, YAML and dataclass are one thing; what does not fit is one line with the remedy."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import pytest

from builders.parabank2 import ParaBank2Run
from toolkit.system.ranges import Count, Finite, Range, Settings, Share, at_most
from toolkit.system.settings import _grouped_fields, attribute_help, parse_settings
from toolkit.train.translator import TrainingSettings


@dataclasses.dataclass(frozen=True)
class Knobs:
    """Some knobs.

    Attributes:
        name: A text
            on two lines, 50 % of it here.
        words: Several texts.
        count: A number.
        share: A share.
        cut: A number or none.
        loud: Yes or no.
    """

    name: str
    words: list[str] = dataclasses.field(default_factory=list)
    count: int = 3
    share: float = 0.5
    cut: int | None = None
    loud: bool = False


def parse(*arguments: str) -> Knobs:
    return parse_settings(Knobs, arguments, "Knobs.", "knobs")


def yaml(folder: Path, text: str) -> str:
    (folder / "knobs.yaml").write_text(text, encoding="utf-8")
    return str(folder / "knobs.yaml")


def error_of(capsys: pytest.CaptureFixture, *arguments: str) -> str:
    """The last line on stderr of a command line that is refused."""
    with pytest.raises(SystemExit) as error:
        parse(*arguments)
    assert error.value.code == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_defaults():
    assert parse("--name", "x") == Knobs("x")


def test_flags():
    knobs = parse("--name", "x", "--words", "a", "b", "--count", "7", "--share", "1", "--cut", "2", "--loud")
    assert knobs == Knobs("x", ["a", "b"], 7, 1.0, 2, True)
    assert parse("--name", "x", "--no-loud") == Knobs("x")


def test_yaml(tmp_path):
    file = yaml(tmp_path, "name: x\nwords: [a, b]\ncount: 7\nshare: 1\ncut: 2\nloud: true\n")
    knobs = parse("--config", file)
    assert knobs == Knobs("x", ["a", "b"], 7, 1.0, 2, True)
    assert type(knobs.share) is float
    assert parse("--config", yaml(tmp_path, "name: x\ncut: null")) == Knobs("x")


def test_a_flag_beats_the_file(tmp_path):
    file = yaml(tmp_path, "name: x\ncount: 7\nloud: true\nwords: [a]\n")
    assert parse("--config", file, "--count", "8", "--no-loud", "--words", "b", "c") == Knobs("x", ["b", "c"], 8)
    assert parse("--count", "3", "--config", file).count == 3, "a flag that equals the default beats it too"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\ncuont: 7", "unknown key cuont; known are name, words, count, share, cut, loud"),
        ("name: x\ncount: seven", "wanted count as int, got 'seven'"),
        ("name: x\ncount: 7.5", "wanted count as int, got 7.5"),
        ("name: x\ncount: true", "wanted count as int, got True"),
        ("name: x\ncount: null", "wanted count as int, got None"),
        ("name: x\nshare: half", "wanted share as float, got 'half'"),
        ("name: x\nshare: true", "wanted share as float, got True"),
        ("name: x\ncut: few", "wanted cut as int | None, got 'few'"),
        ("name: x\nloud: 1", "wanted loud as bool, got 1"),
        ("name: ''", "wanted a value of --name, got an empty text"),
        ("name: 5", "wanted name as str, got 5"),
        ("name: x\nwords: a", "wanted words as list"),
        ("name: x\nwords: [1]", "wanted words as list"),
        ("- name", "wanted a mapping of settings, got list"),
        ("", "wanted a mapping of settings, got NoneType"),
        ("name: [x", "wanted YAML, got"),
        ("count: 7", "wanted --name; give it as a flag or in the --config file"),
    ],
)
def test_a_file_that_does_not_fit(tmp_path, capsys, text, message):
    assert message in error_of(capsys, "--config", yaml(tmp_path, text))


def test_a_file_that_is_not_there_or_not_text(tmp_path, capsys):
    assert "lost.yaml" in error_of(capsys, "--config", str(tmp_path / "lost.yaml"))
    (tmp_path / "knobs.yaml").write_bytes(b"name: \xff\xfe")
    assert "wanted YAML" in error_of(capsys, "--config", str(tmp_path / "knobs.yaml"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "wanted --name"),
        (("--name", "x", "--count", "seven"), "--count"),
        (("--name", "x", "--cuont", "7"), "--cuont"),
        (("--name", "x", "--cou", "7"), "--cou"),  # no abbreviations: they break when a flag is added
        (("--name", "x", "--words"), "--words"),
        (("--name", "x", "--loud", "yes"), "yes"),
        (("--name", ""), "wanted a value of --name, got an empty text"),
        (("--name", "x", "--words", "a", " "), "wanted a value of --words, got an empty text"),
    ],
)
def test_flags_that_do_not_fit(capsys, arguments, message):
    assert message in error_of(capsys, *arguments)


def test_help_shows_defaults_and_percent_signs(capsys):
    with pytest.raises(SystemExit):
        parse("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "A text on two lines, 50 % of it here. (required)" in text
    assert "A number. (default 3)" in text and "Several texts. --count" in text, "an empty default is none"


@pytest.mark.parametrize("settings", [ParaBank2Run, TrainingSettings])
def test_every_knob_has_its_line_in_the_help(settings, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit) as error:
        parse_settings(settings, ["--help"], "x")
    assert error.value.code == 0
    text, lines = " ".join(capsys.readouterr().out.split()), attribute_help(settings)
    for field in dataclasses.fields(settings):
        assert f"--{field.name}" in text
        assert len(lines[field.name]) > 5
        assert lines[field.name] in text


def test_a_value_that_a_dataclass_refuses_is_one_line(capsys):
    flags = "--bitext x.tsv --source_lang de --lang en --output_dir out --forward a --backward b --min_chars 0"
    with pytest.raises(SystemExit):
        parse_settings(ParaBank2Run, flags.split(), "x", "knobs")
    assert "min_chars" in capsys.readouterr().err.strip().splitlines()[-1]


def test_the_command_line_is_the_default(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["knobs", "--name", "x"])
    assert parse_settings(Knobs, None, "Knobs.") == Knobs("x")


Lengths = Annotated[
    int, Range("low and high of at least 1", lambda length: length >= 1, ": raise them", ("low", "high"))
]


@dataclasses.dataclass(frozen=True)
class Ranged(Settings):
    """Settings with ranges.

    Attributes:
        count: A number, or none.
        rows: A number.
        share: A share.
        low: A length.
        high: A length.
        words: Several texts.
        least: A number.
    """

    count: Count | None = None
    rows: Annotated[Count, at_most(10_000)] = 1
    share: Share = 0.5
    low: Lengths = 1
    high: Lengths = 2
    words: Annotated[list[str], Range("a word as {}", len, note="words")] = dataclasses.field(
        default_factory=lambda: ["a", "b"]
    )
    least: Finite | None = None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count": 0}, "wanted count of at least 1, got 0"),
        ({"rows": 0}, "wanted rows of at least 1, got 0"),
        ({"rows": 20_000}, "wanted rows of at most 10,000, got 20,000"),
        ({"share": float("nan")}, "wanted share in [0, 1], got nan"),
        ({"high": 0}, "wanted low and high of at least 1, got 1 and 0: raise them"),
        ({"words": []}, "wanted a word as words, got []"),
        ({"words": "ab"}, "wanted a list as words, got a str: put one text in a list"),
    ],
)
def test_a_value_outside_of_the_range_of_its_field(wrong, message):
    with pytest.raises(ValueError) as error:
        Ranged(**wrong)
    assert str(error.value) == message


def test_none_is_refused_where_the_type_has_none_of_it():
    assert Ranged(count=None).count is None
    with pytest.raises(TypeError):
        Ranged(rows=None)


def test_help_and_files_know_ranges(tmp_path, capsys):
    with pytest.raises(SystemExit):
        parse_settings(Ranged, ["--help"], "x")
    text = " ".join(capsys.readouterr().out.split())
    assert "A number. (at least 1; at most 10,000; default 1)" in text and "A length. (default 1)" in text
    assert "Several texts. (words; default a b)" in text and "A number. (finite; default None)" in text
    with pytest.raises(SystemExit):
        parse_settings(Ranged, ["--config", yaml(tmp_path, "count: x")], "x")
    assert "wanted count as int | None, got 'x'" in capsys.readouterr().err


def test_the_help_begins_with_what_is_required_and_the_settings_of_the_method():
    groups = _grouped_fields(ParaBank2Run)
    assert list(groups) == ["required", "settings", "input", "cleaning", "run", "language model",
                            "server of a language model", "Ray"]  # fmt: skip
    assert groups["settings"][0].name == "constraint_sets"
    assert {field.name for field in groups["required"]} == {
        "lang", "output_dir", "bitext", "source_lang", "forward", "backward",
    }  # fmt: skip
    assert sum(map(len, groups.values())) == len(dataclasses.fields(ParaBank2Run))
