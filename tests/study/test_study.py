"""A study of a small task, by every classifier, interrupted and resumed."""

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from matplotlib.figure import Figure
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

import toolkit
from toolkit.study.row_sample import _distinct_sizes, _row_sample, few_of_each
from toolkit.study.study import OVERSAMPLED, RESULTS, Study, oversampled, study
from toolkit.study.trials import by_estimator, by_trainer, on_embeddings

GOOD = ["good", "great", "fine", "lovely", "nice", "wonderful"]
BAD = ["bad", "awful", "poor", "terrible", "sad", "horrible"]


@pytest.fixture(scope="module")
def task():
    rows = [
        (f"this {thing} is {word}", n) for n, words in enumerate((GOOD, BAD)) for word in words for thing in "abcdef"
    ]
    chance = np.random.default_rng(0).permutation(len(rows))
    data = Dataset.from_dict({"text": [rows[i][0] for i in chance], "label": [rows[i][1] for i in chance]})
    return data.select(range(48)), data.select(range(48, 72))


def words(task):
    return by_estimator(make_pipeline(CountVectorizer(), SGDClassifier()), "text", "label")


def doubled(rows, seed):
    """New rows by a rule that helps: each class gets all of its words."""
    extra = [(word, n) for n, vocabulary in enumerate((GOOD, BAD)) for word in vocabulary]
    return Dataset.from_dict(
        {"text": [*rows["text"], *(w for w, _ in extra)], "label": [*rows["label"], *(n for _, n in extra)]}
    )


def harmful(rows, seed):
    """New rows that are wrong."""
    extra = [(word, 1 - n) for n, vocabulary in enumerate((GOOD, BAD)) for word in vocabulary] * 9
    return Dataset.from_dict(
        {"text": [*rows["text"], *(w for w, _ in extra)], "label": [*rows["label"], *(n for _, n in extra)]}
    )


@pytest.mark.slow
def test_what_helps_is_told_from_what_does_not(task, tmp_path):
    arms = {"helpful": doubled, "harmful": harmful, OVERSAMPLED: oversampled(2)}
    result = study(*task, "label", words(task), arms, sizes=[2, 0], seeds=8, output_dir=tmp_path, progress=False)
    assert result.arms == ["none", "helpful", "harmful", OVERSAMPLED] and result.sizes == [2, 0]
    verdicts = {key: comparison.verdict for key, comparison in result.comparisons().items()}
    assert verdicts["helpful", 2].startswith("yes: +")
    assert verdicts["harmful", 2].startswith("no, it is worse: -")
    assert verdicts[OVERSAMPLED, 2].startswith("no: ") and "would be needed" in verdicts[OVERSAMPLED, 2]
    assert verdicts["helpful", 0].startswith("not tested, because all seeds trained on the same rows: ")
    report = str(result)
    assert "does it help, against 'none'?" in report and "helpful, 2: yes" in report and "all 48: all seeds" in report
    result.plot(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / RESULTS).read_text().splitlines()) == 2 * 8 * 4


def test_a_study_that_was_ended_goes_on(task, tmp_path):
    arms = {OVERSAMPLED: oversampled(1)}
    whole = study(*task, "label", words(task), arms, sizes=[4], seeds=3, progress=False)
    calls = []

    def ends(train, test, seed):
        calls.append(seed)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return words(task)(train, test, seed)

    for _ in range(3):
        try:
            again = study(*task, "label", ends, arms, sizes=[4], seeds=3, output_dir=tmp_path, progress=False)
        except KeyboardInterrupt:
            with (tmp_path / RESULTS).open("a") as file:
                file.write('{"none|4|2": 1')  # as a kill leaves it
    assert again.results == whole.results and len(calls) == 7


