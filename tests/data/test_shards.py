"""A shard with a flipped bit is named, whatever reads it, and never gives other rows."""

import pytest

from tests.conftest import demo_rows, write_run
from toolkit.data.database import database
from toolkit.data.shards import count_rows, dropped_of, is_whole, read_shard
from toolkit.package.counts import _check_counts
from toolkit.package.keep import write_kept
from toolkit.package.parquet import finished_shards
from toolkit.package.read import read_pairs
from toolkit.select.equal import find_equal_pairs
from toolkit.select.where import check_measured, meeting

FLIPS = 60  # bytes of a shard, evenly spread, of which a bit is flipped


@pytest.fixture
def shard(tmp_path):
    return finished_shards(write_run(tmp_path / "run", demo_rows()))[0]


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 8
    path.write_bytes(content)


def test_a_flipped_bit_is_named_or_changes_nothing(shard):
    whole, rows = shard.read_bytes(), list(read_shard(shard))
    broken = 0
    for place in range(0, len(whole), len(whole) // FLIPS):
        shard.write_bytes(whole)
        flip(shard, place)
        try:
            assert list(read_shard(shard)) == rows, f"other rows by byte {place}"
        except ValueError as error:
            broken += 1
            assert shard.name in str(error) and ("delete it" in str(error) or "rebuild it" in str(error)), error
    assert broken > FLIPS / 4, "the pages have checksums"


@pytest.mark.parametrize(
    "read",
    [
        count_rows,
        lambda shard: list(read_shard(shard)),
        lambda shard: check_measured([shard], "semantic > 0"),
        lambda shard: meeting(shard, "true"),
        lambda shard: find_equal_pairs([shard]),
        lambda shard: list(read_pairs(shard.parent)),
    ],
)
def test_whatever_reads_a_broken_shard_names_it(read, shard):
    shard.write_bytes(shard.read_bytes()[:-20])
    with pytest.raises(
        ValueError, match=rf"wanted a shard of rows, got a broken .*{shard.name} \(.*\): delete it, then"
    ):
        read(shard)


def test_a_broken_input_shard_is_cut_again_with_the_others(tmp_path):
    path = write_run(tmp_path / "run", demo_rows()) / "input-00001.parquet"
    flip(path, 30)
    with pytest.raises(ValueError, match=r"got a broken .*: delete it and inputs.json beside it, then run the same"):
        list(read_shard(path))


def test_a_database_without_room_is_one_line():
    message = r"wanted room for a table of the whole corpus in .*: make room there, or name"
    with pytest.raises(OSError, match=message), database("30MB", 1) as connection:
        connection.execute("SET max_temp_directory_size = '1MB'")
        connection.execute("SELECT md5(x::VARCHAR) AS m FROM range(3000000) t(x) ORDER BY m").fetchall()


def test_counts_of_what_a_shard_no_longer_has_are_checked(tmp_path, shard):
    write_kept(shard, read_shard(shard), "chosen")
    counts = dropped_of(shard)
    _check_counts([counts])
    flip(counts, 30)
    assert not is_whole(counts)
    with pytest.raises(ValueError, match=rf"got a broken .*{counts.name}: delete it and {shard.name} beside it, then"):
        _check_counts([counts])
