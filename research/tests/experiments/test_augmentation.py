"""EDA's operations, and the tasks of the augmentation table as running text."""

import io
import json
import random
import tarfile

import pytest
import zstandard
from datasets import Dataset

from research.experiments import eda
from research.experiments.augmentation_data import from_pool, pool, running, task
from research.experiments.augmentation_people import split

THESAURUS = {"lift": ["elevator"], "broken": ["busted", "out of order"], "is": ["be"]}
TEXT = "the lift is broken again today my friend and so am i"


def test_a_thesaurus_and_stop_words_are_read(tmp_path):
    entry = (
        b"00001740-n:\n  members:\n  - lift\n  - elevator\n  partOfSpeech: n\n1-n:\n  members:\n  - lift\n  - 'raise'\n"
    )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as folder:
        info = tarfile.TarInfo("oewn_yaml/noun.artifact.yaml")
        info.size = len(entry)
        folder.addfile(info, io.BytesIO(entry))
    (tmp_path / "lexical").mkdir()
    (tmp_path / eda.WORDNET).write_bytes(zstandard.compress(packed.getvalue()))
    (tmp_path / eda.STOP_WORDS).write_text(json.dumps({"en": ["the"], "de": ["der"]}))
    assert eda.read_thesaurus(tmp_path) == {
        "lift": ["elevator", "raise"],
        "elevator": ["lift"],
        "raise": ["lift"],
    }
    assert eda.read_stop_words(tmp_path) == {"the"}


@pytest.mark.parametrize("rule", [eda.eda, eda.wordnet])
def test_copies_differ_from_the_text_and_from_each_other_and_are_the_seeds(rule):
    texts = rule(TEXT, 3, THESAURUS, {"is"}, 0)
    assert 1 < len(texts) <= 3 and len(set(texts)) == len(texts) and TEXT not in texts
    assert rule(TEXT, 3, THESAURUS, {"is"}, 0) == texts
    assert rule("a", 2, {}, set(), 0) == []


def test_each_operation_does_what_it_says():
    words, chance = TEXT.split(), random.Random(0)
    assert eda.replaced(words, 9, THESAURUS, {"is"}, chance)[1:3] == ["elevator", "is"]
    assert sorted(eda.swapped(words, 2, THESAURUS, (), chance)) == sorted(words)
    assert len(eda.inserted(words, 2, THESAURUS, (), chance)) == len(words) + 2
    assert eda.inserted(["a"], 2, THESAURUS, (), chance) == ["a"]
    assert len(eda.deleted(["lift"], 1, THESAURUS, (), random.Random(2))) == 1


def test_texts_are_running_text():
    assert running("he did n't say `` good '' , is it ?") == 'he didn\'t say "good", is it?'
    assert running("i don 't know") == "i don't know"
    assert running("he does n't know .") == "he doesn't know."


def test_a_task_has_training_and_test_rows_apart(tmp_path):
    (tmp_path / "classification").mkdir()
    lines = [f"{n % 2} text number {n} ." for n in range(1200)]
    (tmp_path / "classification" / "subj.all").write_text("\n".join([*lines, lines[0]]) + "\n")
    train, test = task(tmp_path, "SUBJ")
    assert (len(train), len(test)) == (200, 1000)
    assert not set(train["text"]) & set(test["text"])


def test_new_texts_are_made_once(tmp_path):
    calls = []

    def make(texts):
        calls.append(len(texts))
        return [[f"{text}!", f"{text}?"] for text in texts]

    for _ in range(2):
        new_texts = pool(tmp_path / "pools" / "one.json", ["a", "b"], make)
    assert calls == [2]
    rows = from_pool(new_texts, 1)(Dataset.from_dict({"text": ["b"], "label": [4]}), 0)
    assert rows.to_list() == [{"text": "b", "label": 4}, {"text": "b!", "label": 4}]


def test_new_texts_by_people_are_those_of_training_rows_alone():
    rows = [(f"text {n}", n % 2) for n in range(7000)]
    train, test, people = split(rows, {text: [f"{text}!"] for text, _ in rows})
    assert (len(train), len(test)) == (5000, 1000) and not set(train["text"]) & set(test["text"])
    assert people == {text: [f"{text}!"] for text in train["text"]}
