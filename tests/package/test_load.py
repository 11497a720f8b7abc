import shutil
import subprocess

import datasets
import pytest
from huggingface_hub import DatasetCard

from tests.tiny import PYTHON
from toolkit.data.shards import read_shard, write_shard
from toolkit.package.build import package_parabank
from toolkit.package.load import load_parabank
from toolkit.package.parquet import finished_shards


def test_load_dataset_by_path(demo_parabank):
    loaded = datasets.load_dataset(str(demo_parabank))
    assert {split: len(part) for split, part in loaded.items()} == {"train": 5, "validation": 1, "test": 1}
    assert str(loaded["train"].info.version) == "1.2.0"
    assert loaded["test"][0]["sentence2"] == "She is unable to swim."


def test_load_dataset_by_bare_name_in_the_folder_that_holds_it(demo_parabank, monkeypatch):
    monkeypatch.chdir(demo_parabank.parent)
    assert len(datasets.load_dataset("demo", split="train")) == 5
    assert len(load_parabank("demo", split="train")) == 5


@pytest.mark.parametrize("name", ["bank [1]", "bank*", "what?"])
def test_signs_of_patterns_in_a_path_are_letters(demo_parabank, tmp_path, name):
    shutil.copytree(demo_parabank, tmp_path / name)
    shutil.copytree(demo_parabank, tmp_path / "bank1")
    (tmp_path / "bank1" / "data" / "pairs").rename(tmp_path / "bank1" / "data" / "moved")
    for config in ("pairs", "references", "pair"):
        expected = load_parabank(demo_parabank, config)
        for streaming in (False, True):
            loaded = load_parabank(tmp_path / name, config, streaming=streaming)
            assert {split: list(rows) for split, rows in loaded.items()} == {
                split: list(rows) for split, rows in expected.items()
            }


def test_configs_are_those_of_the_card(demo_parabank):
    assert datasets.get_dataset_config_names(str(demo_parabank)) == ["pairs", "references", "pair"]
    assert datasets.get_dataset_default_config_name(str(demo_parabank)) == "pairs"


def test_references_streaming(demo_parabank):
    streamed = list(datasets.load_dataset(str(demo_parabank), "references", split="train", streaming=True))
    assert [len(row["paraphrases"]) for row in streamed] == [2, 3]
    assert streamed[0]["paraphrases"][0]["text"] == "Now we will be going home, he said."
    assert streamed[0]["paraphrases"][0]["origins"][0]["negative"] == ["will", "go"]
    assert streamed == list(load_parabank(demo_parabank, "references", split="train", streaming=True))


def test_pairs_go_into_a_trainer(demo_parabank):
    """As they are, and without a second copy of the texts."""
    sentences = load_parabank(demo_parabank, split="train").select_columns(["sentence1", "sentence2"])
    for pair in (datasets.load_dataset(str(demo_parabank), "pair"), load_parabank(demo_parabank, "pair")):
        assert pair["train"].column_names == ["sentence1", "sentence2"] and pair["train"][:] == sentences[:]
        assert {split: len(part) for split, part in pair.items()} == {"train": 5, "validation": 1, "test": 1}
    streamed = load_parabank(demo_parabank, "pair", split="test", streaming=True)
    assert [list(row) for row in streamed] == [["sentence1", "sentence2"]]
    assert sorted(path.name for path in (demo_parabank / "data").iterdir()) == ["pairs", "references"]


def test_a_parabank_of_an_older_version_has_the_config_pair_too(demo_parabank):
    card = demo_parabank / "README.md"
    older = DatasetCard.load(card)
    older.data.configs = [config for config in older.data.configs if config["config_name"] != "pair"]
    card.write_text(str(older))
    assert load_parabank(demo_parabank, "pair", "test").column_names == ["sentence1", "sentence2"]


def test_a_name_that_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        load_parabank("parabank2")
    message = str(caught.value)
    assert f"there is no folder {tmp_path / 'parabank2'}, and a Hub name has the form owner/name" in message
    assert "\n" not in message
    with pytest.raises(
        FileNotFoundError, match=r"there is no folder .*, so it can only be a Hub name, and that failed"
    ):
        load_parabank("someone/parabank2")


def test_the_cache_of_another_folder_of_that_name_is_not_taken(demo_parabank, tmp_path, monkeypatch):
    monkeypatch.chdir(demo_parabank.parent)
    assert len(load_parabank("demo", split="train")) == 5
    assert len(datasets.load_dataset("demo", split="train")) == 5
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*elsewhere/demo"):
        load_parabank("demo", split="train")


