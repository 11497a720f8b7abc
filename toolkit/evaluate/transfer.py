"""Transfer tasks: logistic regression on frozen embeddings, for sentiment, question types, paraphrases, entailment.

Source: ParaNMT-50M (Wieting and Gimpel 2018), appendix A.2, table 14, which used SentEval (Conneau et al. 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.bitext.text_file import readable_lines
from toolkit.evaluate.sts import _encode_distinct, _read_sick, _table_rows, agreement
from toolkit.system.extras import naming_extra

with naming_extra():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FOLDS = 10  # SentEval: MR, CR, SUBJ and MPQA have no test part, so ten-fold cross-validation is used
INNER_FOLDS = 5  # ours: folds of a training part, to choose the penalty; SentEval's ten take twice the time
SEED = 0  # ours: seed of the folds
# ours: values of sklearn's C, the inverse of the penalty. Embeddings are standardised, because otherwise unit vectors
# and sums of word vectors need different values; the best accuracy on MR, CR and TREC was between 2^-8 and 2^-4.
PENALTIES = (2**-10, 2**-8, 2**-6, 2**-4, 2**-2)
ITERATIONS = 1000  # ours: enough for every fit to converge
PROTOCOL = f"logistic regression, L2 of {len(PENALTIES)}, standardised|seed:{SEED}"
CHOSEN_BY_FOLDS = f"penalty by {INNER_FOLDS} folds of the training part"

FOLDED = {"MR": "rt-polarity.all", "CR": "custrev.all", "SUBJ": "subj.all", "MPQA": "mpqa.all"}
SST = ("stsa.binary.train", "stsa.binary.dev", "stsa.binary.test")
TREC = ("TREC.train.all", "TREC.test.all")
MRPC_TRAIN, MRPC_TEST = ("msr-para-train.tsv", "msr-para-val.tsv"), "msr-para-test.tsv"
SICK = ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
JUDGMENTS = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")

# ParaNMT, table 14, "Our Work": MR, CR, SUBJ, MPQA, SST, TREC, MRPC accuracy and F1, SICK-R, SICK-E
PAPER_TRANSFER = {
    "WORD, 300": (75.8, 80.5, 89.2, 87.1, 80.0, 80.1, 68.6, 80.9, 83.6, 80.6),
    "TRIGRAM, 300": (68.8, 75.5, 83.6, 82.3, 73.6, 73.0, 71.4, 82.0, 79.3, 78.0),
    "LSTM, 300": (73.8, 78.4, 88.5, 86.5, 80.6, 76.8, 73.6, 82.3, 83.9, 81.9),
    "LSTM, 900": (75.8, 81.7, 90.5, 87.4, 81.6, 84.4, 74.7, 83.0, 86.0, 83.0),
    "BLSTM, 900": (75.6, 82.4, 90.6, 87.7, 81.3, 87.4, 75.0, 82.9, 85.8, 84.4),
    "WORD + TRIGRAM, 300": (74.8, 78.8, 88.5, 87.4, 78.7, 79.0, 71.4, 81.4, 83.2, 80.6),
    "WORD + TRIGRAM + LSTM, 300": (75.0, 80.7, 88.6, 86.6, 77.9, 78.6, 72.7, 80.8, 83.6, 81.8),
    "WORD, TRIGRAM, 600": (75.8, 80.5, 89.9, 87.8, 79.7, 82.4, 70.7, 81.7, 84.6, 82.0),
    "WORD, TRIGRAM, LSTM, 900": (77.6, 81.4, 91.4, 88.2, 82.0, 85.4, 74.0, 81.5, 85.4, 83.8),
    "BLSTM average, 4096": (77.5, 82.6, 91.0, 89.3, 82.8, 86.8, 75.8, 82.6, 85.9, 83.8),
    "BLSTM maximum, 4096": (76.6, 83.4, 90.9, 88.5, 82.0, 87.2, 76.6, 83.5, 85.3, 82.5),
}

Labelled = tuple[np.ndarray, np.ndarray]  # (texts or pairs, dimensions) features; (texts or pairs,) labels
Quality = Callable[[Pipeline, np.ndarray, np.ndarray], float]


def classification_file(folder: Path, name: str) -> Path | None:
    """The path of a file of "label text" lines, plain or .gz; None if it does not exist."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def read_labelled(path: Path) -> tuple[list[str], np.ndarray]:
    """Read the texts and labels of a file with an integer, a space and a text on every line.

    Raises:
        ValueError: A line does not begin with an integer, or the file is empty.
    """
    texts, labels = [], []
    for number, line in enumerate(readable_lines(str(path)), 1):
        label, _, text = line.partition(" ")
        if not label.isdecimal():
            raise ValueError(
                f"wanted a whole number before the text, got {label!r} in line {number} of {path}: fetch it again"
            )
        texts.append(text.strip())
        labels.append(int(label))
    if not texts:
        raise ValueError(f"wanted lines of a label and a text, got none in {path}: fetch it again")
    return texts, np.array(labels)


