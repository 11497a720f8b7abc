"""Rows become an Arrow table by columns; records by record would be the same table."""

from dataclasses import asdict

import pyarrow as pa

from toolkit.data.rows import Candidate, Origin, Row, Scores, schema, to_table


def rows() -> list[Row]:
    shared, origin = Origin("set-0", [], ["dog", "cat"]), Origin(None, ["a b"], [], ["says no"])
    first = [
        Candidate("Hi!", "sample", [shared, origin], 3, 0, "g", Scores(-1.5, 3, -2.0, 4, 0.25), 2),
        Candidate("Ho", "sample", [shared], reason="dual"),
        Candidate("", "sample", [Origin()], scores=Scores(judgment=50.0), reason="empty"),
        Candidate("He", "beam"),
    ]
    candidates = [Candidate("Hu 😀", "sample", [origin, shared, origin])]
    return [
        Row("a-1", "a", "Hallo!", "de", "Hello!", "en", "train", "before", None, first),
        Row("a-2", "a", None, None, "", "en", "test", reason="empty"),
        Row("a-3", "a", "x", "de", "y", "en", "train", candidates=candidates),
    ]


def test_the_table_is_that_of_the_records():
    records = rows()
    table = to_table(records)
    assert table.schema == schema()
    assert table.equals(pa.Table.from_pylist([asdict(row) for row in records], schema=schema()))


def test_no_rows_are_an_empty_table():
    assert to_table([]).equals(schema().empty_table())


def test_one_object_in_several_places_is_in_all_of_them():
    origin = Origin("set-1", [], ["dog"])
    row = Row("a-1", "a", "x", "de", "y", "en", "train", candidates=[Candidate(t, "sample", [origin]) for t in "abc"])
    records = to_table([row, row]).to_pylist()
    assert [c["origins"] for record in records for c in record["candidates"]] == [[asdict(origin)]] * 6
