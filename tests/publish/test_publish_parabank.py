"""Parabanks published by the script in processes of their own, and loaded from there by `datasets`."""

import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard

from tests.conftest import demo_rows, write_run
from tests.hub import READER, WRITER, Fault
from tests.tiny import PYTHON
from tests.xet import Xet
from toolkit.data.rows import Candidate, Origin, Row, Scores
from toolkit.package.build import package_parabank
from toolkit.package.load import load_parabank

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "publish_parabank.py"
NAME = "org/demo"
LOAD = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
import toolkit

name, tag = sys.argv[1:]
loaded = load_dataset(name, revision=tag)
streamed = load_dataset(name, "references", revision=tag, split="train", streaming=True)
print(json.dumps({
    "configs": get_dataset_config_names(name, revision=tag),
    "pairs": {split: [[row["sentence1"], row["sentence2"]] for row in loaded[split]] for split in loaded},
    "references": [[row["reference"], len(row["paraphrases"])] for row in streamed],
    "ours": toolkit.load_parabank(name, revision=tag).num_rows,
}))
"""


def environment(hub, home, token=WRITER):
    variables = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    variables |= {} if hub.xet else {"HF_HUB_DISABLE_XET": "1"}
    return variables | {
        "HF_ENDPOINT": hub.url, "HF_TOKEN": token, "HF_HOME": str(home),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1", "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def publish(hub, folder, *flags, token=WRITER):
    command = [PYTHON, str(SCRIPT), str(folder), NAME, *flags]
    home = folder.parent / "home"
    return subprocess.run(command, env=environment(hub, home, token), capture_output=True, text=True, timeout=300)


def loaded(hub, tmp_path, tag):
    """What a process of a stranger to the folder loads."""
    command = [PYTHON, "-c", LOAD, NAME, tag]
    process = subprocess.run(
        command, env=environment(hub, tmp_path / "other", READER), cwd=tmp_path, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


def repository(hub):
    return hub.repositories["datasets", NAME]


def content(hub, tag, path):
    return repository(hub).commits[repository(hub).tags[tag]][path].content


@pytest.mark.slow
def test_published_versions_are_loaded_by_their_tags(hub, demo_parabank, demo_models, pictures, tmp_path):
    process = publish(hub, demo_parabank)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-1] == f"{hub.url}/datasets/{NAME}/tree/v1.2.0"
    summary = loaded(hub, tmp_path, "v1.2.0")
    parabank = load_parabank(demo_parabank)
    assert summary["configs"] == ["pairs", "references", "pair"]
    assert summary["pairs"] == {
        split: [[row["sentence1"], row["sentence2"]] for row in parabank[split]]
        for split in ("train", "validation", "test")
    }
    assert summary["references"] == [["We will go home now, he said.", 2], ["It is raining again.", 3]]
    assert summary["ours"] == {"train": 5, "validation": 1, "test": 1}

    rows = demo_rows()
    rows[4].candidates[2].rank = None
    run = write_run(tmp_path / "second.shards", rows)
    package_parabank(run, tmp_path / "second", "demo", "1.3.0", "cc-by-2.0", demo_models)
    before = hub.uploaded
    process = publish(hub, tmp_path / "second", "--changes", "one paraphrase | fewer")
    assert process.returncode == 0, process.stderr
    changed = [line.split()[-1] for line in process.stdout.splitlines() if line.split()[0] == "changed"]
    assert [path for path in changed if path.startswith("data")] == [
        "data/pairs/train-00000-of-00001.parquet", "data/references/train-00000-of-00001.parquet"
    ]  # fmt: skip
    large = [tmp_path / "second" / path for path in changed if path.endswith((".parquet", ".png"))]
    assert hub.uploaded - before == sum(path.stat().st_size for path in large)
    assert loaded(hub, tmp_path, "v1.3.0")["ours"]["train"] == 4
    assert loaded(hub, tmp_path, "v1.2.0")["ours"]["train"] == 5
    card = content(hub, "v1.3.0", "README.md").decode()
    assert "| 1.3.0 | 6 | 4 | one paraphrase \\| fewer |\n| 1.2.0 | 7 | 4 | - |" in card
    assert 'load_dataset("org/demo", revision="v1.3.0", split="train")' in card
    assert DatasetCard(card).data.configs[0]["version"] == "1.3.0"


@pytest.mark.slow
def test_xet_sends_only_new_chunks_of_a_second_version(hub, demo_models, tmp_path):
    """Through hf_xet, which cuts files by their content; twelve thousand rows, and a hundred new ones at the end."""
    (tmp_path / "storage").mkdir()
    hub.xet = Xet(tmp_path / "storage")
    words = [f"{first}{second}" for first in "bcdfghklmnprst" for second in ("al", "en", "ir", "ot", "ub")]
    chance = random.Random(0)
    texts = [" ".join(chance.choices(words, k=12)) for _ in range(12_100)]
    rows = [
        Row(f"demo-{n}", "demo", None, None, text, "en", "train", candidates=[
            Candidate(f"{text[::-1]}.", "sample", [Origin("set-0")], rank=0, scores=Scores(-1.0 - n / 7, 4, -2.0, 3))])
        for n, text in enumerate(texts)
    ]  # fmt: skip
    byte_counts = []
    for version, part in (("1.0.0", rows[:12_000]), ("1.1.0", rows)):
        run = write_run(tmp_path / f"{version}.shards", part, 10_000)
        package_parabank(run, tmp_path / version, "demo", version, "cc-by-2.0", demo_models)
        process = publish(hub, tmp_path / version)
        assert process.returncode == 0, process.stderr
        byte_counts.append(hub.xet.sent() - sum(byte_counts))
    assert byte_counts[1] < 0.85 * byte_counts[0]
    command = [
        PYTHON,
        "-c",
        "import toolkit; print(toolkit.load_parabank('org/demo', revision='v1.1.0').num_rows)",
    ]
    process = subprocess.run(
        command, env=environment(hub, tmp_path / "other"), cwd=tmp_path, capture_output=True, text=True
    )
    assert process.stdout == "{'train': 12100}\n", process.stderr


@pytest.mark.slow
def test_a_hub_without_xet(hub, demo_parabank, tmp_path):
    variables = environment(hub, tmp_path / "home")
    del variables["HF_HUB_DISABLE_XET"]
    command = [PYTHON, str(SCRIPT), str(demo_parabank), NAME]
    process = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1] == (
        "parabank publish parabank: wanted a Hub with Xet storage for org/demo, got one without: "
        "set HF_HUB_DISABLE_XET=1"
    )
    assert not repository(hub).tags


def test_card_and_manifest_of_the_hub_name_it_and_the_folder_stays(hub, api, demo_parabank):
    from toolkit.publish.hub import _published
    from toolkit.publish.parabank import plan_parabank

    before = {path: path.read_bytes() for path in demo_parabank.rglob("*") if path.is_file()}
    _published(api, plan_parabank(api, demo_parabank, NAME, "2.0.0", "the first one"))
    assert {path: path.read_bytes() for path in demo_parabank.rglob("*") if path.is_file()} == before
    manifest = json.loads(content(hub, "v2.0.0", "parabank.json"))
    assert (manifest["name"], manifest["version"]) == (NAME, "2.0.0")
    assert manifest["versions"] == [{"version": "2.0.0", "pairs": 7, "kept": 4, "changes": "the first one"}]
    card = (demo_parabank / "README.md").read_text()
    assert "Versions" not in card and 'load_dataset("demo", split="train")  # in the folder above this one' in card


def test_checksums_of_the_hub_are_those_of_its_files(hub, api, demo_parabank, tmp_path):
    from toolkit.publish.hub import _published
    from toolkit.publish.parabank import plan_parabank

    _published(api, plan_parabank(api, demo_parabank, NAME))
    for path, blob in repository(hub).commits[repository(hub).tags["v1.2.0"]].items():
        if path != ".gitattributes":
            (tmp_path / "fetched" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "fetched" / path).write_bytes(blob.content)
    process = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "fetched", capture_output=True, text=True
    )
    assert process.returncode == 0, process.stdout
    assert len(process.stdout.splitlines()) == 13
    assert load_parabank(tmp_path / "fetched").num_rows == {"train": 5, "validation": 1, "test": 1}


@pytest.mark.slow
def test_a_killed_publication_goes_on(hub, demo_parabank, tmp_path):
    """Killed in the middle of an upload, with kill -9; the same command then completes the version."""
    hub.faults = [Fault("PUT", "/lfs/", "stall", times=1, skip=2)]
    command = [PYTHON, str(SCRIPT), str(demo_parabank), NAME]
    with subprocess.Popen(command, env=environment(hub, tmp_path / "home"), stdout=subprocess.DEVNULL) as process:
        assert hub.stalled.wait(120)
        process.send_signal(signal.SIGKILL)
    hub.resume.set()
    assert process.returncode == -signal.SIGKILL
    assert not repository(hub).tags and len(repository(hub).commits) == 1
    objects = set(hub.stored)
    requests = len(hub.requests)
    completed_process = publish(hub, demo_parabank)
    assert completed_process.returncode == 0, completed_process.stderr
    assert list(repository(hub).tags) == ["v1.2.0"]
    new_objects = {request.split("/lfs/")[1] for request in hub.requests[requests:] if request.startswith("PUT")}
    assert not new_objects & objects and new_objects | objects == set(hub.stored)


@pytest.mark.slow
def test_a_dry_run_without_a_hub_or_a_token(hub, demo_parabank):
    process = publish(hub, demo_parabank, "--dry_run", token="")
    assert process.returncode == 0, process.stderr
    assert "14 new, 0 changed" in process.stdout and process.stdout.endswith("dry run: nothing was sent\n")
    assert not hub.repositories
    process = publish(hub, demo_parabank, token="")
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr == (
        "parabank publish parabank: wanted a token that may write to org/demo, got none: run `hf auth login`, or set "
        "HF_TOKEN\n"
    )


def test_damaged_folders_are_refused(api, demo_parabank, demo_run, tmp_path):
    from toolkit.publish.parabank import plan_parabank

    for folder in (tmp_path, demo_run, tmp_path / "nothing"):
        with pytest.raises(ValueError, match=f"wanted a packaged parabank, got {folder} without parabank.json"):
            plan_parabank(api, folder, NAME)
    file = demo_parabank / "data" / "pairs" / "train-00000-of-00001.parquet"
    whole = file.read_bytes()
    for damaged, state in ((whole[:-9], "another"), (None, "none")):
        file.unlink()
        if damaged:
            file.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"wanted {file} as it was packaged, got {state}: package it again"):
            plan_parabank(api, demo_parabank, NAME)
        file.write_bytes(whole)
    plan_parabank(api, demo_parabank, NAME)
