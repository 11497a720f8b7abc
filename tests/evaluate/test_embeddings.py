"""An encoder of four words through a folder of tasks written here."""

import json

import numpy as np
import pytest

from tests.sts_files import PAIRS, SCORES, four_word_encoder, write, write_year
from toolkit.evaluate.embeddings import TABLES, TASKS, _cell, _Figure, as_json, evaluate_encoder, markdown
from toolkit.evaluate.sts import correlations, read_benchmark, read_chinese_identification


@pytest.fixture(scope="module")
def encoder():
    return four_word_encoder()


def write_benchmark(data, part, scores=SCORES):
    lines = [f"g\tf\ty\t1\t{score}\t{pair}" for pair, score in zip(PAIRS, scores, strict=True)]
    write(data / f"sts/benchmark/sts-{part}.csv", lines)


def write_texts(data, name, n=12):
    write(data / "classification" / name, [line for i in range(n) for line in (f"1 dog {i}", f"0 cat {i}")])


def row(printed, title, name):
    lines = iter(printed.splitlines())
    assert any(line == f"## {title}" for line in lines)
    text_line = next(line for line in lines if line.startswith(f"| {name} |"))
    return [column.strip() for column in text_line.strip("|").split("|")][1:]


def test_years_that_are_there_whole(tmp_path, encoder):
    write_year(tmp_path, 2013)
    write_year(tmp_path, 2016, ["5", "", "1"])
    write_year(tmp_path, 2014)
    (tmp_path / "sts/2014/STS.gs.images.txt").unlink()
    figures, missing = evaluate_encoder(encoder, tmp_path, ["sts"])
    assert len(figures) == 2 * (2 + 3) + 2 * (2 + 5)
    right = 100 * np.corrcoef([0.6, 0, 1], [3, 1, 5])[0, 1]
    assert figures["STS 2013"].value == pytest.approx(right) and figures["STS 2013 Spearman"].value == 100
    assert figures["STS 2016"].value == figures["STS 2016 plagiarism"].value == -100
    names = "FNWN,OnWN,headlines|without SMT, which is not public"
    settings = f"mean over sets:{names}|cosine|pairs:9|left out:0|v:1.0.0"
    assert figures["STS 2013"].signature == f"pearson x100|sts2013|{settings}"
    assert "|pooled sets:" in figures["STS 2013 pooled"].signature and "pairs:10|" in figures["STS 2016"].signature
    assert [line.partition(":")[0] for line in missing] == ["STS 2012", "STS 2014", "STS 2015"]
    assert missing[1] == "STS 2014: wanted sts/2014/STS.gs.images.txt"


def test_the_set_that_is_not_public_counts_where_it_is(tmp_path, encoder):
    write_year(tmp_path, 2013)
    for part, lines in (("input", PAIRS), ("gs", SCORES[::-1])):
        write(tmp_path / f"sts/2013/STS.{part}.SMT.txt", lines)
    figures, _ = evaluate_encoder(encoder, tmp_path, ["sts"])
    assert figures["STS 2013"].value == pytest.approx(
        (3 * figures["STS 2013 FNWN"].value + figures["STS 2013 SMT"].value) / 4
    )
    assert figures["STS 2013 SMT"].value < 70 and "not public" not in figures["STS 2013"].signature


def test_pairs_are_left_out_of_all_similarity_tasks(tmp_path, encoder):
    write_year(tmp_path, 2013)
    write_benchmark(tmp_path, "dev")
    write(
        tmp_path / "sts/chinese/Chinese-STS-B/sts-b-test.txt", [f"{p}\t{s}" for p, s in zip(PAIRS, SCORES, strict=True)]
    )
    figures, _ = evaluate_encoder(encoder, tmp_path, TASKS, without={"hound"})
    assert figures["STS 2013"].value == pytest.approx(100)
    assert "pairs:6|left out:3|" in figures["STS 2013"].signature
    for name in ("STS 2013 FNWN", "STS Benchmark dev", "Chinese STS-B test Spearman"):
        assert "pairs:2|left out:1|" in figures[name].signature


def test_chinese_paraphrase_identification_is_a_correlation_with_the_label(tmp_path, encoder):
    path = tmp_path / "sts/chinese/LCQMC/test.txt"
    write(path, [f"{pair}\t{label}" for pair, label in zip(PAIRS, (1, 1, 0), strict=True)])
    figures, missing = evaluate_encoder(encoder, tmp_path, ["chinese"])
    assert figures["LCQMC test Spearman"].value == correlations(encoder, read_chinese_identification(path))[1]
    assert "AFQMC dev: wanted sts/chinese/AFQMC/dev.txt" in missing


def test_the_benchmark_is_read_and_correlated(tmp_path, encoder):
    write_benchmark(tmp_path, "test", ["4", "2", "3"])
    figures, missing = evaluate_encoder(encoder, tmp_path, ["benchmark"])
    expected = correlations(encoder, read_benchmark(tmp_path / "sts/benchmark/sts-test.csv"))
    assert (figures["STS Benchmark test"].value, figures["STS Benchmark test Spearman"].value) == expected
    assert missing == ["STS Benchmark dev: wanted sts/benchmark/sts-dev.csv"]


