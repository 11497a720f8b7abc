"""Token and tag lists: joined, read, and written again."""

import pytest

from toolkit.augmentation._tags import entities, join_tokens, retagged, tokens_like

SAID = ["Mr.", "Smith", "does", "n't", "work", "for", "the", "U.N.", "in", "New", "York", "."]
TAGS = ["O", "B-PER", "O", "O", "O", "O", "O", "B-ORG", "O", "B-LOC", "I-LOC", "O"]


def test_tokens_are_joined_as_people_write_and_stand_where_they_are_said_to():
    text, where = join_tokens(SAID, "en")
    assert text == "Mr. Smith doesn't work for the U.N. in New York."
    assert [text[b:e] for b, e in where] == SAID


@pytest.mark.parametrize("tokens", [["a b", "c"], ['"', "hi", '"'], ["&amp;", "x"], ["``", "q", "''"], ["(", "a", ")"]])
def test_every_token_is_found_whatever_it_is(tokens):
    text, where = join_tokens(tokens, "en")
    assert [text[b:e] for b, e in where] == tokens


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["B-A", "B-A", "I-A"], [(0, 1), (1, 3)]),
        (["I-A", "I-A", "O"], [(0, 2)]),
        (["S-A", "B-A", "E-A"], [(0, 1), (1, 3)]),
        (["U-A", "O", "B-A", "L-A"], [(0, 1), (2, 4)]),
        (["O", "O"], []),
    ],
)
def test_every_scheme_is_read(tags, expected):
    assert entities(tags) == expected


def test_entities_keep_their_tokens_and_tags():
    tokens, tags = retagged(SAID, TAGS, TAGS, "en", "O", "In New York, Smith has no job at the U.N., he said.")
    assert len(tokens) == len(tags)
    assert tokens[:5] == ["In", "New", "York", ",", "Smith"] and tags[:5] == ["O", "B-LOC", "I-LOC", "O", "B-PER"]
    assert [t for t, tag in zip(tokens, tags, strict=True) if tag == "B-ORG"] == ["U.N."]


def test_an_entity_that_is_lost_is_not_invented():
    assert retagged(SAID, TAGS, TAGS, "en", "O", "Smith does not work there.") is None


def test_chinese_tokens():
    result = retagged(["我", "在", "北", "京"], [0, 0, 3, 4], ["O", "O", "B-LOC", "I-LOC"], "zh", 0, "北京是我住的地方")
    assert result == (["北", "京", "是", "我", "住", "的", "地", "方"], [3, 4, 0, 0, 0, 0, 0, 0])


def test_entities_that_would_become_one_are_refused():
    assert retagged(["Tom", "met", "Rome"], [1, 0, 2], ["PER", "O", "LOC"], "en", 0, "Tom Rome met") is None
    assert retagged(["Tom", "met", "Rome"], [1, 0, 2], ["B-P", "O", "B-L"], "en", 0, "Tom Rome met")[1] == [1, 2, 0]


@pytest.mark.parametrize(
    ("token_list", "paraphrase"),
    [
        ("@anna I have never seen such a garden in Paris before :-) #fun http://t.co/ab1",
         "Never before I have seen such a garden in Paris @anna :-) http://t.co/ab1 #fun"),
        ("L' homme est à Paris aujourd'hui .", "Aujourd'hui l' homme est à Paris ."),
        ("他们 昨天 到 Paris", "昨天 他们 到 Paris"),
    ],
)  # fmt: skip
def test_all_tokens_are_cut_as_in_the_source(token_list, paraphrase):
    spaces = "" if "他们" in paraphrase else " "
    token_list, expected = token_list.split(), paraphrase.split()
    tags = ["B" if token == "Paris" else "O" for token in token_list]
    text = spaces.join(expected).replace("l' ", "l'")
    tokens, new_tags = retagged(token_list, tags, tags, "fr", "O", text)
    assert tokens == expected and [token for token, tag in zip(tokens, new_tags, strict=True) if tag == "B"] == [
        "Paris"
    ]


@pytest.mark.parametrize(
    ("text", "token_list", "expected"),
    [
        ("I can't inform it's", ["can", "in", "form", "it", "'"], ["I", "ca", "n't", "inform", "it", "'s"]),
        ("don't", ["don", "'", "t"], ["don", "'", "t"]),
        ("#Fun! a", ["#fun", "", " "], ["#Fun", "!", "a"]),
        ("e.g. New York", ["new york"], ["e.g.", "New York"]),
        ("", ["a"], []),
    ],
)
def test_no_word_is_cut_by_another_token(text, token_list, expected):
    assert tokens_like(text, token_list) == expected
