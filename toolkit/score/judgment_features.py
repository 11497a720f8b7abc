"""The features of a pair of reference and candidate: the input of the regression in `judgment.py`. English only.

They measure what the candidate keeps of the reference, what it loses and what it adds. Word vectors and frequencies are
those of the German-English starter: in a translator's output layer, words with the same translations have similar
vectors, and the log-probability of a piece in its SentencePiece model says how common it is. No feature depends on the
reference alone: with a few hundred judged references, such a feature identifies the reference and does not generalise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import lemminflect
import numpy as np
from rapidfuzz.distance import Levenshtein
from safetensors import safe_open
from sentencepiece import SentencePieceProcessor

from toolkit.bitext.words import WORD_OR_MARK
from toolkit.starters import starter

STARTER = "de-en"  # ours: its vectors are a little better here than those of en-de, and its output is English

# The features in order, each with the sign that its weight may have (ours: a regression without signs overfits).
SIGNS = {
    "aligned_recall": 1,
    "aligned_precision": 1,
    "trigram_recall": 1,
    "content_recall": 1,
    "content_precision": 1,
    "edit_distance": -1,
    "length_difference": -1,
    "negations": -1,
    "pronouns": -1,
    "pronoun_count": -1,
    "numbers_lost": -1,
    "numbers_added": -1,
    "question": -1,
}
MOST = 3  # ours: counts are cut here, so that a sentence with many numbers or negations weighs no more than others

MARKS = str.maketrans("’‘´`“”„–—", "''''\"\"\"--")
DETACHED = re.compile(r"\s+(?=n't\b|'(?:s|re|ve|ll|m|d|t)\b)")  # "did n't": some corpora separate clitics by a space
CONTRACTIONS = (
    (re.compile(r"\b(?:can't|cannot)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"'s\b"), ""),
)
NUMBER = re.compile(r"\d+")


def _word_set(text: str) -> frozenset[str]:
    """The set of the words of a text between spaces."""
    return frozenset(text.split())


NEGATIONS = _word_set("not no never nothing none nobody neither nor without nowhere hardly")
PERSONS = (
    _word_set("i me my mine myself"),
    _word_set("you your yours yourself"),
    _word_set("he him his himself"),
    _word_set("she her hers herself"),
    _word_set("it its itself"),
    _word_set("we us our ours ourselves"),
    _word_set("they them their theirs themselves"),
)
FUNCTION_WORDS = NEGATIONS.union(*PERSONS) | _word_set(
    """a an the and or but if then than that this these those there here of in on at to from by for with about as into
    onto over under up down out off who whom whose which what when where why how be am is are was were been being do
    does did doing have has had having will would shall should can could may might must so very just too also only even
    still yet again ever all any some each every both either one"""
)


@dataclass(frozen=True)
class _Sentence:
    """What the features need of one side of a pair.

    Attributes:
        text: As given.
        tokens: Words and marks, lower-cased, contractions written out.
        words: The words among them.
        trigrams: Counts of character trigrams of the words.
        content: Counts of the lemmas of content words.
        numbers: Counts of runs of digits.
        persons: (7,) pronouns of each person.
        vectors: (words, dimensions) unit vectors.
        weights: (words,) information of each word in nats, >= 0.
    """

    text: str
    tokens: list[str]
    words: list[str]
    trigrams: Counter[str]
    content: Counter[str]
    numbers: Counter[str]
    persons: list[int]
    vectors: np.ndarray
    weights: np.ndarray


@cache
def _pieces() -> tuple[SentencePieceProcessor, np.ndarray, np.ndarray]:
    """The SentencePiece model of the starter's English side, and of each piece a unit vector and its information.

    Returns:
        The model; (pieces, dimensions) unit vectors; (pieces,) negative log-probabilities in nats.
    """
    folder = starter(STARTER)
    processor = SentencePieceProcessor(model_file=str(folder / "target.spm"))
    with safe_open(folder / "model.safetensors", "np") as weights:
        vectors = weights.get_tensor("model.shared.weight").astype(np.float32)
    vectors -= vectors.mean(0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    scores = [processor.get_score(i) for i in range(processor.get_piece_size())]
    return processor, vectors, -np.array([score or min(scores) for score in scores], np.float32)


@lru_cache(20_000)
def _word_vector(word: str) -> tuple[np.ndarray, float]:
    """A word's unit vector and its information in nats.

    The vector is that of its pieces, weighted by their information; its information is the sum of theirs.
    """
    processor, vectors, information = _pieces()
    ids = processor.encode(word)
    vector = information[ids] @ vectors[ids]
    return vector / (np.linalg.norm(vector) + 1e-9), float(information[ids].sum())


@lru_cache(100_000)
def _lemma(word: str) -> str:
    """The shortest lemma that a word may have as a verb, a noun or an adjective; the word itself if it has none.

    >>> _lemma("running"), _lemma("children"), _lemma("foosball")
    ('run', 'child', 'foosball')
    """
    lemmas_by_part = [lemminflect.getLemma(word, part, lemmatize_oov=False) for part in ("VERB", "NOUN", "ADJ")]
    return min((lemmas[0] for lemmas in lemmas_by_part if lemmas), key=len, default=word)


def _tokens_of(text: str) -> list[str]:
    """Words and marks, lower-cased, with contractions written out and possessive 's left out.

    >>> _tokens_of("I did n't see Tom’s dog!")
    ['i', 'did', 'not', 'see', 'tom', 'dog', '!']
    """
    text = DETACHED.sub("", text.translate(MARKS)).lower()
    for pattern, written_out in CONTRACTIONS:
        text = pattern.sub(written_out, text)
    return WORD_OR_MARK.findall(text)


@lru_cache(1024)
def _sentence_of(text: str) -> _Sentence:
    """The words, counts and vectors of a sentence, cached because a reference is compared with many candidates."""
    tokens = _tokens_of(text)
    words = [token for token in tokens if token[0].isalnum()]
    word_text = " ".join(words)
    weighted_vectors = [_word_vector(word) for word in words]
    return _Sentence(
        text,
        tokens,
        words,
        Counter(map("".join, zip(word_text, word_text[1:], word_text[2:], strict=False))),
        Counter(_lemma(word) for word in words if word not in FUNCTION_WORDS and not word.isdigit()),
        Counter(NUMBER.findall(text)),
        [sum(word in person for word in words) for person in PERSONS],
        np.array([vector for vector, _ in weighted_vectors]),
        np.array([weight for _, weight in weighted_vectors]),
    )


def _recall(counts: Counter[str], other_counts: Counter[str]) -> float:
    """The share of one side's counts that the other side has too, in [0, 1]; 1 where there are no counts."""
    return sum((counts & other_counts).values()) / counts.total() if counts else 1.0