@pytest.mark.slow
def test_parts_that_are_not_there_have_named_substitutes(tmp_path, encoder):
    for name in ("stsa.binary.train", "stsa.binary.dev", "TREC.train.all"):
        write_texts(tmp_path, name)
    figures, missing = evaluate_encoder(encoder, tmp_path, ["transfer"])
    assert {name: figure.value for name, figure in figures.items()} == {"SST (dev)": 100, "TREC (10 folds)": 100}
    assert "accuracy x100|dev|penalty by 5 folds" in figures["SST (dev)"].signature
    assert "SST: wanted classification/stsa.binary.test" in missing
    assert "TREC: wanted classification/TREC.test.all" in missing
    assert "MR: wanted classification/rt-polarity.all" in missing
    for name in ("stsa.binary.test", "TREC.test.all"):
        write_texts(tmp_path, name, 2)
    figures, _ = evaluate_encoder(encoder, tmp_path, ["transfer"])
    assert {name: figure.value for name, figure in figures.items()} == {"SST": 100, "TREC": 100}
    assert "|test|penalty by dev|" in figures["SST"].signature and "|test|" in figures["TREC"].signature


def test_every_figure_of_pairs_has_a_column(tmp_path, encoder):
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    judgments = [f"1\t{p}\t{s}\t{'NEUTRAL' if s == '1' else 'ENTAILMENT'}" for p, s in zip(PAIRS, SCORES, strict=True)]
    for name, times in (("train", 9), ("trial", 1), ("test_annotated", 1)):
        write(tmp_path / f"sts/sick-msrp/sts/sick2014/SICK_{name}.txt", [header, *judgments * times])
    quality = [f"{int(s != '1')}\t1\t2\t{p}" for p, s in zip(PAIRS, SCORES, strict=True)]
    for name in ("train", "val", "test"):
        write(tmp_path / f"sts/sick-msrp/para/msr/msr-para-{name}.tsv", ["Quality\t#1 ID\t#2 ID\t", *quality * 5])
    figures, missing = evaluate_encoder(encoder, tmp_path, ["sick", "transfer"])
    assert set(figures) == {"SICK cosine", "SICK cosine Spearman", "MRPC", "MRPC F1", "SICK-R", "SICK-E"}
    assert set(figures) <= {column for table in TABLES for column in table.columns}
    assert figures["MRPC"].value == figures["SICK-E"].value == 100 and figures["SICK-R"].value > 90
    assert {line.partition(":")[0] for line in missing} >= {"MR", "SST", "TREC", "TREC (10 folds)"}


def test_tables_have_the_papers_rows_below():
    cells = {"STS 2014": _Figure(70.05, "one"), "STS 2016 Spearman": _Figure(1, "rho"), "MRPC F1": _Figure(81.26, "f1")}
    encoders = {"a": (cells, ["STS 2012: wanted x"]), "b": ({"STS 2014": _Figure(-3, "other")}, ["STS 2012: wanted x"])}
    printed = markdown(encoders)
    title = "STS, Pearson x 100, mean over sets"
    assert row(printed, title, "a") == ["-", "-", "70.0", "-", "-"] and row(printed, title, "b")[2] == "-3.0"
    assert row(printed, title, "ParaNMT, table 8: WORD, 300") == ["66.2", "61.8", "76.2", "79.3", "77.5"]
    assert row(printed, "STS 2016", "a") == ["-", "1.0", "-", "-"]
    assert row(printed, "STS 2016", "ParaBank 2, table 3: ParaNMT") == ["75.4", "76.3", "-", "-"]
    assert "## STS Benchmark" not in printed  # of which nobody has a figure
    scored = markdown({"a": ({"STS Benchmark dev": _Figure(1, "dev")}, [])})
    assert row(scored, "STS Benchmark", "ParaNMT, table 9: WORD, TRIGRAM, 600") == ["79.9", "-", "-", "-"]
    assert row(printed, "Frozen embeddings", "a")[6:8] == ["-", "81.3"]
    assert row(printed, "Frozen embeddings", "ParaNMT, table 14: WORD, 300")[6:] == [
        "68.6",
        "80.9",
        "83.6",
        "80.6",
        "-",
        "-",
    ]
    assert printed.count("- STS 2012: wanted x") == 1
    for signature in ("STS 2014: one", "STS 2014: other", "STS 2016 Spearman: rho", "MRPC F1: f1"):
        assert printed.count(f"`{signature}`") == 1
    assert "## Frozen" not in markdown(encoders, ["sts"]) and "f1" not in markdown(encoders, ["sts"])


def test_no_table_is_narrower_than_its_paper():
    for table in TABLES:
        assert table.task in TASKS and all(len(values) <= len(table.columns) for values in table.paper.values())
    assert _cell(None) == "-"


def test_json_holds_all_figures():
    record = as_json({"a": ({"MR": _Figure(1.5, "s")}, ["CR: wanted x"])})
    expected = {"a": {"figures": {"MR": {"value": 1.5, "signature": "s"}}, "missing": ["CR: wanted x"]}}
    assert json.loads(json.dumps(record)) == expected


def test_errors(tmp_path, encoder):
    with pytest.raises(ValueError, match=r"wanted tasks of sts, benchmark, .* got sst: name others"):
        evaluate_encoder(encoder, tmp_path, ["sst"])
    with pytest.raises(
        ValueError, match=r"wanted the files of at least one task in .* got none .STS 2012: wanted sts/"
    ):
        evaluate_encoder(encoder, tmp_path)
