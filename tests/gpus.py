"""GPUs that a machine seems to have, for code that asks which there are; they compute nothing."""

from types import SimpleNamespace

import pytest
import torch
from accelerate import PartialState

from toolkit.system import processes


def pretend_gpus(monkeypatch: pytest.MonkeyPatch, count: int, major: int = 9) -> None:
    """Have torch and accelerate see `count` GPUs of a compute capability; from 8 on they compute in bfloat16."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    gpu = SimpleNamespace(name="a GPU", major=major, minor=0, total_memory=2**36)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device=None: gpu)
    monkeypatch.setattr(PartialState, "_shared_state", {})  # which has asked before
    processes._tell_idle.cache_clear()
    for name in ("ACCELERATE_USE_CPU", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
