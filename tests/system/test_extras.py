"""What an extra brings is asked for in one line that says how to install it."""

import os
import subprocess
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
        name = {"sklearn": "scikit-learn"}.get(package, package.replace("_", "-"))
        assert any(line.startswith(name) for line in project["optional-dependencies"][extra])
        assert not any(line.startswith(name) for line in project["dependencies"])
        assert f",{extra}," in project["optional-dependencies"]["all"][0].replace("[", ",").replace("]", ",")


def test_the_base_is_small():
    assert len(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]) <= 25


@pytest.mark.slow
def test_the_base_builds_loads_paraphrases_and_augments(tmp_path):
    """Without a package of an extra, except a model's parts."""
    code = f"""
import sys
sys.modules |= dict.fromkeys({sorted(EXTRAS)!r})  # as if none were installed
import toolkit
from builders.command_line import main
from datasets import Dataset, load_dataset
from pathlib import Path
main(["--help"])  # reads all commands
Path("bitext.tsv").write_text("Wir gehen nach Hause.\\tWe are going home.\\n" * 2)
flags = "--bitext bitext.tsv --source_lang de --lang en --preset starter --processes 1 --output_dir built".split()
assert main(["build", "paranmt", *flags]) == 0
assert sum(load_dataset("built").num_rows.values())
paraphraser = toolkit.Paraphraser("starter/paraphraser")
assert paraphraser.encoder is not None and len(paraphraser.paraphrase(["We are going home."])) == 1
data = Dataset.from_dict({{"text": ["She gave up smoking last year.", "We went to the cinema."], "label": [0, 1]}})
assert len(toolkit.augment(data, columns="text", paraphraser=paraphraser)) >= 2
try:
    toolkit.load_encoder("starter/encoder")
except ModuleNotFoundError as error:
    print(error)
"""
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_DATASETS_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith(
        "wanted the package sentence_transformers, got none: pip install '.[train]' in the checkout\n"
    )


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
