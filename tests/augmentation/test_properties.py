"""What holds of any data set of strings under any settings."""

from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from datasets import Dataset, Features, List, Value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolkit
from tests.augmentation.fake import Rotations
from toolkit.augmentation import containers
from toolkit.augmentation._spans import wholes
from toolkit.augmentation._tags import entities

WORDS = st.sampled_from(
    ["Anna", "met", "the", "42nd", "man", "in", "Paris", ",", "New", "York", "don't", "北京", "É", "."]
)
TEXT = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.lists(WORDS, max_size=8).map(" ".join),
)
FEATURES = Features(one=Value("string"), two=Value("string"), label=Value("string"))
SPANS = Features(text=Value("string"), spans=List(List(Value("int64"))))
TOKENS = Features(tokens=List(Value("string")), tags=List(Value("string")))
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@st.composite
def rows_with_spans(draw):
    """Rows of a text and some spans of it, most of them good."""
    rows = []
    for text in draw(st.lists(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), max_size=6)):
        places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(
            lambda ends: [min(ends), max(ends)]
        )
        rows.append({"text": text, "spans": draw(st.lists(places, max_size=3))})
    return rows


@pytest.mark.slow
@EXAMPLES
@given(
    rows=st.lists(st.tuples(TEXT, TEXT, st.sampled_from("abc")), max_size=12),
    copies=st.integers(1, 3),
    vary=st.sampled_from(["separately", "together"]),
    columns=st.sampled_from([["one"], ["one", "two"]]),
    keep=st.sampled_from([None, ["Paris"], ["New York", "Anna"]]),
    limits=st.fixed_dictionaries(
        {},
        optional={
            "limit": st.sampled_from(["balance", "stratify"]),
            "max_new_rows": st.integers(1, 9),
            "seed": st.integers(0, 3),
        },
    ),
    shard=st.integers(1, 5),
)
def test_originals_come_first_and_new_rows_differ_only_in_their_texts(rows, copies, vary, columns, keep, limits, shard):
    first, second, label = zip(*rows, strict=True) if rows else ((), (), ())
    data = Dataset.from_dict({"one": [*first], "two": [*second], "label": [*label]}, features=FEATURES)
    limit = limits.pop("limit", None)
    options = {"columns": columns, "copies": copies, "vary": vary, "keep": keep, "label": "label", **limits}
    options |= {} if limit is None else {limit: True}
    bigger, summary = augmented(data, options, 1000)
    in_shards, counts = augmented(data, options, shard)
    assert in_shards[:] == bigger[:] and counts.skipped == summary.skipped
    assert bigger.select_columns(data.column_names)[: len(data)] == data[:]
    assert {name: bigger.features[name] for name in data.features} == data.features
    new = [row for row in bigger if row["augmented_from"] is not None]
    assert len(new) == len(bigger) - len(data) == summary.new_rows
    texts_by_row = defaultdict(list)
    for row in new:
        source = data[row["augmented_from"]]
        changed = [name for name in data.column_names if row[name] != source[name]]
        assert changed == columns if vary == "together" else len(changed) == 1 and changed[0] in columns
        for name in changed:
            assert row[name].strip()
            assert all(phrase in row[name] for phrase in keep or () if phrase in source[name].split(" "))
        texts_by_row[row["augmented_from"]].append(tuple(row[name] for name in columns))
    groups = 1 if vary == "together" else len(columns)
    for texts in texts_by_row.values():
        assert len(texts) == len(set(texts)) <= copies * groups
    if "max_new_rows" in limits:
        assert len(new) <= limits["max_new_rows"]
    sizes, grown = Counter(data["label"]), Counter(bigger["label"])
    if limit == "balance":
        assert max(sizes.values(), default=0) == max(grown.values(), default=0)
    if limit == "stratify" and new:
        shares = [Fraction(grown[label], size) for label, size in sizes.items()]
        assert max(shares) - min(shares) <= max(Fraction(1, size) for size in sizes.values())


@pytest.mark.slow
@EXAMPLES
@given(rows=rows_with_spans(), copies=st.integers(1, 8))
def test_spans_point_at_the_same_characters(rows, copies):
    data = Dataset.from_dict({"text": [row["text"] for row in rows], "spans": [row["spans"] for row in rows]}, SPANS)
    bigger, _ = augmented(data, {"columns": "text", "spans": {"text": "spans"}, "copies": copies}, 1000)
    for row in bigger:
        if row["augmented_from"] is not None:
            source = data[row["augmented_from"]]
            assert [row["text"][b:e] for b, e in row["spans"]] == [source["text"][b:e] for b, e in source["spans"]]
            for b, e in wholes(row["text"], [tuple(span) for span in row["spans"]]):
                assert row["text"][b:e] in source["text"], "no span ends within a word that it did not end in"


@pytest.mark.slow
@EXAMPLES
@given(
    rows=st.lists(
        st.lists(st.tuples(WORDS, st.sampled_from(["O", "O", "B-A", "I-A", "B-B"])), min_size=1, max_size=8), max_size=6
    )
)
def test_entities_keep_their_tokens_and_tags(rows):
    data = Dataset.from_dict(
        {"tokens": [[w for w, _ in row] for row in rows], "tags": [[t for _, t in row] for row in rows]}, TOKENS
    )
    bigger, _ = augmented(data, {"columns": "tokens", "spans": {"tokens": "tags"}, "copies": 3}, 1000)
    for row in bigger:
        if row["augmented_from"] is not None:
            assert len(row["tokens"]) == len(row["tags"])
            assert entity_texts(row) == entity_texts(data[row["augmented_from"]])


def entity_texts(row):
    """The tokens and tags of each entity, in any order."""
    return sorted((row["tokens"][b:e], row["tags"][b:e]) for b, e in entities(row["tags"]))


def augmented(data, options, shard):
    """The result with shards of so many rows."""
    before = containers.SHARD_ROWS
    containers.SHARD_ROWS = shard
    try:
        return toolkit.augment(data, paraphraser=Rotations(), progress=False, with_summary=True, **options)
    finally:
        containers.SHARD_ROWS = before
