"""scripts/evaluate_paraphraser.py: the table, the files of other systems, and bad input."""

import json

import pytest

from scripts import evaluate_paraphraser
from tests.score.test_bertscore import save_encoder
from tests.tiny import folder, pairs
from toolkit.evaluate.ibleu import corpus_ibleu

TEXTS = [reference for _, reference in pairs(5)]
OTHERS = [reference for _, reference in pairs(10)][5:]


@pytest.fixture
def test_set(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("".join(f"{text}\t{paraphrase}\n" for text, paraphrase in zip(TEXTS, OTHERS, strict=True)))
    return path


@pytest.mark.slow
def test_systems_stand_side_by_side(test_set, tmp_path, capsys):
    outputs = tmp_path / "theirs.txt"
    outputs.write_text("".join(f"{text}\t{paraphrase}\n" for text, paraphrase in zip(TEXTS, OTHERS, strict=True)))
    command = [str(test_set), "--outputs", f"theirs={outputs}", "--json", str(tmp_path / "figures.json")]
    tiny = str(folder() / "de-en"), str(folder() / "en-de")
    command += ["--models", tiny[0], "--round_trip", *tiny[::-1], "--n", "2", "--encoder", "starter/encoder"]
    assert evaluate_paraphraser.main(command) == 0
    output = capsys.readouterr().out
    lines = {tuple(cell.strip() for cell in line.split("|")[1:3]): line for line in output.splitlines() if "|" in line}
    for system in ("copy of the input", "theirs", "round trip, beam 12", tiny[0]):
        assert (system, "first") in lines and (system, "best") in lines
    record = json.loads((tmp_path / "figures.json").read_text())
    ibleu, _, _ = corpus_ibleu(OTHERS, [OTHERS], TEXTS, 0.8)
    assert record["figures"]["theirs"]["best"]["ibleu"] == pytest.approx(ibleu), "the best of two is the reference"
    assert record["figures"]["theirs"]["first"]["input_bleu"] == pytest.approx(100)
    assert record["figures"]["copy of the input"]["first"]["semantic"] == pytest.approx(1)
    assert all(len(texts) <= 2 for texts in record["outputs"][tiny[0]])
    assert "iBLEU|alpha:0.8|nrefs:1" in output and "cosine|encoder:starter/encoder|" in output


def test_bertscore_with_the_input(test_set, tmp_path, capsys):
    save_encoder(tmp_path / "encoder", TEXTS)
    command = [str(test_set), "--bertscore", str(tmp_path / "encoder"), "--bertscore_layer", "2"]
    assert evaluate_paraphraser.main([*command, "--json", str(tmp_path / "figures.json")]) == 0
    assert "BERTScore|encoder:encoder|layer:2|" in capsys.readouterr().out
    record = json.loads((tmp_path / "figures.json").read_text())
    assert record["figures"]["copy of the input"]["first"]["bertscore"] == pytest.approx(1, abs=1e-5)
    assert evaluate_paraphraser.main([*command[:-1], "9"]) == 1
    assert "wanted a layer of the 4 of" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["none.tsv"], "none.tsv, which does not exist"),
        (["--outputs", "theirs=none.txt"], "wanted a file of outputs, got none.txt, which is none; give NAME=FILE"),
        (["--references", "2"], "wanted inputs with 2 human paraphrases each, got none in"),
        (["--bertscore", "/nowhere"], "wanted an encoder of transformers, got '/nowhere'"),
        (["--models", "/nowhere"], "wanted a translator, got '/nowhere', which is neither"),
    ],
)
def test_bad_input_is_one_line(test_set, change, message, capsys):
    command = change if change[0].endswith(".tsv") else [str(test_set), *change]
    assert evaluate_paraphraser.main(command) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("parabank evaluate paraphraser: ") and message in lines[-1]


def test_a_parabank_in_another_language_is_one_line(tmp_path, capsys):
    (tmp_path / "parabank.json").write_text('{"settings": {"lang": "de"}}')
    assert evaluate_paraphraser.main([str(tmp_path), "--lang", "en"]) == 1
    assert f"wanted pairs in en, got {tmp_path}, which is in de: give --lang de" in capsys.readouterr().err


def test_as_many_lines_of_outputs_as_inputs(test_set, tmp_path, capsys):
    (tmp_path / "few.txt").write_text("one\n")
    assert evaluate_paraphraser.main([str(test_set), "--outputs", f"few={tmp_path / 'few.txt'}"]) == 1
    assert "wanted a line of outputs for each of 5 inputs, got 1 lines in" in capsys.readouterr().err
