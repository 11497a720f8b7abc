"""scripts/rewrite_text.py from a file of texts to a TSV, with the weights of a starter."""

import shutil

import pytest
from transformers import MarianMTModel, MarianTokenizer

from builders.commands.rewrite_text import main
from toolkit.bitext.idf import read_idf
from toolkit.generate.recipes import RECIPES, constraint_sets
from toolkit.starters import idf_file, starter

TEXTS = ["Wir gehen jetzt nach Hause.", "", "Der Hund schläft im Garten.", "Tom hat ein neues Auto gekauft."]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A starter that does not state its languages, so that it may stand for a model of one."""
    folder = tmp_path_factory.mktemp("model") / "rewriter"
    shutil.copytree(starter("de-en"), folder, ignore=shutil.ignore_patterns("measured.json", "training.json"))
    return folder


def rewritten(model, folder, systems, *more, texts=TEXTS):
    (folder / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    files = ["--input", str(folder / "texts.txt"), "--output", str(folder / "out.tsv")]
    flags = ["--model", str(model), "--systems", systems, "--beam", "4", "--dtype", "float32"]
    assert main([*flags, *files, *more]) == 0
    lines = [line.split("\t") for line in (folder / "out.tsv").read_text(encoding="utf-8").splitlines()]
    return [(text, systems.split(","), rewriting) for text, systems, rewriting in lines]


@pytest.mark.slow
def test_without_constraints_it_is_the_beam_search_of_transformers(model, tmp_path, capsys):
    found = rewritten(model, tmp_path, "28")
    tokenizer, peer = MarianTokenizer.from_pretrained(model), MarianMTModel.from_pretrained(model).float()
    expected = []
    for text in filter(None, TEXTS):
        ids = peer.generate(**tokenizer(text, return_tensors="pt"), num_beams=4, max_new_tokens=50)
        expected.append((text, ["28"], tokenizer.decode(ids[0], skip_special_tokens=True)))
    assert found == expected
    assert capsys.readouterr().err.splitlines()[-1] == f"{tmp_path / 'out.tsv'}; not used: {{'empty_line': 1}}"


@pytest.mark.slow
def test_a_forbidden_first_word_is_not_said_first(model, tmp_path):
    """System 32 forbids the first word of the text at the beginning; only Tom would have been said again."""
    plain = {text: rewriting for text, _, rewriting in rewritten(model, tmp_path, "28")}
    found = rewritten(model, tmp_path, "28,32")
    assert plain[TEXTS[3]].split()[0] == "Tom"
    by_text = {
        text: {s: rewriting for of, systems, rewriting in found if of == text for s in systems} for text in plain
    }
    assert all(of.keys() == {"28", "32"} and of["28"] == plain[text] for text, of in by_text.items())
    assert all(of["32"].split()[0] != text.split()[0] for text, of in by_text.items())
    assert len(found) == 4, "equal rewritings of one text are one line"


def test_an_idf_table_chooses_the_words(model, tmp_path):
    """System 1 forbids the word of the highest IDF in its pool, here the preposition, which both languages have."""
    found = rewritten(model, tmp_path, "1,28", "--idf", "starter/de-en", texts=["Maria wohnt in Boston."])
    idf = read_idf(idf_file("starter/de-en"))
    (constraints,) = constraint_sets(RECIPES[1], "Maria wohnt in Boston.", "text-0", 0, idf)
    assert constraints.negative == ("in",)
    by_system = {system: rewriting.split() for _, systems, rewriting in found for system in systems}
    assert by_system.keys() == {"1", "28"} and "in" in by_system["28"] and "in" not in by_system["1"]


def test_it_does_not_take_a_translator_that_states_two_languages(tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("We go home.\n")
    flags = ["--model", "starter/de-en", "--input", str(tmp_path / "texts.txt"), "--output", str(tmp_path / "out.tsv")]
    assert main(flags) == 1
    assert "wanted a model that rewrites en, got 'starter/de-en', which reads de" in capsys.readouterr().err
    assert not (tmp_path / "out.tsv").exists()
