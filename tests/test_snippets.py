"""The Python of the README and of docs/ runs as it stands, in a folder where there is a parabank and an encoder."""

import re
import shutil
from pathlib import Path

import pytest

from toolkit.starters import starter

ROOT = Path(__file__).parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if PYTHON.search(page.read_text())
]
# What the commands of the tutorials copy to the reader's folder.
COPIED = ("own_paraphrases.tsv.gz", "evaluation_texts.tsv")
ELSEWHERE = "/path/to/my_parabank"


def test_there_are_pages_with_python():
    stems = {page.stem for page in PAGES}
    assert stems >= {"README", "quickstart", "constraints", "data-format", "encoders"}
    assert stems >= {"corpus-from-a-bitext", "encoder", "augment-a-classifier"}


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
