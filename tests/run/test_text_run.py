"""Runs on running text: which sentences become rows, and which texts are refused."""

import dataclasses

import pytest

from toolkit.run.text_run import TextRun

SENTENCES = [f"The house with number {n} in the long street was painted by the people of the town." for n in range(40)]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "one.txt").write_text("\n".join(SENTENCES[:25]))
    (tmp_path / "two.txt").write_text("\n".join(SENTENCES[20:]))
    return TextRun(text=[str(tmp_path)], lang="en", output_dir=str(tmp_path / "bank"))


def test_rows_have_no_source_and_their_context(run):
    rows = list(run.input_rows())
    assert [row.id for row in rows] == [f"one-{n}" for n in range(1, 26)] + [f"two-{n}" for n in range(1, 21)]
    assert [row.reference for row in rows if row.reason is None] == SENTENCES
    assert [row.id for row in rows if row.reason == "duplicate"] == [f"two-{n}" for n in range(1, 6)]
    assert all(row.source is None is row.source_lang and row.lang == "en" for row in rows)
    assert rows[1].context_before == SENTENCES[0] and rows[1].context_after.startswith(SENTENCES[2])
    assert rows[24].context_after == "", "a book ends"
    assert {row.split for row in rows} <= {"train", "validation", "test"}


def test_a_sample_is_of_different_sentences_in_the_order_of_the_text(run, capsys):
    samples = [list(dataclasses.replace(run, references=12, seed=seed).input_rows()) for seed in (0, 0, 1)]
    sentences = [[row.reference for row in rows if row.reason is None] for rows in samples]
    assert sentences[0] == sentences[1] == sorted(sentences[0], key=SENTENCES.index) and len(sentences[0]) == 12
    assert set(sentences[0]) != set(sentences[2])
    refused = {row.reference for row in samples[0] if row.reason == "duplicate"}
    assert refused == set(sentences[0]) & set(SENTENCES[20:25])
    assert capsys.readouterr().err == ""
    assert len(list(dataclasses.replace(run, references=99).input_rows())) == 45
    assert "wanted 99 references, got a text with 40 different sentences" in capsys.readouterr().err


def test_a_text_that_cannot_be_used_is_said(run, tmp_path):
    run.check_inputs()
    with pytest.raises(
        ValueError, match=r"wanted sentences of 200 to 300 characters with a mark at their end, got none in .*: check"
    ):
        dataclasses.replace(run, min_chars=200, max_chars=300).check_inputs()
    with pytest.raises(ValueError, match=r"wanted text in de, got en in [0-9]+% of 45 sentences: check"):
        dataclasses.replace(run, lang="de").check_inputs()
    dataclasses.replace(run, lang="de", check_language=False).check_inputs()
    with pytest.raises(FileNotFoundError, match=r"wanted an existing file, got .*three.txt"):
        dataclasses.replace(run, text=[str(tmp_path / "three.txt")]).check_inputs()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"min_chars": 0}, "wanted min_chars of at least 1, got 0"),
        ({"min_chars": 101}, "wanted max_chars of at least min_chars and context of at least 0, got 100, 101 and 250"),
        ({"context": -1}, "wanted max_chars of at least min_chars and context of at least 0, got 100, 60 and -1"),
        ({"references": 0}, "wanted references of at least 1, got 0"),
        ({"lang": "english"}, "wanted --lang as a code of ISO 639-1"),
    ],
)
def test_settings_out_of_range(run, changed, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(run, **changed)


def test_who_reads_the_rows_before_the_run_begins_leaves_nothing_in_its_folder(run, tmp_path):
    (tmp_path / "test.txt").write_text(SENTENCES[3])
    run = dataclasses.replace(run, decontaminate=[str(tmp_path / "test.txt")])
    assert "contaminated" in {row.reason for row in run.input_rows()}
    assert not run.shards_dir.exists()


def test_the_folder_of_a_run_stands_beside_that_of_its_parabank_by_whatever_name(run, tmp_path, monkeypatch):
    (tmp_path / "bank" / "more").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "bank")
    assert dataclasses.replace(run, output_dir=".").shards_dir == tmp_path / "bank.shards"
    monkeypatch.chdir(tmp_path / "bank" / "more")
    assert dataclasses.replace(run, output_dir="..").shards_dir == tmp_path / "bank.shards"
