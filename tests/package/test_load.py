import datasets
import pytest

from toolkit.package.load import cache_of, load_parabank


def test_load_dataset_by_path(demo_parabank):
    loaded = datasets.load_dataset(str(demo_parabank))
    assert {split: len(part) for split, part in loaded.items()} == {"train": 5, "validation": 1, "test": 1}
    assert str(loaded["train"].info.version) == "1.2.0"
    assert loaded["test"][0]["sentence2"] == "She is unable to swim."


def test_load_dataset_by_bare_name_in_the_folder_that_holds_it(demo_parabank, monkeypatch):
    monkeypatch.chdir(demo_parabank.parent)
    assert len(datasets.load_dataset("demo", split="train")) == 5
    assert len(load_parabank("demo", split="train")) == 5


def test_configs_are_those_of_the_card(demo_parabank):
    assert datasets.get_dataset_config_names(str(demo_parabank)) == ["pairs", "references"]
    assert datasets.get_dataset_default_config_name(str(demo_parabank)) == "pairs"


def test_references_streaming(demo_parabank):
    streamed = list(datasets.load_dataset(str(demo_parabank), "references", split="train", streaming=True))
    assert [len(row["paraphrases"]) for row in streamed] == [2, 3]
    assert streamed[0]["paraphrases"][0]["text"] == "Now we will be going home, he said."
    assert streamed[0]["paraphrases"][0]["origins"][0]["negative"] == ["will", "go"]
    assert streamed == list(load_parabank(demo_parabank, "references", split="train", streaming=True))


def test_pairs_go_into_a_trainer(demo_parabank):
    pairs = load_parabank(demo_parabank, split="train").select_columns(["sentence1", "sentence2"])
    assert pairs.column_names == ["sentence1", "sentence2"]


def test_a_name_that_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        load_parabank("parabank2")
    message = str(caught.value)
    assert f"no folder {tmp_path / 'parabank2'} here, so it can only be a Hub name" in message
    assert "\n" not in message


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
    with pytest.raises(ValueError, match="wanted config 'pairs' or 'references', got 'pair'"):
        load_parabank(demo_parabank, "pair")


def test_a_rebuilt_parabank_is_not_read_from_the_old_ones_cache(demo_parabank):
    before = cache_of(demo_parabank)
    assert cache_of(demo_parabank) == before
    sums = demo_parabank / "SHA256SUMS"
    kept = sums.read_bytes()
    sums.write_bytes(kept.replace(b"0", b"1", 1))
    after = cache_of(demo_parabank)
    sums.write_bytes(kept)
    assert after != before
