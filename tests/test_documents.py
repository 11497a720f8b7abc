"""The documents' figures are those of the committed results, and prose has none of its own."""

import ast
import dataclasses
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from builders.command_line import COMMANDS, main
from builders.commands.build_parabank import BUILDERS
from research.reports import figures, figures_speed, render_tables
from toolkit.clean.rules import REASONS
from toolkit.package.parquet import _pairs_schema, _paraphrase_fields
from toolkit.package.reasons import OF_CANDIDATES
from toolkit.system import command

ROOT = Path(__file__).parents[1]
DOCUMENTS = [path for form in render_tables.DOCUMENTS for path in sorted(ROOT.glob(form))]
CODE = re.compile(r"```.*?```|`[^`\n]*`|^ {4}[^\n]*|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^parabank (.*)$", re.MULTILINE)  # in a block of bash
DECIMAL = re.compile(r"(?<!section )(?<![\w.])-?\d+\.\d+")
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.*-]*)`")
MADE_UP = {
    *("build/site", "builders/NAME.py", "cards/NAME.md", "my_parabank/", "my_parabank.shards/", "OWNER/NAME"),
    *("my_parabank/README.md", "my_study/curves.png", "my_study/study.txt"),
    *("starter/de-en", "starter/en-de", "starter/encoder", "starter/paraphraser", "starter/infiller"),
    *("starter/rewriter", "starter/smollm2", "starter/en-pt", "starter/pt-en"),
    *("firefox/en-de", "firefox/de-en", "firefox/en-fr", "firefox/fr-en", "firefox/en-zh-Hans", "firefox/zh-Hans-en"),
    *("mozilla/firefox-translations-models", "BAAI/bge-small-zh-v1.5", "facebook/nllb-200-distilled-600M"),
    *("Helsinki-NLP/opus-mt-en-de", "Helsinki-NLP/opus-mt-zh-en", "sentence-transformers/LaBSE"),
    *("Helsinki-NLP/opus-mt-en-zh", "my_en-zh/model", "my_zh-en/model"),
    *(
        "Qwen/Qwen2.5-7B-Instruct",
        "Helsinki-NLP/opus-mt-de-en",
        "google-t5/t5-large",
        "openai-community/gpt2",
        "FacebookAI/roberta-large-mnli",
    ),
}
REFERENCE = sorted((ROOT / "docs" / "reference" / "api").glob("*.md"))
SETTINGS_PAGES = sorted((ROOT / "docs" / "reference" / "settings").glob("*.md"))
WORDS = re.compile(r"[^\W\d_]{3,}[^.]*[^\W\d_]{3,}")  # more than a unit: at least two words
LINK = re.compile(r"\]\(([^)\s]+)\)")
NOT_MEASURED = {
    *("3.11", "2.0", "1.15", "4.55", "2.13"),  # versions: Python, PPDB, licences, Accelerate, transformers, torch
    *("0.5", "3.0", "3.5", "-0.1", "0.1", "-0.02", "0.02"),  # settings
    *("84.4", "83.2", "0.53"),  # the papers': ParaBank 2, table 1, semantics; ParaBank, section 5.1
    *("11.5", "2.5", "1.1"),  # what was aimed at
}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_table_and_figure_is_its_results(path):
    text = path.read_text()
    assert render_tables.stale(text, path.name) is None, "run python -m research.reports.render_tables"
    assert render_tables.rendered(text, path.name) == text


def test_no_table_is_made_for_nobody():
    used = {name for path in DOCUMENTS for _, name in render_tables.PLACE.findall(path.read_text())}
    assert used == set(render_tables.MADE)


def decimals(text: str) -> set[str]:
    """Decimal numbers of prose; of a table that is not made, of the last column, which is ours (PAPERS.md)."""
    bare = CODE.sub(" ", render_tables.PLACE.sub("made", text))
    prose = [line.rstrip(" |").split("|")[-1] for line in bare.splitlines()]
    return {number for line in prose for number in DECIMAL.findall(line)}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_has_no_figure_of_its_own(path):
    numbers = decimals(path.read_text()) - NOT_MEASURED
    assert not numbers, f"{sorted(numbers)}: put it in a JSON of results and between markers (CONTRIBUTING.md, Style)"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_is_named_is_there(path):
    """Files of this repository, from its root or from toolkit/; a user's own are made up."""
    names = set(NAMED.findall(path.read_text())) - MADE_UP
    roots = (ROOT, ROOT / "toolkit")
    assert not [name for name in sorted(names) if not any(any(root.glob(name.rstrip("/"))) for root in roots)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    for target, _, anchor in (link.partition("#") for link in LINK.findall(path.read_text())):
        file = (path.parent / target).resolve() if target else path
        assert not target.startswith("http") and file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


def anchors(path: Path) -> set[str]:
    """What a page's headings are linked by."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_of_a_block_parses(path, monkeypatch, capsys):
    """Only the work is left out; where "..." stands for flags, the required ones of them may be missing."""
    for module in (command, *(import_module(f"builders.commands.{name}") for name in COMMANDS.values())):
        monkeypatch.setattr(module, "run_command", lambda *_, **__: 0, raising=False)
    for line in commands_of(path.read_text()):
        full_line = re.sub(r"[][]", "", line.replace(" ... ", " "))  # brackets: flags that may be left out
        try:
            status = main(shlex.split(full_line, comments=True))
        except SystemExit as ended:
            status = ended.code
        error = capsys.readouterr().err
        assert status == 0 or (" ... " in line and "give it as a flag" in error), f"{line}: {error}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_block_can_be_pasted(path):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    assert not [body for kind, body in blocks if kind == "pycon" or re.search(r"^(?:>>>|\$) ", body, re.MULTILINE)]


def test_the_glossary_is_in_alphabetical_order():
    page = (ROOT / "docs" / "concepts" / "glossary.md").read_text()
    terms = [term.lower() for term in re.findall(r"^\| (.+?) \|", page, re.MULTILINE)[2:]]
    assert len(terms) > 50 and terms == sorted(terms)


def commands_of(text: str) -> list[str]:
    """The command lines of `parabank` in the blocks of bash of a page, without the word `parabank`."""
    blocks = re.findall(r"^```bash\n(.*?)^```", text.replace("\\\n", " "), re.MULTILINE | re.DOTALL)
    return [f"{line} " for block in blocks for line in COMMAND.findall(block)]


def test_every_page_is_in_the_navigation_of_the_site():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    pages = list(pages_of(nav))
    assert sorted(pages) == sorted(str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))


def pages_of(nav: list | dict | str) -> Iterator[str]:
    """The pages of a part of the navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(part)


def test_every_name_of_the_reference_is_there():
    """mkdocstrings finds these names in the sources, without importing them; so does this."""
    names = [name for path in REFERENCE for name in re.findall(r"^::: (\S+)$", path.read_text(), re.MULTILINE)]
    assert 120 < len(names) == len(set(names))
    assert [name for name in names if not is_defined(name)] == []


def is_defined(name: str) -> bool:
    """Whether a module has a public class or function with a docstring."""
    module, _, last = name.rpartition(".")
    file = ROOT / f"{module.replace('.', '/')}.py"
    if not file.exists():
        file = file.with_suffix("") / "__init__.py"
    nodes = ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []
    definitions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == last)
    return any(ast.get_docstring(node) for node in definitions)


def test_every_setting_of_a_builder_is_in_one_table():
    names = {path.stem: re.findall(r"^\| `--(\w+)` \|", path.read_text(), re.MULTILINE) for path in SETTINGS_PAGES}
    shared = [name for page in ("input", "cleaning", "run", "language-model", "ray") for name in names[page]]
    for cls, _ in BUILDERS.values():
        assert {field.name for field in dataclasses.fields(cls)} <= {*shared, *names["builders"]}
    assert not {*names["builders"]} & {*names["cleaning"], *names["language-model"], *names["ray"]}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_column_of_text_is_set_to_the_right(path):
    for head, alignments, *rows in tables_of(path.read_text()):
        for number, alignment in enumerate(alignments):
            if alignment.strip() == "---:":
                cells = [row[number].strip() for row in rows if number < len(row)]
                assert not any(WORDS.search(cell) for cell in cells), head[number]


def tables_of(text: str) -> Iterator[list[list[str]]]:
    """The tables of a page: the cells of each line."""
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        yield [re.split(r"(?<!\\)\|", line)[1:-1] for line in block.splitlines()]


def test_the_data_format_names_every_column_and_every_reason():
    page = (ROOT / "docs" / "concepts" / "data-format.md").read_text()
    names = set(re.findall(r"`(\w+)`", page))
    assert set(_pairs_schema().names) | {field.name for field in _paraphrase_fields()} <= names
    sources = [path.read_text() for path in (ROOT / "toolkit").rglob("*.py") if path.parent.name != "bitext"]
    reasons = {reason for text in sources for reason in re.findall(r'reason ?= ?"(\w+)"', text)}
    assert len(reasons) > 7 and reasons | set(REASONS) <= names
    lines, candidates = page.partition("reason of a line")[2].split("reason of a candidate")
    for table, meanings in ((lines, REASONS), (candidates, OF_CANDIDATES)):
        rows = re.findall(r"^\| (`.*?) \|", table.partition("\n\n")[0], re.MULTILINE)
        assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(meanings)