def _embed_files(encoder: SentenceTransformer, paths: Sequence[Path]) -> list[Labelled]:
    """The embeddings and labels of each file; all files are encoded together."""
    files = [read_labelled(path) for path in paths]
    vectors, rows = _encode_distinct(encoder, [text for texts, _ in files for text in texts])
    ends = np.cumsum([len(texts) for texts, _ in files])[:-1]
    return [(vectors[part], labels) for part, (_, labels) in zip(np.split(rows, ends), files, strict=True)]


def _read_pairs(
    path: Path, columns: Sequence[int], known_labels: Sequence[str]
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Read the pairs and labels of a tab-separated file with a header.

    Args:
        path: The file.
        columns: The columns of the two sentences and of the label, from 0.
        known_labels: The possible labels.

    Raises:
        ValueError: A line has too few columns or an unknown label, or the file has no pair.
    """
    rows = list(_table_rows(path, columns, header=True))
    for number, (_, _, label) in rows:
        if label not in known_labels:
            raise ValueError(
                f"wanted one of {', '.join(known_labels)}, got {label!r} in line {number} of {path}: fetch it again"
            )
    if not rows:
        raise ValueError(f"wanted pairs under a header, got none in {path}: fetch it again")
    return [(sentence1, sentence2) for _, (sentence1, sentence2, _) in rows], np.array(
        [label for _, (*_, label) in rows]
    )


def _pair_features(encoder: SentenceTransformer, parts: Sequence[Sequence[tuple[str, str]]]) -> list[np.ndarray]:
    """The features of each part, (pairs, 2 x dimensions): |u - v| and u * v, concatenated.

    Source: SentEval, as Tai et al. 2015, section 4.2.
    """
    vectors, rows = _encode_distinct(encoder, [text for part in parts for pair in part for text in pair])
    u, v = vectors[rows[::2]], vectors[rows[1::2]]
    features = np.hstack([np.abs(u - v), u * v])
    return np.split(features, np.cumsum([len(part) for part in parts])[:-1])


def classifier(penalty: float) -> Pipeline:
    """An unfitted logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=ITERATIONS))


def _folds(number: int) -> StratifiedKFold:
    """Stratified folds, which depend only on the labels and the seed."""
    return StratifiedKFold(number, shuffle=True, random_state=SEED)


def _fit_by_folds(train: Labelled) -> Pipeline:
    """Fit a classifier to the training part, with the penalty that is best in cross-validation on it."""
    qualities = [cross_val_score(classifier(penalty), *train, cv=_folds(INNER_FOLDS)).mean() for penalty in PENALTIES]
    return classifier(PENALTIES[int(np.argmax(qualities))]).fit(*train)


def _fit_by_dev(train: Labelled, dev: Labelled, quality: Quality, weights: np.ndarray | None = None) -> Pipeline:
    """Fit classifiers to the training part, and return the one with the best penalty on a development part.

    Args:
        train: The training part.
        dev: The development part.
        quality: Measures a fitted classifier on features and labels; greater is better.
        weights: (training rows,), the weight of each row; None gives all the same weight.
    """
    models = [classifier(c).fit(*train, logisticregression__sample_weight=weights) for c in PENALTIES]
    return max(models, key=lambda model: quality(model, *dev))


def _accuracy(model: Pipeline, features: np.ndarray, labels: np.ndarray) -> float:
    """The percentage of correct labels."""
    return 100 * float(np.mean(model.predict(features) == labels))


def _fold_accuracy(data: Labelled) -> float:
    """The mean accuracy x 100 over ten folds; the penalty for each is chosen on the other nine."""
    features, labels = data
    parts = _folds(FOLDS).split(features, labels)
    accuracies = [
        _accuracy(_fit_by_folds((features[train], labels[train])), features[test], labels[test])
        for train, test in parts
    ]
    return float(np.mean(accuracies))