@pytest.mark.parametrize("name", ["/nowhere/at/all", "someone/parabank2", "not a name!"])
def test_other_names_that_are_nowhere(name):
    with pytest.raises(FileNotFoundError, match="wanted a parabank, got"):
        load_parabank(name)


def test_folders_that_are_no_parabank(demo_run, tmp_path):
    with pytest.raises(ValueError, match="these are a run's shards, package them"):
        load_parabank(demo_run)
    with pytest.raises(ValueError, match=r"without parabank.json: check the path"):
        load_parabank(tmp_path)


def test_a_folder_has_no_revision_and_two_configs(demo_parabank):
    with pytest.raises(ValueError, match="only the Hub keeps revisions"):
        load_parabank(demo_parabank, revision="v1.0.0")
    with pytest.raises(ValueError, match="wanted config 'pairs' or 'references' or 'pair', got 'paris'"):
        load_parabank(demo_parabank, "paris")


LOADED = """
import sys
from datasets import load_dataset
for config, column in (("pairs", "sentence2"), ("references", "reference")):
    print(*load_dataset(sys.argv[1], config, split="train")[column], sep="|")
"""


def rebuilt(run, models, reference, text):
    """The demo's run with another first row, packaged in the same place under the same version."""
    shard = finished_shards(run)[0]
    rows = list(read_shard(shard))
    rows[0].reference, rows[0].candidates[1].text = reference, text
    write_shard(shard, rows)
    package_parabank(run, run.parent / "demo", "demo", "1.2.0", "cc-by-2.0", models)


@pytest.mark.slow
def test_load_dataset_gives_the_rows_of_a_rebuilt_parabank(demo_run, demo_parabank, demo_models):
    """Also of the same number of rows and bytes, in this process and in fresh ones."""
    for reference, text in (("We go at once.", "Now we go."), ("We go at dawn.", "Now we ran.")):
        rebuilt(demo_run, demo_models, reference, text)
        command = [PYTHON, "-c", LOADED, str(demo_parabank)]
        fresh = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert [line.split("|")[0] for line in fresh] == [text, reference]
        assert datasets.load_dataset(str(demo_parabank))["train"]["sentence2"][0] == text
        assert datasets.load_dataset(str(demo_parabank), "references")["train"]["reference"][0] == reference
        assert load_parabank(demo_parabank, split="train")["sentence2"][0] == text


def test_the_same_parabank_is_read_from_the_cache(demo_parabank):
    datasets.load_dataset(str(demo_parabank))
    first = datasets.load_dataset(str(demo_parabank))["train"].cache_files
    assert first == load_parabank(demo_parabank)["train"].cache_files


def test_without_its_checksums_it_loads_all_the_same(demo_parabank):
    (demo_parabank / "SHA256SUMS").unlink()
    assert len(load_parabank(demo_parabank, split="train")) == 5


@pytest.mark.parametrize("streaming", [True, False])
def test_a_file_cut_short_is_named(demo_parabank, streaming):
    file = demo_parabank / "data/pairs/train-00000-of-00001.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"^wanted a whole Parquet file, got .*train-00000.* again$") as caught:
        load_parabank(demo_parabank, split="train", streaming=streaming)
    assert "\n" not in str(caught.value)
    assert len(load_parabank(demo_parabank, "references", split="train")) == 2


def test_a_file_damaged_inside_is_one_line(demo_run, demo_models):
    rebuilt(demo_run, demo_models, "This is in no cache.", "No cache has this.")
    demo_parabank = demo_run.parent / "demo"
    file = demo_parabank / "data/pairs/train-00000-of-00001.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:4] + b"\xff" * 40 + content[44:])
    with pytest.raises(
        ValueError, match=r"^wanted the whole Parquet files of .*pairs, got a damaged .* again$"
    ) as caught:
        load_parabank(demo_parabank, split="train")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_found(demo_run, demo_models, tmp_path):
    package_parabank(demo_run, tmp_path / "demo", "demo", "1.0.0", "mit", demo_models, max_rows_per_file=2)
    (tmp_path / "demo/data/pairs/train-00001-of-00003.parquet").unlink()
    with pytest.raises(ValueError, match=r"wanted 5 rows in .*train-\*.parquet, got 3: a file is missing"):
        load_parabank(tmp_path / "demo")