def test_a_figure_in_prose_is_found_and_code_is_not():
    marker = "<!-- figure: adam -->9.9<!-- end -->"
    text = f"    a --rate 1.5\n\nWe reach 71.3 (section 3.2), `1.6`, {marker}.\n| 1.7 | 8.25 |\n| 1.9 | {marker} |\n"
    assert decimals(f"{text}```\n1.8\n```\n") == {"71.3", "8.25"}


def test_check_names_what_differs_and_render_mends_it(tmp_path, capsys):
    name, figure = "sts_gap", render_tables.MADE["sts_gap"]()
    page = tmp_path / "page.md"
    page.write_text(f"By <!-- figure: {name} -->1 to 2<!-- end --> points.\n\n<!-- table: memory -->old<!-- end -->\n")
    assert render_tables.main(["--check", str(page)]) == 1
    message = "render_tables.py: wanted figure sts_gap of page.md as its results have it: run this without --check\n"
    assert capsys.readouterr().err == message
    assert render_tables.main([str(page)]) == render_tables.main(["--check", str(page)]) == 0
    text = page.read_text()
    assert text.startswith(f"By <!-- figure: {name} -->{figure}<!-- end --> points.\n")
    assert "<!-- table: memory -->\n\n| peak MB by lines |" in text and "old" not in text
    page.write_text(text.replace("| package |", "| packaging |"))
    assert render_tables.main(["--check", str(page)]) == 1
    assert "wanted table memory of page.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- table: gone --><!-- end -->", "wanted a table of adam, .*, got 'gone' in page.md: rename or add it"),
        ("<!-- figure: adam -->1.0", "wanted <!-- end --> after each table and figure, got one without in page.md"),
        ("<!-- figure: adam -->1.0 <!-- figure: idf -->2.0<!-- end -->", "wanted <!-- end --> after each table"),
    ],
)
def test_a_marker_that_means_nothing_is_an_error(text, message):
    with pytest.raises(ValueError, match=message):
        render_tables.rendered(text, "page.md")


def test_a_result_without_a_figure_is_named(monkeypatch):
    monkeypatch.setattr(figures_speed, "benchmark", lambda name: {"ratios": {"adam_dense": 10.0}})
    with pytest.raises(ValueError, match="wanted 'adam_dense_fused' in the results of figure adam, got none: run its"):
        render_tables.rendered("<!-- figure: adam --><!-- end -->", "page.md")


def test_a_figure_is_rounded_once_and_as_a_reader_would():
    assert [figures.number(81.55), figures.number(9.25), figures.number(2.675, 2)] == ["81.6", "9.3", "2.68"]
    assert figures.beside("70.4", 79.25) == "70.4 (79.3)" and figures.number(None) == "-"
