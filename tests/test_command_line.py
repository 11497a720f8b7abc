"""`parabank`: every command is found by its words, answers --help, and a shell completes words and flags."""

import subprocess

import pytest

from builders.command_line import COMMANDS, main
from tests.tiny import ENVIRONMENT, PYTHON, ROOT
from toolkit.version import VERSION


def test_every_script_is_a_command():
    assert {path.stem for path in (ROOT / "scripts").glob("*.py")} == set(COMMANDS.values())


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_found_by_its_words_and_has_help(words, capsys):
    try:
        assert main([*words.split(), "--help"]) == 0
    except SystemExit as ended:
        assert ended.code == 0
    assert f"parabank {words}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_without_a_command_all_are_listed(arguments, capsys):
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert all(f"    {words} " in output for words in COMMANDS)


def test_a_first_word_alone_lists_its_commands(capsys):
    assert main(["train"]) == 0
    output = capsys.readouterr().out
    assert "train encoder" in output and "evaluate encoder" not in output


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["trian", "encoder"], "parabank: wanted one of demo, build, fetch, clean, filter, report, train, "),
        (["train", "encodr"], "parabank train: wanted one of encoder, static_encoder, transformer_encoder, "),
        (
            ["build", "parabank3"],
            "parabank build: wanted one of parabank2, parabank, paranmt, parazh, paranet, got ",
        ),
    ],
)
def test_an_unknown_word_is_one_line(arguments, error, capsys):
    assert main(arguments) == 2
    line = capsys.readouterr().err
    assert line.startswith(error) and line.count("\n") == 1 and "--help" in line


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"parabank-toolkit {VERSION}\n"


def test_hyphens_in_flags_are_underscores(tmp_path, capsys):
    assert main(["build", "parabank2", "--bitext", "my-file.tsv", "--source-lang=de", "--lang", "en",
                 "--preset", "starter", "--output-dir", str(tmp_path / "a-b")]) == 1  # fmt: skip
    assert "got my-file.tsv" in capsys.readouterr().err


def test_an_unknown_flag_is_named_as_it_was_given(capsys):
    with pytest.raises(SystemExit):
        main(["train", "encoder", "--pears", "x"])
    assert "unrecognized arguments: --pears x" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "ending"),
    [
        ("augment --data x.csv --copy 2", "--copy 2: did you mean --copies?"),
        ("train encoder --output-dirs=x", "--output-dirs=x: did you mean --output_dir?"),
        ("annotate make parabank x --output y --sed 3", "--sed 3: did you mean --seed?"),
        ("evaluate encoder --encoders x --zebra 3", "--zebra 3"),
    ],
)
def test_an_unknown_flag_is_answered_with_the_one_that_it_is_near(line, ending, capsys):
    with pytest.raises(SystemExit):
        main(line.split())
    assert capsys.readouterr().err.endswith(f"unrecognized arguments: {ending}\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("parabank tra", {"train"}),
        ("parabank train trans", {"transformer_encoder", "translator"}),
        ("parabank train encoder --pair", {"--pairs"}),
        ("parabank build parabank2 --source_l", {"--source_lang"}),
    ],
)
def test_a_shell_completes(line, completions, tmp_path):
    code = "import sys; from builders.command_line import main; sys.exit(main())"
    variables = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    environment = ENVIRONMENT | variables | {"_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "completed")}
    subprocess.run([PYTHON, "-c", code], env=environment, cwd=ROOT, timeout=60)
    assert set((tmp_path / "completed").read_text().split()) == completions
