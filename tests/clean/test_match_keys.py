"""The keys of many texts at once are those of each text alone."""

import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.bitext.normalize import match_key
from toolkit.clean.match_keys import match_keys


def expected_keys(texts):
    return [match_key(text) or text for text in texts]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NEAR = st.text(st.sampled_from("aB9 .'é\u0301e\u0327ß\u0130ΣςσΑﬁ①ｶﾞ가ᄀ\u1161ㅎㅏ漢－ＡZ_\u200d\u0345"), max_size=8)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT | NEAR | st.just(""), max_size=12))
def test_as_each_text_alone(texts):
    assert match_keys(pa.array(texts, pa.string())).to_pylist() == expected_keys(texts)


@pytest.mark.slow
@pytest.mark.parametrize("around", ["", "a"])
def test_every_character(around):
    """Alone, and between letters, with which it may compose or of which its lower case may depend."""
    characters = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    texts = [f"{around}{character}{around}" for character in characters]
    assert match_keys(pa.array(texts, pa.large_string())).to_pylist() == expected_keys(texts)


def test_ascii_slices_and_chunks():
    texts = ["Don't stop!", "...", "", "We go.", "we GO"]
    column = pa.array(texts, pa.string())
    assert match_keys(column).to_pylist() == ["dontstop", "...", "", "wego", "wego"]
    assert match_keys(column[1:4]).to_pylist() == ["...", "", "wego"]
    assert match_keys(column[:0]).to_pylist() == []
    assert match_keys(pa.array(["漢", *texts])[2:]).to_pylist() == expected_keys(texts[1:])
