"""Correlation of an encoder's cosines with human scores: SemEval STS 2012-2016, STS Benchmark, SICK, Chinese STS-B.

Source: ParaNMT-50M (Wieting and Gimpel 2018), section 5.1, tables 8 and 9.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from toolkit.bitext.text_file import decode, lines, readable_lines
from toolkit.score.overlap import without_punctuation
from toolkit.score.semantic import cosines
from toolkit.system.extras import require

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# The official names of each year's sets. A fourth set of 2013, SMT, is sold by the LDC; it is read if it exists.
SETS = {
    2012: ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    2013: ("FNWN", "OnWN", "headlines"),
    2014: ("OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news"),
    2015: ("answers-forums", "answers-students", "belief", "headlines", "images"),
    2016: ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
BATCH = 64  # ours: texts that are encoded at a time
HIGHEST = 5.0  # the highest score of all sets; SICK's scores begin at 1, all others at 0

Record = tuple[int, tuple[str, ...]]  # line number, from 1; both sentences, and the score as text


@dataclass(frozen=True)
class _Pairs:
    """The scored pairs of one set.

    Args:
        name: The official name of the set, such as "MSRvid".
        sentences1: The first sentence of each pair.
        sentences2: The second sentence of each pair.
        scores: (pairs,), the human scores, at most 5.
        left_out: The number of pairs that `_leave_out` removed.
    """

    name: str
    sentences1: list[str]
    sentences2: list[str]
    scores: np.ndarray
    left_out: int = 0


def _set_files(folder: Path, year: int) -> list[Path]:
    """The paths of the official files that a year needs, whether they exist or not."""
    prefix = "STS2016" if year == 2016 else "STS"
    return [folder / f"{prefix}.{part}.{name}.txt" for name in SETS[year] for part in ("input", "gs")]


def read_year(folder: Path) -> list[_Pairs]:
    """Read every set of a year's folder, sorted by name.

    Args:
        folder: The folder of `STS.input.NAME.txt` and `STS.gs.NAME.txt`; for 2016, `STS2016.input.NAME.txt` and so on.

    Raises:
        ValueError: There is no input file, or a file is damaged, see `_read_set`.
        FileNotFoundError: A gs file is missing.
    """
    inputs = sorted(folder.glob("STS*.input.*.txt"))
    if not inputs:
        raise ValueError(f"wanted STS.input.NAME.txt or STS2016.input.NAME.txt, got none in {folder}: check the folder")
    return [_read_set(path, path.with_name(path.name.replace(".input.", ".gs."))) for path in inputs]


def _read_set(inputs: Path, golds: Path) -> _Pairs:
    """Read one set of a SemEval year: two sentences per line (further columns are ignored), and one score per line.

    Args:
        inputs: The file `STS.input.NAME.txt`.
        golds: The file `STS.gs.NAME.txt`; a pair whose line is empty has no score and is skipped.

    Raises:
        ValueError: The files differ in length, a scored line has no second sentence, or a score is not in [0, 5].
    """
    texts, scores = (list(readable_lines(str(path))) for path in (inputs, golds))
    if len(texts) != len(scores):
        raise ValueError(
            f"wanted a score for every line, got {len(texts)} lines in {inputs} and {len(scores)} in {golds}: "
            "fetch both again"
        )
    numbered_lines = enumerate(zip(texts, scores, strict=True), 1)
    records = [(n, (*_fields(text, (0, 1), inputs, n), score)) for n, (text, score) in numbered_lines if score.strip()]
    return _pairs_of_records(inputs.name.split(".input.")[1].removesuffix(".txt"), records, golds, 0.0)


def read_benchmark(path: Path) -> _Pairs:
    """Read the STS Benchmark's sts-train.csv, sts-dev.csv or sts-test.csv: tabs, no quoting, scores from 0 to 5.

    Raises:
        ValueError: A line has fewer than seven columns, or a score is not in [0, 5].
    """
    return _read_table(path, path.stem, (5, 6, 4), 0.0)


def _read_sick(path: Path) -> _Pairs:
    """Read a file of SICK 2014 (SICK_train.txt, SICK_trial.txt, SICK_test_annotated.txt): relatedness from 1 to 5.

    Raises:
        ValueError: A line has fewer than four columns, or a score is not in [1, 5].
    """
    return _read_table(path, path.stem, (1, 2, 3), 1.0, header=True)


def read_chinese(path: Path) -> _Pairs:
    """Read a file of the Chinese STS-B (sts-b-test.txt): two sentences and an integer score from 0 to 5.

    Raises:
        ValueError: A line has fewer than three columns, or a score is not in [0, 5].
    """
    return _read_table(path, path.stem, (0, 1, 2), 0.0)


def read_chinese_identification(path: Path) -> _Pairs:
    """Read pairs of questions or sentences with 0 or 1: a file of LCQMC or AFQMC (dev.txt), or of PAWS-X (dev_2k.tsv).

    Raises:
        ValueError: A line has too few columns, or a label is no number.
    """
    paws = path.parent.name == "PAWS-X"  # has an id in front, and a header
    return _read_table(path, f"{path.parent.name} {path.stem}", (1, 2, 3) if paws else (0, 1, 2), 0.0, header=paws)


def _read_table(path: Path, name: str, columns: tuple[int, int, int], lowest: float, header: bool = False) -> _Pairs:
    """Read a tab-separated file; `columns` are those of the two sentences and the score, which every line has."""
    return _pairs_of_records(name, list(_table_rows(path, columns, header)), path, lowest)


def _table_rows(path: Path, columns: Sequence[int], header: bool) -> Iterator[Record]:
    """Yield the line number, from 1, and the wanted columns of each line of a tab-separated file without quoting.

    Raises:
        ValueError: A line has too few columns, or others than the header.
    """
    width = None
    for number, text in enumerate(readable_lines(str(path)), 1):
        if number > header:
            yield number, _fields(text, columns, path, number, width)
        else:
            names = text.count("\t") + 1
            width = names if names > max(columns) else None


def _fields(text: str, columns: Sequence[int], path: Path, number: int, width: int | None = None) -> tuple[str, ...]:
    """The wanted columns of a line, counted from 0; `width` is how many it must have, None takes more than are read.

    Raises:
        ValueError: The line has too few columns, or others than it must have.
    """
    cells, column_count = text.split("\t"), width or max(columns) + 1
    if len(cells) < column_count or (width is not None and len(cells) > width):
        raise ValueError(
            f"wanted {column_count} columns parted by tabs, got {len(cells)} in line {number} of {path}: fetch it again"
        )
    return tuple(cells[i].strip() for i in columns)


def _pairs_of_records(name: str, records: Sequence[Record], path: Path, lowest: float) -> _Pairs:
    """Convert records to `_Pairs`.

    Raises:
        ValueError: There is no record, or a score is invalid.
    """
    if not records:
        raise ValueError(f"wanted scored pairs, got none in {path}: fetch it again")
    scores = [_parse_score(score, lowest, path, number) for number, (_, _, score) in records]
    sentences1, sentences2 = ([texts[side] for _, texts in records] for side in (0, 1))
    return _Pairs(name, sentences1, sentences2, np.array(scores))


def _parse_score(text: str, lowest: float, path: Path, number: int) -> float:
    """Convert a score to a number.

    Raises:
        ValueError: The text is no number from `lowest` to 5.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not lowest <= value <= HIGHEST:
        raise ValueError(
            f"wanted a score from {lowest:g} to {HIGHEST:g}, got {text.strip()!r} in line {number} of {path}: "
            "fetch it again"
        )
    return value


