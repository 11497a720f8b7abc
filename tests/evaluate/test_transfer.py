"""Classifiers on embeddings, against scikit-learn's own search for a penalty and against numbers by hand."""

import gzip

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from tests.tiny import word_encoder
from toolkit.evaluate.transfer import (
    FOLDS,
    INNER_FOLDS,
    PAPER_TRANSFER,
    PENALTIES,
    SEED,
    _accuracy,
    _accuracy_on_test,
    _accuracy_over_folds,
    _accuracy_with_dev,
    _fit_by_dev,
    _fit_by_folds,
    _fold_accuracy,
    _mrpc,
    _pair_features,
    _relatedness,
    _sick,
    _soft_labels,
    classification_file,
    classifier,
    read_labelled,
)

WORDS = {"[UNK]": [0, 0, 0], "good": [1, 0, 0], "bad": [0, 1, 0], "film": [0, 0, 1]}
C = "logisticregression__C"


@pytest.fixture(scope="module")
def encoder():
    return word_encoder(WORDS)


@pytest.fixture(scope="module")
def noisy():
    """120 points of which the first of twelve columns says a little."""
    random = np.random.default_rng(1)
    features = random.normal(size=(120, 12)) * np.geomspace(0.01, 100, 12)
    labels = (features[:, 0] / 0.01 + random.normal(size=120) > 0).astype(int)
    return features.astype(np.float32), labels


def search():
    """What scikit-learn offers for a choice within a training part."""
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=SEED)
    return GridSearchCV(classifier(1), {C: list(PENALTIES)}, cv=inner)


def lines(good, bad):
    return "".join([*(f"1 {text}\n" for text in good), *(f"0 {text}\n" for text in bad)])


def films(n, right=True):
    good, bad = ([f"{word} film {i}" for i in range(n)] for word in ("good", "bad"))
    return lines(good, bad) if right else lines(bad, good)


def test_the_penalty_is_the_best_of_the_training_part(noisy):
    model, expected = _fit_by_folds(noisy), search().fit(*noisy)
    assert model.get_params()[C] == expected.best_params_[C]
    assert np.array_equal(model.predict_proba(noisy[0]), expected.predict_proba(noisy[0]))
    assert len(set(expected.cv_results_["mean_test_score"])) > 1


@pytest.mark.slow
def test_ten_folds_each_with_its_own_penalty(noisy):
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    expected = 100 * cross_val_score(search(), *noisy, cv=parts).mean()
    assert _fold_accuracy(noisy) == pytest.approx(expected)
    assert 60 < expected < 90


def test_the_scale_of_an_embedding_does_not_matter(noisy):
    features, labels = noisy
    large, small = _fit_by_folds((features * 1024, labels)), _fit_by_folds(noisy)
    assert np.allclose(large.predict_proba(features * 1024), small.predict_proba(features), atol=0.01)


def test_labels_of_chance_are_not_learnt():
    random = np.random.default_rng(2)
    train, test = ((random.normal(size=(300, 40)), random.integers(0, 2, 300)) for _ in range(2))
    assert 40 < _accuracy(_fit_by_folds(train), *test) < 60


def test_the_development_part_chooses(noisy):
    train = noisy[0][:60], noisy[1][:60]
    for dev in ((noisy[0][60:], noisy[1][60:]), (noisy[0][60:], 1 - noisy[1][60:])):
        accuracies = [_accuracy(classifier(c).fit(*train), *dev) for c in PENALTIES]
        assert len(set(accuracies)) > 1
        assert _fit_by_dev(train, dev, _accuracy).get_params()[C] == PENALTIES[int(np.argmax(accuracies))]


@pytest.mark.slow
def test_files_of_labels_and_texts(tmp_path, encoder):
    path = tmp_path / "rt.all"
    path.write_text("1 a fine film , \n0 bad\n0 \n", "utf-8")
    texts, labels = read_labelled(path)
    assert texts == ["a fine film ,", "bad", ""] and labels.tolist() == [1, 0, 0]
    with gzip.open(tmp_path / "cr.all.gz", "wt", encoding="utf-8") as file:
        file.write(films(10))
    second_path = classification_file(tmp_path, "cr.all")
    assert second_path == tmp_path / "cr.all.gz" and classification_file(tmp_path, "rt.all") == path
    assert classification_file(tmp_path, "subj.all") is None
    assert _accuracy_over_folds(encoder, second_path) == 100


def test_accuracy_is_of_the_test_file(tmp_path, encoder):
    for name, text in (("train", films(10)), ("right", films(4)), ("wrong", films(4, right=False))):
        (tmp_path / name).write_text(text)
    (tmp_path / "mixed").write_text(lines(["good", "good film", "good good", "bad"], []))
    train, right, wrong, mixed = (tmp_path / name for name in ("train", "right", "wrong", "mixed"))
    assert [_accuracy_on_test(encoder, train, test) for test in (right, wrong, mixed)] == [100, 0, 75]
    assert _accuracy_with_dev(encoder, train, right, mixed) == 75


