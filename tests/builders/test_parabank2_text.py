"""ParaBank 2 of running text: a translator writes the source side, and all that is read says so."""

import pytest

from builders import parabank2
from builders.commands.build_parabank import main
from builders.filter import Filter, filter_parabank
from builders.parabank2 import ParaBank2Run, ParaBank2TextRun
from toolkit.package.load import load_parabank
from toolkit.system.whole_files import read_record

TEXT = "The old house stood by the river. Nobody had lived there for years.\n\nTom bought a red car yesterday."
SHORT = ["--constraint_sets", "3", "--samples_per_set", "12", "--constraint_rate", "0.5"]
SHORT += ["--max_dual_nll", "5", "--min_chars", "10"]
PIVOT = ["--pivot", "starter/en-de", "starter/de-en"]


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "book.txt").write_text(TEXT)
    command = ["parabank2", "--text", str(folder / "book.txt"), "--lang", "en", *PIVOT, *SHORT]
    assert main([*command, "--test_share", "0", "--validation_share", "0", "--output_dir", str(folder / "bank")]) == 0
    return folder / "bank"


def test_the_sources_are_translations_of_the_references(bank):
    pairs = list(load_parabank(bank)["train"])
    assert {pair["sentence1"] for pair in pairs} <= set(TEXT.replace("\n\n", " ").replace(". ", ".|").split("|"))
    assert {(pair["lang"], pair["source_lang"]) for pair in pairs} == {("en", "de")}
    assert all(pair["source"] not in TEXT for pair in pairs)
    assert len({pair["source"] for pair in pairs}) == len({pair["sentence1"] for pair in pairs}) > 1


def test_the_card_says_that_a_machine_wrote_the_sources(bank):
    card = " ".join((bank / "README.md").read_text().split())
    assert "**Its source is a translation of it by a machine, not by people**" in card
    assert "3 sentences of the text" in card and "lines of the bitext" not in card
    assert read_record(bank / "statistics.json")["translated_references"] is True
    assert read_record(bank / "parabank.json")["settings"]["pivot"] == PIVOT[1:]


@pytest.mark.slow
def test_a_text_that_is_too_long_to_translate_is_counted_not_lost(tmp_path):
    long = "It went on " + " ".join(["and on"] * 300) + "."
    (tmp_path / "book.txt").write_text(f"{long} Tom bought a red car yesterday.")
    figures = parabank2.build(
        ParaBank2TextRun(
            text=[str(tmp_path / "book.txt")], lang="en", pivot=PIVOT[1:], output_dir=str(tmp_path / "bank"),
            min_chars=10, max_chars=5000, constraint_rate=0.5, samples_per_set=12, max_dual_nll=5.0,
            test_share=0.0, validation_share=0.0,
        )
    )  # fmt: skip
    assert figures["total"]["references"] == 2 and figures["total"]["kept"] == 1
    assert figures["candidates"]["refused"]["source_too_long"] == 1


def test_what_is_wrong_is_said_in_one_line(tmp_path, capsys):
    (tmp_path / "book.txt").write_text(TEXT)
    command = [
        "parabank2",
        "--text",
        str(tmp_path / "book.txt"),
        "--lang",
        "en",
        "--output_dir",
        str(tmp_path / "bank"),
    ]
    with pytest.raises(SystemExit):
        main([*command, "--pivot", "starter/en-de"])
    assert "wanted two translators as --pivot" in capsys.readouterr().err
    assert main([*command, "--pivot", "starter/en-de", "starter/en-de"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_it_can_be_filtered(bank, tmp_path):
    figures = filter_parabank(Filter(parabank=str(bank), output_dir=str(tmp_path / "one"), ranks="1"))
    assert figures["total"]["pairs"] and set(load_parabank(tmp_path / "one")["train"]["rank"]) == {0}


def test_the_settings_of_running_text_may_stand_in_a_file(tmp_path, capsys):
    (tmp_path / "book.txt").write_text(TEXT)
    (tmp_path / "text.yaml").write_text(
        f"text: [{tmp_path}/book.txt]\nlang: en\nmin_chars: 10\npivot: [starter/en-de, starter/en-de]\n"
    )
    for config in (["--config", str(tmp_path / "text.yaml")], [f"--config={tmp_path}/text.yaml"]):
        assert main(["parabank2", *config, "--output_dir", str(tmp_path / "bank")]) == 1
        stderr = capsys.readouterr().err
        assert "unknown key" not in stderr and "starter/en-de" in stderr


def test_a_language_of_which_no_word_can_be_forbidden(tmp_path):
    text = {"text": ["t"], "pivot": ["there", "back"], "pivot_lang": "en", "output_dir": "o"}
    bitext = {"bitext": ["b"], "source_lang": "en", "forward": "f", "backward": "b", "output_dir": "o"}
    for run, options in ((ParaBank2TextRun, text), (ParaBank2Run, bitext)):
        with pytest.raises(ValueError, match=r"wanted words to forbid, got ja, .*: give --constraint_rate 0 to sample"):
            run(**options, lang="jpn")
        assert run(**options, lang="th", constraint_rate=0.0).lang == "th"
        assert run(**options, lang="zh").constraint_rate > 0 and run(**options, lang="hi").constraint_rate > 0
