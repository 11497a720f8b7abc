"""A processor that could, and an environment that does not let it."""

import pytest
import torch

from tests.gpus import pretend_gpus
from toolkit.models.precision import check_device, default_device, has_bfloat16, in_bfloat16
from toolkit.translator.int8 import has_int8


@pytest.fixture(autouse=True)
def able(monkeypatch):
    """A processor with all that is asked for."""
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported", "_is_vnni_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: True)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"])
@pytest.mark.parametrize(
    ("cap", "int8", "bfloat16"),
    [
        ("AVX2", False, False),
        ("AVX512_CORE", False, False),
        ("avx512_core", False, False),
        ("AVX512_CORE_VNNI", True, False),
        ("AVX512_CORE_BF16", True, True),
        ("ALL", True, True),
        ("", True, True),
    ],
)
def test_a_capped_instruction_set_is_not_used(monkeypatch, name, cap, int8, bfloat16):
    assert (has_int8(), has_bfloat16("cpu")) == (True, True)
    monkeypatch.setenv(name, cap)
    assert (has_int8(), has_bfloat16("cpu")) == (int8, bfloat16)


def test_a_processor_without_vnni_has_no_8_bit_products(monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    assert not has_int8() and has_bfloat16("cpu")


def test_a_processor_without_bfloat16(monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False)
    assert has_int8() and not has_bfloat16("cpu")


@pytest.mark.parametrize(("major", "gpu"), [(9, True), (8, True), (7, False)])
@pytest.mark.parametrize("processor", [True, False])
def test_each_device_answers_for_itself(monkeypatch, major, gpu, processor):
    pretend_gpus(monkeypatch, 2, major)
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: processor)
    assert [has_bfloat16(device) for device in ("cpu", torch.device("cpu"))] == [processor] * 2
    assert [has_bfloat16(device) for device in ("cuda", "cuda:1", torch.device("cuda", 0))] == [gpu] * 3
    assert (in_bfloat16("auto", "cpu"), in_bfloat16("auto", "cuda")) == (processor, gpu)
    assert in_bfloat16("bfloat16", "cpu") and not in_bfloat16("float32", "cuda")


def test_without_a_name_a_model_is_on_the_gpu_of_the_machine_that_has_one(monkeypatch, capsys):
    assert default_device() == torch.device("cpu")
    pretend_gpus(monkeypatch, 4)
    assert default_device() == default_device() == torch.device("cuda")
    assert capsys.readouterr().err == "4 GPUs, one is used: --processes 4\n", "once"
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert default_device() == torch.device("cpu") and check_device(None) == torch.device("cpu")


def test_a_process_of_several_says_nothing_of_other_gpus(monkeypatch, capsys):
    pretend_gpus(monkeypatch, 4)
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert default_device() == torch.device("cuda") and capsys.readouterr().err == ""
