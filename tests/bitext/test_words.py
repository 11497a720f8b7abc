"""The tokens of a text, its words, and the filter that refuses others."""

import pytest

from toolkit.bitext.words import (
    PARANMT_TOKENS,
    read_words,
    token_count,
    token_spans,
    tokens,
    words_of,
    write_words,
)
from toolkit.data.database import database
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.data.shards import write_shard
from toolkit.encoder.settings import EncoderTraining
from toolkit.encoder.tokens import tokenize
from toolkit.lexicon._pairs import fill_tokens
from toolkit.select.corpus import REFUSED_SQL
from toolkit.select.deciles import DecileSettings, refuse_by_deciles
from toolkit.select.filter import refuse_unknown_words
from toolkit.train.encoder_pairs import TextPair, number_pairs


# By the rules of spaCy's English tokenizer, by hand.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop!", "Do|n't|stop|!"),
        ("CAN'T, won’t", "CA|N'T|,|wo|n’t"),
        ("I'm she'll we've they're he'd it's", "I|'m|she|'ll|we|'ve|they|'re|he|'d|it|'s"),
        ("You shouldn't've", "You|should|n't|'ve"),
        ("I did n't; it 's", "I|did|n't|;|it|'s"),
        ("o'clock O'Hara dogs'", "o'clock|O'Hara|dogs|'"),
        ("'Go!' \"Stop\"", "'|Go|!|'|\"|Stop|\""),
        ("well-known -- wait... no", "well|-|known|--|wait|...|no"),
        ("4.7 1,000 91/440 12:30 3rd 5.", "4.7|1,000|91/440|12:30|3rd|5|."),
        ("Mr. Owl of U.S. A. at 5 a.m. is I.", "Mr.|Owl|of|U.S.|A.|at|5|a.m.|is|I."),
        ("We... know.", "We|...|know|."),
        ("snake_case", "snake|_|case"),
        ("你好a字", "你|好|a|字"),
        (" \t\n\0 ", ""),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == [token for token in expected.split("|") if token]
    assert token_count(text) == len(tokens(text))
    assert [text[begin:end] for begin, end in token_spans(text)] == tokens(text)


def test_a_text_without_tokens_is_one_without_words_of_the_encoder():
    characters = [chr(n) for n in range(0x11000) if not 0xD800 <= n < 0xE000]
    expected = (tokenize(characters).offsets[1:] > tokenize(characters).offsets[:-1]).tolist()
    assert [token_count(character) > 0 for character in characters] == expected


EDGES = {
    30: ("word " * 30, "word, " * 15, "don't " * 15, "well-off " * 10, "4.7 " * 30, '"' * 28 + "so it"),
    31: (
        "word " * 31,
        "word, " * 15 + "a",
        "don't " * 15 + "a",
        "well-off " * 10 + "a",
        "4.7 " * 31,
        '"' * 29 + "so it",
    ),
}


@pytest.mark.parametrize(("count", "text"), [(count, text.strip()) for count, texts in EDGES.items() for text in texts])
def test_30_tokens_are_the_same_wherever_they_are_the_limit(count, text, tmp_path):
    """ParaNMT-50M, section 5.4: the choice of training pairs, the encoder's training; A.1: the lexicon."""
    assert token_count(text) == count and PARANMT_TOKENS == 30
    fits = count <= PARANMT_TOKENS
    pairs = [TextPair("r", "we", "us"), TextPair("s", "they", text)]
    assert len(number_pairs(pairs, EncoderTraining.max_tokens)) == 1 + fits

    candidate = Candidate(text, "beam", rank=0, scores=Scores(semantic=0.5))
    shard = tmp_path / "rows-00000.parquet"
    write_shard(shard, [Row("t-1", "t", "x", "de", "We.", "en", "train", candidates=[candidate])])
    settings = DecileSettings(by="semantic", deciles="1")
    with database() as connection:
        connection.execute(REFUSED_SQL)
        refuse_by_deciles(connection, [shard], settings)
        reasons = connection.execute("SELECT reason FROM refused").fetchall()
    assert reasons == ([] if fits else [("too_long",)])

    (tmp_path / "pairs.tsv").write_text(f"we\tus\n{text.replace(chr(9), ' ')}\tthey\n", encoding="utf-8")
    with database() as connection:
        assert fill_tokens(connection, tmp_path / "pairs.tsv")["kept"] == 1 + fits


def test_words_survive_a_file(tmp_path):
    write_words(tmp_path / "words.txt", ["The owl sleeps.", "Über the hill!", "42"])
    assert read_words(tmp_path / "words.txt") == {"the", "owl", "sleeps", "über", "hill"}


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_no_words_is_one_error(tmp_path, content):
    if content is not None:
        (tmp_path / "words.txt").write_text(content)
    with pytest.raises(ValueError, match=r"wanted a file with one known word a line, got .*words\.txt"):
        read_words(tmp_path / "words.txt")


def row() -> Row:
    texts = ["Owls have big eyes.", "Owlles have big eyes!", "Siu-Yin's owls", "...", ""]
    candidates = [Candidate(text, "sample") for text in texts]
    candidates[-1].reason = "empty"
    return Row("t-1", "t", "x", "de", "Siu-Yin has owls.", "en", "train", candidates=candidates)


def test_invented_words_are_refused_and_the_references_are_not():
    known = words_of("they have big eyes, s")
    reasons = [c.reason for c in next(refuse_unknown_words([row()], known)).candidates]
    assert reasons == [None, "unknown_word", None, None, "empty"]


def test_without_known_words_nothing_is_refused():
    assert [c.reason for c in next(refuse_unknown_words([row()], frozenset())).candidates] == [None] * 4 + ["empty"]
