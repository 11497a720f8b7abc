"""A derived score is one number, whether Python or DuckDB computes it."""

import random

import duckdb
import pyarrow as pa
import pytest

from toolkit.data.rows import DERIVED_SQL, Scores, hints_of, measured_parts, schema, score_sql

NAMES = [*hints_of(Scores), *DERIVED_SQL]


def random_scores(number: int) -> list[Scores]:
    """Scores with and without each of their parts; logprobs of 0 and far below, and of one token, are among them."""
    chance = random.Random(0)
    scores = [Scores(), Scores(0.0, 1, 0.0, 1), Scores(-1e300, 1, -1e300, 1), Scores(-5e-324, 3, -0.0, 2**31 - 1)]
    for _ in range(number):
        entry = Scores(**{name: chance.choice([None, -chance.expovariate(1)]) for name in hints_of(Scores)})
        for side in ("forward", "backward"):
            is_measured = getattr(entry, f"{side}_logprob") is not None
            setattr(
                entry, f"{side}_tokens", chance.choice([1, 2, 3, chance.randrange(1, 400)]) if is_measured else None
            )
        scores.append(entry)
    return scores


@pytest.mark.parametrize("prefix", ["", "scores.", "c.scores."])
def test_python_and_sql_compute_the_same_numbers(prefix):
    scores = random_scores(2000)
    columns = {name: [getattr(entry, name) for entry in scores] for name in hints_of(Scores)}
    measured = pa.table(columns, schema(Scores))  # noqa: F841  (DuckDB reads it by its name)
    source = {
        "": "measured",
        "scores.": "(SELECT measured AS scores FROM measured)",
        "c.scores.": "(SELECT {scores: measured} AS c FROM measured)",
    }[prefix]
    with duckdb.connect() as connection:
        lines = connection.sql(
            f"SELECT {', '.join(score_sql(name, prefix) for name in NAMES)} FROM {source}"
        ).fetchall()
    for name, values in zip(NAMES, zip(*lines, strict=True), strict=True):
        assert list(values) == [getattr(entry, name) for entry in scores], name
        assert None in values and any(value is not None for value in values), name


def test_every_property_of_the_scores_has_its_sql():
    assert [name for name, value in vars(Scores).items() if isinstance(value, property)] == list(DERIVED_SQL)


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_a_score_are_all_that_it_needs(name):
    parts = measured_parts([name])
    assert set(parts) <= hints_of(Scores).keys()
    values = {part: 2 if part.endswith("_tokens") else -1.0 for part in parts}
    assert getattr(Scores(**values), name) is not None
