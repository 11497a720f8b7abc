import shutil
import sys
from types import ModuleType, SimpleNamespace

import pytest

from toolkit.evaluate import parsers
from toolkit.evaluate.parsers import _from_file, _link_grammar, _link_trees, _stanza_parser, open_parser, parse
from toolkit.evaluate.trees import _read_tree, shape

installed = pytest.mark.skipif(shutil.which("link-parser") is None, reason="link-grammar is not installed")


def test_each_distinct_text_is_parsed_once_in_order_of_appearance():
    batches = []

    def parser(texts):
        batches.append(list(texts))
        return [f"(S (NP {text}))" for text in texts]

    parses = parse(["b", "a", "b"], parser, "by hand")
    assert batches == [["b", "a"]]
    assert list(parses.trees) == ["b", "a"] and parses.parser == "by hand"


def test_only_the_upper_levels_are_kept():
    parses = parse(["x"], lambda texts: ["(S (NP (NP (NN x))))"], "by hand")
    assert shape(parses.trees["x"]) == "(S (NP (NP)))"
    assert shape(parse(["x"], lambda texts: ["(S (NP x))"], "by hand", levels=1).trees["x"]) == "(S)"


def test_a_parser_that_answers_too_little_or_no_tree_is_refused():
    with pytest.raises(ValueError, match="for each of 2 texts, got 1 from by hand"):
        parse(["a", "b"], lambda texts: [None], "by hand")
    with pytest.raises(ValueError, match="by hand: wanted one tree in brackets, got 'S' at character 1"):
        parse(["a"], lambda texts: ["S"], "by hand")


@pytest.mark.parametrize("form", ["", "stanza", "stanza:", "file:", "malt", "link-grammar:de"])
def test_an_unknown_parser_is_refused(form):
    with pytest.raises(ValueError, match="wanted a parser \\(link-grammar, stanza:LANGUAGE or file:PATH\\)"):
        open_parser(form)


def test_trees_of_a_file_by_text(tmp_path):
    path = tmp_path / "trees.tsv"
    path.write_text("We go.\t(S (NP We) (VP go))\nHm \t\nNever asked.\t(S x)\n", encoding="utf-8")
    parser, signature = open_parser(f"file:{path}")
    assert parser(["Hm", "We\tgo.", "Hm"]) == [None, "(S (NP We) (VP go))", None]
    assert signature == "file:trees.tsv"
    with pytest.raises(ValueError, match=r"each of 2 texts in .*trees.tsv, got none for 1 of them, such as 'Stay.'"):
        parser(["Hm", "Stay."])


def test_trees_of_a_file_by_line(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("(S We)\n\n(S Go)\n", encoding="utf-8")
    assert _from_file(path)(["a", "b", "c"]) == ["(S We)", None, "(S Go)"]
    with pytest.raises(ValueError, match=r"wanted 2 lines in .*trees.txt, one for each text, got 3"):
        _from_file(path)(["a", "b"])


def test_a_file_of_no_trees_is_refused(tmp_path):
    path = tmp_path / "trees.tsv"
    path.write_text("We go.\t(S (NP We) (VP go))\nHm\t(S\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"trees.tsv, line 2: wanted one tree in brackets, got the end at character 3"):
        _from_file(path)
    with pytest.raises(ValueError, match=r"wanted a file of trees in brackets, got .*nowhere, which is no file"):
        _from_file(tmp_path / "nowhere")


def test_link_grammar_that_is_not_installed_is_named_with_its_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="wanted the program link-parser, got none on the path: apt-get install"):
        _link_grammar(["We go."])
    with pytest.raises(ValueError, match="wanted the program link-parser"):
        open_parser("link-grammar")


def program(folder, body: str) -> None:
    """A stand-in for the program, in Python."""
    path = folder / "link-parser"
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


ANSWER = """
if "--version" in sys.argv:
    sys.exit(print("Version: link-grammar-9.9"))
for line in sys.stdin:
    if line.startswith("!width="):
        print("width set to " + line.strip().removeprefix("!width="), flush=True)
    elif "die" in line:
        sys.exit(1)
    elif line.strip():
        print("Debug\\n(S %s)\\n" % line.strip(), flush=True)
"""


def test_only_the_text_that_a_program_dies_of_has_no_tree(monkeypatch, tmp_path):
    program(tmp_path, ANSWER)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(parsers, "LINK_TEXTS", 4)
    texts = ["a", "die", "", "!b", "c\nd", "e"]
    assert _link_grammar(texts) == ["(S a)", None, None, "(S !b)", "(S c d)", "(S e)"]
    assert open_parser("link-grammar")[1] == "link-grammar:9.9|null:yes|spell:no|seconds:10"


def test_a_program_without_dictionary_is_refused(monkeypatch, tmp_path):
    program(tmp_path, "sys.exit(255)")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="its dictionary may be missing: apt-get install"):
        _link_grammar(["We go."])


@installed
def test_link_grammar_itself():
    texts = ["The cat sleeps.", "", "The cat sleeps in (the) house.", "!help", "word " * 400, "exit", "He\nsleeps."]
    trees = _link_grammar(texts)
    assert [tree is None for tree in trees] == [False, True, False, False, True, False, False]
    assert [shape(_read_tree(trees[i])) for i in (0, 6)] == ["(S (NP) (VP))", "(S (NP) (VP))"]
    assert _link_trees(texts[:1] * 3) == trees[:1] * 3
    assert "Error" not in parsers._link_grammar_signature()


def test_stanza_that_is_not_there_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "stanza", None)
    with pytest.raises(ValueError, match=r"wanted Stanza with a constituency model for 'en', got .*pip install stanza"):
        _stanza_parser("en")


def test_stanza_parses_without_splitting_or_downloading(monkeypatch):
    class Pipeline:
        def __init__(self, lang, **settings):
            assert settings["tokenize_no_ssplit"] is True and settings["download_method"] is None

        def bulk_process(self, texts):
            return [
                SimpleNamespace(sentences=[SimpleNamespace(constituency=f"(ROOT (S {t}))")] * len(t)) for t in texts
            ]

    stanza = ModuleType("stanza")
    stanza.Pipeline = Pipeline
    monkeypatch.setitem(sys.modules, "stanza", stanza)
    parser, signature = open_parser("stanza:en")
    assert parser(["a", "", "b c"]) == ["(ROOT (S a))", None, None]
    assert signature == "stanza:en"
