r"""Every rule of the toolkit for what a word or a token of a text is, side by side, and the files of known words.

The rules differ because their users do: a table of frequencies, a decoder that must recognise words piece by piece, and
a limit from a paper do not count the same things. This is one text under each of them:

>>> text = "She can't re-read item_2, 京都!"
>>> LETTERS.findall(text)
['She', 'can', 't', 're', 'read', 'item', '京都']
>>> LETTERS_AND_DIGITS.findall(text)
['She', 'can', 't', 're', 'read', 'item', '2', '京都']
>>> COMPOUND.findall(text)
['She', "can't", 're-read', 'item_2', '京都']
>>> WORD_OR_MARK.findall(text)
['She', 'can', "'", 't', 're', '-', 'read', 'item_2', ',', '京都', '!']
>>> TREEBANK_TOKEN.findall(text)
['She', 'ca', "n't", 're', '-', 'read', 'item', '_', '2', ',', '京', '都', '!']
>>> list(constraint_words(text))
['She', 'can', "'", 't', 're', '-', 'read', 'item', '_', '2', ',', '京', '都', '!']

Where one of these rules finds words, Chinese text gets spaces between them first (`spaced`); only the tokens of papers
and the words of constraints take each of its characters for one.

Two rules are not here. `toolkit.encoder.tokens` cuts arrays of code points ("can", "'t"), and DuckDB cuts by
`toolkit.package.counts.WORD`, in the syntax of RE2: like `COMPOUND`, but without
"_" and joined by "'", "’" and "-" alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from toolkit.bitext.text_file import text_lines
from toolkit.system.extras import require

PARANMT_TOKENS = 30  # ParaNMT-50M, section 5.4 and A.1: the most tokens of either sentence of a pair

# Kana and Han, which are written without spaces: each character is a word. For the brackets of a regular expression.
WITHOUT_SPACES = "\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CHARACTER_WITHOUT_SPACES = re.compile(f"[{WITHOUT_SPACES}]")
HAN = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
# Thai, Lao, Tibetan, Burmese and Khmer, which are written without spaces, too, in words of several letters
WORDS_WITHOUT_SPACES = "\u0e00-\u109f\u1780-\u17ff"
WITHOUT_WORDS = re.compile(f"[{WITHOUT_SPACES}{WORDS_WITHOUT_SPACES}]")  # between these, nothing here finds words
# ours: the languages of these scripts; Chinese is not one of them, because jieba cuts it
LANGUAGES_WITHOUT_WORDS = ("bo", "dz", "ja", "km", "lo", "my", "th")
CHINESE, KANA = re.compile(HAN), re.compile("[\u3040-\u30ff]")
# jieba's tags of what has no paraphrase: names of people, places, organisations and others, numbers, letters, marks
WITHOUT_PARAPHRASE = ("nr", "ns", "nt", "nz", "m", "eng", "x")

# Runs of letters: the files of known words. A number is no word that a sampler could have invented.
LETTERS = re.compile(r"[^\W\d_]+")

# Runs of letters and digits: tables of document frequencies (`idf.py`), where "2nd" is as much a word as "second".
LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")

# All that is written above, below or beside letters: accents, the points of Hebrew and Arabic, vowel signs, tones.
MARKS = "".join(
    chr(point)
    for point in (*range(0x0300, 0x10A0), *range(0x1780, 0x1800))
    if unicodedata.category(chr(point)) in "MnMc"
)

# Vowel signs and tones of the scripts from Devanagari to Myanmar, and of Khmer: without them other words are left.
# Those of Hebrew and Arabic may be written or not, and those of Latin letters compose with them.
SIGNS = "".join(mark for mark in MARKS if mark >= "\u0900")

# Runs of all but letters, their signs and digits: texts are equal but for punctuation (`normalize.py`,
# `clean/rules.py`).
NO_LETTERS_OR_DIGITS = re.compile(rf"[^\w{SIGNS}]+|_+")

# Words with their apostrophes and hyphens: which words of a reference ParaBank 2 may forbid (`generate/sample.py`). It
# takes words of letters only, so that "house-boat" and "didn't" must be seen whole to be passed over. So must those
# with the hyphen and the marks of abbreviation of Hebrew, and with the joiners within words of Persian and Hindi.
JOINERS = "'’\u05be\u05f3\u05f4\u200c\u200d-"
COMPOUND = re.compile(rf"\w[\w{MARKS}]*(?:(?:[{JOINERS}]|(?<=[\u05d0-\u05ea])\"(?=[\u05d0-\u05ea]))\w[\w{MARKS}]*)*")

# Runs of word characters, and every other visible character: the judged pairs (`score/judgment_features.py`), whose
# contractions are written out before. Unlike `constraint_words` it has "_" in a word, and Han words uncut.
WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")

# Tokens as papers count them (`tokens`): words, numbers and marks. Unlike the rules above it cuts English contractions
# as spaCy and the Penn Treebank do ("ca|n't") and keeps "4.7", "a.m." and "..." whole. The first alternative that fits.
LETTER = rf"[^\W_{WITHOUT_SPACES}]"
NOT = r"(?i:n['’]t)\b"
CLITIC = r"['’](?i:s|ll|re|ve|d|m)\b"
TREEBANK_TOKEN = re.compile(
    rf"{LETTER}+(?!{LETTER}|['’.]|[,:/]\d)"  # most words; the other alternatives take those before ' . , : /
    rf"|{NOT}|{CLITIC}"
    rf"|(?i:mrs?|ms|dr)\.|(?:(?!\d){LETTER}\.)+(?!\.)"  # "Mr.", "P.", "a.m."
    r"|\d+(?:[.,:/]\d+)+"  # "4.7", "91/440"
    rf"|{LETTER}+?(?={NOT})|{LETTER}+(?:(?!{CLITIC})['’]{LETTER}+)*"  # the "ca" of "can't"; "o'clock"
    r"|\.\.+|--+"
    r"|[^\s\0-\x1f]"  # any other mark
)


def is_chinese(text: str) -> bool:
    """Whether a text has Han characters and no kana, so that jieba can cut it.

    >>> is_chinese("我来到北京。"), is_chinese("東京に行く。"), is_chinese("I went to Beijing.")
    (True, False, False)
    """
    return not text.isascii() and CHINESE.search(text) is not None and KANA.search(text) is None


def spaced(text: str) -> str:
    """A text whose Chinese words are apart, as jieba cuts them; any other text as it is.

    >>> spaced("我来到北京清华大学。"), spaced("I came to Beijing.")
    ('我 来到 北京 清华大学 。', 'I came to Beijing.')
    """
    if not is_chinese(text):
        return text
    cut = require("rjieba").cut  # jieba's dictionary and algorithm, in Rust; the dictionary takes a second to load
    return " ".join(word for word in cut(text) if not word.isspace())


class WordPieces:
    """Words as the pieces of texts, where there is no model with pieces of its own."""

    def split(self, text: str) -> list[str]:
        """The words of a text, those of Chinese as jieba cuts them.

        >>> WordPieces().split("We go home.")
        ['We', 'go', 'home.']
        """
        return spaced(text).split()

    def split_all(self, texts: Sequence[str]) -> list[list[str]]:
        """The same for several texts."""
        return [self.split(text) for text in texts]


def plain_word_spans(text: str) -> Iterator[tuple[int, int]]:
    """The begin and the end of each word that could be said otherwise: no name, number or mark.

    These are the lower-case words of letters between spaces and marks, and those of scripts without capitals, where
    names are among them; of Chinese text, the words that jieba does not take for a name or a number. Other text without
    spaces between words, such as Japanese and Thai, has none.

    >>> text = "Tom isn't here today."
    >>> [text[begin:end] for begin, end in plain_word_spans(text)]
    ['here', 'today']
    >>> text = "小明今天来到北京。"
    >>> [text[begin:end] for begin, end in plain_word_spans(text)]
    ['今天', '来到']
    >>> text = "लड़का 2 बजे आया।"
    >>> [text[begin:end] for begin, end in plain_word_spans(text)]
    ['लड़का', 'बजे', 'आया']
    """
    if not is_chinese(text):
        for match in COMPOUND.finditer(text):
            word = match.group()
            is_lower = word.islower() or word == word.lower() == word.upper()
            if is_lower and not WITHOUT_WORDS.search(word) and all(c.isalpha() or c in MARKS for c in word):
                yield match.span()
        return
    tag = require("rjieba").tag
    begin = 0
    for word, kind in tag(text):
        if word.isalpha() and not kind.startswith(WITHOUT_PARAPHRASE):
            yield begin, begin + len(word)
        begin += len(word)


def token_spans(text: str) -> list[tuple[int, int]]:
    """The begin and the end of each token of a text; see `tokens`."""
    return [match.span() for match in TREEBANK_TOKEN.finditer(text)]


def tokens(text: str) -> list[str]:
    """The tokens of a text: words, numbers and marks, a contraction in its parts.

    What a paper means by "tokens" is this: ParaBank's are spaCy's, of which this is the part that needs no list of
    exceptions, and ParaNMT's limit of 30 tokens is of tokenized text.

    >>> tokens("Didn't the dog's owner say 4.7 o'clock?")
    ['Did', "n't", 'the', 'dog', "'s", 'owner', 'say', '4.7', "o'clock", '?']
    """
    return TREEBANK_TOKEN.findall(text)


def token_count(text: str) -> int:
    """The number of tokens of a text.

    >>> token_count("No, I can't."), token_count("你好!"), token_count("  ")
    (6, 3, 0)
    """
    return len(TREEBANK_TOKEN.findall(text))


def continues_word(character: str) -> bool:
    """Whether a character belongs to the word before it: a letter, mark or digit of a script with spaces.

    >>> [continues_word(c) for c in "a7' 字"]
    [True, True, False, False, False]
    """
    return unicodedata.category(character)[0] in "LMN" and not CHARACTER_WITHOUT_SPACES.match(character)


def constraint_words(text: str) -> Iterator[str]:
    r"""The words of a text in order, as lexical constraints count them (`toolkit/decode/words.py`).

    A word is a run of letters, marks and digits; every other visible character is a word of its own, and so is every
    character of a script without spaces. White space separates words. Each character decides by itself whether it
    continues the open word, so that a decoder can apply the rule to the pieces of a text as it produces them. Unlike in
    the regular expressions above, a combining mark is part of its word:

    >>> list(constraint_words("Don't go,  Tom!"))
    ['Don', "'", 't', 'go', ',', 'Tom', '!']
    >>> list(constraint_words("Q\u0301")) == ["Q\u0301"], LETTERS.findall("Q\u0301")
    (True, ['Q'])
    """
    word = ""
    for character in text:
        if continues_word(character):
            word += character
            continue
        if word:
            yield word
        word = ""
        if not character.isspace():
            yield character
    if word:
        yield word


def words_of(text: str) -> set[str]:
    """The lower-cased words of a text: runs of letters; of Chinese the words that jieba cuts.

    >>> sorted(words_of("Don't go, Tom!"))
    ['don', 'go', 't', 'tom']
    """
    return set(LETTERS.findall(spaced(text.lower())))


def lower_words(text: str) -> list[str]:
    """The lower-cased words of a text in order: runs of letters and digits; of Chinese the words that jieba cuts.

    >>> lower_words("The 2nd house!"), lower_words("我来到北京清华大学。")
    (['the', '2nd', 'house'], ['我', '来到', '北京', '清华大学'])
    """
    return LETTERS_AND_DIGITS.findall(spaced(text.lower()))


def write_words(path: Path, texts: Iterable[str]) -> None:
    """Write the words of some texts to a file, one a line, sorted."""
    words: set[str] = set()
    for text in texts:
        words |= words_of(text)
    path.write_text("".join(f"{word}\n" for word in sorted(words)), encoding="utf-8")


def read_words(path: Path) -> frozenset[str]:
    """The words of a file, one a line, lower-cased.

    Raises:
        ValueError: There is no such file, or it has no word.
    """
    if not path.is_file():
        raise ValueError(f"wanted a file with one known word a line, got {path}, which is none")
    words = frozenset(word for line in text_lines(str(path)) for word in line.lower().split())
    if not words:
        raise ValueError(f"wanted a file with one known word a line, got {path}, which is empty")
    return words
