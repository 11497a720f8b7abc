"""What `import toolkit` offers, and `python -m builders`."""

import subprocess
import sys
import tomllib

import pytest

import toolkit
from builders.commands import run_demo
from builders.commands.build_parabank import BUILDERS, main
from tests.tiny import ENVIRONMENT, ROOT


def test_every_public_name_is_there_and_documented():
    assert toolkit.__all__ == list(toolkit.PUBLIC) == dir(toolkit)
    for name in toolkit.__all__:
        item = getattr(toolkit, name)
        assert item.__doc__ and item.__name__ == name
        assert item.__annotations__, f"{name} has no types"
    with pytest.raises(AttributeError, match="module 'toolkit' has no attribute 'nothing'; it has ConstraintSet"):
        _ = toolkit.nothing


def test_the_package_alone_brings_nothing_slow():
    code = "import sys, toolkit; print([name for name in ('torch', 'datasets', 'pyarrow') if name in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True)
    assert process.stdout == "[]\n", process.stderr


def test_there_is_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "toolkit/version.py"}
    assert (ROOT / "toolkit" / "py.typed").exists()


def test_the_builders_are_a_module_too(capsys):
    command = [sys.executable, "-m", "builders", "build", "--help"]
    process = subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0 and all(f"parabank build {name} --help" in process.stdout for name in BUILDERS)
    assert main(["nothing"]) == 2
    error = "parabank build: wanted one of parabank2, parabank, paranmt, parazh, paranet, got nothing: see "
    assert capsys.readouterr().err == f"{error}parabank build --help\n"
    with pytest.raises(SystemExit) as exit_error:
        main(["paranmt", "--bitext", "a.tsv"])
    assert exit_error.value.code == 2
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .startswith("parabank build paranmt: error: wanted --lang, --output_dir")
    )
    assert run_demo.main(["--output_dir", "README.md/new"]) == 1
    assert "parabank demo: " in (message := capsys.readouterr().err) and message.count("\n") == 1
