"""What documents, help and errors tell people to install works on a machine that has only the checkout."""

import re
import tomllib

import pytest

from tests.tiny import ROOT

EXTRA = re.compile(r"pip install ['\"]?\.\[([\w,-]+)\]")
OLD = re.compile(r"parabank-toolkit\[")
TEXTS = [
    path
    for folder in ("toolkit", "builders", "scripts", "cards", "docs", "research")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md", ".html", ".yaml", ".txt", ".js", ".sh") and path.stat().st_size < 1_000_000
] + [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile"]


@pytest.fixture(scope="module")
def texts():
    return {path: path.read_text(encoding="utf-8") for path in TEXTS}


def test_nothing_is_installed_by_a_name_that_no_index_has(texts):
    assert [str(path.relative_to(ROOT)) for path, text in texts.items() if OLD.search(text)] == []


def test_every_extra_that_is_named_exists(texts):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {name for text in texts.values() for match in EXTRA.findall(text) for name in match.split(",")}
    assert {"ray", "s3", "server", "language"} <= names <= set(extras)
