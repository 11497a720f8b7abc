"""Two processes train an infiller, and then a translator: they end, and read an epoch between them."""

import dataclasses
import json
import shutil
import subprocess
from collections import Counter

import pytest
from accelerate.state import AcceleratorState
from transformers import MarianTokenizer

from tests.tiny import DEMO, ENVIRONMENT, PYTHON, ROOT
from toolkit.bitext.subwords import pieces_of
from toolkit.train._translator_data import open_pairs
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.train.translator import train
from toolkit.translator.settings import SIZES, Size, TrainingSettings

# Each process writes the batches of the translator's first epoch, and those that it reads.
RANKS = """
import json, sys, torch
from accelerate.state import AcceleratorState
from toolkit.train import infiller
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.train import translator as training, _translator_steps as steps
from toolkit.translator import settings
torch.set_num_threads(1)
infiller.train(InfillerTraining(**json.loads(sys.argv[1])))
AcceleratorState._reset_state()
settings.SIZES["starter"] = settings.Size(200, True, 32, 1, 1, 2, 64)
one_step, batches, read, whole = steps._one_step, steps.batches, [], []
def recorded_batches(*arguments, **ranks):
    for batch in batches(*arguments, **ranks):
        if arguments[4] == 0:
            whole.append([ids.tolist() for ids in batch])
        yield batch
def recorded_step(state, batch):
    if state.progress.epoch == 0:
        read.append([ids.tolist() for ids in batch])
    rank = state.accelerator.process_index
    for name, found in (("read", read), ("whole", whole)):
        with open(f"{sys.argv[3]}/{name}-{rank}.json", "w") as file:
            json.dump(found, file)
    return one_step(state, batch)
steps._one_step, steps.batches = recorded_step, recorded_batches
training.train(training.TrainingSettings(**json.loads(sys.argv[2])))
"""


@pytest.fixture(scope="module")
def folder_and_settings(tmp_path_factory):
    """The folder with both models and with what each process read; and the settings of the translator."""
    folder = tmp_path_factory.mktemp("ranks")
    lines = DEMO.read_text(encoding="utf-8").splitlines()
    sentences = [line.split("\t")[1] for line in lines]
    (folder / "book.txt").write_text("\n".join(" ".join(sentences[n : n + 6]) for n in range(0, 240, 6)))
    infiller = InfillerTraining(
        text=[str(folder / "book.txt")], output_dir=str(folder / "infiller"), source="Own sentences.", dtype="float32",
        vocabulary=300, width=64, feed_forward=64, encoder_layers=1, decoder_layers=1, held_out=20, epochs=6,
        batch_tokens=600, save_every=4, max_steps=4, min_chars=20, threads=1,
    )  # fmt: skip
    translator = TrainingSettings(
        [str(DEMO)], str(folder / "translator"), "de", "en", validation=[str(DEMO)], size="starter", max_steps=40,
        batch_tokens=512, save_every=20, average=2, alpha=0.3, seed=3,
    )  # fmt: skip
    (folder / "ranks.py").write_text(RANKS)
    launcher = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    arguments = [json.dumps(vars(infiller)), json.dumps(vars(translator)), str(folder)]
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true"}
    command = [*launcher, str(folder / "ranks.py"), *arguments]
    process = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert process.returncode == 0, process.stderr[-6000:]
    return folder, translator


@pytest.mark.slow
def test_an_infiller_is_evaluated_and_saved(folder_and_settings):
    record = json.loads((folder_and_settings[0] / "infiller" / "training.json").read_text())
    assert (record["processes"], record["steps"]) == (2, 4) and 0 < record["held_out_loss"] < 10


@pytest.mark.slow
def test_the_checkpoints_of_several_processes_are_averaged_and_one_process_goes_on_with_them(
    folder_and_settings, monkeypatch
):
    folder, settings = folder_and_settings
    record = json.loads((folder / "translator" / "model" / "training.json").read_text())
    nats = record["held_out_nats_per_token"]
    assert nats["average"] != nats["last"], "the average has other weights"
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setitem(SIZES, "starter", Size(200, True, 32, 1, 1, 2, 64))
    AcceleratorState._reset_state()
    alone = dataclasses.replace(settings, output_dir=str(folder / "alone"), max_steps=60)
    shutil.copytree(folder / "translator", folder / "alone")
    train(alone)
    log = json.loads((folder / "alone" / "model" / "training.json").read_text())["log"]
    assert [entry["step"] for entry in log] == [20, 40, 60] and log[:2] == record["log"]
    assert log[2]["held_out_nats_per_token"] < log[0]["held_out_nats_per_token"]


@pytest.mark.slow
def test_processes_read_an_epoch_of_a_translator_between_them(folder_and_settings):
    folder, settings = folder_and_settings
    rank_batches = [json.loads((folder / f"read-{rank}.json").read_text()) for rank in (0, 1)]
    whole = [json.loads((folder / f"whole-{rank}.json").read_text()) for rank in (0, 1)]
    assert whole[0] == whole[1], "each has the list of all batches"
    steps = len(whole[0]) // 2
    assert 2 < steps < settings.max_steps, "a whole epoch was read"
    assert rank_batches == [whole[0][: 2 * steps : 2], whole[0][1 : 2 * steps : 2]]
    pieces = pieces_of(MarianTokenizer.from_pretrained(folder / "translator" / "model"))
    table = open_pairs(folder / "translator" / "train.arrow")
    pairs = [
        tuple(side.decode([ids])[0] for side, ids in zip(pieces, pair, strict=True))
        for batch in whole[0]
        for pair in zip(*batch, strict=True)
    ]
    sides = [pieces[0].decode(pieces[0].encode(table["source"].to_pylist()))]
    sides.append(pieces[1].decode(pieces[1].encode(table["reference"].to_pylist())))
    assert Counter(pairs) == Counter(zip(*sides, strict=True))