def _information_recall(counts: Counter[str], other_counts: Counter[str]) -> float:
    """As `_recall`, with each word weighted by its information."""
    weights = {word: _word_vector(word)[1] for word in counts}
    total = sum(weights[word] * count for word, count in counts.items())
    return sum(weights[word] * count for word, count in (counts & other_counts).items()) / total if total else 1.0


def _compare(reference: _Sentence, candidate: _Sentence) -> list[float]:
    """The features of one pair, in the order of `SIGNS`. Both sides have a word."""
    similarities = reference.vectors @ candidate.vectors.T
    persons = list(zip(reference.persons, candidate.persons, strict=True))
    negations = [sum(word in NEGATIONS for word in side.words) for side in (reference, candidate)]
    return [
        float(similarities.max(1) @ reference.weights / reference.weights.sum()),
        float(similarities.max(0) @ candidate.weights / candidate.weights.sum()),
        _recall(reference.trigrams, candidate.trigrams),
        _information_recall(reference.content, candidate.content),
        _information_recall(candidate.content, reference.content),
        Levenshtein.normalized_distance(reference.text, candidate.text),
        abs(float(np.log((len(candidate.words) + 1) / (len(reference.words) + 1)))),
        min(abs(negations[0] - negations[1]), MOST),
        sum(bool(a) != bool(b) for a, b in persons),
        min(sum(abs(a - b) for a, b in persons), 2 * MOST),
        min((reference.numbers - candidate.numbers).total(), MOST),
        min((candidate.numbers - reference.numbers).total(), MOST),
        float(("?" in reference.text) != ("?" in candidate.text)),
    ]


def features(references: Sequence[str], candidates: Sequence[str]) -> np.ndarray:
    """The features of pairs of sentences.

    Args:
        references: English sentences with at least one word.
        candidates: As many, likewise.

    Returns:
        (pairs, features), a column for each name of `SIGNS`.
    """
    rows = [_compare(_sentence_of(a), _sentence_of(b)) for a, b in zip(references, candidates, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(SIGNS))
