"""Tasks of MTEB on local copies that are written here, with an encoder of four words."""

import json

import pytest
from scipy.stats import spearmanr

from tests.sts_files import PAIRS, SCORES, four_word_encoder, write, write_year
from toolkit.evaluate.suite import COPIES, GROUPS, evaluate_suite, load_suite, suite_json, suite_markdown, suite_names

SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


@pytest.fixture(scope="module")
def encoder():
    return four_word_encoder()


@pytest.mark.slow
def test_local_files_are_the_tasks_of_mteb(tmp_path, encoder):
    for year in (2012, 2016):
        write_year(tmp_path, year, ["3", "4", "1"])
    write_year(tmp_path, 2013)
    tasks, missing = load_suite(["STS12", "STS13", "STS16"], tmp_path)
    figures = evaluate_suite(encoder, "someone/mine", tasks, tmp_path / "results")
    expected = 100 * spearmanr([0.6, 0, 1], [3, 4, 1])[0]
    assert figures["STS13"].value == pytest.approx(100) and not missing
    assert figures["STS12"].value == figures["STS16"].value == pytest.approx(expected)
    assert figures["STS12"].measure == "cosine_spearman" and figures["STS12"].part == "test"
    assert figures["STS12"].data != figures["STS13"].data
    (of_mteb,) = (tmp_path / "results").rglob("STS13.json")
    record = json.loads(of_mteb.read_text())
    assert suite_json(figures)["STS13"]["part"] == "test"
    assert record["scores"]["test"][0]["main_score"] == pytest.approx(1)
    assert of_mteb.parents[1].name == "someone__mine" and record["dataset_revision"] == figures["STS13"].data


def test_labels_and_scores_from_one_to_five(tmp_path, encoder):
    folder = tmp_path / "sts/sick-msrp/sts/sick2014"
    for name in ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"):
        lines = [f"1\t{pair}\t{score}\tNEUTRAL" for pair, score in zip(PAIRS, SCORES, strict=True)]
        write(folder / name, [SICK.strip(), *lines])
    write(tmp_path / "sts/chinese/LCQMC/test.txt", ["dog\tdog\t1", "dog\tcat\t0", "cat\tdog\t0"])
    tasks, missing = load_suite(["SICK-R", "LCQMC"], tmp_path)
    figures = evaluate_suite(encoder, str(tmp_path), tasks)
    assert [figures[task].value for task in ("SICK-R", "LCQMC")] == [pytest.approx(100)] * 2 and not missing


def test_what_is_nowhere_is_named(tmp_path, encoder):
    write_year(tmp_path, 2013)
    write_year(tmp_path, 2014)
    (tmp_path / "sts/2013/STS.gs.OnWN.txt").unlink()
    tasks, missing = load_suite(["STS13", "STS14", "TwitterURLCorpus"], tmp_path)
    assert list(tasks) == ["STS14"] and len(missing) == 2
    assert missing[0].startswith("STS13: wanted sts/2013/STS.input.FNWN.txt, ")
    assert "wanted mteb/twitterurlcorpus-pairclassification of the Hub, got neither" in missing[1]
    printed = suite_markdown({"mine": evaluate_suite(encoder, "someone/mine", tasks)}, missing)
    assert "| mine | 100.0 |\n\nWithout their data:\n\n- STS13: wanted" in printed
    with pytest.raises(ValueError, match="wanted the data of at least one task, got none: STS13: wanted sts/2013/STS"):
        load_suite(["STS13"], tmp_path)


def test_a_damaged_file_is_no_missing_task(tmp_path, encoder):
    write_year(tmp_path, 2013, ["3", "9", "1"])
    with pytest.raises(ValueError, match="wanted a score from 0 to 5, got '9' in line 2"):
        load_suite(["STS13"], tmp_path)


@pytest.mark.slow
def test_names():
    assert set(COPIES) <= {task for group in GROUPS.values() for task in group}
    assert suite_names(["english", "STS12"]) == list(GROUPS["english"])
    assert suite_names(["FinParaSTS"]) == ["FinParaSTS"]
    for name, came in (("STS99", "which mteb does not know"), ("Banking77Classification", "a task of Classification")):
        with pytest.raises(ValueError, match=f"got {name}, {came}"):
            suite_names([name])
