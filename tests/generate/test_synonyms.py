"""Synonyms from WordNet's files and from a user's own."""

import pytest

from toolkit.generate.synonyms import read_synonyms

ADJECTIVES = """  1 This software and database is being provided to you, the LICENSEE, by
  2 Princeton University under the following license.
01382086 00 a 02 large 0 big 0 002 & 01382086 a 0000 ! 01391351 a 0101 | above average in size
01391351 00 a 02 small 0 little 1 001 ! 01382086 a 0101 | limited in size
02316992 00 s 02 galore(ip) 0 abundant 0 000 | in great numbers
01111111 00 s 01 alone 0 000 | by itself
"""
VERBS = """  1 This software
01904930 38 v 03 walk 0 stroll 0 go_for_a_walk 0 000 00 | use one's feet
01926311 38 v 02 run 0 02 move 1 000 00 | move fast
"""


@pytest.fixture(params=["wordnet", "own"])
def synonyms(request, tmp_path):
    if request.param == "own":
        own = tmp_path / "synonyms.tsv"
        own.write_text("Large\tbig\nsmall\tlittle\ngalore\tabundant\nwalk\tstroll\trun about\n")
        return read_synonyms(own)
    (tmp_path / "data.adj").write_text(ADJECTIVES)
    (tmp_path / "data.verb").write_text(VERBS.replace("0 02 move 1", "0 move 1"))
    return read_synonyms(tmp_path)


def test_words_of_one_group_in_any_inflection(synonyms):
    assert synonyms.holds("large", "big") and synonyms.holds("Large", "bigger") and synonyms.holds("galore", "abundant")
    assert synonyms.holds("walked", "strolled") and synonyms.holds("strolling", "walks")


def test_antonyms_and_other_words_are_none(synonyms):
    assert not synonyms.holds("large", "small") and not synonyms.holds("big", "little")
    assert not synonyms.holds("walk", "unknown") and not synonyms.holds("alone", "alone")


def test_forms_of_one_word_are_none(synonyms):
    assert not synonyms.holds("walk", "walked") and not synonyms.holds("Large", "large")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "data.adj",
            ADJECTIVES + "no synset at all\n",
            "wanted a synset of WordNet, got 'no synset at all' in line 7",
        ),
        (
            "notes.txt",
            "large big\n",
            r"wanted data.noun, data.verb, .* of WordNet, got a folder without",
        ),
        ("data.adj", "01111111 00 s 01 alone 0 000 | by itself\n", "wanted synonyms, got none in"),
    ],
)
def test_a_bad_folder_is_said(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_synonyms(tmp_path)


def test_a_bad_file_is_said(tmp_path):
    (tmp_path / "own.tsv").write_text("large\tbig\nsmall little\n")
    with pytest.raises(ValueError, match=r"wanted UTF-8 lines of synonyms .*, got 'small little' in line 2"):
        read_synonyms(tmp_path / "own.tsv")
    with pytest.raises(FileNotFoundError, match="wanted an existing file"):
        read_synonyms(tmp_path / "none.tsv")
