import datasets
import pyarrow.parquet as pq
import pytest

from builders.builder import ParabankBuilder
from toolkit.data.shards import read_shard, write_shard
from toolkit.package.parquet import finished_shards


def builder(run, config="pairs"):
    return ParabankBuilder(config_name=config, data_dir=str(run), cache_dir=str(run.parent / "cache"))


@pytest.mark.parametrize("num_proc", [None, 2])
def test_prepared_is_what_was_published(demo_run, demo_parabank, num_proc):
    for config in ("pairs", "references"):
        dataset_builder = builder(demo_run, config)
        dataset_builder.download_and_prepare(num_proc=num_proc)
        published = datasets.load_dataset(str(demo_parabank), config)
        for split in ("train", "validation", "test"):
            assert dataset_builder.as_dataset(split).to_list() == published[split].to_list()
        assert dataset_builder.info.features == published["train"].features
        assert dataset_builder.info.splits["train"].num_examples == len(published["train"])


def test_streaming(demo_run):
    streamed = builder(demo_run, "references").as_streaming_dataset("train")
    assert streamed.num_shards == 2  # of three: those that hold rows of the split
    assert [row["id"] for row in streamed] == ["demo-0", "demo-4"]


def test_prepared_as_parquet(demo_run, tmp_path):
    builder(demo_run).download_and_prepare(str(tmp_path / "out"), file_format="parquet")
    assert pq.read_table(tmp_path / "out/builder-train.parquet").num_rows == 5


def test_other_shards_in_the_same_folder_are_built_anew(demo_run):
    first = builder(demo_run)
    first.download_and_prepare()
    shard = finished_shards(demo_run)[0]
    rows = list(read_shard(shard))
    rows[0].candidates[0].text = "Something else."
    write_shard(shard, rows)
    second = builder(demo_run)
    second.download_and_prepare()
    assert "Something else." not in first.as_dataset("train")["sentence2"]
    assert "Something else." in second.as_dataset("train")["sentence2"]


def test_the_default_config_is_pairs(demo_run):
    dataset_builder = ParabankBuilder(data_dir=str(demo_run), cache_dir=str(demo_run.parent / "cache"))
    assert dataset_builder.config.name == "pairs"


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="wanted a run's folder"):
        builder(tmp_path)
    with pytest.raises(ValueError, match="wanted data_dir"):
        ParabankBuilder(config_name="pairs")
