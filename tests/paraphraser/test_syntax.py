"""Templates before the inputs of a training, and before a text that is paraphrased."""

from pathlib import Path

import pytest

from tests.tiny import folder, pairs
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.paraphraser.syntax import templates
from toolkit.train._template_pairs import PLAIN, is_plain, with_templates
from toolkit.train.paraphraser_pairs import _TrainingPair

TEXTS = [reference for _, reference in pairs(200)]


@pytest.fixture
def parser_name(tmp_path):
    """The trees of every second text, as another parser may have written them."""
    path = tmp_path / "trees.tsv"
    trees = ("(ROOT (S (NP (DT a)) (VP (VB b) (NP c)) (. .)))", "")
    path.write_text("".join(f"{text}\t{trees[n % 2]}\n" for n, text in enumerate(dict.fromkeys(TEXTS))))
    return f"file:{path}"


def test_inputs_get_the_template_of_their_output(parser_name, tmp_path):
    inputs = [_TrainingPair("An input.", text, 2.0) for text in dict.fromkeys(TEXTS)]
    results = with_templates(inputs, parser_name, tmp_path / "templates.json")
    assert [(pair.output, pair.weight) for pair in results] == [(pair.output, 2.0) for pair in inputs]
    for n, (before, after) in enumerate(zip(inputs, results, strict=True)):
        expected = "An input." if n % 2 or is_plain(before) else "(S (NP) (VP) (.)) An input."
        assert after.text == expected
    Path(parser_name.removeprefix("file:")).unlink()
    assert with_templates(inputs, parser_name, tmp_path / "templates.json") == results, "the parser is not asked again"
    plain = sum(map(is_plain, inputs))
    assert 0 < plain < 3 * len(inputs) / PLAIN


def test_a_parser_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"wanted a parser .* got 'magic'"):
        with_templates([_TrainingPair("a", "b", 1.0)], "magic", tmp_path / "templates.json")


def test_texts_without_a_tree_have_no_template():
    def parser(texts):
        return ["(S (NP we) (VP go))" if "go" in text else None for text in texts]

    assert templates(["We go.", "Hm."], parser, "by hand") == ["(S (NP) (VP))", None]


def test_a_template_changes_what_is_read_and_not_what_is_scored():
    settings = Paraphrasing(
        n=2, rank_by="dual", guards=(), min_semantic=None, pool=0, constraint_sets=1, samples_per_set=8
    )
    paraphraser = Paraphraser(str(folder() / "de-en"), lang="en", settings=settings, dtype="float32")
    (plain,), (with_template,) = (paraphraser.candidates(TEXTS[:1], template=t) for t in (None, "(S (NP) (VP))"))
    assert {candidate.text for candidate in plain} != {candidate.text for candidate in with_template}
    scored = [candidate for candidate in [*plain, *with_template] if candidate.scores.backward_logprob is not None]
    tokens = {candidate.scores.backward_tokens for candidate in scored}
    assert len(scored) > 4 and len(tokens) == 1, "the tokens of the text alone"
