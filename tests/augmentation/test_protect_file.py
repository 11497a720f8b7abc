"""What stays of the texts of a file: by the command, with a language model and with the starter, and of pairs."""

import csv
import json

import pytest
from datasets import Dataset

import toolkit
from builders.commands.augment_dataset import main
from tests.chat_server import MODEL, chat_server

TEXTS = ["Please write to jo@example.org today.", "We saw {count} new files there.", "Our order art.xx is late again."]


@pytest.fixture
def train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "train.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in TEXTS)])
    return tmp_path


def new_texts(folder, name="new.csv"):
    with (folder / name).open(newline="") as file:
        return [row["text"] for row in csv.DictReader(file)][len(TEXTS) :]


def lossy(body):
    """A model that writes what it was given, without the pieces of a file."""
    text = json.loads(body["messages"][-1]["content"])["text"]
    new = text.replace("jo@example.org", "Jo").replace("{count}", "many").replace("art.xx", "it")
    return json.dumps({"paraphrases": ["Now then, " + new]})


def augment(server, *flags):
    return main(["--data", "train.csv", "--columns", "text", "--output", "new.csv", "--paraphraser", "lm", "--model",
                 MODEL, "--server", server.url, *flags])  # fmt: skip


def test_rows_that_lose_a_piece_are_skipped_with_its_reason(train, capsys):
    with chat_server(say=lossy) as server:
        assert augment(server, "--protect_patterns", r"art\.\w+") == 0
    stderr = capsys.readouterr().err
    assert "no paraphrase keeps a mail address of the text" in stderr
    assert "no paraphrase keeps a placeholder or tag of the text" in stderr
    assert "no paraphrase keeps what a pattern of the user finds of the text" in stderr
    assert new_texts(train) == []


def test_classes_and_patterns_are_those_of_the_flags(train, capsys):
    with chat_server(say=lossy) as server:
        assert augment(server, "--protect", "mail", "placeholder") == 0
        assert new_texts(train) == ["Now then, Our order it is late again."], "no pattern of the user"
    stderr = capsys.readouterr().err
    assert "a mail address" in stderr and "a placeholder or tag" in stderr and "a pattern" not in stderr
    with chat_server() as server:
        assert augment(server, "--protect_patterns", r"art\.\w+", "--copies", "2", "--output", "more.csv") == 0
        texts = new_texts(train, "more.csv")
        assert len(texts) == 6 and sum("jo@example.org" in text for text in texts) == 2
        assert sum("{count}" in text for text in texts) == sum("art.xx" in text for text in texts) == 2
    capsys.readouterr()
    for flags, message in (
        (["--protect", "links"], "wanted protect of code, url"),
        (["--protect_patterns", "a*"], "which finds none"),
        (["--protect_patterns", "["], "wanted regular expressions as protect_patterns"),
    ):
        with pytest.raises(SystemExit) as error:
            augment(server, *flags)
        assert error.value.code == 2 and message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_the_starter_keeps_pieces_in_a_file(train):
    assert main(["--data", "train.csv", "--columns", "text", "--output", "new.csv", "--paraphraser",
                 "starter/paraphraser", "--protect_patterns", r"art\.\w+", "--copies", "3"]) == 0  # fmt: skip
    pieces = ("jo@example.org", "{count}", "art.xx")
    texts = new_texts(train)
    assert texts and all(sum(text.count(piece) for piece in pieces) == 1 for text in texts)


def test_pairs_that_lose_a_piece_are_not_taken(tmp_path):
    data = Dataset.from_dict({"text": [*TEXTS, "It weighs 10 kg or more."]})
    (tmp_path / "pairs.tsv").write_text(
        f"{TEXTS[0]}\tToday, write to jo@example.org, please.\n"
        f"{TEXTS[0]}\tWrite to Jo today, please.\n"
        f"{TEXTS[0]}\tWrite to jo@example.org or jo@example.org today.\n"
        f"{TEXTS[2]}\tAgain, our order art.x has not arrived.\n"
        "It weighs 10 kg or more.\tIts weight is at least ten kilograms.\n"
    )
    arguments = {"columns": "text", "copies": 3, "pairs": tmp_path / "pairs.tsv", "progress": False}
    bigger, summary = toolkit.augment(data, with_summary=True, protect_patterns=[r"art\.\w+"], **arguments)
    assert bigger["text"][4:] == ["Today, write to jo@example.org, please."]
    assert summary.skipped == {"not_in_pairs": 1, "pattern_lost": 1, "quantity_lost": 1}
    bigger = toolkit.augment(data, protect=(), **arguments)
    assert "Its weight is at least ten kilograms." in bigger["text"] and len(bigger) == 8