def read_sentences(path: Path) -> set[str]:
    """Read a file with one sentence per line; return them lower-cased and without punctuation, for `_leave_out`.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file is not UTF-8, or has no sentence.
    """
    sentences = set()
    for number, raw in enumerate(lines(str(path)), 1):
        text, invalid = decode(raw)
        if invalid:
            raise ValueError(f"wanted sentences in UTF-8, got other bytes in line {number} of {path}: convert the file")
        sentences.add(without_punctuation(text))
    if not sentences - {""}:
        raise ValueError(f"wanted a sentence a line, got none in {path}: give another file")
    return sentences - {""}


def _leave_out(pairs: _Pairs, sentences: Collection[str]) -> _Pairs:
    """Remove the pairs that contain one of some sentences, such as those that an encoder was trained on.

    >>> two = _Pairs("demo", ["A dog runs.", "Rain fell."], ["A cat sits.", "It rained."], np.array([1.0, 4.5]))
    >>> left = _leave_out(two, {"a cat sits"})
    >>> left.sentences2, left.scores.tolist(), left.left_out
    (['It rained.'], [4.5], 1)

    Args:
        pairs: The pairs of a set.
        sentences: The sentences, from `read_sentences`.
    """
    sentence_pairs = list(zip(pairs.sentences1, pairs.sentences2, strict=True))
    indices = [
        n for n, pair in enumerate(sentence_pairs) if not any(without_punctuation(text) in sentences for text in pair)
    ]
    sentences1, sentences2 = [sentence_pairs[n][0] for n in indices], [sentence_pairs[n][1] for n in indices]
    return _Pairs(
        pairs.name, sentences1, sentences2, pairs.scores[indices], pairs.left_out + len(sentence_pairs) - len(indices)
    )


