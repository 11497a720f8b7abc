"""Data sets of others on the Hub are read as pairs by their ids: by the commands in processes of their own."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.hub import READER, Blob, Repository
from tests.publish.test_publish_parabank import environment

TRIPLETS = [
    {"anchor": "How can I lose weight?", "positive": "What is the way to lose weight?", "negative": "How do I eat?"},
    {"anchor": "The shop is closed.", "positive": "The store is not open.", "negative": "The shop is large."},
]
QUESTIONS = "question1,question2,is_duplicate\nWhere is it?,Where can I find it?,1\nWho is she?,Where is she?,0\n"
CARD = """---
configs:
- config_name: triplets
  data_files:
  - split: train
    path: triplets/train.parquet
  - split: dev
    path: triplets/dev.parquet
- config_name: short
  data_files: triplets/dev.parquet
---
"""
CODE = """
import json, sys
from collections import Counter
from toolkit.package.read import read_labelled, read_pairs

def shown(tables, *columns):
    return [[row[column] for column in columns] for table in tables for row in table.to_pylist()]

name, questions, refused = *sys.argv[1:], Counter()
print(json.dumps({
    "triplets": shown(read_pairs(f"{name}:triplets", negatives=True), "sentence1", "sentence2", "negatives"),
    "short": shown(read_pairs(f"{name}:short"), "sentence1"),
    "dev": shown(read_pairs(f"{name}:triplets:dev"), "sentence1"),
    "questions": shown(read_pairs(questions, refused=refused), "sentence2"),
    "refused": refused,
    "labelled": shown(read_labelled(questions), "sentence2", "label"),
}))
"""


def parquet(rows):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def corpus(hub):
    repository = hub.repositories["datasets", "someone/corpus"] = Repository(False)
    repository.commit(
        {
            "README.md": Blob(CARD.encode(), False),
            "triplets/train.parquet": Blob(parquet(TRIPLETS), True),
            "triplets/dev.parquet": Blob(parquet(TRIPLETS[:1]), True),
        }
    )
    repository = hub.repositories["datasets", "someone/questions"] = Repository(False)
    repository.commit({"questions.csv": Blob(QUESTIONS.encode(), False)})
    return hub


def run(hub, home, *command):
    variables = environment(hub, home, READER)
    return subprocess.run([sys.executable, *command], env=variables, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_configurations_and_splits_are_named_after_the_id(corpus, tmp_path):
    process = run(corpus, tmp_path / "home", "-c", CODE, "someone/corpus", "someone/questions")
    assert process.returncode == 0, process.stderr[-2000:]
    read = json.loads(process.stdout)
    assert read["triplets"] == [[row["anchor"], row["positive"], [row["negative"]]] for row in TRIPLETS]
    assert read["dev"] == read["short"] == [[TRIPLETS[0]["anchor"]]]
    assert read["questions"] == [["Where can I find it?"]] and sum(read["refused"].values()) == 1
    assert read["labelled"] == [["Where can I find it?", 1], ["Where is she?", 0]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("someone/corpus:triplets:test", "it has the splits train, dev; name one"),
        ("someone/corpus:answers", "answers"),
        ("someone/lost:triplets", "someone/lost"),
    ],
)
def test_a_data_set_that_does_not_load_is_named_in_one_line(corpus, tmp_path, name, message):
    code = f"from toolkit.package.read import read_pairs; list(read_pairs({name!r}))"
    process = run(corpus, tmp_path / "home", "-c", code)
    last_line = process.stderr.strip().splitlines()[-1]
    assert process.returncode == 1 and f"wanted a data set of pairs, got {name}" in last_line and message in last_line
