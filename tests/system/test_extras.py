"""What an extra brings is asked for in one line that says how to install it."""

import sys
import tomllib

import pytest

from tests.tiny import ROOT
from toolkit.evaluate.trees import _read_tree, _tree_edit_distance
from toolkit.system.command import run_command
from toolkit.system.extras import EXTRAS, require


def test_every_package_is_in_its_extra_and_not_in_the_base():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for package, extra in EXTRAS.items():
        name = package.replace("_", "-")
        assert any(line.startswith(name) for line in project["optional-dependencies"][extra])
        assert not any(line.startswith(name) for line in project["dependencies"])
        assert f",{extra}," in project["optional-dependencies"]["all"][0].replace("[", ",").replace("]", ",")


@pytest.mark.parametrize("package", EXTRAS)
def test_a_missing_package_is_one_line(package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    assert run_command("parabank test", lambda: require(package)) == 1
    remedy = f"pip install '.[{EXTRAS[package]}]' in the checkout"
    assert capsys.readouterr().err == f"parabank test: wanted the package {package}, got none: {remedy}\n"


def test_another_missing_package_is_a_fault_of_ours(monkeypatch):
    def work() -> None:
        raise ModuleNotFoundError("No module named 'torhc'", name="torhc")

    with pytest.raises(ModuleNotFoundError, match="torhc"):
        run_command("parabank test", work)


def test_a_part_says_what_it_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "apted", None)
    with pytest.raises(ModuleNotFoundError, match=r"wanted the package apted, got none: pip install '.\[evaluate\]'"):
        _tree_edit_distance(_read_tree("(S (NP a))"), _read_tree("(S (VP b))"))