def _encode_distinct(encoder: SentenceTransformer, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Encode each distinct text once.

    Args:
        encoder: The encoder, from `toolkit.encoder.load.load_encoder`.
        texts: At least one text; texts may repeat.

    Returns:
        The vectors, (distinct texts, dimensions) float32; and the row of each text in them, (texts,).
    """
    rows = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    vectors = encoder.encode(list(rows), batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
    return np.asarray(vectors, np.float32), np.array([rows[text] for text in texts])


def _similarities(encoder: SentenceTransformer, pairs: _Pairs) -> np.ndarray:
    """The cosine of each pair, (pairs,); 0 where a sentence has a zero vector."""
    vectors, rows = _encode_distinct(encoder, [*pairs.sentences1, *pairs.sentences2])
    return np.array(cosines(vectors, rows.reshape(2, -1).T))


def agreement(similarity: np.ndarray, scores: np.ndarray, name: str) -> tuple[float, float]:
    """Pearson's and Spearman's correlation x 100 of similarities and human scores; ties get their mean rank.

    >>> pearson, spearman = agreement(np.array([0.1, 0.2, 0.6]), np.array([1.0, 3.0, 5.0]), "demo")
    >>> round(pearson, 1), spearman
    (94.5, 100.0)

    Args:
        similarity: (pairs,), the similarities.
        scores: (pairs,), the human scores.
        name: The name of the set, for the error message.

    Returns:
        Two numbers in [-100, 100]; both are 0 if all similarities are equal.

    Raises:
        ValueError: All scores are equal, for example because too many pairs were left out.
    """
    if len(np.unique(scores)) < 2:
        raise ValueError(
            f"wanted pairs with different scores, got {len(scores)} in {name}, none different: leave fewer out"
        )
    if np.ptp(similarity) == 0:
        return 0.0, 0.0
    stats = require("scipy.stats")
    return 100 * float(stats.pearsonr(similarity, scores)[0]), 100 * float(stats.spearmanr(similarity, scores)[0])


def correlations(encoder: SentenceTransformer, pairs: _Pairs) -> tuple[float, float]:
    """Pearson's and Spearman's correlation x 100 of an encoder's cosines and human scores, see `agreement`."""
    return agreement(_similarities(encoder, pairs), pairs.scores, pairs.name)


def pair_figures(
    encoder: SentenceTransformer,
    name: str,
    sentences1: Sequence[str],
    sentences2: Sequence[str],
    scores: Sequence[float],
) -> dict[str, float]:
    """How an encoder's cosines agree with the scores or labels of any pairs, x 100.

    Args:
        encoder: The encoder, from `toolkit.encoder.load.load_encoder`.
        name: The name of the pairs, for the error message.
        sentences1: The first sentence of each pair.
        sentences2: The second sentence of each pair.
        scores: Human scores, or labels 0 and 1.

    Returns:
        Pearson's and Spearman's correlation, under "Pearson" and "Spearman"; of labels also the average precision of
        the pairs in the order of their cosines, under "average precision", and the accuracy at the best threshold of
        these very pairs, under "accuracy".

    Raises:
        ValueError: All scores are equal.
    """
    values = np.array(scores, float)
    similarity = _similarities(encoder, _Pairs(name, list(sentences1), list(sentences2), values))
    figures = dict(zip(("Pearson", "Spearman"), agreement(similarity, values, name), strict=True))
    if set(values.tolist()) <= {0.0, 1.0}:
        figures["average precision"] = 100 * float(
            require("sklearn.metrics").average_precision_score(values, similarity)
        )
        figures["accuracy"] = 100 * best_threshold(similarity, values)[1]
    return figures


def best_threshold(similarity: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """The threshold that tells the most pairs right, the lowest of several, and the share of pairs that it tells right.

    >>> best_threshold(np.array([0.9, 0.8, 0.8, 0.1]), np.array([1, 1, 0, 0]))
    (0.8, 0.75)

    Args:
        similarity: (pairs,), the similarities; a pair at or above the threshold is called a paraphrase.
        labels: (pairs,), 1 for paraphrases, 0 for others.

    Returns:
        The threshold, infinite where no pair is best called a paraphrase; and the accuracy, in [0, 1].
    """
    levels, inverse = np.unique(similarity, return_inverse=True)
    gains = np.bincount(inverse, weights=2 * labels - 1)  # of calling the pairs of a level paraphrases
    above = np.append(np.cumsum(gains[::-1])[::-1], 0)  # of calling a level and all above it paraphrases, or none
    best = int(np.argmax(above))
    return float(np.append(levels, np.inf)[best]), float((np.sum(labels == 0) + above[best]) / len(labels))


def _year_correlations(encoder: SentenceTransformer, sets: Sequence[_Pairs]) -> dict[str, tuple[float, float]]:
    """The correlations of a year.

    Args:
        encoder: The encoder, from `toolkit.encoder.load.load_encoder`.
        sets: The sets of the year, from `read_year`.

    Returns:
        Pearson's and Spearman's correlation x 100: under "mean" the mean over sets, which the papers report; under
        "pooled" the correlation over all pairs; and that of each set under its name.

    Source: ParaNMT, table 8: "mean correlations over domains for each year rather than weighted means".
    """
    cosines_of_sets = [_similarities(encoder, pairs) for pairs in sets]
    by_set = {p.name: agreement(cosine, p.scores, p.name) for cosine, p in zip(cosines_of_sets, sets, strict=True)}
    mean = fmean(r for r, _ in by_set.values()), fmean(r for _, r in by_set.values())
    pooled = agreement(np.concatenate(cosines_of_sets), np.concatenate([p.scores for p in sets]), "all sets")
    return {"mean": mean, "pooled": pooled, **by_set}
