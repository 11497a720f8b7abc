"""Words, keys and trigrams of whole batches against a regular expression that reads one text at a time."""

import re
import unicodedata
from itertools import pairwise

import numpy as np
import pytest

from toolkit.encoder.tokens import (
    FACTOR,
    LONGEST_WORD,
    _classes,
    _spell,
    _spell_trigram,
    _trigrams,
    _word_keys,
    tokenize,
)

ALONE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
LETTER = rf"(?![{ALONE}])[^\W_]"
WORD = re.compile(rf"(?P<run>({LETTER})+)|(?P<after>(?<={LETTER})['\u2019]({LETTER})*)|[^\s\x00-\x1f\ud800-\udfff]")

ODD = [
    "",
    " ",
    "\t\n \u00a0\u3000",
    "Don't stop!",
    "dogs' rock'n'roll, 'tis ''quoted'' o'\u2019clock's",
    "It\u2019s \u2018so\u2019 it\u2019",
    "a_b-c\u2014d...e",
    "3.14 1,000 x2 \u00bd \u00b2 \u0663\u0664",
    "\U0001f600\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "NUL\0in\0\0side\0",
    "\0",
    "\ud83d lone \ude00\ud83d\ude00 \udfffx",
    "\u4f60\u597d\uff0c\u4e16\u754cok\u306e\u30c6\u30b9\u30c8 \U00020000\U0002a6d6b",
    "\u4f60's \u4f60's",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645\u060c \u05e9\u05dc\u05d5\u05dd\u200f",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
    "e\u0301te\u0301 E\u0301 \u00e9 A\u030a\u0327 \u0301alone",
    "\u039f\u0394\u039f\u03a3 \u03a3 \u03a3\u03a3a ODO\u03a3'\u03a3",
    "\u0130stanbul STRASSE Stra\u00dfe \ufb01n \u01c5",
    "\x01a\x1fb\x7fc\x85d\u2028e",
    "x" * (LONGEST_WORD + 300),
]


def oracle(text: str) -> list[str]:
    text = unicodedata.normalize("NFC", text.replace("\0", " ")).lower()
    return [m[0].replace("\u2019", "'") if m["after"] else m[0] for m in WORD.finditer(text)]


def random_texts(count: int) -> list[str]:
    letters = [*"aB'\u2019 _.9\0\t" * 9, *(letter for text in ODD[:-1] for letter in text)]
    chance = np.random.default_rng(5)
    return ["".join(chance.choice(letters, size=chance.integers(0, 25))) for _ in range(count)]


def by_text(words: list[str], offsets: np.ndarray) -> list[list[str]]:
    return [words[a:b] for a, b in pairwise(offsets)]


def test_odd_texts_by_hand():
    texts = ["dogs' o\u2019er''s", "a\0B", "\u4f60's", " \ud83d", "\U0001f600\U0001f600", "", "n\u0303o"]
    tokens = tokenize(texts)
    expected = [["dogs", "'", "o", "'er", "'", "'", "s"], ["a", "b"], ["\u4f60", "'", "s"], [], ["\U0001f600"] * 2, []]
    assert by_text(_spell(tokens), tokens.offsets) == [*expected, ["\u00f1o"]]


def test_the_words_are_those_of_the_regular_expression():
    texts = ODD + random_texts(400)
    tokens = tokenize(texts)
    expected = [oracle(text) for text in texts]
    assert by_text(_spell(tokens), tokens.offsets) == expected
    word_list = [word for words in expected for word in words]
    assert len(word_list) > 2000 and sum("'" in word and len(word) > 1 for word in word_list) > 100, (
        "nothing was compared"
    )


def test_every_code_point_has_the_class_that_the_regular_expression_gives_it():
    classes = _classes("characters")
    assert len(classes) == 0x110000
    points = [*range(0x3500), *range(0x9FF0, 0xA010), *range(0xD7F0, 0x11000), *range(0x1FFF0, 0x20010), 0x10FFFF]
    for point in points:
        match = WORD.fullmatch(chr(point))
        expected = 0 if not match else 1 if match["run"] else 2
        assert classes[point] == expected, f"U+{point:04X}"


def test_a_batch_is_its_texts_one_by_one():
    texts = ODD + random_texts(400)
    batch = tokenize(texts)
    keys, (grams, offsets) = _word_keys(batch), _trigrams(batch)
    assert offsets[-1] == len(grams) > 5000
    for n, text in enumerate(texts):
        alone = tokenize([text])
        a, b = batch.offsets[n : n + 2]
        assert _word_keys(alone).tolist() == keys[a:b].tolist()
        trigrams, ends = _trigrams(alone)
        assert ends.tolist() == [0, len(trigrams)]
        assert trigrams.tolist() == grams[offsets[n] : offsets[n + 1]].tolist()


def test_keys_are_the_sums_of_whole_numbers_and_tell_words_apart():
    tokens = tokenize(ODD + random_texts(400))
    words, keys = _spell(tokens), _word_keys(tokens)
    assert keys.dtype == np.uint64
    for word, key in zip(words, keys.tolist(), strict=True):
        powers = (pow(FACTOR, min(n + 1, LONGEST_WORD), 2**64) for n in range(len(word)))
        assert key == sum((ord(letter) + 1) * power for letter, power in zip(word, powers, strict=True)) % 2**64
    assert len(set(keys.tolist())) == len(set(words)) > 500
    ab, ba, zero = _word_keys(tokenize(["ab ba abab"])).tolist()
    assert len({ab, ba, zero}) == 3


def test_trigrams_are_windows_over_the_spaced_words():
    texts = ["oh", "a", "don't", "", "x\u4f60", *ODD, *random_texts(100)]
    keys, offsets = _trigrams(tokenize(texts))
    trigrams = by_text([_spell_trigram(key) for key in keys.tolist()], offsets)
    assert trigrams[:5] == [
        [" oh", "oh "],
        [" a "],
        [" do", "don", "on ", "n '", " 't", "'t "],
        [],
        [" x ", "x \u4f60", " \u4f60 "],
    ]
    spaced = [" ".join(["", *oracle(text), ""]) if oracle(text) else "" for text in texts]
    assert trigrams == [[text[n : n + 3] for n in range(len(text) - 2)] for text in spaced]


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["", " \0", ""]])
def test_nothing_has_no_words(texts):
    tokens = tokenize(texts)
    assert tokens.offsets.tolist() == [0] * (len(texts) + 1)
    assert _spell(tokens) == [] and _word_keys(tokens).tolist() == []
    keys, offsets = _trigrams(tokens)
    assert keys.tolist() == [] and offsets.tolist() == [0] * (len(texts) + 1)


def test_ten_thousand_words():
    tokens = tokenize(["", "Word, " * 10_000, "end"])
    assert tokens.offsets.tolist() == [0, 0, 20_000, 20_001]
    keys = _word_keys(tokens)
    assert len(set(keys[0:20_000:2].tolist())) == len(set(keys[1:20_000:2].tolist())) == 1
    assert _trigrams(tokens)[1].tolist() == [0, 0, 10_000 * 7 + 1 - 2, 10_000 * 7 - 1 + 3]
