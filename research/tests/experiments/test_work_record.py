"""What is kept in the folder of an experiment is of the settings that were asked for."""

import json
import sys
from pathlib import Path

import pytest

from research.experiments import corpora, hard_negatives, identification_table, paraphraser_runs
from research.experiments.work_record import RECORD, check_work, models_read

EXPERIMENTS = Path(hard_negatives.__file__).parent
WITHOUT_RECORD = {  # experiments with a folder in which they keep nothing that is not checked elsewhere
    "augmentation_labels",  # reads
    "chinese_augmentation",  # trains, and trainings check their settings
    "sts_table",  # keeps what `corpora.py` makes
    "paraphraser_table",  # as `paraphraser_runs.py` checks
}


def run(monkeypatch: pytest.MonkeyPatch, module, *arguments) -> None:
    monkeypatch.setattr(sys, "argv", ["experiment", *map(str, arguments)])
    module.main()


def test_other_settings_are_refused_in_one_line(tmp_path):
    work = tmp_path / "deep" / "work"
    for _ in range(2):
        check_work(work, "models", {"steps": 10, "rates": (1, 2)})
    with pytest.raises(
        ValueError, match=r"got .*work, which holds models of steps 10, now 20: choose another"
    ) as error:
        check_work(work, "models", {"steps": 20, "rates": (1, 2)})
    assert "\n" not in str(error.value) and "rates" not in str(error.value)
    with pytest.raises(ValueError, match="seed None, now 1"):
        check_work(work, "models", {"steps": 10, "rates": (1, 2), "seed": 1})
    check_work(work, "figures", {"steps": 20})
    check_work(work, "models", {"steps": 10, "rates": (1, 2)})


def test_a_path_is_where_it_leads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_work(tmp_path / "work", "pairs", {"data": Path("data")})
    check_work(tmp_path / "work", "pairs", {"data": tmp_path / "data"})
    with pytest.raises(ValueError, match="other"):
        check_work(tmp_path / "work", "pairs", {"data": tmp_path / "other"})


def test_models_and_files_are_known_by_their_content(tmp_path):
    model, file = tmp_path / "model", tmp_path / "texts.json"
    model.mkdir()
    (model / "config.json").write_text("{}")
    file.write_text("{}")
    inputs = {"model": [str(model)], "texts": [file]}
    for _ in range(2):
        check_work(tmp_path / "work", "outputs", {}, inputs)
    for changed in (file, model / "config.json"):
        before = changed.read_text()
        changed.write_text('{"a": 1}')
        with pytest.raises(ValueError, match=r"which holds outputs of (texts|model) "):
            check_work(tmp_path / "work", "outputs", {}, inputs)
        changed.write_text(before)
    assert models_read("starter/paraphraser")[:2] == ["starter/paraphraser", "starter/encoder"]


def test_a_folder_without_a_record_is_refused(tmp_path):
    (tmp_path / "scores.json").write_text("{}")
    with pytest.raises(FileExistsError, match=f"which holds files but no {RECORD}"):
        check_work(tmp_path, "scores", {})
    (tmp_path / RECORD).write_text("{")
    with pytest.raises(FileExistsError, match="damaged"):
        check_work(tmp_path, "scores", {})


def test_every_experiment_with_a_folder_checks_it():
    sources = {path.stem: path.read_text(encoding="utf-8") for path in EXPERIMENTS.glob("*.py")}
    with_folder = {name for name, source in sources.items() if '"--work"' in source}
    assert {name for name in with_folder if "check_work(" not in sources[name]} <= WITHOUT_RECORD | {"paranmt_tables"}
    assert "corpora.check_references(" in sources["paranmt_tables"]