@pytest.mark.parametrize("changed", ["train", "test"])
def test_a_study_of_other_rows_does_not_go_on_in_the_folder(task, tmp_path, changed):
    settings = {"label": "label", "trial": lambda *_: 0.5, "arms": {}, "sizes": [2], "seeds": 2, "progress": False}
    rows = dict(zip(("train", "test"), task, strict=True))
    first = study(**rows, **settings, output_dir=tmp_path)
    assert study(**rows, **settings, output_dir=tmp_path).results == first.results
    rows[changed] = rows[changed].map(lambda row: {"text": row["text"] + "!"})
    with pytest.raises(ValueError, match=f"{changed}.*another output"):
        study(**rows, **settings, output_dir=tmp_path)


def test_the_same_rows_are_drawn_for_all_arms_and_others_for_each_seed(task):
    train, _ = task
    texts: dict[str, list[list[str]]] = {"a": [], "b": []}

    def note(name):
        def arm(rows, seed):
            texts[name].append(list(rows["text"]))
            return rows

        return arm

    study(*task, "label", lambda *_: 0.5, {"a": note("a"), "b": note("b")}, sizes=[3], seeds=3, progress=False)
    assert texts["a"] == texts["b"] and len({tuple(rows) for rows in texts["a"]}) == 3
    labels = few_of_each(train, "label", 5, 0)["label"]
    assert sorted(labels) == [0] * 5 + [1] * 5
    assert len(few_of_each(train, "label", 99, 0)) == len(train), "all of a class that has fewer"
    with pytest.raises(ValueError, match="wanted two seeds or more, got 1: one says nothing about chance"):
        study(*task, "label", words(task), {}, seeds=1)


def test_embeddings(task):
    trial = on_embeddings(toolkit.load_encoder("starter/encoder"), ["text"], "label")
    train, test = task
    assert trial(train, test, 0) > 0.9
    splits = [rows.add_column("other", list(rows["text"])[::-1]) for rows in task]
    assert 0 <= on_embeddings(toolkit.load_encoder("starter/encoder"), ["text", "other"], "label")(*splits, 0) <= 1


@pytest.mark.slow
def test_a_transformer(task, tmp_path):
    from tests.augmentation.bert import tiny_bert

    trial = by_trainer(str(tiny_bert(tmp_path, [*task[0]["text"]])), ["text"], "label", 150, 8, 2e-3)
    assert trial(*task, 0) == trial(*task, 0) > 0.8


def test_any_arm_may_be_the_baseline():
    result = Study({("none", 4): [70.0, 71.0], ("x", 4): [72.0, 73.5]})
    assert result.comparisons("x")["none", 4].difference == -2.25


def test_a_size_that_no_class_exceeds_is_all_rows_and_is_trained_once(task, capsys):
    """A classifier that gains exactly one row of the test with more rows is no proof, with however many seeds."""
    gained = {"none": 0.5, "more": 0.5 + 1 / 24}
    arms = {"more": lambda rows, seed: rows.add_column("more", [1] * len(rows))}
    trials = []

    def trial(train, test, seed):
        trials.append(len(train))
        return gained["more" if "more" in train.column_names else "none"]

    result = study(*task, "label", trial, arms, sizes=[256, 999, 4], seeds=10)
    assert "size 256, 999: no class has more rows, so all 48 rows are taken instead" in capsys.readouterr().err
    assert result.sizes == [4, 0] and trials.count(48) == 20, "both sizes are the same rows"
    of_all, of_four = result.comparisons()["more", 0], result.comparisons()["more", 4]
    assert of_all.p is None and of_all.difference == pytest.approx(100 / 24, abs=1e-5)
    assert of_four.p < 0.05 and of_four.verdict.startswith("no: +4.2 points are at most one row of the test")
    report = str(result)
    assert "256" not in report and "yes" not in report and "worse" not in report
    assert "all 48: all seeds trained on the same rows, " in report
    assert result.comparisons("more")["none", 0].p is None, "whatever the baseline is"


