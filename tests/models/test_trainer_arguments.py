"""A trainer computes on one GPU a process, in a number that this GPU or the processor has."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate.data_loader import prepare_data_loader, skip_first_batches
from torch.utils.data import BatchSampler, DataLoader
from transformers import TrainerControl, TrainerState, TrainingArguments

from tests.gpus import pretend_gpus
from tests.tiny import ROOT
from toolkit.encoder.settings import TransformerTraining
from toolkit.models import trainer_arguments as module
from toolkit.models.trainer_arguments import ResumeCallback, trainer_arguments
from toolkit.train.transformer_encoder import _training_arguments


@pytest.fixture
def no_bfloat16(monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False)


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_one_gpu_is_used_without_a_launcher(monkeypatch, tmp_path, no_bfloat16, gpus):
    pretend_gpus(monkeypatch, gpus)
    options = {"output_dir": str(tmp_path), "per_device_train_batch_size": 6}
    arguments = trainer_arguments(TrainingArguments, "auto", options)
    assert (arguments.n_gpu, arguments.train_batch_size, str(arguments.device)) == (1, 6, "cuda:0")
    assert arguments.bf16 and arguments.dataloader_pin_memory and not arguments.use_cpu
    assert trainer_arguments(TrainingArguments, "float32", options).bf16 is False


def test_a_training_has_the_batch_of_its_settings_beside_two_gpus(monkeypatch, tmp_path, no_bfloat16):
    pretend_gpus(monkeypatch, 2)
    settings = TransformerTraining(pairs=["a.tsv"], output_dir=str(tmp_path), base_model="any", batch=8, mini_batch=4)
    arguments = _training_arguments(settings, tmp_path)
    assert (arguments.n_gpu, arguments.train_batch_size) == (1, 8)


def test_on_the_processor_beside_a_gpu(monkeypatch, tmp_path, no_bfloat16):
    pretend_gpus(monkeypatch, 2)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    arguments = trainer_arguments(TrainingArguments, "auto", {"output_dir": str(tmp_path)})
    assert (arguments.bf16, arguments.use_cpu, arguments.dataloader_pin_memory, str(arguments.device)) == (
        False,
        True,
        False,
        "cpu",
    )


@pytest.mark.slow
def test_no_other_file_makes_the_arguments_of_a_trainer():
    calls = {
        path: node.func.id
        for folder in ("toolkit", "builders", "scripts")
        for path in sorted(Path(ROOT, folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("TrainingArguments")
    }
    assert calls == {} and "kind(" in Path(module.__file__).read_text()


def test_a_resumed_training_has_the_intervals_of_this_call(tmp_path):
    arguments = TrainingArguments(str(tmp_path), save_steps=7, eval_steps=7, logging_steps=3, use_cpu=True)
    state = TrainerState(save_steps=500, eval_steps=500, max_steps=20)
    ResumeCallback().on_train_begin(arguments, state, TrainerControl())
    assert (state.save_steps, state.eval_steps, state.logging_steps) == (7, 7, 3)


class _Order(BatchSampler):
    """Batches of two whose order depends on the epoch."""

    def __init__(self):
        super().__init__(range(16), 2, False)
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = np.random.default_rng(self.epoch).permutation(16).tolist()
        return iter([order[n : n + 2] for n in range(0, 16, 2)])


@pytest.mark.parametrize("processes", [1, 2])
def test_the_rest_of_an_epoch_has_the_order_of_that_epoch(processes):
    def loader():
        plain = DataLoader(list(range(16)), batch_sampler=_Order())
        return prepare_data_loader(plain, num_processes=processes, process_index=0, put_on_device=False)

    def batches_of(epoch, skipped):  # as the library's trainer reads them
        plain = loader()
        ResumeCallback().on_epoch_begin(None, TrainerState(epoch=epoch), TrainerControl(), train_dataloader=plain)
        rest = skip_first_batches(plain, skipped) if skipped else plain
        rest.set_epoch(int(epoch))
        return [batch.tolist() for batch in rest]

    batches = batches_of(3.0, 0)
    assert batches_of(3.25, 2) == batches[2:] != []
    first_epoch = [batch.tolist() for batch in loader()]
    assert batches != first_epoch