def test_features_of_pairs(encoder):
    first, second = _pair_features(encoder, [[("good", "bad"), ("good film", "good")], [("film", "film")]])
    assert first.tolist() == [[1, 1, 0, 0, 0, 0], [0.5, 0, 0.5, 0.5, 0, 0]]
    assert second.tolist() == [[0, 0, 0, 0, 0, 1]]


def test_soft_labels_keep_the_score():
    scores = np.array([1, 2.5, 3.2, 4.9, 5])
    rows, labels, weights = _soft_labels(scores)
    assert set(labels) <= {1, 2, 3, 4, 5} and (weights > 0).all()
    assert np.bincount(rows, weights).tolist() == pytest.approx([1] * 5)
    assert np.bincount(rows, weights * labels).tolist() == pytest.approx(scores)


def test_the_fitted_distribution_has_the_mean_of_the_scores():
    # At the least cross-entropy the mean of what is said is the mean of the targets, because the intercept is free.
    random = np.random.default_rng(3)
    features, scores = random.normal(size=(200, 3)), random.uniform(1, 5, 200)
    scores = np.clip(scores + features[:, 0], 1, 5)
    rows, labels, weights = _soft_labels(scores)
    model = _fit_by_dev((features[rows], labels), (features, scores), _relatedness, weights)
    predictions = model.predict_proba(features) @ model.classes_
    assert predictions.mean() == pytest.approx(scores.mean(), abs=0.002)
    assert _relatedness(model, features, scores) == pytest.approx(100 * np.corrcoef(predictions, scores)[0, 1])
    assert _relatedness(model, features, scores) > 50


MSR = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
PARAPHRASES = "1\t1\t2\tgood film\tgood film\n1\t1\t2\tbad\tbad\n0\t1\t2\tgood\tbad film\n0\t1\t2\tbad film\tgood\n"


def write_mrpc(folder, test=PARAPHRASES):
    for name in ("train", "val"):
        (folder / f"msr-para-{name}.tsv").write_text("\ufeff" + MSR + PARAPHRASES * 5, "utf-8")
    (folder / "msr-para-test.tsv").write_text(MSR + test)


def test_mrpc(tmp_path, encoder):
    write_mrpc(tmp_path)
    assert _mrpc(encoder, tmp_path) == (100, 100)
    write_mrpc(tmp_path, PARAPHRASES + "1\t1\t2\tgood\tbad film\n")  # one of three paraphrases is not seen
    assert _mrpc(encoder, tmp_path) == pytest.approx((80, 80))
    write_mrpc(tmp_path, PARAPHRASES + "0\t1\t2\tgood\tbad film\n" * 5)  # what is no paraphrase does not raise F1
    assert _mrpc(encoder, tmp_path) == (100, 100)
    write_mrpc(tmp_path, PARAPHRASES + "2\t1\t2\tgood\tbad film\n")
    with pytest.raises(ValueError, match=r"wanted one of 0, 1, got '2' in line 6 of .*msr-para-test.tsv"):
        _mrpc(encoder, tmp_path)
    write_mrpc(tmp_path, "")
    with pytest.raises(ValueError, match=r"wanted pairs under a header, got none in .*msr-para-test.tsv"):
        _mrpc(encoder, tmp_path)


SICK_LINES = (  # all scores lie between the same two whole numbers, so that only their shares tell them apart
    "1\tgood film\tgood film\t4.9\tENTAILMENT\r\n"
    "2\tgood\tbad\t4.1\tCONTRADICTION\r\n"
    "3\tgood\tgood film\t4.5\tNEUTRAL\r\n"
)


def write_sick(folder, test=SICK_LINES):
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    for name, text in (("train", SICK_LINES * 9), ("trial", SICK_LINES), ("test_annotated", test)):
        (folder / f"SICK_{name}.txt").write_bytes((head + text).encode())


def test_sick(tmp_path, encoder):
    write_sick(tmp_path)
    related, accuracy = _sick(encoder, tmp_path)
    assert related > 99 and accuracy == 100
    write_sick(tmp_path, SICK_LINES + "4\tgood\tbad\t5\tENTAILMENT\r\n")
    related, accuracy = _sick(encoder, tmp_path)
    assert related < 90 and accuracy == 75
    write_sick(tmp_path, "4\tgood\tbad\t5\tPERHAPS\r\n")
    with pytest.raises(ValueError, match="wanted one of CONTRADICTION, ENTAILMENT, NEUTRAL, got 'PERHAPS' in line 2"):
        _sick(encoder, tmp_path)


@pytest.mark.parametrize(
    "text, message", [("1 a\nfine film\n", "got 'fine' in line 2 of .*bad.all"), ("", "got none in .*bad.all")]
)
def test_bad_files(tmp_path, text, message):
    (tmp_path / "bad.all").write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read_labelled(tmp_path / "bad.all")
    assert "\n" not in str(error.value)


def test_the_papers_rows_are_whole():
    assert {len(row) for row in PAPER_TRANSFER.values()} == {10} and len(PAPER_TRANSFER) == 11
