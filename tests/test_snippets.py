"""The Python of the README and of docs/ runs as it stands, in a folder where there is a parabank and an encoder.

The quickstart runs in an empty folder, with its command between its Python.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from builders.command_line import main
from toolkit.starters import starter

ROOT = Path(__file__).parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUICKSTART = ROOT / "docs" / "quickstart.md"
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page != QUICKSTART and PYTHON.search(page.read_text())
]
STEP = re.compile(r"^```(python|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What the commands of the tutorials copy to the reader's folder.
COPIED = ("own_paraphrases.tsv.gz", "evaluation_texts.tsv")
ELSEWHERE = "/path/to/my_parabank"


def test_there_are_pages_with_python():
    stems = {page.stem for page in PAGES}
    assert stems >= {"README", "constraints", "data-format", "encoders"}
    assert stems >= {"corpus-from-a-bitext", "encoder", "augment-a-classifier"}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page, demo_parabank, tmp_path, monkeypatch, capsys):
    shutil.copytree(demo_parabank, tmp_path / "my_parabank")
    for name in ("my_encoder", "my_better_encoder", "build/word-trigram"):
        shutil.copytree(starter("encoder"), tmp_path / name)
    for name in COPIED:
        shutil.copy(ROOT / "research" / "experiments" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in PYTHON.findall(page.read_text()):
        exec(compile(code.replace(ELSEWHERE, str(tmp_path / "my_parabank")), page.name, "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    if "sets" in names:  # what each sentence says depends on the processor, that constraints are met does not
        assert len(printed) == len(names["sets"]) > 1 and all(line.endswith(" []") for line in printed)


@pytest.mark.slow
def test_the_quickstart_runs_from_its_beginning_to_its_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    commands = 0
    for language, code in STEP.findall(QUICKSTART.read_text()):
        if language == "python":
            exec(compile(code, QUICKSTART.name, "exec"), names)
        for line in code.replace("\\\n", " ").splitlines() if language == "bash" else ():
            program, *arguments = shlex.split(line)
            if program == "parabank":
                assert main(arguments) == 0
                commands += 1
    assert commands == 1 and (tmp_path / "my_parabank" / "README.md").is_file()
    printed = capsys.readouterr().out
    assert "=>" in printed and len(names["bigger"]) > len(names["train"])
