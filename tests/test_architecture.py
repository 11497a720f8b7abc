"""Imports run one way, rooms import only rooms below them, pure modules stay pure, and every name says something."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(p for folder in ("toolkit", "builders", "scripts") for p in (ROOT / folder).rglob("*.py"))
ARCHITECTURE = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
# The rooms of toolkit/, folders and files, from the bottom to the top: each imports only from those before it.
ROOMS = re.findall(r"^ {6}(\w+) ", ARCHITECTURE, re.MULTILINE)[::-1]
PURE = [
    ROOT / "toolkit" / name
    for name in (
        *(f"data/{name}.py" for name in ("rows", "shards", "database")),
        *("system/settings.py", "system/contents.py"),
        *("evaluate/corpus.py", "score/overlap.py"),
        *(f"bitext/{name}.py" for name in ("read", "normalize", "split")),
        *(f"clean/{name}.py" for name in ("rules", "_measures", "corpus", "_duplicates", "clean_file")),
        *(f"select/{name}.py" for name in ("filter", "rank", "cluster", "deciles", "corpus", "pairs", "equal", "best")),
        *(f"package/{n}.py" for n in ("parquet", "statistics", "card", "checksums", "folder", "build")),
        "package/read.py",
        "package/_pair_files.py",
    )
]
HEAVY = {"torch", "transformers", "accelerate", "sentence_transformers"}
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
# Pronouns and participles: a name says what a variable holds, and what a function does or returns.
SAYS_NOTHING = set(
    """
    one ones own mine some others another it its they them those these this that what which both either much few several
    all everything something nothing most least fewest found said made wanted kept given got asked told chosen taken
    held shown seen done meant stated explained lowered written drawn counted returned brought put sent tried worked
    understood named called gone come went passed matched measured started finished trained
    tuned adapted lacking appended joined varied
    """.split()  # noqa: SIM905 - words are read more easily than a list
)
SHADOWS = {"select", "evaluate", "datasets", "tokenizers", "token", "types", "statistics"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, everywhere: bool = True) -> Iterator[str]:
    """The modules that a file imports: anywhere in it, or only when it is itself imported."""
    for node in ast.walk(tree(path)) if everywhere else on_import(tree(path).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def on_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported; those for type checkers do not."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        for name in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from on_import(getattr(node, name, []))


def packages(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def file_of(module: str) -> Path | None:
    """The file of a module of ours, or of the module that a name is imported from."""
    for parts in (module.split("."), module.split(".")[:-1]):
        for path in (ROOT.joinpath(*parts).with_suffix(".py"), ROOT.joinpath(*parts, "__init__.py")):
            if parts and path.is_file():
                return path
    return None


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "toolkit").parts[0].removesuffix(".py")


def brought(path: Path) -> dict[str, Path]:
    """The packages that are loaded with a file, through whatever files of ours, and which of those asks for each."""
    found: dict[str, Path] = {}
    waiting, seen = [path], {path}
    while waiting:
        at = waiting.pop()
        for name in imports(at, everywhere=False):
            found.setdefault(name.split(".")[0], at)
            own = file_of(name) if name.split(".")[0] in ("toolkit", "builders") else None
            if own is not None and own not in seen:
                seen.add(own)
                waiting.append(own)
    return found


def test_the_walk_finds_what_it_looks_for():
    assert len(MODULES) > 30
    assert "torch" in packages(ROOT / "toolkit" / "decode" / "engine.py")
    assert "toolkit" in packages(ROOT / "builders" / "parabank2.py")
    assert "builders" in packages(ROOT / "scripts" / "build_parabank.py")
    assert "torch" in brought(ROOT / "toolkit" / "generate" / "sample.py"), "by way of toolkit/decode"


def test_no_files_import_each_other_in_a_circle():
    graph = {path: {file_of(name) for name in imports(path)} - {None, path} for path in MODULES}
    TopologicalSorter(graph).prepare()  # CycleError names the files


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_run_one_way(path):
    forbidden = {"toolkit": {"builders", "scripts"}, "builders": {"scripts"}, "scripts": {"scripts"}}
    assert not packages(path) & forbidden[path.relative_to(ROOT).parts[0]]
    assert not packages(path) & {"tests", "research"}


def test_every_room_has_its_place():
    found = {room_of(path) for path in MODULES if path.is_relative_to(ROOT / "toolkit")} - {"__init__"}
    assert found == set(ROOMS) and len(ROOMS) == len(found)


@pytest.mark.parametrize("path", [p for p in MODULES if p.is_relative_to(ROOT / "toolkit")], ids=name_of)
def test_a_room_imports_only_rooms_below_it(path):
    """Also in functions: an import that is late is an import."""
    if room_of(path) == "__init__":
        return
    below = ROOMS[: ROOMS.index(room_of(path)) + 1]
    own = [file_of(name) for name in imports(path) if name.startswith("toolkit.")]
    rooms = {room_of(file) for file in own if file is not None and file != ROOT / "toolkit" / "__init__.py"}
    assert rooms <= set(below), f"{name_of(path)} imports {sorted(rooms - set(below))}, which are not below it"


@pytest.mark.parametrize("path", PURE, ids=name_of)
def test_pure_modules_bring_no_torch(path):
    found = brought(path)
    assert not HEAVY & set(found), {name: name_of(found[name]) for name in HEAVY & set(found)}


def test_names_say_something_and_shadow_nothing():
    parts = {part.removesuffix(".py") for path in MODULES for part in path.relative_to(ROOT).parts}
    assert not parts & NO_NAMES
    assert not {path.stem for path in (ROOT / "scripts").glob("*.py")} & SHADOWS


def test_the_surface_is_small():
    """Of the functions and classes of the toolkit, what other files do not use has a name with an underscore."""
    names, lines = [], 0
    for path in MODULES:
        if path.is_relative_to(ROOT / "toolkit"):
            lines += path.read_text(encoding="utf-8").count("\n")
            names += [node.name for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    public = [name for name in names if not name.startswith("_")]
    assert 1 - len(public) / len(names) >= 0.3
    assert 1000 * len(public) / lines <= 28


def names_of_variables_and_functions(path: Path) -> Iterator[str]:
    """The names that a file gives: to variables, parameters and functions."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def test_names_say_what_they_hold():
    names = [name for path in MODULES for name in names_of_variables_and_functions(path)]
    poor = [name for name in names if name.strip("_") in SAYS_NOTHING or name.endswith("_of")]
    assert len(poor) <= 0.01 * len(names), sorted(set(poor))
