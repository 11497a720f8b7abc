"""A trainer computes on one GPU a process, in a number that this GPU or the processor has."""

import ast
from pathlib import Path

import pytest
import torch
from transformers import TrainingArguments

from tests.gpus import pretend_gpus
from tests.tiny import ROOT
from toolkit.encoder.settings import TransformerTraining
from toolkit.models import trainer_arguments as module
from toolkit.models.trainer_arguments import trainer_arguments
from toolkit.train.transformer_encoder import _training_arguments


@pytest.fixture
def no_bfloat16(monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False)


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_one_gpu_is_used_without_a_launcher(monkeypatch, tmp_path, no_bfloat16, gpus):
    pretend_gpus(monkeypatch, gpus)
    options = {"output_dir": str(tmp_path), "per_device_train_batch_size": 6}
    made = trainer_arguments(TrainingArguments, "auto", options)
    assert (made.n_gpu, made.train_batch_size, str(made.device)) == (1, 6, "cuda:0")
    assert made.bf16 and made.dataloader_pin_memory and not made.use_cpu
    assert trainer_arguments(TrainingArguments, "float32", options).bf16 is False


def test_a_training_has_the_batch_of_its_settings_beside_two_gpus(monkeypatch, tmp_path, no_bfloat16):
    pretend_gpus(monkeypatch, 2)
    settings = TransformerTraining(pairs=["a.tsv"], output_dir=str(tmp_path), base_model="any", batch=8, mini_batch=4)
    made = _training_arguments(settings, tmp_path)
    assert (made.n_gpu, made.train_batch_size) == (1, 8)


def test_on_the_processor_beside_a_gpu(monkeypatch, tmp_path, no_bfloat16):
    pretend_gpus(monkeypatch, 2)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    made = trainer_arguments(TrainingArguments, "auto", {"output_dir": str(tmp_path)})
    assert (made.bf16, made.use_cpu, made.dataloader_pin_memory, str(made.device)) == (False, True, False, "cpu")


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
