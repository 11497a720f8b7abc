"""Human judgments as they were released: quotes, merging, and what is counted of each system."""

import gzip

import pytest

from research.experiments.systems import PAPER_JUDGED
from toolkit.evaluate.judged import PAPER_GRAMMATICAL, _JudgedText, _system_name, by_system, read_judged, split_half

HEAD = "worker_id_anon\tref_len\tref_id\tsys_id\tcandidate\thuman_score\tgm\n"


def write(folder, candidates: str, references: str = 'ref_id\tref_sent\n1\tHe said no.\n2\t"""Go,"" she said."\n'):
    for name, content in {"ref": references, "candidates": candidates}.items():
        with gzip.open(folder / f"{name}.tsv.gz", "wt", encoding="utf-8") as file:
            file.write(content)
    return folder


def test_equal_texts_are_one_and_quotes_are_the_files(tmp_path):
    lines = "0\t5\t1\t17 35\tHe refused. \t40\t2\n1\t5\t1\t17 35\tHe refused.\t\t1\n2\t5\t1\t28\t He refused.\t70\t2\n"
    lines += '0\t20\t2\t0\t"""Go,"" she said."\t100\t2\n'
    references, texts = read_judged(write(tmp_path, HEAD + lines))
    assert references == {"1": "He said no.", "2": '"Go," she said.'}
    assert texts == [
        _JudgedText("1", "He refused.", {"ParaBank 17", "ParaNMT", "ParaBank 28"}, [40.0, 70.0], [2, 1, 2], 5),
        _JudgedText("2", '"Go," she said.', {"copies of the reference"}, [100.0], [2], 20),
    ]


def test_one_flag_of_one_annotator_is_enough():
    texts = [
        _JudgedText("1", "a", {"ParaBank 28"}, [10], [2, 2, 2]),
        _JudgedText("2", "b", {"ParaBank 28", "ParaBank 3"}, [20, 40], [2, 2, 0, 0]),
        _JudgedText("3", "c", {"ParaBank 28", "ParaNMT"}, [], [1]),
    ]
    systems = by_system(texts)
    assert list(systems) == ["ParaNMT", "ParaBank 3", "ParaBank 28"]
    expected = {"texts": 3, "grammatical": 100 / 3, "grammaticality": (2 + 1 + 1) / 3, "score": (10 + 30) / 2}
    assert systems["ParaBank 28"] == pytest.approx(expected)
    assert "score" not in systems["ParaNMT"]


def test_halves_of_annotators_that_agree_and_that_do_not():
    alike = [_JudgedText(str(i), "a", scores=[float(i)] * 4) for i in range(20)]
    apart = [_JudgedText(str(i), "a", scores=[float(i), float(-i)]) for i in range(20)]
    alone = [_JudgedText("1", "a", scores=[5.0])]
    assert split_half(alike + alone, lambda text: text.scores, 0) == pytest.approx(1)
    assert split_half(apart, lambda text: text.scores, 0) < -0.3


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (
            HEAD.replace("\tgm", "") + "0\t5\t1\t2\ta\t3\n",
            "wanted the columns worker_id_anon, ref_id, .*, got .* without gm",
        ),
        (HEAD + "0\t5\t1\t2\ta\tmuch\t2\n", "wanted judgments as numbers, got .*much"),
        (HEAD + "0\t5\t1\t2\ta\t5\t2\n0\t5\t1\t2\ta\n", "wanted judgments as numbers, got "),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, candidates, message):
    with pytest.raises(ValueError, match=message) as error:
        read_judged(write(tmp_path, candidates))
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    write(tmp_path, HEAD)
    (tmp_path / "ref.tsv.gz").unlink()
    with pytest.raises(ValueError, match=r"got .* without ref\.tsv\.gz: check the folder"):
        read_judged(tmp_path)


def test_names_are_those_of_the_papers_tables():
    assert {_system_name(number) for number in ("35", "17", "21", "28", "31", "34")} == set(PAPER_GRAMMATICAL)
    assert PAPER_GRAMMATICAL.keys() == PAPER_JUDGED.keys()
