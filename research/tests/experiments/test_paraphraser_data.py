"""Tests, validation sets and pairs of a domain have no text in common, and ParaNet's tokens become sentences."""

import gzip
from pathlib import Path

import pytest

from research.experiments import paraphraser_data, paraphraser_runs
from toolkit.data.rows import Candidate, Row

FILES = {
    "paranet/QQP_split/test_input.txt.first-half.gz": ["How do I sing?", "Why is it cold?"],
    "paranet/QQP_split/test_target.txt.first-half.gz": ["How can I sing?", "What makes it cold?"],
    "paranet/kqapro_split/test_input.txt.first-half.gz": ["Who is the human that sings"],
    "paranet/kqapro_split/test_target.txt.first-half.gz": ["Who sings?"],
    "paranet/kqapro_split/dev.txt.gz": ["What is the city of X[JOIN]Which city has X?", "Who sings[JOIN]Who is it?"],
    "paranet/mscoco_split/test_new_input.txt.gz": ["A dog.", "A cat."],
    "paranet/mscoco_split/test_new_target.txt.gz": [*(f"0 dog {n}" for n in range(5)), "1 cat"],
    "quora/train.txt.gz": ["how do I sing", "Is it late?", "Where is Rome?"],
    "quora/train_2.txt.gz": ["Singing?", "Is it already late?", "In which country is Rome?"],
    "captions/multi30k-5-english.train.tsv.gz": ["A boy.\tA child.\tOne.\tTwo.\tThree.", "a dog\tB\tC\tD\tE"],
    "captions/multi30k-5-english.validation.tsv.gz": ["A man.\tSomebody.\tHe.\tOne.\tA person."],
    **{f"two-references/{name}.tsv.gz": [f"{name} a\t{name} b"] for name in paraphraser_data.NEWS},
    "two-references/generaltest2022.de-en.refAB.tsv.gz": ["Hello.\tHi.", "newstest2021.de-en.refAB a\tC"],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, lines in FILES.items():
        file = tmp_path / "paraphrase" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return tmp_path


def test_inputs_and_their_references(data):
    tests = {name: paraphraser_data.test_set(data, name, 10) for name in paraphraser_data.TESTS}
    assert {example.text: example.references for example in tests["QQP"]} == {
        "How do I sing?": ("How can I sing?",),
        "Why is it cold?": ("What makes it cold?",),
    }
    (dog,) = tests["MSCOCO"]  # the cat has one reference only
    assert (dog.text, dog.references) == ("A dog.", ("dog 0", "dog 1", "dog 2", "dog 3"))
    assert len(tests["two references"]) == 2


def test_nothing_of_a_test_is_chosen_or_trained_on(data):
    questions = paraphraser_data.validation_set(data, "questions", 10)
    assert {example.text for example in questions} == {"Is it late?", "Where is Rome?"}
    assert [example.text for example in paraphraser_data.validation_set(data, "news", 10)] == ["Hello."]
    assert paraphraser_data.domain_pairs(data, "MSCOCO", 10, 0) == [("A boy.", "A child.")]
    assert paraphraser_data.domain_pairs(data, "KQA Pro", 10, 0) == [("What is the city of X", "Which city has X?")]
    assert len(paraphraser_data.domain_pairs(data, "QQP", 1, 0)) == 1


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ("they chewed wrigley 's spearmint gum , their mouths felt dry .",
         "They chewed wrigley's spearmint gum, their mouths felt dry."),
        ("did n't i say so ?", "Didn't I say so?"),
        ("i 'll go , i.e. now", "I'll go, i.e. now"),
    ],
)  # fmt: skip
def test_tokens_become_sentences(tokens, sentence):
    assert paraphraser_runs.as_sentence(tokens) == sentence


def test_the_corpora_have_the_same_references(data, tmp_path, monkeypatch):
    parabanks = {
        "paranmt": {"I go.": "I walk.", "You go.": "You leave.", "A copy.": "a copy", "A dog.": "The dog."},
        "parabank": {"I go.": "I leave.", "You go.": "You run.", "A copy.": "One copy.", "A dog.": "One dog."},
        "parabank2": {"I go.": "I run.", "You go.": "You walk.", "A copy.": "Copied.", "A dog.": "Dogs.", "We.": "Us."},
    }

    def rows(folder):
        for reference, text in parabanks[folder].items():
            candidates = [Candidate(text, "sample", rank=0)]
            yield Row("a-1", "a", None, "de", reference, "en", "train", candidates=candidates)

    monkeypatch.setattr(paraphraser_runs, "parabanks", lambda data, work: {name: name for name in parabanks})
    monkeypatch.setattr(paraphraser_runs, "read_references", rows)
    monkeypatch.setattr(paraphraser_runs, "paranet", lambda data: [("P.", "Q.")])
    work = tmp_path / "work"
    paraphraser_runs.corpora(data, work, 2)
    pairs = {name: dict(paraphraser_runs.read_pairs(work / f"{name}.tsv")) for name in ("paranmt", "parabank-2")}
    assert pairs["paranmt"] == {"I go.": "I walk.", "You go.": "You leave."}  # "A copy." is copied, "A dog." in a test
    assert pairs["parabank-2"] == {"I go.": "I run.", "You go.": "You walk."}
    assert not (work / "paranet-ours.tsv").exists()
    paraphraser_runs.corpora(data, work, 2, ["ParaNet", paraphraser_runs.OURS], "parabank2")
    ours = paraphraser_runs.read_pairs(work / "paranet-ours.tsv")
    assert sorted(ours) == [("A copy.", "Copied."), ("I go.", "I run."), ("We.", "Us."), ("You go.", "You walk.")]
    with pytest.raises(ValueError, match="wanted 3 references with a paraphrase in all corpora, got 2"):
        paraphraser_runs.corpora(data, tmp_path / "more", 3)
