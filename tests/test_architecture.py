"""Imports run one way, pure modules stay pure, and no file has a name that says nothing or shadows a library."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(p for folder in ("toolkit", "builders", "scripts") for p in (ROOT / folder).rglob("*.py"))
PURE = [
    ROOT / "toolkit" / name
    for name in (
        *("rows.py", "shards.py", "settings.py", "evaluate/corpus.py"),
        *(f"bitext/{name}.py" for name in ("read", "normalize", "clean", "split")),
    )
]
PURE += [*(ROOT / "toolkit" / "select").glob("*.py"), *(ROOT / "toolkit" / "package").glob("*.py")]
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
SHADOWS = {"select", "evaluate", "datasets", "tokenizers", "token", "types", "statistics"}


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports anywhere in it, in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def packages(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_walk_finds_what_it_looks_for():
    assert len(MODULES) > 30
    assert "torch" in packages(ROOT / "toolkit" / "decode" / "engine.py")
    assert "toolkit" in packages(ROOT / "builders" / "parabank2.py")
    assert "builders" in packages(ROOT / "scripts" / "build_parabank.py")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_run_one_way(path):
    forbidden = {"toolkit": {"builders", "scripts"}, "builders": {"scripts"}, "scripts": {"scripts"}}
    assert not packages(path) & forbidden[path.relative_to(ROOT).parts[0]]
    assert not packages(path) & {"tests", "benchmarks"}


@pytest.mark.parametrize("path", PURE, ids=name_of)
def test_pure_modules_do_not_import_torch(path):
    assert not packages(path) & {"torch", "transformers", "accelerate"}


def test_names_say_something_and_shadow_nothing():
    parts = {part.removesuffix(".py") for path in MODULES for part in path.relative_to(ROOT).parts}
    assert not parts & NO_NAMES
    assert not {path.stem for path in (ROOT / "scripts").glob("*.py")} & SHADOWS