def test_a_size_that_only_some_classes_reach_is_told_by_its_true_numbers(tmp_path):
    labels = ["many"] * 40 + ["few"] * 3
    train = Dataset.from_dict({"text": [f"text {n}" for n in range(43)], "label": labels})
    result = study(train, train, "label", lambda *_: 0.5, {}, sizes=[2, 8], seeds=3, progress=False)
    report = str(result)
    assert result.name_of(2) == "2" and result.name_of(8) == "3-8"
    assert "3-8: 8 rows of each class, all of a smaller class; 11 in all" in report
    assert not result.samples[8].same


def test_seeds_that_draw_the_same_rows_of_unequal_classes_are_not_tested():
    """The size is not that of the largest class, but each seed draws all rows all the same."""
    sample = _row_sample([0] * 5 + [1] * 3, 5, 4)
    assert sample.same and sample.name == "all 8"
    assert _distinct_sizes([0] * 5 + [1] * 3, [5, 4, 0, 4]) == [0, 4]


def test_the_plot_names_the_rows_that_there_are_and_its_label_fits(task, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(self))
    study(*task, "label", lambda *_: 0.5, {}, sizes=[4, 256], seeds=2, progress=False).plot(tmp_path / "curves.png")
    (axes,) = figures[0].axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["4", "all 48"]
    figures[0].draw_without_rendering()
    label = axes.yaxis.label.get_window_extent()
    assert label.y0 >= 0 and label.y1 <= figures[0].bbox.height
    assert "accuracy in percent" in axes.get_ylabel()


LABELS = [
    ([0, None], [0, 1], "row 1 of train: wanted a class in column 'label', got None"),
    ([0, 1], [0, None], "row 1 of test: wanted a class in column 'label', got None"),
    ([0.0, float("nan")], [0.0, 1.0], "row 1 of train: wanted a class in column 'label', got nan"),
    ([[0], [1]], [[0], [1]], "row 0 of train: wanted a class in column 'label', got [0]"),
    ([0, 1], ["0", "1"], "row 0 of test: wanted numbers in column 'label', as in train, got '0' in a column of texts"),
    ([0, 1], ["0", "?"], "row 1 of test: wanted numbers in column 'label', as in train, got '?' in a column of texts"),
    (["0", "1"], [0, 1], "row 0 of test: wanted texts in column 'label', as in train, got 0 in a column of numbers"),
]


@pytest.mark.parametrize(("train_labels", "test_labels", "message"), LABELS)
def test_labels_that_cannot_be_compared_are_refused_before_anything_is_trained(train_labels, test_labels, message):
    train, test = (Dataset.from_dict({"text": ["a", "b"], "label": labels}) for labels in (train_labels, test_labels))
    with pytest.raises(ValueError) as error:
        study(train, test, "label", lambda *_: pytest.fail("trained"), {}, [1], 2, progress=False)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


def test_numbers_of_classes_mean_the_same_in_train_and_test():
    def split(names, labels):
        features = Features({"text": Value("string"), "label": ClassLabel(names=names)})
        return Dataset.from_dict({"text": ["a", "b"], "label": labels}, features=features)

    train, *tests = split(["bad", "good"], [0, 1]), split(["good", "bad"], [0, 1]), split(["bad", "good"], [0, -1])
    with pytest.raises(ValueError, match="in the same order in train and test, got 'bad' and 'good' with the same num"):
        study(train, tests[0], "label", lambda *_: 0.5, {}, [1], 2, progress=False)
    with pytest.raises(ValueError, match="row 1 of test: wanted a class in column 'label', got -1"):
        study(train, tests[1], "label", lambda *_: 0.5, {}, [1], 2, progress=False)


def test_classes_that_no_training_row_has_are_told(task, capsys):
    train, _ = task
    test = Dataset.from_dict({"text": ["a", "b", "c"], "label": [0, 7, 7]})
    study(train, test, "label", lambda *_: 0.5, {}, [4], 2)
    assert "class 7 of the test: no row of train has it, so that 2 of 3 rows count as wrong" in capsys.readouterr().err
