"""Samples of a parabank's references: all, or two draws that depend on their texts alone."""

import pytest

from toolkit.package.samples import samples


def test_a_parabank_without_paraphrases_is_refused(empty_run):
    with pytest.raises(ValueError, match=r"wanted a parabank with paraphrases, got none in .*empty.shards"):
        samples(empty_run, 10, 0)


def test_samples_are_all_or_two_draws(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"reference {i}\tparaphrase {i}\n" for i in range(200)), encoding="utf-8")
    (rows,) = samples(path, 200, seed=0)
    assert [row.reference for row in rows] == [f"reference {i}" for i in range(200)]
    first, second = [{row.reference for row in run} for run in samples(path, 50, seed=0)]
    assert len(first) == len(second) == 50 and first != second
    assert second == {row.reference for row in samples(path, 50, seed=1)[0]}
    with pytest.raises(ValueError, match="at least 1 reference, got 0"):
        samples(path, 0, seed=0)


def test_parabanks_of_one_bitext_give_the_same_sample(tmp_path):
    for name, order in (("a.tsv", range(100)), ("b.tsv", reversed(range(100)))):
        lines = [f"reference {i}\t{name} {i}\n" for i in order]
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    first, second = (samples(tmp_path / name, 20, seed=3) for name in ("a.tsv", "b.tsv"))
    assert [[row.reference for row in run] for run in first] == [[row.reference for row in run] for run in second]
