"""A study of a small task, by every classifier, interrupted and resumed."""

import numpy as np
import pytest
from datasets import Dataset
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

import toolkit
from toolkit.augmentation.study import OVERSAMPLED, RESULTS, Study, few_of_each, oversampled, study
from toolkit.augmentation.trials import by_estimator, by_trainer, on_embeddings

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
    extra = [(word, n) for n, some in enumerate((GOOD, BAD)) for word in some]
    return Dataset.from_dict(
        {"text": [*rows["text"], *(w for w, _ in extra)], "label": [*rows["label"], *(n for _, n in extra)]}
    )


def harmful(rows, seed):
    """New rows that are wrong."""
    extra = [(word, 1 - n) for n, some in enumerate((GOOD, BAD)) for word in some] * 9
    return Dataset.from_dict(
        {"text": [*rows["text"], *(w for w, _ in extra)], "label": [*rows["label"], *(n for _, n in extra)]}
    )


def test_what_helps_is_told_from_what_does_not(task, tmp_path):
    arms = {"helpful": doubled, "harmful": harmful, OVERSAMPLED: oversampled(2)}
    found = study(*task, "label", words(task), arms, sizes=[2, 0], seeds=8, output_dir=tmp_path, progress=False)
    assert found.arms == ["none", "helpful", "harmful", OVERSAMPLED] and found.sizes == [0, 2]
    verdicts = {key: one.verdict for key, one in found.comparisons().items()}
    assert verdicts["helpful", 2].startswith("yes: +")
    assert verdicts["harmful", 2].startswith("no, it is worse: -")
    assert verdicts[OVERSAMPLED, 2].startswith("no: ") and "seeds would tell" in verdicts[OVERSAMPLED, 2]
    said = str(found)
    assert "does it help, against 'none'?" in said and "helpful, 2: yes" in said and "all" in said
    found.plot(tmp_path / "curves.png")
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


def test_the_same_rows_are_drawn_for_all_arms_and_others_for_each_seed(task):
    train, _ = task
    seen: dict[str, list[list[str]]] = {"a": [], "b": []}

    def note(name):
        def arm(rows, seed):
            seen[name].append(list(rows["text"]))
            return rows

        return arm

    study(*task, "label", lambda *_: 0.5, {"a": note("a"), "b": note("b")}, sizes=[3], seeds=3, progress=False)
    assert seen["a"] == seen["b"] and len({tuple(rows) for rows in seen["a"]}) == 3
    labels = few_of_each(train, "label", 5, 0)["label"]
    assert sorted(labels) == [0] * 5 + [1] * 5
    assert len(few_of_each(train, "label", 99, 0)) == len(train), "all of a class that has fewer"
    with pytest.raises(ValueError, match="wanted two seeds or more, got 1: one says nothing about chance"):
        study(*task, "label", words(task), {}, seeds=1)


def test_embeddings(task):
    trial = on_embeddings(toolkit.load_encoder("starter/encoder"), ["text"], "label")
    train, test = task
    assert trial(train, test, 0) > 0.9
    two = [one.add_column("other", list(one["text"])[::-1]) for one in task]
    assert 0 <= on_embeddings(toolkit.load_encoder("starter/encoder"), ["text", "other"], "label")(*two, 0) <= 1


def test_a_transformer(task, tmp_path):
    from tests.augmentation.bert import tiny_bert

    trial = by_trainer(str(tiny_bert(tmp_path, [*task[0]["text"]])), ["text"], "label", 150, 8, 2e-3)
    assert trial(*task, 0) == trial(*task, 0) > 0.8


def test_any_arm_may_be_the_baseline():
    found = Study({("none", 4): [70.0, 71.0], ("x", 4): [72.0, 73.5]})
    assert found.comparisons("x")["none", 4].difference == -2.25