def _accuracy_over_folds(encoder: SentenceTransformer, path: Path) -> float:
    """Accuracy x 100 in ten-fold cross-validation, for MR, CR, SUBJ, MPQA or another file of "label text" lines."""
    return _fold_accuracy(_embed_files(encoder, [path])[0])


def _accuracy_on_test(encoder: SentenceTransformer, train: Path, test: Path) -> float:
    """Accuracy x 100 on a test file, for TREC; the penalty is chosen by cross-validation on the training file."""
    train_data, test_data = _embed_files(encoder, [train, test])
    return _accuracy(_fit_by_folds(train_data), *test_data)


def _accuracy_with_dev(encoder: SentenceTransformer, train: Path, dev: Path, test: Path) -> float:
    """Accuracy x 100 on a test file, for SST; the penalty is chosen on a development file."""
    train_data, dev_data, test_data = _embed_files(encoder, [train, dev, test])
    return _accuracy(_fit_by_dev(train_data, dev_data, _accuracy), *test_data)


def _mrpc(encoder: SentenceTransformer, folder: Path) -> tuple[float, float]:
    """Accuracy and F1 of the label "paraphrase", x 100, on the test part of the Microsoft paraphrase corpus.

    Args:
        encoder: The encoder, from `toolkit.encoder.load.load_encoder`.
        folder: The folder of `MRPC_TRAIN`, which together are the official training part, and `MRPC_TEST`.

    Raises:
        ValueError: A line has fewer than five columns, or its label is not 0 or 1.
    """
    files = [_read_pairs(folder / name, (3, 4, 0), ("0", "1")) for name in (*MRPC_TRAIN, MRPC_TEST)]
    *train, test = _pair_features(encoder, [pairs for pairs, _ in files])
    *train_labels, test_labels = [labels for _, labels in files]
    predictions = _fit_by_folds((np.concatenate(train), np.concatenate(train_labels))).predict(test)
    return 100 * float(np.mean(predictions == test_labels)), 100 * float(
        f1_score(test_labels, predictions, pos_label="1")
    )


def _sick(encoder: SentenceTransformer, folder: Path) -> tuple[float, float]:
    """SICK-R, Pearson's correlation x 100, and SICK-E, accuracy x 100, on the test part; penalties by the trial part.

    The prediction of relatedness is the mean of a predicted distribution over the scores 1 to 5.

    Args:
        encoder: The encoder, from `toolkit.encoder.load.load_encoder`.
        folder: The folder of the files of `SICK`.

    Raises:
        ValueError: A line has fewer than five columns, or a score or a judgment that SICK does not have.

    Source: SentEval; the distribution is that of Tai et al. 2015, section 4.2.
    """
    files = [_read_pairs(folder / name, (1, 2, 4), JUDGMENTS) for name in SICK]
    scores = [_read_sick(folder / name).scores for name in SICK]
    train, trial, test = _pair_features(encoder, [pairs for pairs, _ in files])
    train_labels, trial_labels, test_labels = [labels for _, labels in files]
    entailment_model = _fit_by_dev((train, train_labels), (trial, trial_labels), _accuracy)
    rows, labels, weights = _soft_labels(scores[0])
    relatedness_model = _fit_by_dev((train[rows], labels), (trial, scores[1]), _relatedness, weights)
    return _relatedness(relatedness_model, test, scores[2]), _accuracy(entailment_model, test, test_labels)


def _soft_labels(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each score as a distribution over the two nearest integers, as weighted labels for a classifier.

    >>> _soft_labels(np.array([3.0, 4.75]))
    (array([0, 1, 1]), array([3, 4, 5]), array([1.  , 0.25, 0.75]))

    Args:
        scores: (pairs,), from 1 to 5.

    Returns:
        Three arrays with an element for each integer of probability above 0: the index of the pair, the integer, and
        its probability.

    Source: Tai et al. 2015, section 4.2, equation 15.
    """
    below = np.floor(scores).astype(int)
    rows = np.repeat(np.arange(len(scores)), 2)
    labels = np.stack([below, below + 1], 1).ravel()
    weights = np.stack([below + 1 - scores, scores - below], 1).ravel()
    return rows[weights > 0], labels[weights > 0], weights[weights > 0]


def _relatedness(model: Pipeline, features: np.ndarray, scores: np.ndarray) -> float:
    """Pearson's correlation x 100 of scores and the means of a classifier's predicted distributions."""
    return agreement(model.predict_proba(features) @ model.classes_, scores, "SICK")[0]
