"""A build from a recording is the build of the models, byte for byte, and says how fast everything else was."""

import pytest

from research.benchmarks.replay import MODELS, NOT_COUNTED, record, replay, write_repeated
from research.benchmarks.stages import run_settings
from tests.tiny import pairs
from toolkit.data.shards import read_shard
from toolkit.package.parquet import finished_shards

LINES = 6


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The settings of a build with the models and of its replay, of a replay of every line three times, and seconds."""
    folder = tmp_path_factory.mktemp("replay")
    once, often = folder / "once.tsv", folder / "often.tsv"
    write_repeated(pairs(LINES), 1, once)
    write_repeated(pairs(LINES), 3, often)
    overrides = {
        "forward": "starter/de-en", "backward": "starter/en-de", "dtype": "float32", "threads": 1,
        "samples_per_set": 6, "shard_rows": 4, "check_language": False, "origin": "demo",
    }  # fmt: skip
    recorded, again, thrice = (
        run_settings(str(bitext), str(folder / name), overrides)
        for name, bitext in (("recorded", once), ("again", once), ("thrice", often))
    )
    recording = record(recorded)
    return recorded, again, thrice, [replay(settings, recording) for settings in (again, thrice)]


@pytest.mark.slow
def test_the_replay_of_a_build_has_its_bytes(built):
    recorded, again, _, _ = built
    shards = [finished_shards(settings.shards_dir) for settings in (recorded, again)]
    assert [path.read_bytes() for path in shards[0]] == [path.read_bytes() for path in shards[1]]
    assert len(shards[0]) == 2


def test_every_time_a_line_is_another_row_with_the_same_texts(built):
    _, again, thrice, _ = built
    once, often = (
        [row for shard in finished_shards(settings.shards_dir) for row in read_shard(shard)]
        for settings in (again, thrice)
    )
    assert len({row.reference for row in often}) == 3 * len(once) == 3 * LINES
    for n, row in enumerate(often):
        assert [c.text for c in row.candidates] == [c.text for c in once[n % LINES].candidates]
        assert [c.scores.backward_logprob for c in row.candidates] == [
            c.scores.backward_logprob for c in once[n % LINES].candidates
        ]


def test_the_time_of_look_ups_and_of_loading_is_not_counted(built):
    *_, seconds = built
    for stages in seconds:
        assert {"merging", "detokenising", "segmenting", "clustering", "writing"} < set(stages) - set(NOT_COUNTED)
        assert stages[MODELS] > 0 and set(NOT_COUNTED) <= set(stages)
