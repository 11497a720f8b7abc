"""The command that studies augmentation, on files: its answer, its interruption, and bad input."""

import shutil
from dataclasses import replace

import pytest
from datasets import Dataset

from builders.commands.study_augmentation import main
from tests.chat_server import MODEL, chat_server
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.starters import STARTERS
from toolkit.study.study_file import _sample_texts
from toolkit.study.study_settings import StudyFile
from toolkit.system.lock import held
from toolkit.system.processes import processes

GOOD = ["a good film", "what a fine story", "I liked it", "a great and moving film", "it was wonderful", "so funny"]
BAD = ["a bad film", "what a dull story", "I hated it", "a weak and boring film", "it was terrible", "so stupid"]
COMMAND = "--train train.csv --test test.csv --columns text --label label --output_dir study --classifier tfidf"


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(text, label) for label, texts in enumerate((BAD, GOOD)) for text in texts]
    for name, split_rows in (("train", rows), ("test", rows[::2])):
        texts, labels = zip(*split_rows, strict=True)
        Dataset.from_dict({"text": texts, "label": labels, "number": labels}).to_csv(f"{name}.csv", index=False)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").write_text("mine")
    return tmp_path


@pytest.mark.slow
def test_the_answer_is_printed_and_kept_and_more_seeds_may_be_added(task, capsys):
    assert main([*COMMAND.split(), "--sizes", "3", "0", "--seeds", "2"]) == 0
    output = capsys.readouterr().out
    assert (task / "study" / "study.txt").read_text() == output
    assert "none" in output and "paraphrased, 3: " in output and "oversampled, all 12: not tested" in output
    assert (task / "study" / "curves.png").read_bytes().startswith(b"\x89PNG")
    lines = (task / "study" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 2 * 3
    assert main([*COMMAND.split(), "--sizes", "3", "0", "--seeds", "3"]) == 0
    assert (task / "study" / "results.jsonl").read_text().splitlines()[: len(lines)] == lines


@pytest.mark.slow
def test_labels_may_be_checked(task, capsys):
    assert main([*COMMAND.split(), "--sizes", "4", "--seeds", "2", "--check"]) == 0
    assert "labels checked, 4: " in capsys.readouterr().out
    lines = (task / "study" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 4 and sum("labels checked" in line for line in lines) == 2


@pytest.mark.slow
def test_a_language_model_paraphrases_the_rows_of_a_study_once(task, capsys):
    with chat_server() as server:
        lm = ["--paraphraser", "lm", "--model", MODEL, "--server", server.url, "--sizes", "3", "0"]
        assert main([*COMMAND.split(), *lm, "--seeds", "2"]) == 0
        assert "paraphrased, 3: " in capsys.readouterr().out
        count = len(server.asked)
        assert count == len(GOOD) + len(BAD)
        assert main([*COMMAND.split(), *lm, "--seeds", "3", "--replies_at_once", "2"]) in (0, 1)
        assert len(server.asked) == count
        again = [*COMMAND.replace("study", "again").split(), *lm, "--seeds", "2", "--batch"]
        assert main(again) == 1
        assert f"{count - 1} requests wait in batches: give the same command again later" in capsys.readouterr().err
        server.batch_status = "completed"
        assert main(again) == 0


TABLE = [
    ("--train lost.csv", "wanted a file, a folder or a Hub name, got 'lost.csv': there is no such file", 1),
    ("--test lost.csv", "wanted a file, a folder or a Hub name, got 'lost.csv': there is no such file", 1),
    ("--columns txt", "wanted column 'txt', got the columns text, label, number", 1),
    ("--label class", "wanted column 'class', got the columns text, label, number", 1),
    ("--columns number", "wanted texts in column 'number', got int64", 1),
    ("--output_dir theirs", "got theirs, which holds files but no settings.json", 1),
    ("--output_dir train.csv", "wanted an output folder apart from the input train.csv", 1),
    ("--output_dir theirs/notes.txt", "wanted a folder to write to, got the file theirs/notes.txt", 1),
    ("--paraphraser lost", "lost", 1),
    ("--classifier lost", "wanted a checkpoint with a tokenizer, got 'lost'", 1),
    ("--classifier embeddings --encoder lost", "lost", 1),
    ("--seeds 1", "wanted seeds of at least 2, got 1: one says nothing about chance", 2),
    ("--sizes few", "wanted whole numbers as sizes, got few", 2),
    ("--copies 0", "wanted copies of at least 1, got 0", 2),
    ("--vary both", "wanted vary of separately, together, got 'both'", 2),
    ("--columns text number", "wanted one column for the classifier tfidf, got text number", 2),
]


@pytest.mark.parametrize(("changed", "message", "status"), TABLE, ids=[row[0] for row in TABLE])
def test_bad_input_is_one_line(task, changed, message, status, capsys):
    try:
        code = main([*COMMAND.split(), "--sizes", "3", "--seeds", "2", *changed.split()])
    except SystemExit as error:
        code = error.code
    lines = [line for line in capsys.readouterr().err.splitlines() if message in line]
    assert code == status and lines, lines


def test_labels_of_another_type_are_refused_and_nothing_is_recorded(task, capsys):
    with (task / "test.csv").open("a") as file:
        file.write("what a film,unknown,1\n")
    assert main([*COMMAND.split(), "--sizes", "3", "--seeds", "2"]) == 1
    assert "row 6 of test: wanted numbers in column 'label', as in train, got 'unknown'" in capsys.readouterr().err
    assert not (task / "study").exists()


@pytest.mark.slow
def test_a_study_with_other_settings_is_refused(task, capsys):
    assert main([*COMMAND.split(), "--sizes", "3", "--seeds", "2"]) == 0
    assert main([*COMMAND.split(), "--sizes", "3", "--seeds", "2", "--copies", "1"]) == 1
    assert "copies" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_each_text_is_paraphrased_once_in_a_study(task, capsys, monkeypatch):
    texts = []
    chunk = Paraphraser._chunk

    def count_chunk(self, chunk_texts, sets, settings, template):
        texts.extend(chunk_texts)
        return chunk(self, chunk_texts, sets, settings, template)

    monkeypatch.setattr(Paraphraser, "_chunk", count_chunk)
    assert main([*COMMAND.split(), "--sizes", "3", "4", "0", "--seeds", "3"]) == 0
    assert sorted(texts) == sorted(GOOD + BAD)
    assert main([*COMMAND.split(), "--sizes", "3", "4", "0", "--seeds", "3"]) == 0
    assert len(texts) == len(GOOD + BAD), "a finished study asks for nothing"


def test_rows_that_no_seed_draws_are_not_paraphrased():
    train = Dataset.from_dict({"text": [f"text {n}" for n in range(400)], "label": [0, 1] * 200})
    settings = StudyFile(train="t", test="t", columns=["text"], label="label", output_dir="o", seeds=2)
    assert len(_sample_texts(train, settings, [3])) <= 2 * 2 * 3
    assert len(_sample_texts(train, settings, [3, 999])) == 400


def test_the_classifier_is_the_better_one_unless_it_cannot_read_the_columns():
    settings = StudyFile(train="t", test="t", columns=["text"], label="label", output_dir="o")
    assert settings.chosen_classifier == "tfidf"
    assert replace(settings, columns=["text", "other"]).chosen_classifier == "embeddings"
    assert replace(settings, classifier="embeddings").chosen_classifier == "embeddings"


@pytest.mark.slow
def test_a_study_of_a_model_that_was_trained_again_is_refused(task, capsys):
    shutil.copytree(STARTERS / "paraphraser", task / "mine")
    command = [*COMMAND.split(), "--sizes", "3", "--paraphraser", "mine"]
    assert main([*command, "--seeds", "2"]) == 0
    (task / "mine" / "words.txt").write_text("other\n")
    assert main([*command, "--seeds", "3"]) == 1
    assert "content of paraphraser's model was 'sha256:" in capsys.readouterr().err.splitlines()[-1]


def test_one_study_at_a_time_works_in_a_folder(task, capsys):
    with held(task / "study", processes(exchange=False)):
        assert main([*COMMAND.split(), "--sizes", "3", "--seeds", "2"]) == 1
    assert "study" in capsys.readouterr().err.splitlines()[-1]
