"""Which pairs of PARAPHRASUS count with which label, and what of them is told wrong."""

from research.experiments.encoder_suite import CONSENSUS, MRPC_COLUMNS, SETS, errors, labelled_rows, read_task
from tests.tiny import word_encoder

WORDS = {"[UNK]": [0, 0], "dog": [1, 0], "hound": [3, 4], "cat": [0, 2]}


def write(path, head, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(line) + "\n" for line in (head, *lines)), "utf-8")


def test_pairs_that_were_not_judged_or_are_too_near_do_not_count(tmp_path):
    path = tmp_path / "stsbenchmark-test-sts.tsv"
    head = ("sentence1", "sentence2", "score", CONSENSUS)
    write(path, head, ("a", "b", "4.5", "1.0"), ("c", "d", "4.0", "-100.0"), ("e", "f", "1.0", "0.0"))
    hard, near = SETS["Classify!"]["STS-H"][1], SETS["Minimize!"]["STS"][1]
    assert list(labelled_rows(path, hard)) == [("a", "b", 1.0), ("e", "f", 0.0)]
    assert list(labelled_rows(path, near)) == [("e", "f", 0.0)]


def test_errors_are_percentages_of_the_sets_that_are_there(tmp_path):
    write(tmp_path / "amr_true_paraphrases.tsv", ("sentence1", "sentence2"), ("dog", "hound"), ("dog", "cat"))
    write(tmp_path / "ms-mrpc.tsv", ("sentence1", "sentence2", "label"), ("dog", "dog", "1"), ("dog", "hound", "0"))
    percentages = errors(word_encoder(WORDS), tmp_path, 0.5)
    assert percentages == {"Classify!": {"MRPC": 50.0}, "Maximize!": {"TRUE": 50.0}}


def test_mrpc_is_read_with_its_labels(tmp_path):
    path = tmp_path / "one.tsv"
    write(path, ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"), ("1", "7", "8", "A dog.", "A hound."))
    assert read_task(path, MRPC_COLUMNS) == [("A dog.", "A hound.", 1.0)]
