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
RESEARCH = sorted(p for p in (ROOT / "research").rglob("*.py") if not p.is_relative_to(ROOT / "research" / "tests"))
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


def packages_of(path: Path) -> dict[str, Path]:
    """The packages that are loaded with a file, through whatever files of ours, and which of those asks for each."""
    sources: dict[str, Path] = {}
    waiting, files = [path], {path}
    while waiting:
        at = waiting.pop()
        for name in imports(at, everywhere=False):
            sources.setdefault(name.split(".")[0], at)
            file = file_of(name) if name.split(".")[0] in ("toolkit", "builders") else None
            if file is not None and file not in files:
                files.add(file)
                waiting.append(file)
    return sources


def test_the_walk_finds_what_it_looks_for():
    assert len(MODULES) > 30
    assert "torch" in packages(ROOT / "toolkit" / "decode" / "engine.py")
    assert "toolkit" in packages(ROOT / "builders" / "parabank2.py")
    assert "builders" in packages(ROOT / "scripts" / "build_parabank.py")
    assert "torch" in packages_of(ROOT / "toolkit" / "generate" / "sample.py"), "by way of toolkit/decode"


@pytest.mark.slow
def test_no_files_import_each_other_in_a_circle():
    graph = {path: {file_of(name) for name in imports(path)} - {None, path} for path in MODULES}
    TopologicalSorter(graph).prepare()  # CycleError names the files


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_run_one_way(path):
    forbidden = {"toolkit": {"builders", "scripts"}, "builders": {"scripts"}, "scripts": {"scripts"}}
    assert not packages(path) & forbidden[path.relative_to(ROOT).parts[0]]
    assert not packages(path) & {"tests", "research"}


def test_every_room_has_its_place():
    rooms = {room_of(path) for path in MODULES if path.is_relative_to(ROOT / "toolkit")} - {"__init__"}
    assert rooms == set(ROOMS) and len(ROOMS) == len(rooms)


@pytest.mark.parametrize("path", [p for p in MODULES if p.is_relative_to(ROOT / "toolkit")], ids=name_of)
def test_a_room_imports_only_rooms_below_it(path):
    """Also in functions: an import that is late is an import."""
    if room_of(path) == "__init__":
        return
    below = ROOMS[: ROOMS.index(room_of(path)) + 1]
    files = [file_of(name) for name in imports(path) if name.startswith("toolkit.")]
    rooms = {room_of(file) for file in files if file is not None and file != ROOT / "toolkit" / "__init__.py"}
    assert rooms <= set(below), f"{name_of(path)} imports {sorted(rooms - set(below))}, which are not below it"


@pytest.mark.parametrize("path", PURE, ids=name_of)
def test_pure_modules_bring_no_torch(path):
    sources = packages_of(path)
    assert not HEAVY & set(sources), {name: name_of(sources[name]) for name in HEAVY & set(sources)}


def test_names_say_something_and_shadow_nothing():
    parts = {part.removesuffix(".py") for path in MODULES for part in path.relative_to(ROOT).parts}
    assert not parts & NO_NAMES
    assert not {path.stem for path in (ROOT / "scripts").glob("*.py")} & SHADOWS


def is_internal(name: str) -> bool:
    """Whether a module or a name belongs to its room alone; `__init__` and `__main__` do not."""
    return name.startswith("_") and not name.startswith("__")


def foreign_internals(path: Path) -> Iterator[str]:
    """What a file imports, or takes from an imported module, although it belongs to another room of toolkit."""
    own_room = room_of(path) if path.is_relative_to(ROOT / "toolkit") else None
    modules = {}  # the name that a module has in this file: the module
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolkit."):
            for alias in node.names:
                parts = f"{node.module}.{alias.name}".split(".")
                modules[alias.asname or alias.name] = parts
                if parts[1] != own_room and any(map(is_internal, parts)):
                    yield ".".join(parts)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_internal(node.attr):
            parts = modules.get(node.value.id, [])
            if file_of(".".join(parts)) and parts[-1].islower() and parts[1] != own_room:
                yield ".".join((*parts, node.attr))


@pytest.mark.parametrize("path", MODULES + RESEARCH, ids=name_of)
def test_what_a_room_keeps_to_itself_is_used_by_no_other(path):
    assert not list(foreign_internals(path))


@pytest.mark.parametrize("room", [room for room in ROOMS if (ROOT / "toolkit" / room).is_dir() and room != "starters"])
def test_a_room_names_its_public_modules(room):
    (exported,) = (
        ast.literal_eval(node.value)
        for node in tree(ROOT / "toolkit" / room / "__init__.py").body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert exported == sorted(p.stem for p in (ROOT / "toolkit" / room).glob("*.py") if not p.stem.startswith("_"))


def test_the_surface_is_small():
    """Functions and classes of the toolkit: most have a name with an underscore, or are in a file that has one."""
    public, names, lines = 0, 0, 0
    for path in MODULES:
        if path.is_relative_to(ROOT / "toolkit"):
            lines += path.read_text(encoding="utf-8").count("\n")
            definitions = [node.name for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            names += len(definitions)
            public += sum(not is_internal(name) for name in definitions if not is_internal(path.stem))
    assert public / names <= 0.4
    assert 1000 * public / lines <= 15


def names_of_variables_and_functions(path: Path) -> Iterator[str]:
    """The names that a file gives: to variables, parameters and functions."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


@pytest.mark.parametrize("paths", [MODULES, RESEARCH], ids=["package", "research"])
def test_names_say_what_they_hold(paths):
    names = [name for path in paths for name in names_of_variables_and_functions(path)]
    poor = [name for name in names if name.strip("_") in SAYS_NOTHING or name.endswith("_of")]
    assert len(poor) <= 0.01 * len(names), sorted(set(poor))
