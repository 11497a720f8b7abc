"""Chinese words are jieba's in every measure, table and constraint that counts words; those here are cut by hand."""

import pytest

from toolkit.bitext.idf import count_idf
from toolkit.bitext.words import is_chinese, lower_words, spaced, words_of
from toolkit.data.database import database
from toolkit.encoder.tokens import _spell, tokenize
from toolkit.evaluate.corpus import _length_ratio, one_minus_bleu
from toolkit.evaluate.profile import profile
from toolkit.lexicon._pairs import fill_tokens
from toolkit.score.diversity import diversity
from toolkit.score.overlap import intersection_over_union, trigram_overlap

TEXT, WORDS = "我们今天去北京大学。", ["我们", "今天", "去", "北京大学"]
OTHER = "今天我们去清华大学。"


def test_the_words_of_a_text():
    assert spaced(TEXT).split() == [*WORDS, "。"]
    assert lower_words(TEXT) == WORDS and words_of(TEXT) == set(WORDS)


@pytest.mark.parametrize("text", ["We go home.", "東京に行きます。", "오늘 학교에 갑니다.", "", "Überall"])
def test_other_languages_stay(text):
    assert spaced(text) == text and not is_chinese(text)


def test_overlaps_count_words():
    assert intersection_over_union(TEXT, OTHER) == 0.6, "three of five"
    assert trigram_overlap("我们今天去北京大学。", "她们今天去北京大学。") == pytest.approx(2 / 3, abs=1e-6)
    assert diversity(TEXT, OTHER) == pytest.approx(0.5 * 0.4 + 0.5 * (2 / 3) / 4, abs=1e-6)


def test_corpus_measures_count_words():
    assert _length_ratio([TEXT], ["我们去。"]) == 0.5
    assert one_minus_bleu([TEXT], [TEXT]) == 0.0 and one_minus_bleu([TEXT], [OTHER]) == 100.0
    assert profile([TEXT])["length_mean"] == 5, "the mark counts, as in every language"


def test_a_card_counts_words_and_marks():
    with database() as connection:
        texts = {"texts": [TEXT, "  Two words ", "東京に行く", ""]}
        counts = connection.execute("SELECT word_count(unnest($texts))", texts).fetchall()
        assert counts == [(5,), (2,), (1,), (1,)]
        assert connection.execute("SELECT spaced(NULL)").fetchall() == [(None,)]


def test_a_lexicon_has_words(tmp_path):
    (tmp_path / "pairs.tsv").write_text(f"{TEXT}\t{OTHER}\n", encoding="utf-8")
    with database() as connection:
        fill_tokens(connection, tmp_path / "pairs.tsv")
        ((reference, paraphrase),) = connection.sql("SELECT reference_words, paraphrase_words FROM tokens").fetchall()
    assert set(reference) == set(WORDS) and set(paraphrase) == {"今天", "我们", "去", "清华大学"}


def test_an_idf_table_has_words():
    table = count_idf([TEXT, OTHER] * 5)
    assert {"我们", "北京大学", "清华大学"} <= table.df.keys() and TEXT[:-1] not in table.df


def test_an_encoder_reads_characters_or_words():
    assert _spell(tokenize([TEXT, "Oh, 2!"])) == [*TEXT, "oh", ",", "2", "!"]
    assert _spell(tokenize([TEXT, "Oh, 2!"], "words")) == [*WORDS, "。", "oh", ",", "2", "!"]