def test_pairs_of_other_data_are_refused(tmp_path, monkeypatch):
    """`hard_negatives.py` keeps its pairs by their number alone."""
    stubs = {
        "natural_pairs": lambda data: iter([("one", data.name)]), "evaluation_keys": lambda data: set(),
        "Judge": lambda data: None, "mined": lambda path, margin: ({}, {}), "line": lambda name, figures: None,
        "over_seeds": lambda pairs, seeds, settings, judge: {"pairs": pairs},
    }  # fmt: skip
    for name, stub in stubs.items():
        monkeypatch.setattr(hard_negatives, name, stub)
    work, report = tmp_path / "work", tmp_path / "report.json"
    for _ in range(2):
        run(monkeypatch, hard_negatives, "--data", tmp_path / "first", "--work", work, "--json", report)
    assert "first" in json.dumps(json.loads(report.read_text())["results"]["margin"]["without"])
    with pytest.raises(ValueError, match="holds pairs of people of data "):
        run(monkeypatch, hard_negatives, "--data", tmp_path / "second", "--work", work, "--json", report)


def test_figures_of_other_data_are_refused(tmp_path, monkeypatch):
    """`identification_table.py` keeps the figures on the files of --data by task, rate and seed."""
    monkeypatch.setattr(identification_table, "starts", lambda options, seed: {})
    monkeypatch.setattr(identification_table, "floor", lambda options: {})
    arguments = ["--parabank", "p", "--start", "s", "--encoder", "e", "--work", tmp_path / "work", "--data"]
    run(monkeypatch, identification_table, *arguments, "first")
    run(monkeypatch, identification_table, *arguments, "first", "--pairs", 10)  # the trainings themselves refuse it
    with pytest.raises(ValueError, match="holds classifiers of data "):
        run(monkeypatch, identification_table, *arguments, "second")


def test_other_numbers_of_references_are_refused(tmp_path, monkeypatch):
    pairs = [(f"Satz {n}", f"sentence {n}") for n in range(40)]
    monkeypatch.setattr(corpora, "sts_sentences", lambda data: set())
    monkeypatch.setattr(corpora, "references", lambda data, name, forbidden: pairs)
    bitext = corpora.prepare(tmp_path / "data", tmp_path / "work", 30)
    assert corpora.prepare(tmp_path / "data", tmp_path / "work", 30) == bitext
    assert len(bitext.read_text().splitlines()) == 30
    with pytest.raises(ValueError, match="holds a bitext of references 30, now 50"):
        corpora.prepare(tmp_path / "data", tmp_path / "work", 50)


def test_the_references_of_corpora_do_not_depend_on_which_are_asked_for(tmp_path, monkeypatch):
    best = {name: {f"text {n}": f"{name} {n}" for n in range(step, 60)} for step, name in enumerate(corpora.BUILDERS)}
    monkeypatch.setattr(paraphraser_runs, "test_keys", lambda data: set())
    monkeypatch.setattr(paraphraser_runs, "best_pairs", lambda folder, used: best[folder.name])
    monkeypatch.setattr(
        paraphraser_runs, "parabanks", lambda data, work, names=corpora.BUILDERS: {name: Path(name) for name in names}
    )
    data, work, file = tmp_path / "data", tmp_path / "work", tmp_path / "work" / "paranmt.tsv"
    paraphraser_runs.corpora(data, work, 20, ["ParaNMT"])
    before = file.read_text()
    (work / "parabank-2.tsv").unlink()  # as if stopped before
    paraphraser_runs.corpora(data, work, 20, paraphraser_runs.OF_BITEXT)
    assert file.read_text() == before
    references = [{line.split("\t")[0] for line in path.read_text().splitlines()} for path in work.glob("*.tsv")]
    assert len(references) == 3 and references[0] == references[1] == references[2] and len(references[0]) == 20
    with pytest.raises(ValueError, match="holds pairs of a bitext of pairs 20, now 30"):
        paraphraser_runs.corpora(data, work, 30, ["ParaBank"])


def test_pairs_of_another_paranet_are_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(paraphraser_runs, "test_keys", lambda data: set())
    monkeypatch.setattr(paraphraser_runs, "best_pairs", lambda folder, used: {"A text.": folder.name})
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.parquet").write_text(name)
    settings = tmp_path / "data", tmp_path / "work", 20, [paraphraser_runs.OURS]
    for _ in range(2):
        paraphraser_runs.corpora(*settings, tmp_path / "first")
    with pytest.raises(ValueError, match="holds ParaNet, ours of "):
        paraphraser_runs.corpora(*settings, tmp_path / "second")
